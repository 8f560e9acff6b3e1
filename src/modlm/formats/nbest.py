"""N-best lists from files: JSON lines, Kaldi-style text, ESPnet's folders, Moses `|||`, packed or not.

`docs/rescoring.md` shows each form. Whatever the file, a list keeps the order in which the first pass gave it, scores
are what the file says, and every hypothesis knows its line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import ConfigError
from modlm.formats.hypotheses import Found, Row
from modlm.formats.lines import quoted, text_lines
from modlm.formats.nbest_json import read_json
from modlm.formats.nbest_text import read_espnet, read_kaldi, read_moses
from modlm.ground.arrays import Floats, Ints
from modlm.text.vocabulary import END_NAME, START_NAME, split_words

FORMATS = ("auto", "jsonl", "kaldi", "moses")
SCORES = ("auto", "log", "probability", "cost", "none")


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
    if form not in FORMATS:
        raise ConfigError(f"n-best lists come as {', '.join(FORMATS)}, but {form!r} was asked for.")
    if path.is_dir():
        return _checked(read_espnet(path), scored)
    lines = list(text_lines(path))
    first = lines[0][1].lstrip() if lines else ""
    found = "jsonl" if first.startswith(("{", "[")) else "moses" if "|||" in first else "kaldi"
    kind = found if form == "auto" else form
    if kind == "kaldi":
        return _checked(read_kaldi(path, lines, score_files, scales, scored=scored), scored)
    if score_files:
        raise ConfigError(f"Score files go with Kaldi-style text, but {path} is {kind}. Leave them out.")
    return _checked((read_json if kind == "jsonl" else read_moses)(path, lines), scored)


def _checked(found: Found, scored: bool) -> NBest:
    """The rows as lists, after what every format demands: utterances once, sound words, finite scores."""
    rows = found.rows
    if not rows:
        raise found.fail("there are no hypotheses: the file is empty.")
    starts: dict[str, int] = {}
    for place, row in enumerate(rows):
        if place and row.utterance == rows[place - 1].utterance:
            continue
        if row.utterance in starts:
            raise found.fail(
                f"utterance {quoted(row.utterance)} comes a second time. All hypotheses of an utterance stand in one "
                f"list, side by side; rename or remove one.", row.line,
            )  # fmt: skip
        starts[row.utterance] = place
    return NBest(
        path=found.path,
        format=found.format,
        utterances=tuple(starts),
        starts=np.array([*starts.values(), len(rows)], dtype=np.int64),
        hypotheses=tuple(_words(found, row) for row in rows),
        scores=np.array([_score(found, row) if scored else 0.0 for row in rows]),
        lines=np.array([row.line for row in rows], dtype=np.int64),
        references=found.references,
        kept=tuple(row.kept for row in rows),
        kept_of=found.kept,
    )


def _words(found: Found, row: Row) -> str:
    words = split_words(row.hypothesis)
    if inside := {START_NAME, END_NAME} & set(words):
        raise found.fail(
            f"{max(inside)} stands in a hypothesis of {quoted(row.utterance)}, but it is a reserved name: boundaries "
            f"are added by themselves. Leave it out.", row.line,
        )  # fmt: skip
    return " ".join(words)


def _score(found: Found, row: Row) -> float:
    if row.score is None:
        raise found.fail(
            f"a hypothesis of {quoted(row.utterance)} has no score. Every hypothesis needs one; with --scores none all "
            f"first-pass scores are taken as 0.", row.line,
        )  # fmt: skip
    if not math.isfinite(row.score):
        raise found.fail(
            f"a score of {quoted(row.utterance)} is {row.score}. Scores must be finite numbers; correct it, or leave "
            f"the hypothesis out.", row.line,
        )  # fmt: skip
    return row.score


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
