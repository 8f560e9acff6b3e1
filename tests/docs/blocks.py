"""The blocks of a page, the remarks on them, and what it means that an output is the shown one.

A page says `<!-- runnable -->` near its top, with `, outputs of Python X.Y` if they depend on that. Then all its blocks
of kind `console` (commands after `$`, each followed by what it prints) and `python` (sessions with `>>>`, or code) are
run, in their order, in one empty folder. Remarks stand in comments right before a block, which readers do not see:

    <!-- test: numbers within 10% -->     numbers, bars and widths may differ by this much, words may not
    <!-- test: output varies -->          it must succeed and print something; what, is not looked at
    <!-- test: quick output varies -->    the same, but only where earlier blocks ran with smaller settings
    <!-- test: needs curl -->             left out where this program or Python package is not here
    <!-- test: quick "A" → "B" -->        A is replaced by B in commands, but not in `make test-long`

In outputs `…` stands for anything within a line, and alone on a line for any lines.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

RUNNABLE = re.compile(r"^<!-- runnable(?:, outputs of Python (\d+)\.(\d+))? -->$", re.MULTILINE)
FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>console|python)\n(?P<body>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
REMARKS = re.compile(r"(?:^<!-- test: [^\n]* -->\n+)+\Z", re.MULTILINE)
VARIES = "output varies"
QUICK = re.compile(r'^quick "(.+)" → "(.+)"$')
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
DRAWN = "─█▏▎▍▌▋▊▉"
PIECE = re.compile(rf"(?P<any>…)|(?P<number>{NUMBER.pattern})|(?P<drawn>[{DRAWN}]+)|(?P<space>[ \t]+)|(?P<text>.)")


@dataclass(frozen=True)
class Block:
    """One block that is run."""

    kind: str
    body: str
    line: int
    remarks: tuple[str, ...] = ()

    def remark(self, beginning: str) -> list[str]:
        """What stands behind this beginning in the remarks."""
        return [remark.removeprefix(beginning).strip() for remark in self.remarks if remark.startswith(beginning)]

    def text(self, *, quick: bool) -> str:
        """The block as it is run."""
        text = self.body
        for remark in self.remarks if quick else ():
            if found := QUICK.match(remark):
                assert found[1] in text, f"line {self.line}: nothing to replace by {found[2]!r}"
                text = text.replace(found[1], found[2])
        return text

    def tolerance(self, *, quick: bool) -> float | None:
        """By which share numbers may differ; None where outputs are not compared."""
        if VARIES in self.remarks or (quick and "quick output varies" in self.remarks):
            return None
        shares = self.remark("numbers within")
        return float(shares[0].removesuffix("%")) / 100 if shares else 0.0


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page that are run, in their order; none of a page that does not say so."""
    text = page.read_text(encoding="utf-8")
    runnable = RUNNABLE.search(text)
    if runnable is None:
        return []
    elsewhere = runnable[1] is not None and (int(runnable[1]), int(runnable[2])) != sys.version_info[:2]
    always = [VARIES] if elsewhere else []
    found = []
    for match in FENCE.finditer(text):
        before = REMARKS.search(text[: match.start()])
        remarks = re.findall(r"<!-- test: (.*) -->", before[0]) if before else []
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match["kind"], match["body"], line, (*remarks, *always)))
    return found


def commands_of(text: str) -> list[tuple[str, str]]:
    """Commands with what each prints; a command goes on behind a backslash, and until the end of a `<<` text."""
    found: list[tuple[str, list[str]]] = []
    until = ""
    for line in text.splitlines():
        command = found[-1][0] if found else ""
        if until or (command.endswith("\\") and not found[-1][1]):
            found[-1] = (f"{command}\n{line}", [])
            until = "" if line == until else until
        elif line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
            here = re.search(r"<<'?(\w+)'?$", line)
            until = here[1] if here else ""
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


def difference(shown: str, printed: str, *, tolerance: float = 0.0) -> str:
    """Nothing if the printed output is the shown one, else the first line in which it is not."""
    lines = printed.rstrip().splitlines()
    place, skipping = 0, False
    for line in shown.rstrip().splitlines():
        if line.strip() == "…":
            skipping = True
            continue
        while skipping and place < len(lines) and not _same(line, lines[place], tolerance):
            place += 1
        if place == len(lines) or not _same(line, lines[place], tolerance):
            return f"shown:   {line!r}\nprinted: {lines[place] if place < len(lines) else 'nothing more'!r}"
        place, skipping = place + 1, False
    return "" if skipping or place == len(lines) else f"more than is shown: {lines[place]!r}"


def _same(shown: str, printed: str, tolerance: float) -> bool:
    shown, printed = shown.rstrip(), printed.rstrip()
    if not tolerance:
        pieces = (".*" if part == "…" else re.escape(part) for part in re.split("(…)", shown))
        return re.fullmatch("".join(pieces), printed) is not None
    numbers = NUMBER.findall(shown)
    found = re.fullmatch("".join(_loose(piece) for piece in PIECE.finditer(shown)), printed)
    return found is not None and all(
        _near(ours, theirs, tolerance) for ours, theirs in zip(numbers, found.groups(), strict=True)
    )


def _loose(piece: re.Match[str]) -> str:
    patterns = {
        "any": ".*",
        "number": f"(?<![\\d.,])({NUMBER.pattern})(?![\\d,]*\\d)",
        "drawn": f"[{DRAWN}]*",
        "space": r"\s+",
    }
    return patterns.get(piece.lastgroup or "", re.escape(piece[0]))


def _near(shown: str, printed: str, tolerance: float) -> bool:
    ours, theirs = (float(number.replace(",", "")) for number in (shown, printed))
    step = 10.0 ** -len(shown.partition(".")[2])  # rounding to the digits shown may cost one of the last
    return abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs)) + step * (1 + 1e-9)
