"""Sentences out of their sources: beam search over a mixture that reads a source, many sentences at a time.

Hypotheses of all sentences of a batch go through the model side by side, one word a step. A sentence is done when as
many hypotheses have ended as its beam is wide, or when it is as long as it may get. With a beam of 1 that is the most
probable word at every step. Scores are log P over ((5 + words) / 6) ** length_penalty (Wu et al. 2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from modlm.blocks.block import Beside
from modlm.blocks.copy import CopyBlock
from modlm.blocks.lexicon import LexiconBlock
from modlm.errors import ConfigError
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.ground.progress import progress
from modlm.model.sampling import most_probable
from modlm.text.vocabulary import END, UNKNOWN

if TYPE_CHECKING:
    from modlm.model.mixture import Mixture

SENTENCES = 32  # translated side by side
READ_AHEAD = 64  # batches whose sentences are sorted by length


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """How translations are searched for."""

    width: int = 5
    """Hypotheses that are kept at every step."""
    n_best: int = 1
    """Translations of each sentence that come out, at most `width`."""
    length_penalty: float = 1.0
    """0 prefers short sentences, as log P alone does; more prefers longer ones."""
    longest: float = 2.0
    """Words at most, for each word of the source, and ten besides; the end counts as one."""
    unknown: str = "replace"
    """`<unk>` in a translation: `replace` it by what the source word it comes from is in the lexicon, or by that word
    itself; `keep` it; `never` let it be said."""

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.width:
            raise ConfigError(f"n_best must be between 1 and the beam's width, {self.width}, but is {self.n_best}.")
        if not self.length_penalty >= 0 or not self.longest > 0:
            raise ConfigError(
                f"length_penalty must not be negative and longest must be above 0, but they are {self.length_penalty} "
                f"and {self.longest}."
            )
        if self.unknown not in ("replace", "keep", "never"):
            raise ConfigError(f"unknown must be replace, keep or never, but is {self.unknown!r}.")

    def most_words(self, source: int) -> int:
        """Of a translation, if the source has so many."""
        return int(self.longest * source) + 10

    def score(self, log_prob: float, words: int) -> float:
        """By which hypotheses of unlike length compare."""
        return float(log_prob / ((5 + words) / 6) ** self.length_penalty)


USUAL = Beam()


@dataclass(frozen=True, slots=True)
class Translation:
    """A sentence and where its words come from."""

    words: tuple[str, ...]
    log_prob: float
    """Natural logarithm, with the end of the sentence."""
    score: float
    places: tuple[int, ...] = ()
    """For each word the place of the source word that gave it most, from 1; 0: no column over the source gave anything.
    Empty for models without such columns."""
    ids: tuple[int, ...] = ()
    """Of the words that the model chose, before any `<unk>` was replaced."""

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass(slots=True)
class _Search:
    """One sentence on its way."""

    longest: int
    words: list[list[int]] = field(default_factory=lambda: [[]])
    log_probs: list[float] = field(default_factory=lambda: [0.0])
    ended: list[tuple[list[int], float]] = field(default_factory=list)

    def step(self, totals_LJ: AnyFloats, width: int) -> list[tuple[int, int]]:
        """Take the best continuations; the hypotheses to go on with, each as its parent and its next word."""
        size = totals_LJ.shape[1]
        flat = totals_LJ.ravel()
        best = most_probable(flat, 2 * width).tolist()
        kept, words = list[tuple[int, int]](), self.words
        self.words, self.log_probs, over = [], [], len(words[0]) + 1 >= self.longest
        for rank, place in enumerate(best):
            parent, word = divmod(place, size)
            if not flat[place] > -np.inf or len(kept) == width or len(self.ended) == width:
                break
            if word == END:
                if rank < width:
                    self.ended.append((words[parent], float(flat[place])))
            elif not over:
                kept.append((parent, word))
                self.words.append([*words[parent], word])
                self.log_probs.append(float(flat[place]))
        if over and len(self.ended) < width:  # what has not ended does so now
            self.ended += [(own, float(totals_LJ[row, END])) for row, own in enumerate(words)]
        return [] if over or len(self.ended) >= width else kept


def translate(model: Mixture, sentences: Iterable[str], beam: Beam = USUAL) -> Iterator[list[Translation]]:
    """For each source sentence its `n_best` translations, the best first; in order, as batches are done."""
    if not model.reads.source:
        raise ConfigError("The model reads no source, so it cannot translate. Train one with modlm.train(source=...).")
    lines = iter(sentences)
    with progress("translating") as bar:
        while some := list(islice(lines, SENTENCES * READ_AHEAD)):
            found: list[list[Translation]] = [[]] * len(some)
            order = sorted(range(len(some)), key=lambda number: len(some[number]))
            for begin in range(0, len(order), SENTENCES):
                own = order[begin : begin + SENTENCES]
                beside = model.beside([some[number] for number in own])
                for number, source, ended in zip(own, beside.sources, search(model, beside, beam), strict=True):
                    found[number] = [_told(model, some[number], source, *one, beam) for one in ended]
                bar.advance(len(own))
            yield from found


def search(model: Mixture, beside: Beside, beam: Beam = USUAL) -> list[list[tuple[list[int], float]]]:
    """For each source the ids of its best hypotheses without their end, and log P with it; the best first."""
    searches = [_Search(beam.most_words(len(source))) for source in beside.sources]
    states, live = model.start(len(searches), beside), list(range(len(searches)))
    while live:
        log_probs_LJ = model.log_distributions(states)
        if beam.unknown == "never":
            log_probs_LJ[:, UNKNOWN] = -np.inf
        parents, words, at, going = list[int](), list[int](), 0, list[int]()
        for number in live:
            own, count = searches[number], len(searches[number].words)
            totals_LJ = log_probs_LJ[at : at + count] + np.array(own.log_probs)[:, None]
            kept = own.step(totals_LJ, beam.width)
            parents += [at + parent for parent, _ in kept]
            words += [word for _, word in kept]
            going += [number] if kept else []
            at += count
        live = going
        if live:
            states = model.advance(states[parents], np.array(words, np.uint32))[0]
    by_score = [sorted(own.ended, key=lambda one: -beam.score(one[1], len(one[0]) + 1)) for own in searches]
    return [own[: beam.n_best] for own in by_score]


def _told(model: Mixture, sentence: str, source: Ids, ids: list[int], log_prob: float, beam: Beam) -> Translation:
    """The words of a hypothesis, and where they come from."""
    words, score = tuple(model.vocabulary.decode(ids)), beam.score(log_prob, len(ids) + 1)
    told = Translation(words, log_prob, score, ids=tuple(ids))
    if not model.layout.over_source or not len(source):
        return told if not model.layout.over_source else replace(told, places=(0,) * len(ids))
    bounded = np.array([model.vocabulary.start, *ids, END], np.uint32)
    weights_TS, gave_TS = over_source(model, bounded, source)
    places = tuple(int(gave.argmax()) + 1 if gave.any() else 0 for gave in gave_TS[:-1])
    if beam.unknown == "replace" and UNKNOWN in ids:
        said, source_words = list(words), model.source_vocabulary
        assert source_words is not None
        for at in (at for at, word in enumerate(ids) if word == UNKNOWN):
            place = int(weights_TS[at].argmax())
            said[at] = _translated(model, int(source[place])) or source_words.split(sentence)[place]
        words = tuple(said)
    return replace(told, words=words, places=places)


def over_source(model: Mixture, ids: Ids, source: Ids) -> tuple[Floats, Floats]:
    """For each word of a sentence and its end (T), lambda of the columns over each source word (S), and what they gave:
    lambda times probability, as a share of P; all blocks over the source together.
    """
    _, probs_TK, weights_TK = model.shares_along(ids, Beside([source]))
    spans = model.layout.parts_of(weights_TK.shape[1] + model.layout.deltas - (model.layout.deltas > 0))
    own = [spans[name] for name in model.layout.over_source]
    shares_TK = probs_TK * weights_TK / (probs_TK * weights_TK).sum(axis=1, keepdims=True)
    weights_TS = sum((weights_TK[:, span] for span in own), np.zeros((len(ids) - 1, len(source))))
    return weights_TS, sum((shares_TK[:, span] for span in own), np.zeros_like(weights_TS))


def _translated(model: Mixture, word: int) -> str:
    """The most probable translation of a source word that is a known word; nothing if a table does not know any."""
    for block in model.dense.values():
        if isinstance(block, LexiconBlock) and not isinstance(block, CopyBlock) and word != UNKNOWN:
            first, targets, probs = block.arrays
            own = slice(int(first[word]), int(first[word + 1]))
            known = targets[own] != UNKNOWN
            if known.any():
                return model.vocabulary.word(int(targets[own][np.argmax(np.where(known, probs[own], 0.0))]))
    return ""
