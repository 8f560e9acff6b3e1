"""One pass over a text: its ids into a store, and its words into a vocabulary when none is given."""

from __future__ import annotations

from dataclasses import dataclass

from modlm.arrays import Ids, threads
from modlm.errors import ConfigError, InputError
from modlm.text.encoding import Encoded, TextRules, encoded, encoders_of
from modlm.text.id_store import IdStore
from modlm.text.sources import BLOCK_BYTES, Files, Sentences
from modlm.text.vocabulary import Vocabulary
from modlm.text.word_table import WordTable, merged


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLimits:
    """Which words of a text make its vocabulary; the others are unknown."""

    max_words: int | None = None
    """At most this many ordinary words, the most frequent ones; None for all."""
    min_count: int = 1
    """Only words that occur at least this often."""

    def __post_init__(self) -> None:
        if self.max_words is not None and self.max_words < 1:
            raise ConfigError(f"max_words must be at least 1, but is {self.max_words}.")
        if self.min_count < 1:
            raise ConfigError(f"min_count must be at least 1, but is {self.min_count}.")


@dataclass(frozen=True, slots=True)
class TextSize:
    """How much text there was, in units that do not depend on a vocabulary."""

    words: int
    """Between white space, without sentence ends."""
    bytes: int
    """Of all lines as UTF-8, with a line end each."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pass found."""

    vocabulary: Vocabulary
    ids: Ids
    sentences: int
    unknown: int
    """Words that are `<unk>`."""
    sources: tuple[int, ...]
    """Sentences of each file that has any; none if there is but one."""
    size: TextSize


class _Totals:
    """Added up while blocks go by."""

    def __init__(self) -> None:
        self.words, self.bytes, self.by_source = 0, 0, list[int]()

    def add(self, block: Encoded) -> None:
        if block.begins:
            self.by_source.append(0)
        self.by_source[-1] += block.sentences
        self.words, self.bytes = self.words + block.words, self.bytes + block.bytes

    @property
    def sentences(self) -> int:
        return sum(self.by_source)

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(self.by_source) if len(self.by_source) > 1 else ()

    @property
    def size(self) -> TextSize:
        return TextSize(self.words, self.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReader:
    """A text and how to read it; can be used once when the text is a stream."""

    source: Files | Sentences
    rules: TextRules
    workers: int | None = None
    block_bytes: int = BLOCK_BYTES

    def encode(self, vocabulary: Vocabulary, store: IdStore) -> Reading:
        """Read with a vocabulary that is given."""
        blocks = encoded(
            self.source, encoders_of(vocabulary, self.workers), self.rules, block_bytes=self.block_bytes
        )  # fmt: skip
        totals, unknown = _Totals(), 0
        for block in blocks:
            store.append(block.ids)
            totals.add(block)
            unknown += block.unknown
        self._refuse_nothing(totals.sentences)
        return Reading(vocabulary, store.finish(), totals.sentences, unknown, totals.sources, totals.size)

    def collect(self, limits: WordLimits, store: IdStore) -> Reading:
        """Read and make the vocabulary from the words that are met."""
        tables = [WordTable() for _ in range(threads(self.workers))]
        totals, parts = _Totals(), []
        for block in encoded(self.source, tables, self.rules, block_bytes=self.block_bytes):
            store.append(block.ids)
            totals.add(block)
            parts.append(block.encoder)
        self._refuse_nothing(totals.sentences)
        whole, to_whole = merged(tables)
        lines, final, unknown = whole.ordered(max_words=limits.max_words, min_count=limits.min_count)
        to_final = [final[ids] for ids in to_whole]
        ids = store.finish([to_final[part] for part in parts])
        return Reading(Vocabulary(lines), ids, totals.sentences, unknown, totals.sources, totals.size)

    def _refuse_nothing(self, sentences: int) -> None:
        if sentences == 0:
            raise InputError("there are no sentences: the text is empty.", path=self.source)
