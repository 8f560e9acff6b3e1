"""N-best lists from files: JSON lines, Kaldi-style text, ESPnet's folders, Moses `|||`, packed or not.

`docs/rescoring.md` shows each form. Whatever the file, a list keeps the order in which the first pass gave it, scores
are what the file says, and every hypothesis knows its line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ints
from modlm.errors import ConfigError, InputError
from modlm.formats.lines import open_lines, shown
from modlm.text.vocabulary import END_NAME, START_NAME, split_words

FORMATS = ("auto", "jsonl", "kaldi", "moses")
SCORES = ("auto", "log", "probability", "cost", "none")


@dataclass(slots=True)
class Row:
    """One hypothesis as a reader found it."""

    utterance: str
    hypothesis: str
    score: float | None
    line: int
    kept: Any = None
    """What else stood with it, for the writer of its format."""


@dataclass(slots=True)
class Found:
    """What a reader hands over: rows, those of an utterance side by side, and references by utterance."""

    path: Path
    format: str
    rows: list[Row] = field(default_factory=list)
    references: dict[str, str] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    """What else is known of an utterance, for the writer."""

    def fail(self, message: str, line: int = 0) -> InputError:
        """The error for a line of the file."""
        return InputError(message, path=self.path, line=line)


@dataclass(frozen=True, eq=False, slots=True)
class NBest:
    """Hypotheses (H) in lists (U), each list in the order of the first pass; none is empty."""

    path: Path
    format: str
    utterances: tuple[str, ...]
    starts: Ints
    """Where each list begins, and behind them H."""
    hypotheses: tuple[str, ...]
    """Words with one space between."""
    scores: Floats
    """As they stand in the file; 0 for all where scores were not asked for."""
    lines: Ints
    references: dict[str, str]
    kept: tuple[Any, ...]
    kept_of: dict[str, Any]

    @property
    def list_of(self) -> Ints:
        """The list of each hypothesis."""
        return np.repeat(np.arange(len(self.utterances)), np.diff(self.starts))


def read_nbest(
    path: Path,
    *,
    form: str = "auto",
    score_files: Sequence[Path] = (),
    scales: Sequence[float] = (),
    scored: bool = True,
) -> NBest:
    """The lists of a file, or of a folder with ESPnet's `1best_recog`, `2best_recog`, …

    `score_files` (Kaldi style) hold `name score` lines; their scores are multiplied by `scales` (1 each if not given)
    and added. Without `scored`, scores are neither needed nor looked at.
    """
    from modlm.formats.nbest_json import read_json
    from modlm.formats.nbest_text import read_espnet, read_kaldi, read_moses

    if form not in FORMATS:
        raise ConfigError(f"n-best lists come as {', '.join(FORMATS)}, but {form!r} was asked for.")
    if path.is_dir():
        return _checked(read_espnet(path), scored)
    lines = list(text_lines(path))
    kind = _kind_of(lines) if form == "auto" else form
    if score_files and kind != "kaldi":
        raise ConfigError(f"Score files go with Kaldi-style text, but {path} is {kind}. Leave them out.")
    if kind == "kaldi":
        found = read_kaldi(path, lines, score_files, scales, scored=scored)
    else:
        found = {"jsonl": read_json, "moses": read_moses}[kind](path, lines)
    return _checked(found, scored)


def text_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; blank ones only if asked for."""
    with open_lines(path) as lines:
        while True:
            number, raw = lines.line, lines.take_line()
            if raw is None:
                return
            if not blank and not raw.strip():
                continue
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte {error.start + 1} of the line is not valid UTF-8. Convert the file to UTF-8.",
                    path=path,
                    line=number,
                ) from None
            if blank or split_words(text):
                yield number, text


def _kind_of(lines: list[tuple[int, str]]) -> str:
    first = lines[0][1].lstrip() if lines else ""
    return "jsonl" if first.startswith(("{", "[")) else "moses" if "|||" in first else "kaldi"


def _checked(found: Found, scored: bool) -> NBest:
    """The rows as lists, after what every format demands: utterances once, sound words, finite scores."""
    if not found.rows:
        raise found.fail("there are no hypotheses: the file is empty.")
    utterances, starts, seen = list[str](), list[int](), set[str]()
    scores = np.zeros(len(found.rows))
    hypotheses = []
    for place, row in enumerate(found.rows):
        if not utterances or row.utterance != utterances[-1]:
            if row.utterance in seen:
                raise found.fail(
                    f"utterance {quoted(row.utterance)} comes a second time. All hypotheses of an utterance stand in "
                    f"one list, side by side; rename or remove one.",
                    row.line,
                )
            seen.add(row.utterance)
            utterances.append(row.utterance)
            starts.append(place)
        hypotheses.append(_words(found, row))
        if scored:
            scores[place] = _score(found, row)
    return NBest(
        found.path,
        found.format,
        tuple(utterances),
        np.array([*starts, len(found.rows)], dtype=np.int64),
        tuple(hypotheses),
        scores,
        np.array([row.line for row in found.rows], dtype=np.int64),
        found.references,
        tuple(row.kept for row in found.rows),
        found.kept,
    )


def _words(found: Found, row: Row) -> str:
    words = split_words(row.hypothesis)
    for name in (START_NAME, END_NAME):
        if name in words:
            raise found.fail(
                f"{name} stands in a hypothesis of {quoted(row.utterance)}, but it is a reserved name: boundaries are "
                f"added by themselves. Leave it out.",
                row.line,
            )
    return " ".join(words)


def _score(found: Found, row: Row) -> float:
    if row.score is None:
        raise found.fail(
            f"a hypothesis of {quoted(row.utterance)} has no score. Every hypothesis needs one; with --scores none all "
            f"first-pass scores are taken as 0.",
            row.line,
        )
    if not math.isfinite(row.score):
        raise found.fail(
            f"a score of {quoted(row.utterance)} is {row.score}. Scores must be finite numbers; correct it, or leave "
            f"the hypothesis out.",
            row.line,
        )
    return row.score


def quoted(text: str) -> str:
    """A name or word for a message, cut if it is long."""
    return shown(text.encode(errors="backslashreplace"))


def log_scores(scores: Floats, kind: str = "auto") -> tuple[Floats, str, float]:
    """Scores as logarithms (higher is better), which kind they were, and what stood in for a probability of 0.

    "auto" takes scores that all lie between 0 and 1, and are not all the same, for probabilities, and others for
    logarithms. A probability of 0 becomes half of the smallest one above 0: files round to a few digits.
    """
    if kind not in SCORES:
        raise ConfigError(f"Scores are {', '.join(SCORES)}, but {kind!r} was asked for.")
    inside = bool(len(scores)) and scores.min() >= 0 and scores.max() <= 1
    if kind == "auto":
        kind = "probability" if inside and scores.min() < scores.max() else "log"
    if kind == "none":
        return np.zeros(len(scores)), kind, 0.0
    if kind == "cost":
        return -scores, kind, 0.0
    if kind == "log":
        return scores, kind, 0.0
    if not inside:
        wrong = scores.min() if scores.min() < 0 else scores.max()
        raise ConfigError(f"Probabilities lie between 0 and 1, but there is a score of {wrong}. Use --scores log.")
    above = scores[scores > 0]
    floor = float(above.min()) / 2 if len(above) else 1.0
    logs: Floats = np.log(np.maximum(scores, floor))
    return logs, kind, floor if len(above) < len(scores) else 0.0
