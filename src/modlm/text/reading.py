"""One pass over a text: its ids into a store, and its words into a vocabulary when none is given."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from modlm.arrays import threads
from modlm.errors import InputError
from modlm.files import new_folder
from modlm.store.npy import NpyWriter
from modlm.text.corpus import Corpus, TextSize
from modlm.text.corpus_folder import IDS
from modlm.text.encoding import Encoder, KernelEncoder, encoded, encoders_of
from modlm.text.id_store import FileStore, MemoryStore
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
        corpus.write_record(place)
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
