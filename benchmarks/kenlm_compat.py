"""`modlm.compat.kenlm` beside the kenlm package, and KenLM's binaries read by us beside its own `query`; one page.

python benchmarks/kenlm_compat.py TEXT BINARY... [--folder MODEL] [--query PATH] [--out FILE]

Everything is processor time of one core, in turns, so that a machine that others use too gives fair ratios. What
`query` takes without a text is taken off, and so is our own opening. Before two are timed their results are compared.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["MODLM_THREADS"] = "1"

import kenlm as theirs

import modlm
import modlm.compat.kenlm as ours
from modlm.ground.files import new_file
from side_by_side import report
from side_by_side.timing import Sample, in_turns, must_agree

Row = tuple[str, str, str, str, str, str, str]
HEAD = ("file", "what", "ours", "KenLM", "ratio, best", "ratio, median", "bar")


def processor(function: Callable[[], object]) -> Callable[[], float]:
    """The function as one that returns the processor time it took."""

    def timed() -> float:
        begun = time.process_time()
        function()
        return time.process_time() - begun

    return timed


def base_scores(module: Any, model: Any, sentences: list[list[str]]) -> list[float]:
    """Word by word with a new state each, as decoders do."""
    found = []
    for words in sentences:
        state = module.State()
        model.BeginSentenceWrite(state)
        for word in words:
            after = module.State()
            found.append(model.BaseScore(state, word, after))
            state = after
    return found


def compat(path: Path, reference: Path, sentences: list[str], repetitions: int) -> list[Row]:
    """Sentences one at a time, with lengths, and words with states."""
    mine, other, split = ours.Model(str(path)), theirs.Model(str(reference)), [line.split() for line in sentences]
    calls: dict[str, tuple[Callable[[Any, Any], list[Any]], float]] = {
        "score": (lambda _, model: [model.score(line) for line in sentences], 1.0),
        "full_scores": (lambda _, model: [list(model.full_scores(line)) for line in sentences], 0.7),
        "BaseScore": (lambda module, model: base_scores(module, model, split), 0.7),
    }
    rows = []
    for name, (call, bar) in calls.items():
        if name != "full_scores":
            must_agree(f"{path.name}: {name}", call(ours, mine), call(theirs, other))
        samples = in_turns(
            repetitions,
            {
                "ours": processor(lambda call=call: call(ours, mine)),
                "theirs": processor(lambda call=call: call(theirs, other)),
            },
        )
        work = len(sentences) if name != "BaseScore" else sum(map(len, split))
        rows.append(row(path.name, f"`{name}`", samples["ours"], samples["theirs"], work, bar))
    return rows


def row(file: str, what: str, mine: Sample, other: Sample, work: int, bar: float) -> Row:
    """A line of the table: time of one piece of work, and how many times faster we are."""
    ratio, median = other.best / mine.best, other.median / mine.median
    each = [f"{sample.best / work * 1e6:.2f} µs" for sample in (mine, other)]
    verdict = f"≥ {bar:g}: " + ("yes" if ratio >= bar else "**no**")
    return file, what, *each, f"{ratio:.2f} ×", f"{median:.2f} ×", verdict


def query(program: Path, binary: Path, text: str) -> tuple[float, str]:
    """Processor time of KenLM's `query`, and what it printed."""
    before = os.times()
    with open(text or os.devnull, "rb") as stream:  # noqa: PTH123
        command = [program, "-v", "summary", binary]
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True)
    after = os.times()
    return after[2] + after[3] - before[2] - before[3], done.stdout + done.stderr


def texts(program: Path, binary: Path, text: Path, repetitions: int) -> list[Row]:
    """Opening a binary, and the perplexity of a text by it, opened already."""
    modlm.load(binary)  # kernels are read
    walls, begun = [], time.perf_counter()
    for _ in range(repetitions):
        begun = time.perf_counter()
        modlm.load(binary)
        walls.append(time.perf_counter() - begun)
    lm = modlm.load(binary)
    once, said = lm.perplexity(text), query(program, binary, str(text))[1]
    shown = float(said.split("Perplexity including OOVs:")[1].split()[0])
    must_agree(f"{binary.name}: perplexity", math.log(once.perplexity), math.log(shown))
    samples = in_turns(
        repetitions,
        {
            "ours": processor(lambda: lm.perplexity(text)),
            "theirs": lambda: query(program, binary, str(text))[0],
            "opening": lambda: query(program, binary, "")[0],
        },
    )
    nothing = samples["opening"].median
    other = Sample(tuple(max(seconds - nothing, 1e-9) for seconds in samples["theirs"].seconds))
    verdict = "≤ 50 ms: " + ("yes" if min(walls) <= 0.05 else "**no**")
    opened: Row = (binary.name, "open, wall", f"{min(walls) * 1e3:.1f} ms", "–", "–", "–", verdict)
    return [
        opened,
        row(binary.name, f"a text of {once.predictions:,} words", samples["ours"], other, once.predictions, 1.0),
    ]


def page(rows: list[Row], command: str, before: str) -> str:
    """The report."""
    lines = [
        f"# KenLM's interface and files, {datetime.date.today().isoformat()}", "", f"    {command}", "",
        "Processor time of one core, taken in turns; ratios above 1 mean that we are faster. Times are of a sentence "
        "for `score` and `full_scores`, of a word for `BaseScore` and texts. Loading is taken off on both sides.", "",
        "| " + " | ".join(HEAD) + " |", "|---|---|--:|--:|--:|--:|---|",
        *("| " + " | ".join(cells) + " |" for cells in rows), "",
        *(f"- {fact}" for fact in report.machine(kenlm_version="see the command", bandwidths=[])),
        f"- load average before: {before}: a machine shared with other work", "",
    ]  # fmt: skip
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print the page, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="one sentence a line")
    parser.add_argument("binaries", type=Path, nargs="+", help="files that build_binary wrote")
    parser.add_argument("--folder", type=Path, help="a model folder with the same n-grams as the first binary")
    parser.add_argument("--query", type=Path, help="KenLM's program of that name")
    parser.add_argument("--sentences", type=int, default=4000, help="of the text, for calls from Python")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path, metavar="FILE")
    words = list(sys.argv[1:] if given is None else given)
    asked, before = parser.parse_args(words), report.load_average()
    sentences = asked.text.read_text(encoding="utf-8").split("\n")[:-1][: asked.sentences]
    pairs = [(binary, binary) for binary in asked.binaries]
    pairs += [(asked.folder, asked.binaries[0])] if asked.folder else []
    rows = [row for pair in pairs for row in compat(*pair, sentences, asked.repetitions)]
    if asked.query:
        rows += [row for binary in asked.binaries for row in texts(asked.query, binary, asked.text, asked.repetitions)]
    shown = " ".join(Path(word).name if os.sep in word else word for word in words)
    written = page(rows, f"python benchmarks/kenlm_compat.py {shown}", before)
    print(written)
    if asked.out:
        with new_file(asked.out) as target:
            target.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
