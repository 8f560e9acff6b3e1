"""A text as ids: one flat array `<s> w ... </s> <s> ...` with its vocabulary, in memory or memory-mapped in a folder.

Text comes in, from files or as sentences; ids go out. When no vocabulary is given it is made in the same pass. An empty
line is a sentence without words, `<s> </s>`, as it is for KenLM.

A folder has `ids.npy` (memory-mapped), `vocabulary.txt`, and `corpus.json` with the numbers that fit both. That has no
sums of files: they would cost a pass over ids that are written as they come. Opening looks at every id instead.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modlm.errors import ConfigError, InputError, VocabularyError
from modlm.ground.arrays import Ids, Ints, joined
from modlm.ground.files import new_folder
from modlm.store.folder import Folder
from modlm.store.manifest import Verify, manifest_name, read_manifest
from modlm.store.npy import NpyWriter, open_npy, write_npy
from modlm.text.folds import fold_cuts
from modlm.text.options import TextOptions
from modlm.text.reading import Reading, TextSize, read
from modlm.text.sources import Text
from modlm.text.tokens import TOKENIZER
from modlm.text.vocabulary import END, UNKNOWN, VOCABULARY, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

KIND, IDS = "corpus", "ids.npy"
PIECE = 1 << 22  # ids looked at together when a corpus is checked


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences as ids. `len` is the number of sentences; slices are corpora that share the ids."""

    ids: Ids
    """`<s> w ... </s>` for each sentence, one behind the other."""
    vocabulary: Vocabulary
    sentences: int
    unknown: int
    """How many of the words are `<unk>`."""
    sources: tuple[int, ...] = ()
    """Sentences of each text that it was made from, in order; none: it is one text."""
    size: TextSize | None = None
    """How much text it was read from, if it is the whole of it and was read just now."""

    @classmethod
    def from_text(
        cls,
        text: Text,
        vocabulary: Vocabulary | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        **options: Any,
    ) -> Corpus:
        """The ids of a text: files, standard input ("-") or sentences, as `sources.Text` says.

        Without a vocabulary, the words of the text become the vocabulary as far as `max_words` and `min_count` let
        them; these and further options are explained at `TextOptions`. With a `folder` the ids are written there as
        they come, so that memory does not limit the text.
        """
        return cls.read(text, TextOptions(vocabulary=vocabulary, **options), folder, overwrite=overwrite)

    @classmethod
    def read(
        cls, text: Text, options: TextOptions, folder: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> Corpus:
        """The same for those who have the options at hand."""
        if folder is None:
            parts = list[Ids]()
            return cls._of(read(text, options, parts.append), joined(parts), options)
        with new_folder(Path(folder), overwrite=overwrite) as place:
            with NpyWriter(place / IDS, "<u4") as writer:
                reading = read(text, options, writer.append)
                corpus = cls._of(reading, writer.finish(mode="r+"), options)
            corpus._write_record(place)
        return cls.open(folder, verify="fast")

    @classmethod
    def _of(cls, reading: Reading, ids: Ids, options: TextOptions) -> Corpus:
        reading.settle(ids)
        vocabulary = options.vocabulary or Vocabulary(reading.words)
        sources = reading.sources if len(reading.sources) > 1 else ()
        return cls(ids, vocabulary, sum(reading.sources), reading.unknown, sources, reading.size)

    @classmethod
    def from_ids(cls, ids: Ids, vocabulary: Vocabulary) -> Corpus:
        """From ids that are `<s> w ... </s>` again and again; they are checked, and shared."""
        ids = np.asarray(ids, np.uint32)
        return cls(ids, vocabulary, *check_ids(ids, vocabulary))

    @classmethod
    def joined(cls, parts: Sequence[Corpus]) -> Corpus:
        """Several corpora with one vocabulary as one, each with the sources that it has."""
        if any(part.vocabulary != parts[0].vocabulary for part in parts):
            raise VocabularyError("Corpora that are joined must have the same vocabulary. Read them with one.")
        sources = tuple(size for part in parts for size in part.sources or (part.sentences,))
        sentences, unknown = sum(part.sentences for part in parts), sum(part.unknown for part in parts)
        return cls(np.concatenate([part.ids for part in parts]), parts[0].vocabulary, sentences, unknown, sources)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: Verify = "full") -> Corpus:
        """A corpus from its folder, memory-mapped.

        Sizes and vocabulary are always checked; "full" looks at every id too, since a wrong one leads kernels astray.
        """
        path = Path(folder)
        about = {"sources": [], **read_manifest(path, kind=KIND, verify=verify)}
        stored = Folder(path, KIND, about, {}, (VOCABULARY, TOKENIZER))
        numbers, sources = Numbers(stored.whole("sentences"), stored.whole("unknown")), stored.wholes("sources")
        if 0 in sources or sum(sources) not in (0, numbers.sentences):
            raise stored.damaged("its sources do not add up to its sentences")
        vocabulary = vocabulary_in(stored, what="corpus was")
        try:
            ids: Ids = open_npy(path / IDS, dtype=np.uint32, shape=(stored.whole("ids"),))
            found = check_ids(ids, vocabulary) if verify == "full" else numbers
        except (OSError, ValueError, InputError) as error:
            raise stored.damaged(f"{IDS}: {error}") from error
        if found != numbers:
            raise stored.damaged(f"{IDS} has {found}, but {manifest_name(KIND)} says {numbers}")
        return cls(ids, vocabulary, *numbers, sources)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        with new_folder(Path(folder), overwrite=overwrite) as place:
            write_npy(place / IDS, self.ids)
            self._write_record(place)

    def _write_record(self, folder: Path) -> None:
        for name, data in self.vocabulary.files().items():
            (folder / name).write_bytes(data)
        numbers = {"ids": len(self.ids), "sentences": self.sentences, "unknown": self.unknown}
        record = {"format": f"modlm {KIND}", "version": 1, **numbers, "sources": list(self.sources)}
        text = json.dumps({**record, **self.vocabulary.fingerprints()}, indent=2) + "\n"
        (folder / manifest_name(KIND)).write_text(text)

    @property
    def words(self) -> int:
        """Words without boundaries; predictions are `words + sentences`."""
        return len(self.ids) - 2 * self.sentences

    def __len__(self) -> int:
        return self.sentences

    @cached_property
    def starts(self) -> Ints:
        """Where each sentence begins, and behind them the length of `ids`."""
        starts = np.empty(self.sentences + 1, np.int64)
        found = 0
        for at in range(0, len(self.ids), PIECE):
            places = np.flatnonzero(self.ids[at : at + PIECE] == self.vocabulary.start)
            starts[found : found + len(places)] = places + at
            found += len(places)
        starts[found:] = len(self.ids)
        return starts

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.ids).data).hexdigest()

    def __getitem__(self, sentences: slice) -> Corpus:
        first, after, step = sentences.indices(self.sentences)
        if step != 1:
            raise ConfigError(f"Slices of a corpus take neighbouring sentences, but the step is {step}.")
        after = max(first, after)
        ids = self.ids[self.starts[first] : self.starts[after]]
        return Corpus(ids, self.vocabulary, after - first, int(np.count_nonzero(ids == UNKNOWN)))

    def __iter__(self) -> Iterator[Ids]:
        """The ids of each sentence, with its boundaries."""
        for start, end in zip(self.starts, self.starts[1:], strict=False):
            yield self.ids[start:end]

    def source(self, number: int) -> Corpus:
        """One of the texts that it was made from, counted from 1."""
        sizes = self.sources or (self.sentences,)
        if not 1 <= number <= len(sizes):
            raise ConfigError(f"The text has {len(sizes)} sources, so there is no source {number}.")
        return self[sum(sizes[: number - 1]) : sum(sizes[:number])]

    def folds(self, count: int) -> list[Corpus]:
        """The parts into which `fold_cuts` cuts it."""
        cuts = fold_cuts(self.sources or (self.sentences,), count)
        parts = [[self[first:after] for first, after in fold] for fold in cuts]
        return [fold[0] if len(fold) == 1 else Corpus.joined(fold) for fold in parts]

    def __repr__(self) -> str:
        return f"Corpus({self.sentences:,} sentences, {self.words:,} words, {self.unknown:,} unknown)"


class Numbers(NamedTuple):
    sentences: int
    unknown: int


def check_ids(ids: Ids, vocabulary: Vocabulary) -> Numbers:
    """Sentences and unknown words of an array that is `<s> w ... </s>` again and again; else an error."""
    start = vocabulary.start
    if len(ids) and (ids[0] != start or ids[-1] != END):
        raise InputError(f"ids of a text begin with <s> ({start}) and end with </s> ({END}).")
    sentences, unknown = 0, 0
    for at in range(0, len(ids), PIECE):
        piece = np.asarray(ids[at : at + PIECE + 1])  # one more, to see what follows the last
        starts, ends = piece == start, piece == END
        wrong = np.flatnonzero((ends[:-1] != starts[1:]) | (piece[:-1] > start))
        if len(wrong):
            place = at + int(wrong[0])
            raise InputError(
                f"the ids {ids[place]} {ids[place + 1]} at place {place} cannot stand in a text: ids go to {start}, "
                f"and each </s> ({END}) has an <s> ({start}) behind it."
            )
        sentences += int(np.count_nonzero(starts[:PIECE]))
        unknown += int(np.count_nonzero(piece[:PIECE] == UNKNOWN))
    return Numbers(sentences, unknown)
