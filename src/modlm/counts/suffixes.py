"""`TextIndex`: every place of a text in the order of what stands there, so that any words in a row are found at once.

A folder with `ids.npy`, `suffixes.npy` and `keys.npy` as `suffix_kernels` explains them, and where documents begin and
come from. Text that is added makes a shard of its own; questions sum over shards. Words are matched within sentences by
the columns that are made of an index, and whatever the line breaks by `find` and `overlap`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from modlm.counts import suffix_kernels
from modlm.errors import ConfigError
from modlm.ground.arrays import Ids, Ints, Words, read_only
from modlm.store.folder import Folder, open_folder, write_folder
from modlm.store.manifest import Verify
from modlm.store.npy import AnyArray
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

KIND = "index"
EVERY = 1024  # places between two notes of how many sentences ended before
FIELDS = 7  # of a shard, as `suffix_kernels` says
RANGES = 4096  # ways in which sentence ends can stand between the words that are looked for
STEP, TOP = 16, 64  # suffixes to a key, keys to a top key, as in `suffix_kernels`
LINE_END = " ⏎ "


def whole_tops(suffixes: int) -> int:
    """How many keys so many suffixes have, filled up so that those of the next shard begin with a top key."""
    return -(-suffixes // (STEP * TOP)) * TOP


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where words stand in a row."""

    source: str
    """The file that the document was in."""
    document: int
    """Its number in the index, from 0."""
    line: int
    """In that file, from 1; of a document that is one line of a file, that line."""
    before: str
    words: str
    after: str
    """What stands there, with `⏎` where a line ends."""


@dataclass(frozen=True, slots=True)
class Found:
    """How often words stand in a row, and some of the places."""

    count: int
    hits: list[Hit]


@dataclass(frozen=True, eq=False)
class TextIndex:
    """Shards of a text with their suffixes, memory-mapped or in memory."""

    vocabulary: Vocabulary
    ids: Words
    suffixes: Words
    keys: Words
    table_SF: Ints
    """For each shard where its numbers lie and how many there are."""
    ends: Ints
    """How many sentences of a shard end before every EVERY-th of its places; shard behind shard."""
    documents_3D: Ints
    """For each document: where it begins (places of all shards counted on), its source, and its first line; that of a
    document of one line less than 0."""
    sources: tuple[str, ...]
    grows: bool = False
    """Whether words that added text brings become known."""

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: Verify = "fast") -> Self:
        """The index in a folder, memory-mapped."""
        stored = open_folder(folder, kind=KIND, verify=verify)
        return cls.from_stored(stored, vocabulary_in(stored, what="index was"))

    @classmethod
    def from_stored(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """What `arrays` and `settings` gave; nothing in it leads kernels out of the arrays."""
        ids, suffixes, keys = (read_only(stored.array(name, np.uint64)) for name in ("ids", "suffixes", "keys"))
        table = stored.wholes("shards")
        table_SF = np.array(table, np.int64).reshape(-1, FIELDS) if len(table) % FIELDS == 0 else np.zeros((0, FIELDS))
        documents = stored.array("documents", np.int64)
        index = cls(
            vocabulary, ids, suffixes, keys, table_SF.astype(np.int64), stored.array("ends", np.int64),
            documents.reshape(3, -1) if len(documents) % 3 == 0 else np.zeros((3, 0), np.int64),
            tuple(stored.list_of("sources", str)), stored.about.get("grows") is True,
        )  # fmt: skip
        if fault := index.fault():
            raise stored.damaged(fault)
        return index

    def fault(self) -> str:
        """What does not fit together, if anything."""
        if not len(self.table_SF) or not len(self.documents_3D[0]):
            return "it has no shards or no documents"
        noted = 0
        for ids_at, bits, ids, at, suffix_bits, suffixes, keys_at in self.table_SF.tolist():
            inside = [
                1 <= bits <= 32 and 1 <= suffix_bits <= 48 and 0 < ids < 1 << suffix_bits and suffixes <= ids,
                (ids_at * 64 + bits * ids + 63) // 64 <= len(self.ids),
                (at * 64 + suffix_bits * suffixes + 63) // 64 <= len(self.suffixes),
                keys_at % TOP == 0 and keys_at + -(-suffixes // STEP) <= len(self.keys),
            ]
            if not all(inside):
                return "its shards do not fit its arrays"
            noted += -(-ids // EVERY)
        begins, sources = self.documents_3D[0], self.documents_3D[1]
        rising = begins[0] == 0 and begins[-1] < self.bases[-1] and bool((np.diff(begins) > 0).all())
        if not rising or sources.min() < 0 or sources.max() >= len(self.sources) or noted != len(self.ends):
            return "its documents do not fit its text"
        return ""

    def settings(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {"shards": self.table_SF.ravel().tolist(), "sources": list(self.sources), "grows": self.grows}

    def arrays(self) -> dict[str, AnyArray]:
        """What a folder keeps of it."""
        return {
            "ids": self.ids, "suffixes": self.suffixes, "keys": self.keys, "ends": self.ends,
            "documents": self.documents_3D.ravel(),
        }  # fmt: skip

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it to a folder."""
        about = {**self.settings(), "words": self.words, "sentences": self.sentences, **self.vocabulary.fingerprints()}
        texts: Mapping[str, bytes] = self.vocabulary.files()
        write_folder(folder, kind=KIND, about=about, arrays=self.arrays(), texts=texts, overwrite=overwrite)

    # ---- sizes and places ----------------------------------------------------------------------------------------

    @cached_property
    def bases(self) -> Ints:
        """Where the places of each shard begin when they are counted on, and where the last ends."""
        return np.append(0, np.cumsum(self.table_SF[:, 2]))

    @cached_property
    def sentences(self) -> int:
        """How many sentences there are; every document has one end more, before its first sentence."""
        ends = sum(self._ends_before(shard, int(row[2])) for shard, row in enumerate(self.table_SF))
        return ends - len(self.documents_3D[0])

    @property
    def words(self) -> int:
        """How many words there are, without sentence ends."""
        return int(self.bases[-1]) - self.sentences - 2 * len(self.documents_3D[0])

    @property
    def tables(self) -> tuple[Words, Words, Words, Words]:
        """What kernels take first."""
        return self.ids, self.suffixes, self.keys, self._tops

    @cached_property
    def _tops(self) -> Words:
        return read_only(self.keys[::TOP].copy())

    def stored(self, shard: int, low: int, high: int) -> Ids:
        """The ids of a shard between two places, as they are stored: 0 where a document begins, else the id plus 1."""
        at, bits, size = self.table_SF[shard, :3].tolist()
        return suffix_kernels.unpack(self.ids, at, bits, max(0, low), min(size, high)).astype(np.uint32)

    def places(self, shard: int, low: int, high: int) -> Ints:
        """Where suffixes of a shard begin."""
        at, bits = self.table_SF[shard, 3:5].tolist()
        return suffix_kernels.unpack(self.suffixes, at, bits, low, high)

    def _ends_before(self, shard: int, place: int) -> int:
        notes = -(-self.table_SF[:, 2] // EVERY)
        note = (place - 1) // EVERY if place else 0
        known = int(self.ends[int(notes[:shard].sum()) + note])
        return known + int(np.count_nonzero(self.stored(shard, note * EVERY, place) == END + 1))

    def __repr__(self) -> str:
        return f"TextIndex({self.words:,} {self.vocabulary.units}, {len(self.documents_3D[0]):,} documents)"

    # ---- questions -----------------------------------------------------------------------------------------------

    def ranges(self, words: str | Ids) -> list[tuple[int, Ints]]:
        """For each shard the ranges of suffixes that begin with the words, and how many ids these take."""
        asked = np.asarray(self.vocabulary.encode(words) if isinstance(words, str) else words, np.uint32)
        if not len(asked):
            raise ConfigError("There are no words to look for. Give at least one.")
        if isinstance(words, str) and (asked == UNKNOWN).any() and "<unk>" not in self.vocabulary.split(words):
            return []  # a word that the index does not know stands nowhere
        found, room = [], np.empty((RANGES, 3), np.int64)
        for shard, row in enumerate(self.table_SF):
            count = suffix_kernels.find(self.tables, row, asked + np.uint32(1), room)
            if count < 0:
                raise ConfigError(f"These words stand in more than {RANGES:,} ways. Look for fewer of them.")
            found.append((shard, room[:count].copy()))
        return found

    def count(self, words: str | Ids) -> int:
        """How often words stand in a row, whatever the line breaks; of a text over tokens, their tokens."""
        return sum(int((ranges_R3[:, 1] - ranges_R3[:, 0]).sum()) for _, ranges_R3 in self.ranges(words))

    def find(self, words: str | Ids, *, limit: int = 10, context: int = 10) -> Found:
        """How often words stand in a row, and `limit` of the places with so many words around them."""
        found, hits = self.ranges(words), list[Hit]()
        for shard, ranges_R3 in found:
            for low, high, length in ranges_R3.tolist():
                end = min(high, low + limit - len(hits))
                hits += [self.hit(shard, place, length, context) for place in self.places(shard, low, end).tolist()]
        return Found(sum(int((one[:, 1] - one[:, 0]).sum()) for _, one in found), hits)

    def within_sentences(self, ids: Ids, *, limit: int, context: int) -> list[Hit]:
        """Places at which ids stand in a sentence, `<s>` among them where it begins."""
        begins = int(len(ids) > 1 and ids[0] == self.vocabulary.start)
        sought, hits = np.where(ids == self.vocabulary.start, END, ids).astype(np.uint32) + np.uint32(1), list[Hit]()
        for shard, row in enumerate(self.table_SF):
            low, high = suffix_kernels.search(self.tables, row, sought, 0, len(sought))
            places = self.places(shard, low, min(high, low + limit - len(hits)))
            hits += [self.hit(shard, place + begins, len(ids) - begins, context) for place in places.tolist()]
        return hits

    def hit(self, shard: int, place: int, length: int, context: int = 10) -> Hit:
        """What stands at a place of a shard."""
        base = int(self.bases[shard])
        document = int(np.searchsorted(self.documents_3D[0], base + place, side="right")) - 1
        begin, source, line = self.documents_3D[:, document].tolist()
        begin -= base
        after = self.stored(shard, place + length, place + length + context + 1)
        ending = np.flatnonzero(after == 0)
        if line > 0:
            line += self._ends_before(shard, place) - self._ends_before(shard, begin + 2)
        before = self.stored(shard, max(begin + 2, place - context), place)
        return Hit(
            self.sources[source], document, abs(line), self._said(before),
            self._said(self.stored(shard, place, place + length)),
            self._said(after[: int(ending[0]) if len(ending) else context]),
        )  # fmt: skip

    def _said(self, stored: Ids) -> str:
        """Words as they are written, with a sign where a line ends."""
        lines: list[list[str]] = [[]]
        for one in stored.tolist():
            if one == END + 1:
                lines.append([])
            else:
                lines[-1].append(self.vocabulary.word(one - 1))
        return LINE_END.join(map(self.vocabulary.join, lines)).strip(" ")

    # ---- without a part ------------------------------------------------------------------------------------------

    def without(self, ranges: Mapping[int, Ints]) -> TextIndex:
        """The same without the places inside of sorted ranges (low, high, low, …) of shards: as if nothing stood there.

        What stands before a range must not run into it: ranges are whole sentences.
        """
        rows, suffixes, keys = list[Ints](), list[Words](), list[Words]()
        for shard, before in enumerate(self.table_SF):
            row, bits, count = before.copy(), int(before[4]), int(before[5])
            packed, own_keys = np.zeros(bits * count // 64 + 2, np.uint64), np.zeros(whole_tops(count), np.uint64)
            row[3], row[6] = 0, 0
            cut, order = np.asarray(ranges.get(shard, ()), np.int64), self.places(shard, 0, count)
            row[5] = suffix_kernels.take_suffixes(self.ids, row, order, 1, cut, packed, own_keys)
            row[3], row[6] = sum(map(len, suffixes)), sum(map(len, keys))
            rows.append(row)
            suffixes.append(packed)
            keys.append(own_keys)
        return replace(
            self, suffixes=read_only(np.concatenate(suffixes)), keys=read_only(np.concatenate(keys)),
            table_SF=np.array(rows, np.int64),
        )  # fmt: skip

    def places_of(self, ids: Ids) -> Iterator[tuple[int, int]]:
        """Shards and places at which whole sentences `<s> w … </s> <s> …` stand one behind the other."""
        sought = ids[ids != self.vocabulary.start] + np.uint32(1)
        for shard, row in enumerate(self.table_SF):
            head = np.append(np.uint32(END + 1), sought[:64])
            for place in self.places(shard, *suffix_kernels.search(self.tables, row, head, 0, len(head))).tolist():
                if np.array_equal(self.stored(shard, place + 65, place + 1 + len(sought)), sought[64:]):
                    yield shard, place + 1
