"""N-best lists as plain text: Kaldi style, ESPnet's folders and Moses.

Kaldi: `name words`, the names of an utterance being `utt-1`, `utt-2`, … as `lattice-to-nbest` writes them, or the same
name again and again. Scores stand behind the name (`name score words`) or in files of their own (`name score`).
Moses: `id ||| words ||| features ||| score`, more fields allowed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from modlm.errors import ConfigError, InputError
from modlm.formats.hypotheses import Found, Row
from modlm.formats.lines import quoted, text_lines

NUMBERED = re.compile(r"(.+)-([1-9][0-9]*)")
TENSOR = re.compile(r"tensor\(\[?([^,\])]*).*\)")  # how ESPnet prints a score
ESPNET = re.compile(r"([1-9][0-9]{0,5})best_recog")
NOT_SPACE = re.compile(r"[^ \t]+")

Lines = list[tuple[int, str]]


def read_kaldi(
    path: Path, lines: Lines, score_files: Sequence[Path], scales: Sequence[float], *, scored: bool
) -> Found:
    """Hypotheses with the scores of files, or with scores behind their names."""
    found = Found(path, "kaldi")
    for line, text in lines:
        name, words = _cut(text)
        found.rows.append(Row(name, words, None, line))
    if score_files:
        _add_scores(found, score_files, scales)
    elif all(_number(_cut(row.hypothesis)[0]) is not None for row in found.rows):
        for row in found.rows:
            first, row.hypothesis = _cut(row.hypothesis)
            row.score = _number(first)
    elif scored and found.rows:
        odd = next(row for row in found.rows if _number(_cut(row.hypothesis)[0]) is None)
        raise found.fail(
            f"{quoted(odd.utterance)} has no score: no number stands behind the name. Give the scores in a file of "
            f"`name score` lines with --score-file, or take them all as 0 with --scores none.",
            odd.line,
        )
    _group(found)
    return found


def _cut(text: str) -> tuple[str, str]:
    """The first word of a line, and the rest."""
    first = NOT_SPACE.search(text)
    return (first[0], text[first.end() :]) if first else ("", "")


def _number(text: str) -> float | None:
    inside = TENSOR.fullmatch(text)
    try:
        return float(inside[1] if inside else text) if "_" not in text else None
    except ValueError:
        return None


def _add_scores(found: Found, files: Sequence[Path], scales: Sequence[float]) -> None:
    factors = list(scales) or [1.0] * len(files)
    if len(factors) != len(files):
        raise ConfigError(f"There are {len(files)} score files, but {len(factors)} scales. Give one for each.")
    for path, factor in zip(files, factors, strict=True):
        scores = _scores_in(path)
        for row in found.rows:
            if row.utterance not in scores:
                raise found.fail(f"there is no score for {quoted(row.utterance)} in {path}.", row.line)
            row.score = (row.score or 0.0) + factor * scores[row.utterance]


def _scores_in(path: Path) -> dict[str, float]:
    scores: dict[str, float] = {}
    for line, text in text_lines(path):
        name, rest = _cut(text)
        value = _number("".join(rest.split()))
        if value is None:
            raise InputError(
                f"a line holds a name and a number, but behind the name is {rest!r:.60}.", path=path, line=line
            )
        if name in scores:
            raise InputError(f"{quoted(name)} comes a second time.", path=path, line=line)
        scores[name] = value
    return scores


def _group(found: Found) -> None:
    """Names `utt-1`, `utt-2`, … become `utt` where all lists are numbered so; their lists are sorted by number."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in found.rows:
        match = NUMBERED.fullmatch(row.utterance)
        if match is None or len(match[2]) > 9:
            return
        numbers[match[1]].append(int(match[2]))
    if not all(sorted(own) == list(range(1, len(own) + 1)) for own in numbers.values()):
        return
    order = {utterance: place for place, utterance in enumerate(numbers)}

    def place_of(row: Row) -> tuple[int, int]:
        utterance, _, number = row.utterance.rpartition("-")
        return order[utterance], int(number)

    found.rows.sort(key=place_of)
    for row in found.rows:
        row.utterance = row.utterance.rpartition("-")[0]


def read_espnet(folder: Path) -> Found:
    """`1best_recog/text` with `1best_recog/score`, `2best_recog`, …: what ESPnet's recognisers leave."""
    found = Found(folder, "kaldi")
    parts = sorted(
        (int(match[1]), place)
        for place in folder.iterdir()
        if (match := ESPNET.fullmatch(place.name)) and place.is_dir()
    )
    if not parts:
        raise found.fail("this is a folder without 1best_recog, 2best_recog, … in it. Give a file of n-best lists.")
    lists: dict[str, list[Row]] = defaultdict(list)
    for _, place in parts:
        scores = _scores_in(place / "score") if (place / "score").is_file() else {}
        for _, text in text_lines(place / "text"):
            name, words = _cut(text)
            lists[name].append(Row(name, words, scores.get(name), 0))
    found.rows = [row for rows in lists.values() for row in rows]
    return found


def read_moses(path: Path, lines: Lines) -> Found:
    """Hypotheses with their total score: the fourth field, or the third where there are only three."""
    found = Found(path, "moses")
    for line, text in lines:
        fields = [part.strip(" \t") for part in text.split("|||")]
        if len(fields) < 3 or not fields[0]:
            raise found.fail("a line holds `id ||| words ||| features ||| score`, with three bars between.", line)
        if len(fields) == 3:
            fields.insert(2, "")
        value = _number(fields[3])
        if value is None:
            raise found.fail(f"the score must be a number, but is {quoted(fields[3])}.", line)
        found.rows.append(Row(fields[0], fields[1], value, line, (fields[2], fields[4:])))
    return found
