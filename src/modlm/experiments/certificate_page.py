"""A certificate as a file: JSON for programs, one HTML page for people, which needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path

from modlm.errors import OutputError
from modlm.evaluation.certificate import BROKEN, HOLDS, UNTESTED, Certificate
from modlm.experiments.demo_report import document, note, table, wide
from modlm.ground.files import new_file

MARKS = {HOLDS: "✓ holds", BROKEN: "✗ broken", UNTESTED: "– untested"}
CLOSING = (
    "A certificate says what was tried and what came of it. It is no proof: laws were tried at some positions, and "
    "untested means untested."
)


def write(found: Certificate, path: Path) -> None:
    """By the ending of the file's name: .json or .html."""
    if path.suffix not in (".json", ".html"):
        raise OutputError(f"A certificate is written as .json or .html, but the file is called {path.name}.")
    text = json.dumps(found.as_dict(), indent=1, ensure_ascii=False) + "\n" if path.suffix == ".json" else page(found)
    with new_file(path) as target:
        target.write_text(text, encoding="utf-8")


def page(found: Certificate) -> str:
    untested = sum(one.status == UNTESTED for one in found.verdicts)
    answer = "No law is broken." if found.holds else "It is not: a law is broken."
    if found.holds and untested:
        answer += f" {untested} could not be tested on this kind of model."
    about = (
        f"{found.model} ({found.kind}), asked at {found.positions} positions among the first {found.tokens} tokens of "
        f"{found.text}, seed {found.seed}."
    )
    return document("Is this mixture a mixture?", (answer, about), _sections(found), CLOSING)


def _sections(found: Certificate) -> Iterator[tuple[str, str]]:
    verdicts = [
        (one.says, MARKS[one.status], str(one.positions or "–"), f"{one.worst:.1e}" if one.positions else "–")
        for one in found.verdicts
    ]
    title = "The laws"
    notes = [note(f"{one.law}: {one.note}.") for one in found.verdicts if one.note and one.status != BROKEN]
    yield title, wide(title, table(("law", "verdict", "cases", "worst"), verdicts)) + "".join(notes)
    for one in found.verdicts:
        if one.counterexample is not None:
            case = one.counterexample
            before, behind = (" ".join(map(str, case[part])) or "nothing" for part in ("before", "behind"))
            rows = [("before", before), ("the word", str(case["word"])), ("behind", behind)]
            said = f"<p>{escape(one.says)}</p>\n<p><strong>{escape(one.note)}</strong></p>\n"
            yield f"The smallest counterexample: {one.law}", said + wide(one.law, table(("", ""), rows))
    facts = [(f"sha256, {name}", f"{value[:24]}…") for name, value in found.fingerprints.items()]
    title = "What was asked"
    yield title, wide(title, table(("", ""), [*facts, *found.versions.items()]))
