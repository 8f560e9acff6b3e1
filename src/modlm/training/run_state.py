"""Where a run stands: everything about it that is no tensor, and the rules that follow from it alone.

A checkpoint holds a `RunState` as JSON. When to evaluate, when to stop and how fast to learn depend on nothing else
(the clock decides only about `minutes`), so a resumed run decides as the uninterrupted one would have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from modlm.training.config import OptimiserConfig, RunConfig


@dataclass(slots=True)
class RunState:
    """How far a run has come."""

    step: int = 0  # updates made
    epoch: int = 0  # epochs finished
    index: int = 0  # batches done in this epoch
    words: int = 0  # words trained on
    evaluated: int = 0  # `words` at the last evaluation
    evaluations: int = 0
    train_nll: float = 0.0  # summed since the last evaluation, as are the next two
    train_mass: float = 0.0
    train_words: int = 0
    best_valid: float = math.inf  # the lowest mean nll on the validation text
    best_step: int = -1
    worse: int = 0  # evaluations since the best one
    factor: float = 1.0  # what a plateau schedule has made of the learning rate
    seconds: float = 0.0  # time spent, over all parts of the run
    threads: int = 0  # of the last update, where trials choose them; 0 where they do not
    journal: int = 0  # bytes of the journal that belong to the run up to here; likewise of the timings
    timings: int = 0

    def moved(self, batch_words: int, batches: int) -> None:
        """One more batch of an epoch of so many."""
        self.step, self.index, self.words = self.step + 1, self.index + 1, self.words + batch_words
        if self.index == batches:
            self.epoch, self.index = self.epoch + 1, 0

    def judged(self, valid: float, config: OptimiserConfig) -> bool:
        """Whether this evaluation is the best so far; counts the others, and slows down learning on a plateau."""
        better = valid < self.best_valid
        if better:
            self.best_valid, self.best_step, self.worse = valid, self.step, 0
        else:
            self.worse += 1
            if config.schedule == "plateau" and self.worse % config.wait == 0:
                self.factor *= config.decay
        self.evaluated, self.evaluations = self.words, self.evaluations + 1
        self.train_nll, self.train_mass, self.train_words = 0.0, 0.0, 0
        return better


@dataclass(frozen=True, slots=True)
class Rules:
    """A run's configuration with the length of its training text."""

    config: RunConfig
    epoch_words: int

    @property
    def total_words(self) -> float:
        """Words of a run that nothing ends early."""
        return self.config.schedule.epochs * self.epoch_words

    @property
    def evaluate_every(self) -> float:
        """Words between evaluations: as set, or half an epoch."""
        return self.config.schedule.evaluate_every or self.epoch_words / 2

    def epochs(self, state: RunState) -> float:
        """Passes over the text, with their fraction."""
        return state.words / self.epoch_words

    def evaluation_due(self, state: RunState) -> bool:
        """At every multiple of `evaluate_every`, and at the end."""
        if state.words == state.evaluated:
            return False
        passed = state.words // self.evaluate_every > state.evaluated // self.evaluate_every
        return passed or state.words >= self.total_words

    def finished(self, state: RunState) -> str:
        """What ends the run now: epochs, patience, or nothing."""
        if state.words >= self.total_words:
            return "epochs"
        schedule = self.config.schedule
        tired = 0 < schedule.patience <= state.worse and self.epochs(state) >= schedule.least_epochs
        return "patience" if tired else ""

    def learning_rate(self, state: RunState) -> float:
        optimiser = self.config.optimiser
        rate = optimiser.learning_rate * state.factor
        if optimiser.schedule == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * min(1.0, state.words / self.total_words)))
        if state.words < optimiser.warmup:
            rate *= (state.words + 1) / (optimiser.warmup + 1)
        return rate

    def block_dropout_rate(self, state: RunState) -> float:
        return self.config.block_dropout.rate * self.config.block_dropout.decay**state.epoch
