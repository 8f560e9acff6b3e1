"""Documents scored in bulk: the text of a whole batch to ids in one go, their log-probabilities in another, then sums.

A line of a document is a sentence; blank lines are none. Nothing here happens sentence by sentence in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.errors import InputError
from modlm.ground.arrays import Floats, Ids, Ints, alone, threads
from modlm.model.scored_text import LARGEST, warn_of_unknown
from modlm.text.encoding import encode_bytes, in_order
from modlm.text.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from modlm.model.language_model import LanguageModel

BATCH = 256  # documents of an iterable that are scored together
RESERVED = ((b"<s>", b"<S>"), (b"</s>", b"</S>"))  # boundaries are no words, but web text has such tags

Prepare = Callable[[list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """Sums over each document of a batch."""

    log_prob: Floats
    words: Ints
    """What the model predicts, without sentence ends."""
    unknown: Ints
    sentences: Ints
    bytes: Ints
    """Of its sentences as UTF-8, with a line end each."""

    @property
    def perplexity(self) -> Floats:
        """Of all words and one end a sentence; NaN for a document without words."""
        predictions = self.words + self.sentences
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            mean = -self.log_prob / predictions
            return np.where(predictions > 0, np.exp(np.minimum(mean, LARGEST + 10)), math.nan)

    @property
    def bits_per_byte(self) -> Floats:
        """Bits for each byte; NaN for a document without words."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.bytes > 0, -self.log_prob / self.bytes / math.log(2), math.nan)

    def records(self) -> list[dict[str, Any]]:
        """For JSON, a record a document; None where there is no finite number."""
        names = ("perplexity", "bits_per_byte", "words", "unknown", "sentences")
        columns = [_jsonable(getattr(self, name)) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def joined(self, *others: DocumentScores) -> DocumentScores:
        """The documents of several batches."""
        return DocumentScores(
            *(np.concatenate([getattr(part, own.name) for part in (self, *others)]) for own in fields(self))
        )


def _jsonable(values: Floats | Ints) -> list[Any]:
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return list(values.tolist())
    return [value if math.isfinite(value) else None for value in values.tolist()]


def score_texts(model: LanguageModel, texts: Sequence[str], *, blank: bool = False) -> DocumentScores:
    """Every text on its own, all of them together; `blank`: lines without words are sentences too."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    data = b"\n".join([*encoded, b""])
    for name, other in RESERVED:
        if name in data:
            data = data.replace(name, other)
    if not data:
        return DocumentScores(np.zeros(0), *np.zeros((4, 0), np.int64))
    block = encode_bytes(data, model.vocabulary)
    ids = block.ids
    begins_S = np.flatnonzero(ids == model.vocabulary.start)
    ends_S = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    starts_D = np.cumsum([0, *(len(text) + 1 for text in encoded)])
    document_S = np.searchsorted(starts_D, ends_S, side="left") - 1
    log_probs = model.spelled(block, _log_probs(model, ids, begins_S, document_S))
    words_S = np.diff(np.append(begins_S, len(ids))) - 2
    bytes_S = np.diff(ends_S, prepend=0)
    filled_S = (words_S > 0) | blank

    def summed(values_S: Floats | Ints) -> Any:
        return np.bincount(document_S[filled_S], values_S[filled_S], len(texts))

    log_prob = summed(np.add.reduceat(log_probs, begins_S))
    unknown_S = np.add.reduceat(ids == UNKNOWN, begins_S, dtype=np.int64)
    whole = [summed(values).astype(np.int64) for values in (words_S, unknown_S, np.ones_like(words_S), bytes_S)]
    return DocumentScores(log_prob, *whole)


def _log_probs(model: LanguageModel, ids: Ids, begins_S: Ints, document_S: Ints) -> Floats:
    """log P of each place; a model that looks beyond sentences goes along each document."""
    if not (model.reads.document or model.reads.learns):
        return model.sentence_log_probs(ids)
    cuts = begins_S[np.flatnonzero(np.diff(document_S, prepend=-1))]
    return np.concatenate([model.log_probs(part) for part in np.split(ids, cuts[1:])])


def score_documents(
    model: LanguageModel,
    documents: Iterable[Any],
    *,
    field: str = "text",
    prepare: Prepare | None = None,
    batch: int = BATCH,
    workers: int | None = None,
) -> Iterator[dict[str, Any]]:
    """A record for each document, in order, as they come; see `LanguageModel.score_documents`."""
    items = iter(documents)
    if isinstance(documents, str):
        raise InputError(
            "Documents are given as a list or another iterable, but this is one string. Put it into a list: [text]."
        )

    def work(some: list[Any]) -> list[dict[str, Any]]:
        texts = [item if isinstance(item, str) else _text_of(item, field) for item in some]
        return score_texts(model, prepare(texts) if prepare else texts).records()

    batches = iter(lambda: list(islice(items, batch)), [])
    sums = np.zeros(4, np.int64)
    for records in in_order(alone(work), batches, workers=threads(workers)):
        sums += sums_of(records)
        yield from records
    warn_of_unknown(model, *sums.tolist())


def sums_of(records: Sequence[dict[str, Any]]) -> list[int]:
    """What a warning is about: words, unknown ones, documents, and those documents that are mostly unknown words."""
    strange = sum(2 * one["unknown"] > one["words"] for one in records)
    return [*(sum(one[key] for one in records) for key in ("words", "unknown")), len(records), strange]


def _text_of(item: Any, field: str) -> str:
    text = item.get(field) if hasattr(item, "get") else None
    if not isinstance(text, str):
        raise InputError(
            f"A document is a string, or a mapping with a string {field!r}, but this is {item!r:.80}. Say with field= "
            f"where the text is."
        )
    return text
