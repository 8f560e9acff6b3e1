"""A counted text and what else only the text, or all of its counts at once, can tell.

`Counts` alone are enough for a model. Held-out folds need the text again, wherever that is; whoever asks for them need
not know.

What a fold's positions are looked at with must not know them; so rows for training come from counts without the fold. A
pass over the fold finds all its n-grams in the trie of the whole text and takes one from each. N-grams that only the
fold had stay in the trie with frequency 0, which everything that reads counts takes for "does not occur".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from modlm.counts import trie_kernels
from modlm.counts.counts import Counts, Frequencies
from modlm.errors import InputError, VocabularyError
from modlm.ground.arrays import Ids, Ints
from modlm.text.corpus import Corpus
from modlm.text.folds import stretches

POSITIONS = 1 << 18  # walked at a time: eight bytes each and order


def held_out(counts: Counts, fold: Corpus | Ids) -> Counts:
    """The counts of everything but the fold: whole sentences of the counted text, as a corpus or as its ids."""
    fold = _as_corpus(counts, fold)
    frequencies: Frequencies = counts.frequencies.copy()
    for begin, end in stretches(fold.starts, POSITIONS):
        ids = np.asarray(fold.ids[fold.starts[begin] : fold.starts[end]])
        _, nodes_TN = counts.walk(ids)
        missing = trie_kernels.take_away(nodes_TN, ids, fold.vocabulary.start, counts.edge == "repeat", frequencies)
        if missing >= 0:
            words = " ".join(counts.vocabulary.decode(ids[max(0, missing - counts.context_length) : missing + 1]))
            raise InputError(
                f"The fold is not part of the counted text: {words!r} occurs more often in it than in all of the text. "
                f"Hold out sentences of the very text that was counted, with the same vocabulary."
            )
    return counts.with_frequencies(frequencies, sentences=counts.sentences - fold.sentences)


def _as_corpus(counts: Counts, fold: Corpus | Ids) -> Corpus:
    if not isinstance(fold, Corpus):
        return Corpus.from_ids(fold, counts.vocabulary)
    if fold.vocabulary != counts.vocabulary:
        raise VocabularyError(
            f"The fold has another vocabulary ({len(fold.vocabulary)} words) than the counts "
            f"({len(counts.vocabulary)}). Read the text once and cut the folds out of that corpus."
        )
    return fold


class Tally(ABC):
    """The counts of a text and their companions; every engine gives the same ones."""

    counts: Counts

    @abstractmethod
    def held_out(self, folds: int) -> Iterator[Counts]:
        """For each fold of the text, cut as `Corpus.folds` cuts, the counts of everything else; one at a time."""

    def continuation(self) -> Counts:
        """The counts that Kneser-Ney smooths, as `Counts.continuation` explains them."""
        return self.counts.continuation()

    def counts_of_counts(self, largest: int) -> tuple[list[Ints], list[Ints]]:
        """For each order how many n-grams occur r = 1..largest times; the same of the continuation counts."""
        both = (self.counts, self.continuation())
        raw, continued = ([of.counts_of_counts(n, largest)[1:] for n in range(1, of.order + 1)] for of in both)
        return raw, continued


class LocalTally(Tally):
    """All of it from a corpus and its counts on this machine."""

    def __init__(self, corpus: Corpus, counts: Counts) -> None:
        self.corpus, self.counts = corpus, counts

    def held_out(self, folds: int) -> Iterator[Counts]:
        for fold in self.corpus.folds(folds):
            yield held_out(self.counts, fold)
