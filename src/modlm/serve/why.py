"""`/why`: what stands behind the probability of one word: matched contexts, their counts, and the weight of each column.

Every model is a list of blocks. A block of n-grams tells what it counted, order by order; a block that is a whole
model is asked in its turn; constants and the net's delta column have nothing to tell but their probability.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from modlm.arrays import Ids
from modlm.blocks.block import NOTHING, Block
from modlm.blocks.evidence import Evidence, counted_evidence
from modlm.blocks.model import ModelBlock
from modlm.blocks.ngram import NgramBlock
from modlm.model.evidence import compiled_evidence
from modlm.model.language_model import LanguageModel, normalised
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.serve.library import Served
from modlm.serve.refusals import bad
from modlm.text.vocabulary import RESERVED, START_NAME, Vocabulary, split_words

Record = dict[str, Any]
DEEPEST = 3  # models inside models that are told about
CONSTANTS = ("uniform", "unknown")
NO_COUNTS = (
    "This model has only its compiled form (it was pruned, or read from an ARPA file): counts are not known. "
    "followers are the words that have an n-gram here."
)


class Mixed(Protocol):
    """A mixture of any kind."""

    blocks: dict[str, Block]


def why_answer(served: Served, context: str, word: str, *, start: bool) -> Record:
    """The answer for a word after a context."""
    words = split_words(word)
    if len(words) != 1 or words[0] == START_NAME:
        raise bad("not_a_word", "The word must be one word, such as company, or </s> for the end of the sentence.")
    model = served.model
    record = told(model, model.window(context, start=start), model.vocabulary.id(words[0]))
    known = words[0] in model.vocabulary and words[0] not in RESERVED[:1]
    return {"model": served.name, "word": words[0], "known": known, **record}


def told(model: LanguageModel, window_1C: Ids, word: int, *, depth: int = 0) -> Record:
    """Probability, columns and blocks."""
    names, probs_1K, weights_1K = model.shares(window_1C, np.array([word], np.uint32))
    shares_1K = normalised(probs_1K * weights_1K)
    columns = [
        {"column": name, "probability": probability, "weight": weight, "share": share}
        for name, probability, weight, share in zip(
            names, probs_1K[0].tolist(), weights_1K[0].tolist(), shares_1K[0].tolist(), strict=True
        )
    ]
    blocks = blocks_of(model, columns, window_1C, word, depth)
    constant = {name for block in blocks if block["kind"] == "delta" for name in block["names"]}
    dense = [column["weight"] for column in columns if column["column"] not in constant]
    for block in blocks:
        del block["names"]
    return {
        "context": shown(model.vocabulary, window_1C[0].tolist()),
        "probability": float((probs_1K * weights_1K).sum()),
        "dense_mass": sum(dense) if any(block["kind"] == "delta" for block in blocks) else None,
        "blocks": blocks,
    }


def blocks_of(model: LanguageModel, columns: list[Record], window_1C: Ids, word: int, depth: int) -> list[Record]:
    """One record for each block, with its columns."""
    if isinstance(model, NgramLM):
        return _ngram_model(model, columns, window_1C[0], word)
    if not isinstance(model, Mixture) and not hasattr(model, "layout"):
        return [_block("model", "model", columns)]
    return _mixture(model, columns, window_1C, word, depth)  # type: ignore[arg-type]


def _mixture(model: Any, columns: list[Record], window_1C: Ids, word: int, depth: int) -> list[Record]:
    records = []
    for name, span in model.layout.spans.items():
        block, own = model.blocks[name], columns[span.columns]
        record = _block(name, block.kind, own)
        if isinstance(block, NgramBlock):
            record |= _counted(block, own, model.vocabulary, window_1C[0], word)
        elif isinstance(block, ModelBlock) and depth < DEEPEST and isinstance(block.model, LanguageModel):
            theirs = block.model.window(_names(model.vocabulary, window_1C[0]), start=False)
            inner = block.model.vocabulary.id(model.vocabulary.word(word))
            record["inside"] = told(block.model, theirs, inner, depth=depth + 1)
        records.append(record)
    rest = columns[len(model.layout) :]
    return records + ([_block("delta", "delta", rest)] if rest else [])


def _ngram_model(model: NgramLM, columns: list[Record], window_C: Ids, word: int) -> list[Record]:
    orders = columns[: model.order]
    record = _block("ngram", "ngram", orders)
    if model.counts is not None and model.settings is not None:
        block = model.as_mixture().blocks["ngram"]
        assert isinstance(block, NgramBlock)
        record |= _counted(block, orders, model.vocabulary, window_C, word)
    else:
        found = compiled_evidence(model.compiled, window_C, word)
        record |= {"counted": None, "note": NO_COUNTS, "columns": _orders(model.vocabulary, found, orders)}
    return [record, *(_block(column["column"], column["column"], [column]) for column in columns[model.order :])]


def _counted(block: NgramBlock, own: list[Record], vocabulary: Vocabulary, window_C: Ids, word: int) -> Record:
    found = counted_evidence(block.estimates, window_C, word)
    smoother = block.estimates.smoother
    return {
        "smoothing": smoother.name,
        "counted": "continuations" if smoother.continuation else "occurrences",
        "columns": _orders(vocabulary, found, own),
    }


def _orders(vocabulary: Vocabulary, found: list[Evidence], columns: list[Record]) -> list[Record]:
    return [
        {**column, **asdict(evidence), "context": shown(vocabulary, list(evidence.context))}
        for column, evidence in zip(columns, found, strict=True)
    ]


def _block(name: str, kind: str, columns: list[Record]) -> Record:
    return {
        "name": name,
        "kind": kind,
        "weight": sum(column["weight"] for column in columns),
        "share": sum(column["share"] for column in columns),
        "columns": columns,
        "names": [column["column"] for column in columns],
    }


def shown(vocabulary: Vocabulary, ids: list[int]) -> list[str]:
    """Words of a context."""
    return [vocabulary.word(word) for word in ids if word != NOTHING]


def _names(vocabulary: Vocabulary, window_C: Ids) -> list[str]:
    return shown(vocabulary, window_C.tolist())
