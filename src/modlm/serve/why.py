"""`/why`: what stands behind the probability of one word: matched contexts, their counts, and each column's weight.

Every model is a list of blocks. A block of n-grams tells what it counted, order by order; one over a text index also
where that stands; a block that is a whole model is asked in its turn; constants and the net's delta column have nothing
to tell but their probability.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from modlm.blocks.block import NOTHING
from modlm.blocks.infinite import InfiniteBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.ngram import NgramBlock
from modlm.counts.counts import Counts
from modlm.ground.arrays import Ids
from modlm.model.language_model import LanguageModel, normalised
from modlm.model.mixture import Mixture
from modlm.model.ngram.evidence import Evidence, compiled_evidence, counted_evidence
from modlm.model.ngram_lm import NgramLM
from modlm.serve.library import Served
from modlm.serve.refusals import bad
from modlm.text.vocabulary import START_NAME, UNKNOWN, Vocabulary

Record = dict[str, Any]
DELTA = "delta"
DEEPEST = 3  # models inside models that are told about
NO_COUNTS = (
    "This model has only its compiled form (it was pruned, or read from an ARPA file), so counts are not known. "
    "Followers are the words that have an n-gram after the context."
)


def why_answer(served: Served, context: str, word: str, *, start: bool) -> Record:
    model = served.model
    words = [word] if word in model.vocabulary else model.vocabulary.split(word)
    if len(words) != 1 or words[0] == START_NAME:
        raise bad("not_a_word", "The word must be one word, such as company, or </s> for the end of the sentence.")
    asked = model.vocabulary.id(words[0])
    window_1C = model.window(context, start=start)
    row_J = model.distributions(model.state_after(window_1C))[0]
    return {
        "model": served.name,
        "word": words[0],
        "known": asked != UNKNOWN,
        "rank": 1 + int(np.count_nonzero(row_J > row_J[asked])),
        "vocab_size": len(row_J),
        **reasons(model, window_1C, asked),
    }


def reasons(model: LanguageModel, window_1C: Ids, word: int, *, depth: int = 0) -> Record:
    """What a probability is made of: columns in their blocks."""
    names, probs_1K, weights_1K = model.shares(window_1C, np.array([word], np.uint32))
    parts_1K = probs_1K * weights_1K
    rows = zip(names, probs_1K[0].tolist(), weights_1K[0].tolist(), normalised(parts_1K)[0].tolist(), strict=True)
    columns = [
        {"column": name, "probability": probability, "weight": weight, "share": share}
        for name, probability, weight, share in rows
    ]
    blocks = blocks_of(model, columns, window_1C, word, depth)
    dense = [block["weight"] for block in blocks if block["kind"] != DELTA]
    return {
        "context": words_in(model.vocabulary, window_1C[0].tolist()),
        "probability": float(parts_1K.sum()),
        "dense_mass": sum(dense) if len(dense) < len(blocks) else None,
        "blocks": blocks,
    }


def blocks_of(model: LanguageModel, columns: list[Record], window_1C: Ids, word: int, depth: int) -> list[Record]:
    if isinstance(model, NgramLM):
        return _ngram_model(model, columns, window_1C[0], word)
    if not isinstance(model, Mixture):  # of some other kind: one column
        return [_block("model", "model", columns)]
    records = []
    deltas = model.layout.deltas
    for name, place in model.layout.parts_of(len(columns) + deltas - (deltas > 0)).items():
        block, own = model.blocks[name], columns[place]
        record = _block(name, block.kind, own)
        if isinstance(block, NgramBlock):
            record |= _counted(block, own, window_1C[0], word)
        elif isinstance(block, InfiniteBlock):
            record["columns"] = _looked_up(block, own, window_1C[0], word)
        elif isinstance(block, ModelBlock) and isinstance(block.model, LanguageModel) and depth < DEEPEST:
            other = block.model  # is asked about the same words, as far as it knows them
            window = other.window(words_in(model.vocabulary, window_1C[0].tolist()), start=False)
            own_word = other.vocabulary.id(model.vocabulary.word(word))
            record["inside"] = reasons(other, window, own_word, depth=depth + 1)
        records.append(record)
    return records + ([_block(DELTA, DELTA, columns[-1:])] if deltas else [])


def _ngram_model(model: NgramLM, columns: list[Record], window_C: Ids, word: int) -> list[Record]:
    orders = columns[: model.order]
    record = _block("ngram", "ngram", orders)
    if model.counts is not None and model.settings is not None:
        block = model.as_mixture().blocks["ngram"]
        assert isinstance(block, NgramBlock)
        record |= _counted(block, orders, window_C, word, raw=model.counts)
    else:
        found = compiled_evidence(model.compiled, window_C, word)
        record |= {"note": NO_COUNTS, "columns": _with_evidence(model.vocabulary, found, orders)}
        record["smoothing"] = model.settings.smoothing if model.settings else None
    return [record, *(_block(column["column"], column["column"], [column]) for column in columns[model.order :])]


def _counted(block: NgramBlock, own: list[Record], window_C: Ids, word: int, *, raw: Counts | None = None) -> Record:
    found = counted_evidence(block.estimates, window_C, word, raw=raw)
    return {"smoothing": block.estimates.smoother.name, "columns": _with_evidence(block.vocabulary, found, own)}


def _looked_up(block: InfiniteBlock, own: list[Record], window_C: Ids, word: int) -> list[Record]:
    """Contexts of any length, with places of the indexed text that the share of a column comes from."""
    return [
        {
            **column, "order": len(found.context) + 1, "context": words_in(block.vocabulary, found.context),
            "seen": bool(found.context), "total": found.total, "followers": found.followers, "count": found.count,
            "counted": "occurrences", "occurrences": found.count, "sources": [asdict(hit) for hit in found.hits],
        }
        for column, found in zip(own, block.evidence(window_C, word), strict=True)
    ]  # fmt: skip


def _with_evidence(vocabulary: Vocabulary, found: Sequence[Evidence], columns: Sequence[Record]) -> list[Record]:
    return [
        {**column, **asdict(evidence), "context": words_in(vocabulary, evidence.context)}
        for column, evidence in zip(columns, found, strict=True)
    ]


def _block(name: str, kind: str, columns: list[Record]) -> Record:
    sums = {of: sum(column[of] for column in columns) for of in ("weight", "share")}
    return {"name": name, "kind": kind, **sums, "columns": columns}


def words_in(vocabulary: Vocabulary, ids: Sequence[int]) -> list[str]:
    """The words of a window, without what fills it up."""
    return [vocabulary.word(word) for word in ids if word != NOTHING]
