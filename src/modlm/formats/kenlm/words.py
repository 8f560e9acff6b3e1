"""The words of a KenLM binary as a vocabulary of ours, and KenLM's number of each.

Most files end with their words. Those built without (`build_binary -v`) have only hashes: a word can be looked up, but
no number has a name. Then texts are scored and the model is a column over other words, and whatever would have to show
its words (next words, generated text, conversion) says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from modlm.errors import VocabularyError
from modlm.formats.kenlm import binary_kernels
from modlm.formats.kenlm import columns as c
from modlm.formats.kenlm.binary import Binary, open_binary
from modlm.ground.arrays import Bytes, Ids, Ints, threads
from modlm.text.encoding import Encoded, Encoder, Fault, refused_word
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary
from modlm.text.word_list import HEADER, RESERVED, SPACE, UNKNOWN_NAME, line_offsets

FIRST = UNKNOWN_NAME.encode() + b"\0"


def numbers_of_words(binary: Binary) -> Ids:
    """KenLM's number of each of our ids: `<unk>`, `</s>`, the others in its order, `<s>` last; 0 for a missing one."""
    begin, end = (int(binary.plan[0, column]) for column in (c.BEGIN, c.END))
    others = np.arange(binary.words, dtype=np.uint32)
    others[[begin, end]] = 0
    return np.concatenate(([0, end], others[others > 0], [begin]), dtype=np.uint32, casting="unsafe")


def ids_of_numbers(theirs: Ids, words: int) -> Ids:
    """Our id of each of KenLM's numbers."""
    ours = np.zeros(words, np.uint32)
    ours[theirs[::-1]] = np.arange(len(theirs), dtype=np.uint32)[::-1]
    return ours


def vocabulary_of(binary: Binary) -> Vocabulary:
    """Its words by our ids."""
    if not binary.has_words:
        return HashedVocabulary(binary)
    lines = binary.data[binary.words_at :].tobytes()
    count, spaces = lines.count(b"\0"), [space for space in SPACE if space != "\0" and space.encode() in lines]
    if not lines.startswith(FIRST) or count != binary.words or not lines.endswith(b"\0") or spaces:
        raise binary.damaged(
            f"its {binary.words:,} words should begin at byte {binary.words_at:,}, {UNKNOWN_NAME} first and none with "
            f"white space inside, but {count:,} are there"
        )
    lines = lines.replace(b"\0", b"\n")
    try:
        lines.decode()
    except UnicodeDecodeError as error:
        raise binary.damaged(f"its word {lines.count(bytes(10), 0, error.start)} is not UTF-8") from None
    offsets = line_offsets(lines)
    kept, at = [HEADER], len(FIRST)
    for number in sorted({int(binary.plan[0, column]) for column in (c.BEGIN, c.END)} - {UNKNOWN}):
        kept.append(lines[at : offsets[number]])
        at = offsets[number + 1]
    return Vocabulary(b"".join([*kept, lines[at:]]))


class HashedVocabulary(Vocabulary):
    """Words that can be looked up but not listed."""

    def __init__(self, binary: Binary) -> None:
        theirs = numbers_of_words(binary)
        self.binary, self._ours = binary, ids_of_numbers(theirs, binary.words)
        self._offsets = np.zeros(len(theirs), np.int64)

    @property
    def _lines(self) -> bytes:  # type: ignore[override]
        raise VocabularyError(
            f"{self.binary.path} was built without its words: it has their hashes, so texts are scored, but no word "
            f"can be named. Build it again with KenLM's build_binary, which adds them, or give the ARPA file."
        )

    @property
    def fingerprint(self) -> str:
        begin, count = (int(self.binary.plan[0, column]) for column in (c.WORD_TABLE, c.WORD_COUNT))
        size = (8 if self.binary.is_trie else 12) * count
        return hashlib.sha256(self.binary.data[begin : begin + size].data).hexdigest()

    def word(self, word_id: int) -> str:
        return RESERVED[word_id] if word_id in (UNKNOWN, END) else super().word(word_id)

    def id(self, word: str) -> int:
        """The word's id; UNKNOWN when it is not there."""
        return int(self.encode([word])[0])

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and (word == UNKNOWN_NAME or self.id(word) != UNKNOWN)

    def encode(self, words: str | Sequence[str | bytes]) -> Ids:
        given = self.split(words) if isinstance(words, str) else words
        names = [name if isinstance(name, bytes) else name.encode(errors="surrogatepass") for name in given]
        offsets = np.cumsum([0, *(len(name) + 1 for name in names)])
        return self.look_up(np.frombuffer(bytearray(b"\n".join([*names, b""])), np.uint8), offsets)

    def look_up(self, blob: Bytes, offsets: Ints) -> Ids:
        """The ids of a list of words as vocabularies keep it."""
        found = np.zeros(len(offsets) - 1, np.uint32)
        binary_kernels.find_words(self.binary.data, self.binary.plan, blob, offsets, found)
        return self._ours[found]

    def encoders(self, workers: int | None = None) -> Sequence[Encoder]:
        """What makes ids of texts by hashing their words."""
        return [HashingEncoder(self) for _ in range(threads(workers))]

    def __reduce__(self) -> tuple[Any, ...]:
        return _hashed, (self.binary.path,)


class HashingEncoder:
    """Lines to ids by the hashes of a file, split by Python: for the few files without words."""

    def __init__(self, vocabulary: HashedVocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, data: bytearray, size: int, *, unknown_name: bool) -> Encoded | Fault:
        lines = [line.split() for line in bytes(data[:size]).replace(b"\0", b" ").split(b"\n")[:-1]]
        reserved = {name.encode() for name in (RESERVED[1:] if unknown_name else RESERVED)}
        for number, line in enumerate(lines, start=1):
            if found := reserved & set(line):
                return Fault(number, refused_word(found.pop().decode(), "the text"))
        ids = self.vocabulary.encode([name for line in lines for name in line])
        ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
        places = np.stack([np.append(0, ends[:-1]), ends], axis=1).ravel()
        whole = np.insert(ids, places, np.tile(np.array([self.vocabulary.start, END], np.uint32), len(lines)))
        return Encoded(whole, len(lines), int((ids == UNKNOWN).sum()), len(ids), size)


def _hashed(path: Any) -> HashedVocabulary:
    return HashedVocabulary(open_binary(path))
