"""Counts of a text without one part of it, by taking the part's own counts away instead of counting the rest again.

What a fold's positions are looked at with must not know them; so rows for training come from counts without the fold. A
pass over the fold finds all its n-grams in the trie of the whole text and takes one from each. N-grams that only the
fold had stay in the trie with frequency 0, which everything that reads counts takes for "does not occur".
"""

from __future__ import annotations

import numpy as np

from modlm.counts import trie_kernels
from modlm.counts.counts import Counts, Frequencies
from modlm.errors import InputError, VocabularyError
from modlm.ground.arrays import Ids
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
