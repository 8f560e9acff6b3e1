"""The answers about texts: what is told of sentences, of words and their columns, and of words that may follow."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from modlm.evaluation.compare import word_changes
from modlm.evaluation.rescoring import IMPOSSIBLE, WORDS, Weights, lists_of
from modlm.ground.arrays import Ids
from modlm.model.language_model import ExplainedRow, LanguageModel
from modlm.model.sampling import most_probable
from modlm.model.scored_text import ScoredText, names_of
from modlm.serve.library import Served
from modlm.serve.refusals import bad
from modlm.text.encoding import encode_sentences
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import UNKNOWN

OF_TEXT = ("perplexity", "perplexity_without_unknown", "predictions", "unknown", "impossible")
OF_COLUMN = 3  # of its own best words each column gives so many rows of D
OF_WORD = ("word", "known", "probability", "columns", "weights", "shares")
SUMS = ("log_prob", "perplexity", "unknown")  # of a sentence, where little is told of it


def score_answer(served: Served, sentences: Sequence[str], scored: ScoredText, words: bool) -> dict[str, Any]:
    vocabulary = served.model.vocabulary
    records = scored.sentence_records(names_of(vocabulary, sentences) if words else None)
    if words and isinstance(vocabulary, TokenVocabulary):
        for record, text in zip(records, sentences, strict=True):
            places = [*vocabulary.places(text), (len(text), len(text))]
            for word, (start, end) in zip(record["scores"], places, strict=True):
                word |= {"start": start, "end": end}
    return {"sentences": records, **totals(served, scored)}


def totals(served: Served, scored: ScoredText) -> dict[str, Any]:
    sums = {name: getattr(scored, name) for name in OF_TEXT}
    return {"model": served.name, "log_prob": scored.log_likelihood, **sums}


def rescore_answer(
    served: Served, texts: Sequence[str], sizes: Sequence[int], scores: Sequence[float], weights: Weights,
    scored: ScoredText,
) -> dict[str, Any]:  # fmt: skip
    """Lists of these sizes in the order in which `modlm rescore` puts them; equal totals keep their order."""
    starts, log_probs_H = np.cumsum([0, *sizes]), scored.sentence_sums()
    given = lists_of(texts, starts, np.array(scores), np.maximum(log_probs_H, IMPOSSIBLE))
    with np.errstate(over="ignore", invalid="ignore"):  # scores and weights are of any size
        totals_H = given.totals(weights.array())
    rows = zip(log_probs_H.tolist(), totals_H.tolist(), given.features_HF[:, WORDS].astype(int).tolist(), strict=True)
    hyps = [{"log_prob": log_prob, "score": total, "words": words} for log_prob, total, words in rows]
    records = []
    for begin, end in pairwise(starts.tolist()):
        order = np.argsort(-totals_H[begin:end], kind="stable").tolist()
        best = order[0]
        records.append({"best": best, "text": texts[begin + best], "order": order, "hyps": hyps[begin:end]})
    return {"model": served.name, "lists": records}


def check_units(models: Sequence[Served]) -> None:
    """Only models that split a text at the same places can be compared word by word."""
    first, *others = (served.model.vocabulary for served in models)
    for served, vocabulary in zip(models[1:], others, strict=True):
        if not first.splits_like(vocabulary):
            raise bad(
                "different_units",
                f"{models[0].name} reads {first.units} and {served.name} {vocabulary.units} of its own, so they cannot "
                f"be compared word by word. Compare their perplexity per word: modlm eval.",
            )


def compare_answer(models: Sequence[Served], sentences: Sequence[str], scored: Sequence[ScoredText]) -> dict[str, Any]:
    names = names_of(models[0].model.vocabulary, sentences)
    logs = zip(*(own.log_probs.tolist() for own in scored), strict=True)
    known = zip(*((own.ids != UNKNOWN).tolist() for own in scored), strict=True)
    rows = zip(names, logs, known, strict=True)
    words = [{"word": name, "log_probs": values, "known": flags} for name, values, flags in rows]
    sums = zip(*(own.sentence_records() for own in scored), strict=True)
    gained, lost = changes(names, *scored[:2]) if len(scored) > 1 else ([], [])
    return {
        "models": list(map(totals, models, scored)),
        "sentences": [
            {"words": words[begin:end], "models": [{name: one[name] for name in SUMS} for one in own]}
            for own, (begin, end) in zip(sums, pairwise(scored[0].bounds()), strict=True)
        ],
        "gained": gained,
        "lost": lost,
    }


def changes(names: Sequence[str], first: ScoredText, second: ScoredText) -> tuple[list[Any], list[Any]]:
    """Words that gained and lost most under the second model against the first, in bits over the whole text."""
    words, word_of = np.unique(np.array(names, dtype=object), return_inverse=True)
    gained, lost = word_changes(words.tolist(), word_of, first.log_probs, second.log_probs)
    return [asdict(change) for change in gained], [asdict(change) for change in lost]


def explain_answer(
    served: Served, sentences: Sequence[str], explained: Sequence[Sequence[ExplainedRow]]
) -> dict[str, Any]:
    model = served.model
    ids = encode_sentences(sentences, model.vocabulary)
    with np.errstate(divide="ignore"):
        log_probs = np.log([row[2] for rows in explained for row in rows])
    scored = ScoredText.of(ids[ids != model.vocabulary.start], log_probs)
    records = [
        {"words": [dict(zip(OF_WORD, row, strict=True)) for row in rows], **{name: sums[name] for name in SUMS}}
        for rows, sums in zip(explained, scored.sentence_records(), strict=True)
    ]
    return {"columns": list(model.column_names), "sentences": records, **totals(served, scored)}


def next_answer(served: Served, context: str, k: int, *, by_column: bool, start: bool) -> dict[str, Any]:
    """The answer; each column's own words only when asked for."""
    model = served.model
    before = model.vocabulary.encode(context)
    words = [asdict(prediction) for prediction in model.next_words(context, k, start=start)]
    answer: dict[str, Any] = {"model": served.name, "words": [with_text(model, before, word) for word in words]}
    if by_column:
        columns_JK, weights_K = model.columns_after(model.window(context, start=start))
        answer["columns"] = {
            name: {
                "weight": weight,
                "words": [
                    with_text(model, before, {"word": model.vocabulary.word(word), "probability": float(probs_J[word])})
                    for word in most_probable(probs_J, k).tolist()
                    if probs_J[word] > 0
                ],
            }
            for name, weight, probs_J in zip(model.column_names, weights_K.tolist(), columns_JK.T, strict=True)
        }
        mixed_J = columns_JK @ weights_K
        best = [most_probable(mixed_J, k), *(most_probable(probs_J, min(k, OF_COLUMN)) for probs_J in columns_JK.T)]
        answer["rows"] = [
            with_text(model, before, {"word": model.vocabulary.word(word), "columns": columns_JK[word].tolist()})
            for word in sorted(np.unique(np.concatenate(best)).tolist(), key=lambda word: -mixed_J[word])
        ]
    return answer


def with_text(model: LanguageModel, before: Ids, record: dict[str, Any]) -> dict[str, Any]:
    """The record of a word; with what it adds to the text, if it is a token."""
    if isinstance(model.vocabulary, TokenVocabulary):
        record["text"] = model.vocabulary.continuation(before, model.vocabulary.id(record["word"]))
    return record
