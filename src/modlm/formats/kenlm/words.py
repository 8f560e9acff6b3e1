"""The words of a KenLM binary as a vocabulary of ours, and KenLM's number of each.

Most files end with their words. Those built without (build_binary's include_vocab off, or by other programs) have only
hashes: a word can be looked up, but no number has a name. Then texts are scored and the model is a column of a mixture
over other words, and whatever would have to show its words (next words, generated text, conversion) says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from modlm.errors import InputError, VocabularyError
from modlm.formats.kenlm import binary_kernels
from modlm.formats.kenlm.binary import Binary, open_binary
from modlm.formats.kenlm.plan import BEGIN, END, WORD_COUNT, WORD_TABLE
from modlm.ground.arrays import Bytes, Ids, Ints, threads
from modlm.text.encoding import Encoder, KernelEncoder
from modlm.text.sources import PADDING
from modlm.text.vocabulary import UNKNOWN, Vocabulary, split_words
from modlm.text.word_list import END_NAME, HEADER, SPACE, START_NAME, UNKNOWN_NAME, line_offsets

FIRST = UNKNOWN_NAME.encode() + b"\0"


def numbers_of_words(binary: Binary) -> Ids:
    """KenLM's number of each of our ids: `<unk>`, `</s>`, the others in its order, `<s>` last; 0 for a missing one."""
    begin, end = (int(binary.plan[0, column]) for column in (BEGIN, END))
    others = np.arange(binary.words, dtype=np.uint32)
    others[[begin, end]] = 0
    return np.concatenate(([0, end], others[others > 0], [begin]), dtype=np.uint32, casting="unsafe")


def vocabulary_of(binary: Binary) -> Vocabulary:
    """Its words by our ids."""
    if not binary.has_words:
        return HashedVocabulary(binary)
    lines = binary.data[binary.words_at :].tobytes()
    if not lines.startswith(FIRST) or lines.count(b"\0") != binary.words or not lines.endswith(b"\0"):
        raise InputError(
            f"a KenLM binary whose words should begin at byte {binary.words_at:,} with {UNKNOWN_NAME}: {binary.words:,}"
            f", but {lines.count(bytes(1)):,} are there. It is truncated or damaged; get it again.",
            path=binary.path,
        )
    if any(space.encode() in lines for space in SPACE if space != "\0"):
        raise InputError("a KenLM binary with a word that has white space inside. It is damaged.", path=binary.path)
    lines = lines.replace(b"\0", b"\n")
    try:
        lines.decode()
    except UnicodeDecodeError as error:
        number = lines.count(b"\n", 0, error.start)
        raise InputError(
            f"a KenLM binary whose word {number} is not UTF-8. Build it from UTF-8.", path=binary.path
        ) from None
    offsets = line_offsets(lines)
    kept, at = [HEADER], len(FIRST)
    for number in sorted({int(binary.plan[0, column]) for column in (BEGIN, END)} - {UNKNOWN}):
        kept.append(lines[at : offsets[number]])
        at = offsets[number + 1]
    return Vocabulary(b"".join([*kept, lines[at:]]))


class HashedVocabulary(Vocabulary):
    """Words that can be looked up but not listed."""

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        self._theirs = numbers_of_words(binary)
        self._ours = np.zeros(binary.words, np.uint32)
        self._ours[self._theirs[::-1]] = np.arange(len(self._theirs), dtype=np.uint32)[::-1]
        self._ours[0] = UNKNOWN

    def _no_names(self) -> VocabularyError:
        return VocabularyError(
            f"{self.binary.path} was built without its words: it has their hashes, so texts are scored, but no word "
            f"can be named. Build it again with KenLM's build_binary, which adds them, or give the ARPA file."
        )

    def __len__(self) -> int:
        return len(self._theirs) - 1

    def word(self, word_id: int) -> str:
        """A reserved name; no other is known."""
        names = {0: UNKNOWN_NAME, 1: END_NAME, self.start: START_NAME}
        if word_id not in names:
            raise self._no_names()
        return names[word_id]

    @property
    def words(self) -> tuple[str, ...]:
        """Not known."""
        raise self._no_names()

    def id(self, word: str) -> int:
        """The word's id; UNKNOWN when it is not there."""
        return int(self.encode([word])[0])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and (word == UNKNOWN_NAME or self.id(word) != UNKNOWN)

    def encode(self, words: str | Sequence[str]) -> Ids:
        """The ids of the words."""
        names = [
            name.encode(errors="surrogatepass") for name in (split_words(words) if isinstance(words, str) else words)
        ]
        offsets = np.cumsum([0, *(len(name) + 1 for name in names)])
        blob = np.frombuffer(bytearray(b"\n".join([*names, bytes(PADDING)])), np.uint8)
        return self.look_up(blob, offsets)

    def look_up(self, blob: Bytes, offsets: Ints) -> Ids:
        """The ids of a list of words as vocabularies keep it."""
        found = np.zeros(len(offsets) - 1, np.uint32)
        binary_kernels.find_words(self.binary.data, self.binary.plan, blob, offsets, found)
        return self._ours[found]

    def encoders(self, workers: int | None = None) -> Sequence[Encoder]:
        """What makes ids of texts by hashing their words."""
        kernel = partial(binary_kernels.encode_lines, self.binary.data, self.binary.plan, self._ours, self.start)
        return [KernelEncoder(kernel) for _ in range(threads(workers))]

    def kernel_tables(self) -> Any:
        """Not known."""
        raise self._no_names()

    @property
    def fingerprint(self) -> str:
        """The sha256 of the hashes."""
        begin, count = (int(self.binary.plan[0, column]) for column in (WORD_TABLE, WORD_COUNT))
        stride = 8 if self.binary.is_trie else 12
        return hashlib.sha256(self.binary.data[begin : begin + stride * count].tobytes()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return _hashed, (self.binary.path,)

    def files(self) -> dict[str, bytes]:
        """Not known."""
        raise self._no_names()


def _hashed(path: Any) -> HashedVocabulary:
    return HashedVocabulary(open_binary(path))
