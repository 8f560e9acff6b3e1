"""Beam search over a decoder that gives log-probabilities token by token, alone or fused with language models.

A `Decoder` keeps its own memory (caches, encoder output) for the hypotheses of one utterance: `step(parents, tokens)`
takes one token further those it was asked for last, reordered. Everything is batched; no hypothesis costs a Python call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ints, Singles
from modlm.model.language_model import States

STRETCH = 64  # entries of which only the best is looked at first: a tenth of the time of partitioning all


class Decoder(Protocol):
    """A recogniser or translator, at work on one utterance."""

    def start(self) -> Singles:
        """(1, J): log-probabilities of the first token."""

    def step(self, parents_B: Ints, tokens_B: Ints) -> Singles:
        """(B, J): those after tokens that follow the hypotheses at these places of the last call."""


class Fusion(Protocol):
    """What a language model, or several, make of a decoder's log-probabilities."""

    def start(self, count: int = 1) -> States:
        """States before the first token."""

    def fused(self, states: States, log_probs_BJ: Singles) -> Singles:
        """(B, J): scores of every token after each hypothesis."""

    def follow(self, states: States, tokens_B: NDArray[Any]) -> States:
        """The states one token further."""


@dataclass(frozen=True, slots=True)
class Found:
    """A hypothesis that ended, without its end."""

    tokens: tuple[int, ...]
    score: float
    """Of all tokens and the end, with the bonus for each."""


def best_extensions(scores_B: Floats, added_BJ: Singles, count: int) -> tuple[Floats, Ints, Ints]:
    """The best sums of a row's score and an entry, the highest first: sums, rows, entries; impossible ones left out.

    The entries are taken in stretches: what the best stretches have at their best is a bound that few entries reach.
    Sums are compared in single precision and added up again in double.
    """
    flat = (added_BJ + (scores_B - scores_B.max()).astype(np.float32)[:, None]).ravel()
    tops = np.maximum.reduceat(flat, np.arange(0, len(flat), STRETCH))
    least = np.partition(tops, len(tops) - count)[len(tops) - count] if count < len(tops) else -np.inf
    places = np.flatnonzero(flat >= least)
    parents, tokens = np.divmod(places, added_BJ.shape[1])
    sums = scores_B[parents] + added_BJ[parents, tokens]
    order = np.argsort(-sums, kind="stable")[:count]
    order = order[np.isfinite(sums[order])]
    return sums[order], parents[order], tokens[order]


def beam_search(
    decoder: Decoder, fusion: Fusion | None = None, *, beam: int = 8, end: int, most: int, bonus: float = 0.0
) -> list[Found]:
    """Hypotheses that ended, at most `beam`, the best first; where none did within `most` tokens, those cut off.

    `bonus` is added for each token, against the liking of language models for short sentences. With a beam of 1 the
    search is greedy.
    """
    if beam < 1 or most < 1:
        raise ConfigError(f"A beam search needs a beam and a length of at least 1, but these are {beam} and {most}.")
    scores_B, paths_BT, done = np.zeros(1), np.zeros((1, 0), np.int64), list[Found]()
    log_probs_BJ, states = decoder.start(), fusion.start(1) if fusion else np.zeros(1)
    for _ in range(most):
        added_BJ = log_probs_BJ if fusion is None else fusion.fused(states, log_probs_BJ)
        sums, parents, tokens = best_extensions(scores_B, added_BJ, beam)
        paths_BT, scores, ended = np.column_stack((paths_BT[parents], tokens)), sums + bonus, tokens == end
        done += [Found(tuple(paths_BT[i, :-1].tolist()), float(scores[i])) for i in np.flatnonzero(ended)]
        done = sorted(done, key=lambda one: -one.score)[:beam]
        alive = np.flatnonzero(~ended)
        if not len(alive) or (len(done) == beam and done[-1].score >= scores[alive[0]] + max(0.0, bonus)):
            return done
        scores_B, paths_BT, parents, tokens = scores[alive], paths_BT[alive], parents[alive], tokens[alive]
        log_probs_BJ = decoder.step(parents, tokens)
        states = fusion.follow(states[parents], tokens) if fusion else states
    return done or [Found(tuple(path), float(score)) for path, score in zip(paths_BT.tolist(), scores_B, strict=True)]
