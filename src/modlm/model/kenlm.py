"""A KenLM binary as a language model, read where it lies; `modlm.load` opens it.

Scores, states and lengths of n-grams are KenLM's own. Whole distributions ask for every word after the state, which
takes a lookup or more each; a converted model (`modlm convert`, for tries) is much faster at that.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import InputError
from modlm.formats.kenlm import Binary, open_binary, query_kernels
from modlm.formats.kenlm.binary import binary_in
from modlm.formats.kenlm.listing import read_tables
from modlm.formats.kenlm.words import numbers_of_words, vocabulary_of
from modlm.ground.arrays import Floats, Ids, Ints, in_parallel
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.model.ngram.arpa import from_arpa
from modlm.model.ngram.compiled import parts_of
from modlm.model.ngram_lm import NgramLM
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

LN10 = float(np.log(10.0))


def read_model(path: str | os.PathLike[str]) -> KenlmModel:
    return KenlmModel(open_binary(Path(path)))


class KenlmModel(LanguageModel):
    """P(w | c) of a KenLM binary. States are rows of the words before with their backoffs, nearest first."""

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        self.vocabulary = vocabulary_of(binary)
        self.context_length = binary.order - 1
        self._theirs = numbers_of_words(binary)

    def __repr__(self) -> str:
        return f"KenlmModel({self.binary.described()}, order {self.binary.order}, {len(self.vocabulary):,} words)"

    @property
    def order(self) -> int:
        return self.binary.order

    def described(self) -> dict[str, Any]:
        words = "listed at its end" if self.binary.has_words else "as hashes only"
        about = {"model": "KenLM binary", "structure": self.binary.described(), "order": self.order}
        return about | {"ngrams": list(self.binary.counts), "names of words": words}

    def log_probs(self, ids: Ids) -> Floats:
        out = np.empty(len(ids))
        walk = partial(query_kernels.score_text, self.binary.data, self.binary.plan, self._theirs, ids)
        in_parallel([partial(walk, *cuts.tolist(), out) for cuts in parts_of(ids, self.vocabulary.start, 1)])
        out *= LN10
        return out

    def word_probs(self, ids: Ids) -> Floats:
        return np.exp(self.log_probs(ids))

    def start(self, count: int = 1) -> Ids:
        return self._advance(self._empty(count), np.full(count, self.vocabulary.start, np.uint32))[0]

    def advance(self, states: Ids, words: Ids) -> tuple[Ids, Floats]:
        new_states, _, log10_probs = self._advance(states, words)
        return new_states, log10_probs * LN10

    def _empty(self, count: int) -> Ids:
        return np.full((count, 2 * (self.order - 1)), 0xFFFFFFFF, np.uint32)

    def _advance(self, states_BS: Ids, words: Ids) -> tuple[Ids, Ints, Floats]:
        start, words = self.vocabulary.start, np.asarray(words, np.uint32)
        marks = np.where(words == start, query_kernels.START, query_kernels.NOTHING)
        codes = np.where(words < start, self._theirs[np.minimum(words, start)], marks).astype(np.int64)
        new_BS, orders, out = np.empty_like(states_BS), np.empty(len(codes), np.int64), np.empty(len(codes))
        query_kernels.advance(self.binary.data, self.binary.plan, states_BS, codes, new_BS, orders, out)
        return new_BS, orders, out

    def distributions(self, states: Ids) -> Floats:
        words_J = np.arange(len(self.vocabulary), dtype=np.uint32)
        rows = in_parallel([partial(self._advance, np.repeat(row[None], len(words_J), 0), words_J) for row in states])
        return np.exp(np.stack([log10_probs for _, _, log10_probs in rows]) * LN10)

    def state_after(self, windows_BC: Ids) -> Ids:
        states = self._empty(len(windows_BC))
        for column in range(windows_BC.shape[1]):
            states = self._advance(states, windows_BC[:, column])[0]
        return states

    @cached_property
    def _converted(self) -> NgramLM:
        return NgramLM(*from_arpa(read_tables(self.binary)))

    def as_ngram(self) -> NgramLM:
        """The same model in our form; an `InputError` for hash tables, whose n-grams cannot be listed."""
        return self._converted

    def parts(self) -> Parts:
        """What a folder keeps of it: the same model in our form, or the file itself where n-grams cannot be listed."""
        if self.binary.is_trie:
            return self.as_ngram().parts()
        about = {"kind": "kenlm", **self.vocabulary.fingerprints()}
        return Parts(about, {"kenlm": self.binary.data}, self.vocabulary.files())

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> KenlmModel:
        data = stored.array("kenlm", np.uint8)
        model = cls(stored.checked(lambda: binary_in(data, stored.path), (InputError,)))
        if model.vocabulary.fingerprint != vocabulary.fingerprint:
            raise stored.damaged("its vocabulary is not that of its KenLM binary")
        model.vocabulary = vocabulary
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self.binary.path,)
