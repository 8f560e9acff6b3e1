"""Word alignment by EM: parallel text in, a translation table and the links of its words out.

IBM Model 1 (Brown et al. 1993) begins with all target words equally likely; the HMM (Vogel et al. 1996) goes on from
its table and learns how far the source is jumped along from each target word to the next. Pairs with an empty side
teach nothing. Sums are taken over a fixed number of parts, so results do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from modlm.counts.translation import em_kernels
from modlm.counts.translation.table import TranslationTable
from modlm.errors import ConfigError, InputError
from modlm.ground.arrays import Floats, Ids, Ints, even_ranges, in_parallel
from modlm.ground.progress import Progress, progress
from modlm.text.folds import Cut
from modlm.text.parallel import Parallel

PARTS = 4  # of the pairs, whose counts are held side by side
FARTHEST = 20  # jumps beyond this are as likely as one of this length
LEAST = 1e-9  # the weight of a jump that was never expected


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentOptions:
    """How a table is estimated."""

    model1: int = 5
    """Iterations of IBM Model 1."""
    hmm: int = 5
    """Iterations of the HMM; 0 for Model 1 alone."""
    empty: float = 0.2
    """How likely the HMM takes a target word to come from no source word (Och and Ney 2003)."""
    prior: float = 1e-3
    """Of a symmetric Dirichlet distribution over translations: a small one keeps rare words from translating everything
    around them. 0 for none, which is maximum likelihood."""
    least: float = 1e-6
    """Translations less likely than this are left out of the table."""

    def __post_init__(self) -> None:
        if self.model1 < 1 or self.hmm < 0:
            raise ConfigError(f"There must be an iteration of Model 1, but there are {self.model1} and {self.hmm}.")
        if not 0 < self.empty < 1 or not 0 <= self.least < 1 or not self.prior >= 0:
            raise ConfigError(
                f"empty must be between 0 and 1, least from 0 to 1 and prior from 0 up, but they are {self.empty}, "
                f"{self.least} and {self.prior}."
            )


USUAL = AlignmentOptions()


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """What EM found."""

    table: TranslationTable
    links: Ints
    """For each id of the target the place of the source word that it comes from, from 0; -1 for none."""
    log_likelihoods: tuple[float, ...]
    """Of the target words given the sources before each iteration, those of Model 1, then those of the HMM; and at the
    end. How likely a place is, is part of it. With a prior they are of weights that sum to less than 1."""
    predictions: int
    """How many target words that is."""


def align(pairs: Parallel, options: AlignmentOptions = USUAL, *, fold: Sequence[Cut] = ()) -> Alignment:
    """Estimate a table of source words' translations from pairs, without those of a fold."""
    chosen = pairs.without(fold)
    if not len(chosen):
        raise InputError("No pair of sentences has words on both sides, so there is nothing to align.")
    with progress("align", total=(options.model1 + options.hmm + 1) * len(chosen)) as bar:
        return _Em(pairs, chosen, options, bar).run()


def estimate_table(pairs: Parallel, options: AlignmentOptions = USUAL) -> TranslationTable:
    """The table alone."""
    return align(pairs, options).table


def estimate_without(
    pairs: Parallel, folds: Sequence[Sequence[Cut]], options: AlignmentOptions = USUAL
) -> list[TranslationTable]:
    """For each fold a table that knows nothing of its pairs."""
    return [align(pairs, options, fold=fold).table for fold in folds]


class _Em:
    def __init__(self, pairs: Parallel, chosen: Ints, options: AlignmentOptions, bar: Progress) -> None:
        self.pairs, self.chosen, self.options, self.bar = pairs, chosen, options, bar
        self.texts = (pairs.source.ids, pairs.source.starts, pairs.target.ids, pairs.target.starts)
        self.rows = len(pairs.source.vocabulary) + 1  # the empty word's is the last
        self.first, self.words, self.frequency = _met(pairs, chosen, self.rows)
        self.counts: Floats = np.ones(len(self.words))
        self.probs: Floats = np.full(len(self.words), 1 / len(pairs.target.vocabulary))
        self.links = np.full(len(pairs.target.ids), -1, np.int64)
        widest = int(np.diff(pairs.source.starts)[chosen].max())
        self.jumps, self.begins, self.ends = np.ones(2 * widest + 1), np.ones(widest), np.ones(widest)

    def run(self) -> Alignment:
        """All iterations; then the links that the last parameters make likeliest."""
        found = [self._step(self._model1) for _ in range(self.options.model1)]
        found += [self._step(self._hmm) for _ in range(self.options.hmm)]
        found.append(self._step(self._hmm if self.options.hmm else self._model1, learn=False))
        em_kernels.normalise(self.first, self.counts, 0.0, self.probs)
        source, own = self.pairs.source.vocabulary, slice(0, int(self.first[-2]))
        whole = TranslationTable(
            source, self.pairs.target.vocabulary, self.first[:-1], self.words[own], self.probs[own], self.frequency[:-1]
        )
        words = int((np.diff(self.pairs.target.starts)[self.chosen] - 2).sum())
        return Alignment(whole.pruned(self.options.least), self.links, tuple(found), words)

    def _step(self, expect: Callable[[Ints, Floats, Floats], float], *, learn: bool = True) -> float:
        """Expectations of all pairs, and the parameters that they make likeliest; the log-likelihood before."""
        parts = [self.chosen[low:high] for low, high in even_ranges(len(self.chosen), PARTS)]
        counts = [np.zeros(len(self.words)) for _ in parts]
        tallies = [np.zeros((6, len(self.jumps))) for _ in parts]
        tasks = [partial(expect, *own) for own in zip(parts, counts, tallies, strict=True)]
        log_likelihood = sum(in_parallel(tasks))
        if learn:
            self.counts = np.sum(counts, axis=0)
            em_kernels.normalise(self.first, self.counts, self.options.prior, self.probs)
            if tallies[0].any():
                self._learn_jumps(np.sum(tallies, axis=0))
        self.bar.advance(len(self.chosen))
        return log_likelihood

    def _model1(self, chosen: Ints, counts: Floats, tallies: Floats) -> float:
        return em_kernels.model1(self.first, self.words, self.probs, *self.texts, chosen, counts, self.links)

    def _hmm(self, chosen: Ints, counts: Floats, tallies: Floats) -> float:
        return em_kernels.hmm(
            self.first, self.words, self.probs, *self.texts, chosen, self.jumps, self.begins, self.ends,
            self.options.empty, counts, self.links, tallies,
        )  # fmt: skip

    def _learn_jumps(self, tallies_6W: Floats) -> None:
        """Weights in proportion to which places are chosen; no such step makes the text less likely (Hunter 2004)."""
        middle, widest = len(self.jumps) // 2, len(self.begins)
        distances = np.clip(np.arange(-middle, middle + 1), -FARTHEST, FARTHEST) + FARTHEST
        places = np.minimum(np.arange(widest), FARTHEST)
        self.begins = _weights(tallies_6W[2, :widest], tallies_6W[3, :widest], places)
        either = np.concatenate((distances, places + 2 * FARTHEST + 1))  # one goes on from a place, or ends there
        made, could = (np.concatenate((tallies_6W[row], tallies_6W[row + 4, :widest])) for row in (0, 1))
        self.jumps, self.ends = np.split(_weights(made, could, either), [len(distances)])


def _weights(made: Floats, could: Floats, groups: Ints) -> Floats:
    """For each group how often it was chosen over how often it could have been; all alike if nothing was."""
    sums = [np.bincount(groups, tallies) for tallies in (made, could)]
    shares = np.where(sums[1] > 0, sums[0] / np.where(sums[1] > 0, sums[1], 1.0), 0.0 if sums[0].any() else 1.0)
    weights: Floats = np.maximum(shares / shares.max(), LEAST)[groups]
    return weights


def _met(pairs: Parallel, chosen: Ints, rows: int) -> tuple[Ints, Ids, Ints]:
    """The rows of a table: which target words each source word meets; and how often it is there."""
    ids, starts = pairs.source.ids, pairs.source.starts
    kept = np.zeros(len(starts) - 1, np.bool_)
    kept[chosen] = True
    own = np.asarray(ids)[np.repeat(kept, np.diff(starts))]
    frequency = np.bincount(own, minlength=rows).astype(np.int64)
    frequency[1] -= len(chosen)  # ends of sentences are no words
    begins = np.concatenate(([0], np.cumsum(frequency)))
    sentences = np.empty(begins[-1], np.int64)
    em_kernels.sentences_with(ids, starts, chosen, begins[:-1].copy(), sentences)
    first, words = np.zeros(rows + 1, np.int64), np.zeros(0, np.uint32)
    for _ in range(2):  # how many, then which
        _meet(pairs, begins, sentences, first, words)
        if not len(words):
            first = np.concatenate(([0], np.cumsum(first[:-1])))
            words = np.empty(int(first[-1]), np.uint32)
    return first, words, frequency


def _meet(pairs: Parallel, begins: Ints, sentences: Ints, first: Ints, words: Ids) -> None:
    """Stretches of source words with about as many sentences each."""
    cuts = np.searchsorted(begins, np.linspace(0, begins[-1], 4 * PARTS + 1))
    cuts[0], cuts[-1] = 0, len(begins) - 1
    tasks = [
        partial(
            em_kernels.meetings, begins, sentences, pairs.target.ids, pairs.target.starts, low, high,
            np.full(len(pairs.target.vocabulary), -1, np.int64), first, words,
        )
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True) if low < high
    ]  # fmt: skip
    in_parallel(tasks)
