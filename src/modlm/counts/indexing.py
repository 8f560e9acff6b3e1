"""From texts to a text index, within a limit of memory: shard by shard, each as large as can be sorted at a time.

Suffixes are sorted by libdivsufsort (the package pydivsufsort), over the bytes of the ids, high ones first: at three
bytes a word that takes 15 bytes a word, and less time than reading a packed text does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from modlm.counts import suffix_kernels
from modlm.counts.disk import OWN_BYTES, half_of_memory
from modlm.counts.engine import bytes_of
from modlm.counts.suffixes import EVERY, TextIndex, whole_tops
from modlm.errors import ConfigError, InputError, require
from modlm.ground.arrays import Ids, Ints, Words, read_only
from modlm.ground.files import scratch_folder
from modlm.ground.progress import progress
from modlm.store.npy import AnyArray, forget, new_npy
from modlm.text.corpus import Corpus
from modlm.text.documents import document_batches
from modlm.text.folds import stretches
from modlm.text.options import TextOptions
from modlm.text.sources import Text
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary

SORTING = 5  # bytes that sorting takes for each byte of the text: itself and its place
LARGEST = (1 << 31) - 1  # bytes whose places take four
LEAST_SHARD = 1 << 16
NOTHING_LEFT_OUT = np.empty(0, np.int64)


Origin = tuple[Sequence[str], Ints]
"""The sources of documents, and three rows: the first sentence, the source and the line of each."""


def index_text(
    text: Text,
    folder: str | os.PathLike[str],
    *,
    documents: bool = False,
    field: str = "text",
    memory: int | str | None = None,
    add: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> TextIndex:
    """Index a text into a folder: files or sentences as `sources.Text` says, read as `TextOptions` say.

    With `documents` files hold documents (JSON lines with a `field`, Parquet, or plain text with blank lines between);
    else every file is one. `add` puts the text beside what the folder has. `memory` is about how much to use, half of
    the machine's by default.
    """
    limit = bytes_of(memory) if memory is not None else half_of_memory()
    old = TextIndex.open(folder) if add else None
    reading = TextOptions(**options)
    chosen = reading.vocabulary is not None or reading.max_words is not None or reading.min_count > 1
    if old is not None:
        if chosen:
            raise ConfigError("Text is added with the words of the index. Leave out what says which words to know.")
        reading = replace(reading, vocabulary=None if old.grows else old.vocabulary)
    with scratch_folder(Path(folder).absolute().parent) as place:
        if documents:
            corpus, origin = _read_documents(text, field, reading, place / "corpus")
        else:
            corpus, origin = _read_files(text, reading, place / "corpus")
        index = replace(_built(corpus, origin, limit, place, old), grows=old.grows if old is not None else not chosen)
        index.save(folder, overwrite=overwrite or add)
    return TextIndex.open(folder)


def index_corpus(corpus: Corpus) -> TextIndex:
    """The index of a corpus, in memory; every source of it is a document."""
    return _built(corpus, _whole_files(corpus, [f"text {n + 1}" for n in range(max(1, len(corpus.sources)))]), LARGEST)


# ---- reading -------------------------------------------------------------------------------------------------------


def _read_files(text: Text, reading: TextOptions, place: Path) -> tuple[Corpus, Origin]:
    items: list[Any] = [Path(text)] if isinstance(text, str | os.PathLike) else list(text)
    paths = [os.fspath(item) for item in items if isinstance(item, os.PathLike)]
    corpus = Corpus.read(items, reading, place)
    return corpus, _whole_files(corpus, paths or ["the sentences"])


def _whole_files(corpus: Corpus, names: Sequence[str]) -> Origin:
    """Every file as a document; files without a line are none."""
    sizes = np.array(corpus.sources or (corpus.sentences,), np.int64)
    return names, np.stack((np.cumsum(sizes) - sizes, np.arange(len(sizes)), np.ones(len(sizes), np.int64)))


def _read_documents(text: Text, field: str, reading: TextOptions, place: Path) -> tuple[Corpus, Origin]:
    paths = [os.fspath(path) for path in ([text] if isinstance(text, str | os.PathLike) else text)]  # type: ignore[arg-type]
    rows = list[tuple[int, int, int]]()

    def lines() -> Iterator[str]:
        sentences = 0
        for source, path in enumerate(paths):
            for batch in document_batches([path]):
                found = batch.documents(field)
                if found.broken:
                    raise found.broken[0]
                for document, line in zip(found.texts, found.lines, strict=True):
                    own = document.splitlines() or [""]
                    rows.append((sentences, source, line if batch.form == "text" else -line))
                    sentences += len(own)
                    yield from own

    corpus = Corpus.read(lines(), reading, place)
    if not rows:
        raise InputError("there are no documents: the files are empty.", path=", ".join(paths))
    return corpus, (paths, np.array(rows, np.int64).T.copy())


# ---- building ------------------------------------------------------------------------------------------------------


def _built(
    corpus: Corpus, origin: Origin, limit: int, place: Path | None = None, old: TextIndex | None = None
) -> TextIndex:
    """The index in memory, or mapped from files in a place; with what an old one has in front."""
    sort = require("pydivsufsort", extra="index", purpose="Indexing a text").divsufsort
    vocabulary, to_index = _words_of(corpus, old)
    bits = len(vocabulary).bit_length()
    width = -(-bits // 8)
    room = min(max(limit - OWN_BYTES, limit // 4) // (SORTING * width), LARGEST // width)
    cuts = list(stretches(corpus.starts, max(LEAST_SHARD, room)))
    names, (begins, source, line) = origin
    firsts = [np.append(a, begins[(begins > a) & (begins < b)]) for a, b in cuts]
    rows_SF, sizes = _layout(corpus, cuts, list(map(len, firsts)), bits, old)
    arrays = {name: _array(place, name, size, kind) for name, (size, kind) in sizes.items()}
    documents, base, ends_at = ([old.documents_3D], int(old.bases[-1]), len(old.ends)) if old else ([], 0, 0)
    if old is not None:
        for name, array in arrays.items():
            before = old.arrays()[name]
            array[: len(before)] = before
    with progress("sorting", total=len(corpus.ids)) as bar:
        for (first, after), own, row in zip(cuts, firsts, rows_SF, strict=True):
            low, high, size = int(corpus.starts[first]), int(corpus.starts[after]), int(row[2])
            spelled, places = np.empty(size * width, np.uint8), np.empty(len(own), np.int64)
            text = np.asarray(corpus.ids[low:high])
            suffix_kernels.lay_out(text, to_index, corpus.starts[own] - low, row, arrays["ids"], spelled, width, places)
            forget(corpus.ids)
            forget(arrays["ids"])
            order = sort(spelled)
            del text, spelled
            suffix_kernels.take_suffixes(
                arrays["ids"], row, order, width, NOTHING_LEFT_OUT, arrays["suffixes"], arrays["keys"]
            )
            noted = -(-size // EVERY)
            del order
            arrays["ends"][ends_at : ends_at + noted] = _ends(arrays["ids"], row)
            which = np.searchsorted(begins, own, side="right") - 1
            lines = line[which] + np.where(line[which] > 0, own - begins[which], 0)
            documents.append(np.stack((places + base, source[which] + (0 if old is None else len(old.sources)), lines)))
            base, ends_at = base + size, ends_at + noted
            bar.advance(high - low)
    ids, suffixes, keys, ends = (read_only(arrays[name]) for name in ("ids", "suffixes", "keys", "ends"))
    table_SF, sources = (np.concatenate((old.table_SF, rows_SF)), old.sources) if old else (rows_SF, ())
    return TextIndex(
        vocabulary, ids, suffixes, keys, table_SF, ends, np.concatenate(documents, axis=1), (*sources, *names)
    )


def _ends(ids: Words, row: Ints) -> Ints:
    """How many sentences of a shard end before every EVERY-th of its places."""
    at, bits, size = row[:3].tolist()
    pieces = (suffix_kernels.unpack(ids, at, bits, low, low + EVERY) for low in range(0, size - EVERY, EVERY))
    return np.cumsum([0, *(np.count_nonzero(piece == END + 1) for piece in pieces)])


def _words_of(corpus: Corpus, old: TextIndex | None) -> tuple[Vocabulary, Ids]:
    """The words of the index, new ones behind those that it has, and the id there of each word of the corpus."""
    own = corpus.vocabulary
    if old is None or own == old.vocabulary:
        return own, np.arange(len(own) + 1, dtype=np.uint32)
    lost = np.flatnonzero(own.mapping(old.vocabulary)[:-1] == UNKNOWN)
    new = own.decode(lost[lost != UNKNOWN])
    whole = Vocabulary.from_words([*old.vocabulary.words, *new]) if new else old.vocabulary
    return whole, own.mapping(whole)


def _layout(
    corpus: Corpus, cuts: Sequence[tuple[int, int]], documents: Sequence[int], bits: int, old: TextIndex | None
) -> tuple[Ints, dict[str, tuple[int, str]]]:
    """The row of each new shard, and how long all arrays are, with their dtypes."""
    ids_at, at, keys_at, ends = (0, 0, 0, 0) if old is None else (*map(len, old.tables[:3]), len(old.ends))
    rows = list[list[int]]()
    for (first, after), count in zip(cuts, documents, strict=True):
        size = int(corpus.starts[after] - corpus.starts[first]) - (after - first) + 2 * count
        place_bits = size.bit_length()
        rows.append([ids_at, bits, size, at, place_bits, size, keys_at])
        ids_at, at = ids_at + bits * size // 64 + 1, at + place_bits * size // 64 + 1
        keys_at, ends = keys_at + whole_tops(size), ends - (-size // EVERY)
    sizes = {"ids": (ids_at, "<u8"), "suffixes": (at, "<u8"), "keys": (keys_at, "<u8"), "ends": (ends, "<i8")}
    return np.array(rows, np.int64), sizes


def _array(place: Path | None, name: str, size: int, kind: str) -> AnyArray:
    return np.zeros(size, kind) if place is None else new_npy(place / f"{name}.npy", dtype=kind, shape=(size,))
