"""One pass over a text: its ids into a store, and its words into a vocabulary when none is given.

A store takes arrays one after the other and gives one array in the end, on the way to which each part may be translated
to its final ids: with a mapping for each part, its ids are looked up there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from modlm.arrays import Ids, threads
from modlm.errors import InputError
from modlm.files import new_folder
from modlm.store.npy import NpyWriter
from modlm.text import text_kernels
from modlm.text.corpus import Corpus, TextSize
from modlm.text.corpus_folder import IDS, write_record
from modlm.text.encoding import Encoder, KernelEncoder, encoded, encoders_of
from modlm.text.options import TextOptions
from modlm.text.sources import Text, source_of
from modlm.text.vocabulary import Vocabulary
from modlm.text.word_table import WordTable, merged


def read_text(
    text: Text, options: TextOptions, folder: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> Corpus:
    """The text as ids, in memory or, written as they come, in a folder that it is then mapped from."""
    if folder is None:
        return _read(text, options, MemoryStore())
    with new_folder(Path(folder), overwrite=overwrite) as place:
        with NpyWriter(place / IDS, "<u4") as writer:
            corpus = _read(text, options, FileStore(writer))
        write_record(place, corpus)
    return Corpus.open(folder, verify="fast")


def read_words(text: Text, options: TextOptions) -> Vocabulary:
    """The words of a text alone."""
    return _read(text, options, None).vocabulary


def _read(text: Text, options: TextOptions, store: MemoryStore | FileStore | None) -> Corpus:
    source, vocabulary = source_of(text), options.vocabulary
    tables = [WordTable() for _ in range(threads(options.workers))] if vocabulary is None else []
    encoders: list[Encoder] = [KernelEncoder(table.encode) for table in tables]
    if vocabulary is not None:
        encoders.extend(encoders_of(vocabulary, options.workers))
    words = size = unknown = 0
    by_source, parts = list[int](), list[int]()
    for block in encoded(source, encoders, options):
        if store is not None:
            store.append(block.ids)
        if block.begins:
            by_source.append(0)
        by_source[-1] += block.sentences
        words, size, unknown = words + block.words, size + block.bytes, unknown + block.unknown
        parts.append(block.encoder)
    if sum(by_source) == 0:
        raise InputError("there are no sentences: the text is empty.", path=source)
    mappings = None
    if vocabulary is None:
        whole, to_whole = merged(tables)
        lines, final, unknown = whole.ordered(max_words=options.max_words, min_count=options.min_count)
        to_final = [final[ids] for ids in to_whole]
        vocabulary, mappings = Vocabulary(lines), [to_final[part] for part in parts]
    ids = np.empty(0, np.uint32) if store is None else store.finish(mappings)
    sources = tuple(by_source) if len(by_source) > 1 else ()
    return Corpus(ids, vocabulary, sum(by_source), unknown, sources, TextSize(words, size))


class MemoryStore:
    """Parts in memory; each is let go as soon as it stands in the final array."""

    def __init__(self) -> None:
        self.parts: list[Ids] = []

    def append(self, ids: Ids) -> None:
        """Take the next part."""
        self.parts.append(ids)

    def finish(self, mappings: Sequence[Ids] | None = None) -> Ids:
        """All parts as one array."""
        parts, self.parts = self.parts[::-1], []
        if len(parts) == 1 and not mappings:
            return parts[0]
        whole = np.empty(sum(map(len, parts)), np.uint32)
        at = 0
        for place in range(len(parts)):
            part = parts.pop()
            target = whole[at : at + len(part)]
            if mappings:
                _translate(part, mappings[place], target)
            else:
                target[:] = part
            at += len(part)
        return whole


class FileStore:
    """Parts in an `.npy` file."""

    def __init__(self, writer: NpyWriter) -> None:
        self.writer, self.bounds = writer, [0]

    def append(self, ids: Ids) -> None:
        """Take the next part."""
        self.writer.append(ids)
        self.bounds.append(self.writer.length)

    def finish(self, mappings: Sequence[Ids] | None = None) -> Ids:
        """All parts as one memory-mapped array, translated in place."""
        whole: Ids = self.writer.finish(mode="r+" if mappings else "r")
        for mapping, start, end in zip(mappings or (), self.bounds, self.bounds[1:], strict=False):
            _translate(whole[start:end], mapping, whole[start:end])
        return whole


def _translate(ids: Ids, mapping: Ids, out: Ids) -> None:
    text_kernels.translate(np.asarray(ids), mapping, np.asarray(out))
