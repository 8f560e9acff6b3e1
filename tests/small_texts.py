"""Small texts, awkward ones among them, and what the library and the oracle make of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import DTypeLike

from modlm.counts import memory
from modlm.counts.counts import Counts
from modlm.ground.arrays import AnyFloats
from modlm.model.ngram.compiled import Compiled
from modlm.model.ngram_lm import NgramLM
from modlm.text import Corpus, Vocabulary
from oracle import Oracle

RANDOM = random.Random(11)

TEXTS: dict[str, list[str]] = {
    "an empty line": [""],
    "empty lines among others": ["a b", "", "a", "", ""],
    "one word": ["a"],
    "one sentence": ["a b c a b"],
    "a constant": ["a a a a a a a"],
    "a repeated sentence": ["a b c"] * 9,
    "a few sentences": ["a b", "a b", "a c"],
    "one sentence of each kind": ["a", "b a", "c b a", "d c b a", "a a", "b b b", ""],
    "random sentences": [
        " ".join(RANDOM.choices("abcdefgh", [9, 6, 4, 3, 2, 1, 1, 1], k=RANDOM.randint(0, 7))) for _ in range(60)
    ],
}

EDGES = ("once", "repeat")
EXTRAS = (("uniform",), ("uniform", "unknown"))

TEXT_LISTS = st.lists(
    st.lists(st.sampled_from("aaabbcde"), max_size=6).map(" ".join), min_size=1, max_size=12
)  # enough letters for all counts of counts, few enough for n-grams to come again


def counts_of(
    text: Sequence[str], *, order: int = 3, edge: str = "once", vocabulary: Sequence[str] | None = None
) -> Counts:
    """The counts of sentences, over their own words or those of a vocabulary."""
    corpus = Corpus.from_text(list(text), None if vocabulary is None else Vocabulary.from_words(vocabulary))
    trie, frequencies = memory.build(corpus.ids, vocab_size=len(corpus.vocabulary), order=order, edge=edge, workers=1)
    return Counts(corpus.vocabulary, trie, frequencies, edge=edge, sentences=corpus.sentences)


def model_of(
    text: Sequence[str],
    *,
    order: int = 3,
    edge: str = "once",
    vocabulary: Sequence[str] | None = None,
    smoothing: str = "modified-kneser-ney",
    discounts: Sequence[Sequence[float]] | None = None,
    extra: Sequence[str] = ("uniform",),
    dtype: DTypeLike = np.float64,
) -> NgramLM:
    """An n-gram model in full precision."""
    counts = counts_of(text, order=order, edge=edge, vocabulary=vocabulary)
    return NgramLM.from_counts(counts, smoothing=smoothing, discounts=discounts, extra=extra, dtype=dtype)


def oracle_of(
    text: Sequence[str],
    *,
    order: int = 3,
    edge: str = "once",
    vocabulary: Sequence[str] | None = None,
    smoothing: str = "modified-kneser-ney",
    discounts: Sequence[Sequence[float]] | None = None,
    extra: Sequence[str] = ("uniform",),
) -> Oracle:
    """The oracle for the same arguments."""
    sentences = [sentence.split() for sentence in text]
    given = None if discounts is None else list(discounts) * (order if len(discounts) == 1 else 1)
    return Oracle(
        sentences, order=order, edge=edge, vocabulary=vocabulary, smoothing=smoothing, discounts=given, extra=extra
    )


def contexts_of(text: Sequence[str], *, longest: int = 6) -> Iterator[tuple[list[str], bool]]:
    """Contexts, and whether they begin a sentence: every one of the text, cut-outs of it, and some never seen."""
    seen = {tuple(words[:i]) for words in map(str.split, text) for i in range(len(words) + 1)}
    for words in sorted(seen):
        yield list(words), True
        yield list(words[-longest:]), False
    for unseen in (["z"], ["a", "z"], ["z", "a"], ["b"] * 8, ["c", "a", "b", "b", "a", "c", "d"], []):
        yield unseen, True
        yield unseen, False


def flat_ids(counts_or_model: Counts | NgramLM, text: Sequence[str]) -> np.ndarray:
    """A text as the ids of a model's vocabulary."""
    return Corpus.from_text(list(text), counts_or_model.vocabulary).ids


def windows_of(vocabulary: Vocabulary, contexts: Sequence[tuple[list[str], bool]], *, length: int) -> np.ndarray:
    """Contexts as windows of one length, filled up at the left with NOTHING."""
    from modlm.blocks import NOTHING

    windows_BC = np.full((len(contexts), length), NOTHING, dtype=np.uint32)
    for row, (words, start) in zip(windows_BC, contexts, strict=True):
        ids = np.append([vocabulary.start] if start else [], vocabulary.encode(words)).astype(np.uint32)[-length:]
        row[length - len(ids) :] = ids
    return windows_BC


def all_probs(compiled: Compiled) -> AnyFloats:
    """The probabilities of all nodes of a compiled model."""
    return compiled.probs_of(np.arange(len(compiled.words)))
