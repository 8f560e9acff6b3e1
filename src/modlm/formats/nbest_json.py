"""N-best lists as JSON lines: an object for each utterance with its list, or for each hypothesis.

    {"utt": "a", "ref": "the words", "nbest": [{"hyp": "the word", "score": -1.5}, …]}
    {"utt": "a", "nbest": ["the word", "the words"], "scores": [-1.5, -2.5]}
    {"utt": "a", "hyp": "the word", "score": -1.5}

The names that other programs use for these are in the tables below.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from modlm.formats.hypotheses import Found, Row
from modlm.formats.lines import quoted

UTTERANCE = ("utt", "utt_id", "uttid", "utterance", "utterance_id", "id", "key")
REFERENCE = ("ref", "reference", "truth", "target", "transcript", "text")
LIST = ("nbest", "n_best", "hyps", "hypotheses", "alternatives", "candidates")
HYPOTHESIS = ("hyp", "hypothesis", "asr-hyp", "text", "sentence", "transcript", "pred")
SCORE = ("score", "total_score", "log_prob", "logprob", "log_likelihood", "probability", "confidence")
SCORE_LISTS = ("scores", "total_scores", "log_probs", "logprobs", "probabilities", "confidences")

Record = dict[str, Any]


def read_json(path: Path, lines: list[tuple[int, str]]) -> Found:
    found = Found(path, "jsonl")
    for line, text in lines:
        record = parsed(found, line, text)
        listed = _named(record, LIST)
        utterance = _utterance(found, line, record, flat=listed is None)
        if listed is None:
            _one(found, line, utterance, record)
        else:
            _list(found, line, utterance, record, listed)
    return found


def references_in(path: Path, lines: list[tuple[int, str]]) -> dict[str, str]:
    """References by utterance, from objects that have both."""
    found = Found(path, "jsonl")
    for line, text in lines:
        record = parsed(found, line, text)
        utterance = _utterance(found, line, record, flat=False)
        _reference(found, line, utterance, record, REFERENCE)
        if utterance not in found.references:
            raise found.fail(f"there is no reference. An object needs one of {', '.join(REFERENCE)}.", line)
    return found.references


def parsed(found: Found, line: int, text: str) -> Record:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is nested too deeply" if isinstance(error, RecursionError) else str(error))
        raise found.fail(f"this is not JSON: {reason}. Every line holds one object.", line) from None
    if not isinstance(record, dict):
        raise found.fail(f"a line holds one JSON object, but this is a {type(record).__name__}.", line)
    return record


def _utterance(found: Found, line: int, record: Record, *, flat: bool) -> str:
    """The name of the utterance; a whole list without one is called after its line."""
    name = _named(record, UTTERANCE)
    if name is None:
        if flat:
            raise found.fail(
                f"there is neither a list ({', '.join(LIST)}) nor an utterance ({', '.join(UTTERANCE)}). An object "
                f"holds the list of an utterance, or one hypothesis of a named one.",
                line,
            )
        return str(line)
    if isinstance(name, bool) or not isinstance(name, str | int) or str(name).strip() == "":
        raise found.fail(f"the name of an utterance is a string or a whole number, not {name!r:.60}.", line)
    return _text(found, line, str(name))


def _list(found: Found, line: int, utterance: str, record: Record, listed: Any) -> None:
    if not isinstance(listed, list) or not listed:
        what = "is empty" if listed == [] else f"is a {type(listed).__name__}"
        raise found.fail(f"the list of {quoted(utterance)} {what}. An utterance has at least one hypothesis.", line)
    if utterance in found.kept:
        raise found.fail(f"utterance {quoted(utterance)} comes a second time. Rename or remove one.", line)
    scores = _named(record, SCORE_LISTS)
    if scores is not None and (not isinstance(scores, list) or len(scores) != len(listed)):
        size = len(scores) if isinstance(scores, list) else type(scores).__name__
        raise found.fail(f"{quoted(utterance)} has {len(listed)} hypotheses, but the scores are {size}.", line)
    _reference(found, line, utterance, record, REFERENCE)
    found.kept[utterance] = {key: value for key, value in record.items() if key not in {*LIST, *SCORE_LISTS}}
    for place, item in enumerate(listed):
        score = None if scores is None else scores[place]
        if isinstance(item, dict):
            entry, hypothesis, own_score = item, _named(item, HYPOTHESIS), _named(item, SCORE)
            score = score if own_score is None else own_score
        elif isinstance(item, list) and len(item) == 2 and not isinstance(item[1], str):
            entry, (hypothesis, score) = {"hyp": item[0], "score": item[1]}, item
        else:
            entry, hypothesis = {"hyp": item, **({} if score is None else {"score": score})}, item
        _add(found, line, utterance, hypothesis, score, entry)


def _one(found: Found, line: int, utterance: str, record: Record) -> None:
    hypothesis = _named(record, HYPOTHESIS)
    found.kept.setdefault(utterance, {})
    _reference(found, line, utterance, record, ("ref", "reference"))
    entry = {key: value for key, value in record.items() if key not in {*UTTERANCE, "ref", "reference"}}
    if utterance in found.references:
        found.kept[utterance]["ref"] = found.references[utterance]
    _add(found, line, utterance, hypothesis, _named(record, SCORE), entry)


def _add(found: Found, line: int, utterance: str, hypothesis: Any, score: Any, entry: Record) -> None:
    hypothesis = _joined(hypothesis)
    if not isinstance(hypothesis, str):
        raise found.fail(
            f"a hypothesis of {quoted(utterance)} is {hypothesis!r:.60}, but it must be a string or a list of words "
            f"(named {', '.join(HYPOTHESIS)}).",
            line,
        )
    if score is not None:
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise found.fail(f"a score of {quoted(utterance)} is {score!r:.60}, but it must be a number.", line)
        try:
            score = float(score)
        except OverflowError:
            score = float("inf")
    found.rows.append(Row(utterance, _text(found, line, hypothesis), score, line, entry))


def _reference(found: Found, line: int, utterance: str, record: Record, names: tuple[str, ...]) -> None:
    reference = _joined(_named(record, names))
    if reference is None:
        return
    if not isinstance(reference, str):
        raise found.fail(f"the reference of {quoted(utterance)} is {reference!r:.60}, not a string.", line)
    found.references[utterance] = _text(found, line, reference)


def _text(found: Found, line: int, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise found.fail("a string holds half a character (a lone surrogate). Write the file again.", line) from None
    return text


def _joined(words: Any) -> Any:
    """A list of words as a string, and anything else as it is."""
    return " ".join(words) if isinstance(words, list) and all(isinstance(word, str) for word in words) else words


def _named(record: Record, names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
