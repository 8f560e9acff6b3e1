"""The J words that can be predicted: ids 0 `<unk>`, 1 `</s>`, then the ordinary words; `<s>` is J, context only.

A vocabulary is the bytes of its file, `vocabulary.txt`: one word a line in id order. Nothing else is made on opening;
Python strings, a dictionary and the kernels' hash table come when they are first asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from modlm.errors import VocabularyError
from modlm.ground.arrays import Bytes, Ids, Ints, threads
from modlm.ground.files import new_file
from modlm.text import text_kernels
from modlm.text.encoding import Encoder, KernelEncoder
from modlm.text.options import TextOptions
from modlm.text.reading import read
from modlm.text.sources import PADDING, Text
from modlm.text.word_list import END_NAME as END_NAME
from modlm.text.word_list import RESERVED as RESERVED
from modlm.text.word_list import SPACE, line_offsets, read_words, words_as_lines
from modlm.text.word_list import START_NAME as START_NAME
from modlm.text.word_list import UNKNOWN_NAME as UNKNOWN_NAME

UNKNOWN = 0
END = 1
VOCABULARY = "vocabulary.txt"

_WORD = re.compile(f"[^{SPACE}]+")


def split_words(sentence: str) -> list[str]:
    """The words of a sentence, split at ASCII white space as in files."""
    return _WORD.findall(sentence)


class Vocabulary:
    """Words and their ids; frozen. Two vocabularies are equal when their files would be."""

    units: ClassVar[str] = "words"
    """What a text is split into."""

    def __init__(self, lines: bytes, offsets: Ints | None = None) -> None:
        """From the bytes of a sound vocabulary file; the `from_` methods check what they are given."""
        self._lines = lines
        self._offsets = line_offsets(lines) if offsets is None else offsets

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Vocabulary:
        """From ordinary words in id order; reserved names may stand in front and are not counted twice."""
        return cls(*words_as_lines(words))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, strict: bool = False) -> Vocabulary:
        """From a vocabulary file or any list of words, one per line, reserved names anywhere.

        `strict` wants exactly what `save` writes. In such a file equal words are found when the words are first looked
        up, not on opening.
        """
        return cls(*read_words(Path(path), strict=strict))

    @classmethod
    def from_text(cls, text: Text, **options: Any) -> Vocabulary:
        """The words of a text by falling count, ties in the order of their UTF-8 bytes; see `TextOptions`."""
        return cls(read(text, TextOptions(vocabulary=None, **options), lambda _: None).words)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def start(self) -> int:
        """The id of `<s>`, which is J."""
        return len(self)

    def word(self, word_id: int) -> str:
        """The word with this id; `<s>` for J."""
        if not 0 <= word_id <= len(self):
            raise VocabularyError(f"There is no word {word_id}: ids go from 0 to {len(self)} here.")
        if word_id == len(self):
            return START_NAME
        return self._lines[self._offsets[word_id] : self._offsets[word_id + 1] - 1].decode()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All J words in id order; without `<s>`."""
        return tuple(self._lines.decode().split("\n")[:-1])

    @cached_property
    def _ids(self) -> dict[str, int]:
        ids = {word: place for place, word in enumerate(self.words)}
        if len(ids) < len(self):
            first = next(place for place, word in enumerate(self.words) if ids[word] != place)
            raise self._twice(first, ids[self.words[first]])
        ids[START_NAME] = self.start
        return ids

    def _twice(self, first: int, second: int) -> VocabularyError:
        return VocabularyError(
            f"The word {self.word(first)!r} stands twice in the vocabulary, on lines {first + 1} and {second + 1}. "
            f"Every word has one line; the file was edited or damaged."
        )

    def id(self, word: str) -> int:
        """The word's id; UNKNOWN when it is not there."""
        return self._ids.get(word, UNKNOWN)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def encode(self, words: str | Sequence[str]) -> Ids:
        """The ids of the words, a string being split at ASCII white space; no boundaries are added.

        For a sentence at a time; `Corpus` and `encode_blocks` do whole texts.
        """
        names = split_words(words) if isinstance(words, str) else words
        ids = self._ids
        return np.fromiter((ids.get(name, UNKNOWN) for name in names), np.uint32, len(names))

    def split(self, sentence: str) -> list[str]:
        """The words of a sentence."""
        return split_words(sentence)

    def places(self, sentence: str) -> list[tuple[int, int]]:
        """For each word of a sentence, where in it the word begins and ends, in characters."""
        return [found.span() for found in _WORD.finditer(sentence)]

    def continuation(self, before: Ids, word: int) -> str:
        """What a word adds to the text of those before it in its sentence."""
        return f" {self.word(word)}" if len(before) else self.word(word)

    def splits_like(self, other: Vocabulary) -> bool:
        """Whether the other vocabulary splits texts at the same places."""
        return self.units == other.units

    def join(self, words: Sequence[str]) -> str:
        """Words as a sentence."""
        return " ".join(words)

    def decode(self, ids: Ids | Sequence[int]) -> list[str]:
        """The words with these ids."""
        return [self.word(word_id) for word_id in np.asarray(ids).tolist()]

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the vocabulary file."""
        return hashlib.sha256(self._lines).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self is other or self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[bytes, ...]]:
        return Vocabulary, (self._lines,)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} words)"

    def files(self) -> dict[str, bytes]:
        """What a folder keeps of it, by the names of files."""
        return {VOCABULARY: self._lines}

    def fingerprints(self) -> dict[str, str]:
        """What a folder says of these files."""
        return {"vocabulary": self.fingerprint}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary file."""
        with new_file(Path(path)) as target:
            target.write_bytes(self._lines)

    def mapping(self, other: Vocabulary) -> Ids:
        """For each of my ids, J too, the id of the same word in the other vocabulary, UNKNOWN when it has none."""
        if not self.splits_like(other):
            raise VocabularyError(
                f"Texts are split into {self.units} by one vocabulary and otherwise ({other.units}) by another, so ids "
                f"cannot be translated. Use one tokenizer, or words, for all."
            )
        blob, offsets, _ = self.kernel_tables()
        return np.append(other.look_up(blob, offsets), np.uint32(other.start))

    def look_up(self, blob: Bytes, offsets: Ints) -> Ids:
        """The ids of a list of words as `kernel_tables` keeps it, UNKNOWN where there is none."""
        found = np.empty(len(offsets) - 1, np.uint32)
        text_kernels.map_words(blob, offsets, *self.kernel_tables(), UNKNOWN, found)
        return found

    def encoders(self, workers: int | None = None) -> Sequence[Encoder]:
        """What makes ids of texts, as many as can work side by side."""
        kernel = partial(text_kernels.encode_lines, *self.kernel_tables(), self.start)
        return [KernelEncoder(kernel) for _ in range(threads(workers))]

    def kernel_tables(self) -> tuple[Bytes, Ints, text_kernels.Table]:
        """(blob, offsets, table) as `text_kernels` explains them; built on the first call and shared afterwards."""
        return self._tables

    @cached_property
    def _tables(self) -> tuple[Bytes, Ints, text_kernels.Table]:
        # writable, as all blobs are, so that the kernels are compiled once
        blob = np.frombuffer(bytearray(self._lines + bytes(PADDING)), np.uint8)
        table = np.zeros(1 << (2 * len(self) - 1).bit_length(), np.uint64)
        first, second = text_kernels.build_table(blob, self._offsets, table)
        if second >= 0:
            raise self._twice(first, second)
        return blob, self._offsets, table
