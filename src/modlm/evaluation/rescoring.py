"""Rescoring of n-best lists: total = first-pass score + sum of weight * feature, and weights tuned to few errors.

Features of a hypothesis are its log-probability under a language model, its number of words, and (if asked for) the
logarithm of its place in the list. The errors of every hypothesis are counted once; with those the best weight along
any line is found exactly, since errors are constant between the points where a list changes its winner (Och 2003). A
search goes along each weight and along drawn directions until nothing improves, from several starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modlm.errors import ConfigError
from modlm.evaluation import error_kernels
from modlm.ground.arrays import Bools, Floats, Ints
from modlm.ground.progress import progress
from modlm.model.language_model import LanguageModel
from modlm.text.vocabulary import split_words

LM, WORDS, RANK = range(3)
FEATURES = ("lm_weight", "word_penalty", "rank_weight")
BATCH = 1 << 15  # hypotheses scored at once, so that a bar can move
IMPOSSIBLE = -1e5
"""Stands for log 0, so that sums and lines stay finite."""
STARTS = 8
DIRECTIONS = 4  # drawn ones in each round of a search
FARTHEST = 30.0
"""How far weights may be from 0, where 1 gives a feature the spread that the first-pass scores have."""
NARROWEST = 1e-6  # of an interval, on the same scale; in a narrower one rounding decides


@dataclass(frozen=True, slots=True)
class Weights:
    """What features count beside the first-pass score, whose weight is 1."""

    lm_weight: float = 1.0
    word_penalty: float = 0.0
    """Added for each word; above 0 favours long hypotheses."""
    rank_weight: float = 0.0
    """Times the natural logarithm of the place in the list (from 1); below 0 favours what stood in front."""

    def array(self) -> Floats:
        return np.array([self.lm_weight, self.word_penalty, self.rank_weight])


@dataclass(frozen=True, eq=False, slots=True)
class Lists:
    """N-best lists as arrays: hypotheses (H) in lists (U)."""

    starts: Ints
    """Where each list begins, and behind them H; no list is empty."""
    first_H: Floats
    """First-pass scores, higher is better."""
    features_HF: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    def totals(self, weights_F: Floats) -> Floats:
        """What hypotheses are ordered by."""
        totals_H: Floats = self.first_H + self.features_HF @ weights_F
        return totals_H

    def best(self, weights_F: Floats) -> Ints:
        """The place (in H) of each list's best hypothesis; the first of equal ones."""
        return best_of(self.starts, self.totals(weights_F))

    def part(self, chosen_U: Bools) -> "tuple[Lists, Ints]":
        """Some of the lists, and where their hypotheses stood."""
        lengths = np.diff(self.starts)
        places: Ints = np.flatnonzero(np.repeat(chosen_U, lengths))
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[chosen_U])))
        return Lists(starts, self.first_H[places], self.features_HF[places]), places


def best_of(starts: Ints, totals_H: Floats) -> Ints:
    """The place of the highest of each list; the first of equal ones."""
    out = np.empty(len(starts) - 1, dtype=np.int64)
    error_kernels.best_of_lists(starts, np.ascontiguousarray(totals_H, dtype=np.float64), out)
    return out


def log_probs_of(model: LanguageModel, hypotheses: Sequence[str]) -> Floats:
    """`score_batch` of all hypotheses, equal ones scored once; IMPOSSIBLE at the least."""
    unique = list(dict.fromkeys(hypotheses))
    place_of = {hypothesis: place for place, hypothesis in enumerate(unique)}
    scores = np.empty(len(unique))
    with progress("scoring", total=len(unique), unit="hypotheses") as bar:
        for begin in range(0, len(unique), BATCH):
            some = unique[begin : begin + BATCH]
            scores[begin : begin + BATCH] = model.score_batch(some)
            bar.advance(len(some))
    places = np.fromiter((place_of[hypothesis] for hypothesis in hypotheses), np.int64, len(hypotheses))
    found: Floats = np.maximum(scores, IMPOSSIBLE)[places]
    return found


def lists_of(hypotheses: Sequence[str], starts: Ints, first_H: Floats, log_probs_H: Floats) -> Lists:
    words_H = np.fromiter((len(split_words(text)) for text in hypotheses), np.float64, len(hypotheses))
    rank_H = np.arange(len(hypotheses)) - np.repeat(starts[:-1], np.diff(starts)) + 1
    return Lists(starts, first_H, np.stack((log_probs_H, words_H, np.log(rank_H)), axis=1))


def tune(
    lists: Lists, errors_H: Ints, weights: Weights, free: Sequence[str], *, rng: np.random.Generator
) -> tuple[Weights, int]:
    """The weights with the fewest errors found, those not named in `free` staying as they are; and these errors."""
    unknown = [name for name in free if name not in FEATURES]
    if unknown:
        raise ConfigError(f"There is no weight {unknown[0]!r}. There are: {', '.join(FEATURES)}.")
    given_F = weights.array()
    errors = int(errors_H[lists.best(given_F)].sum())
    places = [FEATURES.index(name) for name in FEATURES if name in free]
    unit_F = scales(lists)
    places = [place for place in places if unit_F[place] > 0]  # a feature that never differs in a list decides nothing
    if not places or len(lists) == 0:
        return weights, errors
    found_F, fewest = given_F, errors
    for start_F in _starts(given_F, places, unit_F, rng):
        at_F, here = _descend(lists, errors_H, start_F, places, unit_F, rng)
        if here < fewest:
            found_F, fewest = at_F, here
    return Weights(*found_F.tolist()), fewest


def scales(lists: Lists) -> Floats:
    """For each feature the weight at which it spreads as widely within lists as first-pass scores do."""
    lengths = np.diff(lists.starts)

    def spread(values_H: Floats) -> float:
        means = np.add.reduceat(values_H, lists.starts[:-1]) / lengths
        return float(np.sqrt(np.mean((values_H - np.repeat(means, lengths)) ** 2)))

    if len(lists) == 0:
        return np.ones(lists.features_HF.shape[1])
    first = spread(lists.first_H) or 1.0
    own = [spread(np.maximum(column, IMPOSSIBLE / 100)) for column in lists.features_HF.T]
    return np.array([first / value if value > 0 else 0.0 for value in own])


def _starts(given_F: Floats, places: list[int], unit_F: Floats, rng: np.random.Generator) -> list[Floats]:
    """Where searches begin: the first pass alone, equal parts of it and the features, and drawn points."""
    starts = []
    for start in range(STARTS):
        start_F = given_F.copy()
        size = np.exp(rng.normal(0.0, 1.0, len(places))) if start > 1 else np.full(len(places), float(start))
        sign = np.array(
            [1.0 if place == LM else -1.0 if place == RANK else rng.choice((-1.0, 1.0)) for place in places]
        )
        start_F[places] = size * sign * unit_F[places]
        starts.append(start_F)
    return starts


def _descend(
    lists: Lists, errors_H: Ints, start_F: Floats, places: list[int], unit_F: Floats, rng: np.random.Generator
) -> tuple[Floats, int]:
    at_F, fewest = start_F, int(errors_H[lists.best(start_F)].sum())
    improved = True
    while improved:
        improved = False
        axes = np.eye(len(unit_F))[places]
        drawn = np.zeros((DIRECTIONS if len(places) > 1 else 0, len(unit_F)))
        drawn[:, places] = rng.normal(size=(len(drawn), len(places)))
        for direction_F in np.concatenate((axes, drawn)):
            moved_F = line_search(lists, errors_H, at_F, direction_F * unit_F, unit_F)
            here = int(errors_H[lists.best(moved_F)].sum())
            if here < fewest:
                at_F, fewest, improved = moved_F, here, True
    return at_F, fewest


def line_search(lists: Lists, errors_H: Ints, at_F: Floats, direction_F: Floats, unit_F: Floats) -> Floats:
    """The point of the line with the fewest errors: the middle of the widest interval that has them.

    The line ends where a weight would be FARTHEST from 0, and where that of the language model would fall below 0.
    """
    low, high = -np.inf, np.inf
    for place, (value, slope) in enumerate(zip(at_F.tolist(), direction_F.tolist(), strict=True)):
        if slope:
            least = 0.0 if place == LM else -FARTHEST * unit_F[place]
            ends = sorted(((least - value) / slope, (FARTHEST * unit_F[place] - value) / slope))
            low, high = max(low, ends[0]), min(high, ends[1])
    if not low < high:
        return at_F
    steps, changes = np.empty(len(lists.first_H)), np.empty(len(lists.first_H), dtype=np.int64)
    slopes_H = np.ascontiguousarray(lists.features_HF @ direction_F)
    count, base = error_kernels.envelopes(lists.starts, lists.totals(at_F), slopes_H, errors_H, steps, changes)
    order = np.argsort(steps[:count], kind="stable")
    at, errors = steps[order], base + np.cumsum(changes[order])
    edges = np.clip(np.concatenate(([-np.inf], at, [np.inf])), low, high)
    errors = np.concatenate(([base], errors))
    widths = np.diff(edges)
    errors[widths < NARROWEST] = np.iinfo(np.int64).max
    fewest = np.flatnonzero(errors == errors.min())
    inside = fewest[np.argmax(np.minimum(widths[fewest], 1.0))]  # wider than 1 is wide enough
    begin, end = edges[inside], edges[inside + 1]
    if end - begin > 1.0:  # mostly the open ends: stay near the edge that the data gave, or near where we are
        near = begin if begin > low else end if end < high else min(max(0.0, begin), end)
        begin, end = max(begin, near - 1.0), min(end, near + 1.0)
    found_F: Floats = at_F + (begin + end) / 2 * direction_F
    return found_F
