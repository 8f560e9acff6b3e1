"""One pass over a text: its ids, part by part, and its words when no vocabulary is given.

Ids of words that are only being collected are provisional; `Reading.settle` puts the final ones in their places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modlm.errors import InputError
from modlm.ground.arrays import Ids, threads
from modlm.text import text_kernels
from modlm.text.encoding import KernelEncoder, encoded
from modlm.text.options import TextOptions
from modlm.text.sources import Text, source_of
from modlm.text.word_table import WordTable, merged


@dataclass(frozen=True, slots=True)
class TextSize:
    """How much text there was, in units that do not depend on a vocabulary."""

    words: int  # between white space, without sentence ends
    bytes: int  # of all lines as UTF-8, with a line end each


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pass over a text finds beside its ids."""

    words: bytes  # the vocabulary file of its words; empty when a vocabulary was given
    sources: tuple[int, ...]  # sentences of each text
    unknown: int
    size: TextSize
    parts: list[tuple[int, Ids]]  # ids of each part, and where their final ones stand; nothing when they are final

    def settle(self, ids: Ids) -> None:
        """Make the ids of all parts, one behind the other, final."""
        at = 0
        for length, final in self.parts:
            part = np.asarray(ids[at : at + length])
            text_kernels.translate(part, final, part)
            at += length


def read(text: Text, options: TextOptions, append: Callable[[Ids], object]) -> Reading:
    source, vocabulary = source_of(text), options.vocabulary
    tables = [WordTable() for _ in range(threads(options.workers))] if vocabulary is None else []
    encoders = (
        vocabulary.encoders(options.workers) if vocabulary else [KernelEncoder(t.encode, t.state) for t in tables]
    )
    words = size = unknown = 0
    sources, parts = list[int](), list[tuple[int, int]]()
    for block in encoded(source, encoders, options):
        append(block.ids)
        parts.append((len(block.ids), block.encoder))
        if block.begins:
            sources.append(0)
        sources[-1] += block.sentences
        words, size, unknown = words + block.words, size + block.bytes, unknown + block.unknown
    if sum(sources) == 0:
        raise InputError("there are no sentences: the text is empty.", path=source)
    if vocabulary is not None:
        return Reading(b"", tuple(sources), unknown, TextSize(words, size), [])
    whole, to_whole = merged(tables)
    lines, final, unknown = whole.ordered(max_words=options.max_words, min_count=options.min_count)
    to_final = [final[ids] for ids in to_whole]
    settled = [(length, to_final[encoder]) for length, encoder in parts]
    return Reading(lines, tuple(sources), unknown, TextSize(words, size), settled)
