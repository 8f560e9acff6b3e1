"""The loop of a run: steps, evaluations and checkpoints until the schedule, patience, time or a signal ends it.

Randomness is not carried along: every step begins with a generator seeded by the run's seed and the step's number. So a
step depends on nothing but the parameters, the optimiser's memory and where the run stands, which is what a checkpoint
holds; and each of several processes draws what one process alone would.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor

from modlm.errors import LostProcessError
from modlm.ground.arrays import Ints
from modlm.nets.batches import Batch, BatchSource, Streams
from modlm.nets.block_dropout import BlockDropout, folded_spans
from modlm.nets.dropout import Dropout
from modlm.nets.features import of_this_version
from modlm.nets.mixer_net import MixerNet
from modlm.nets.mixture_loss import Cases
from modlm.training.checkpoint import Checkpoint, CheckpointWriter
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.divergence import LARGEST_NLL, diverged
from modlm.training.evaluate import Score, evaluate
from modlm.training.journal import JOURNAL, TIMINGS, Journal, Line
from modlm.training.live import Live
from modlm.training.optimiser import Average, Optimiser
from modlm.training.row_cache import TRAIN
from modlm.training.run_state import Rules, RunState
from modlm.training.signals import Interrupted, StoppedEvaluation, StopRequest, listening
from modlm.training.texts import RunTexts, evaluation_batches, train_batches
from modlm.training.thread_choice import ThreadChoice
from modlm.training.tracking import Tracker, values_of


@dataclass(slots=True)
class Trainer:
    """A net on its way. `run` trains it to the end; afterwards it has the parameters of the best evaluation."""

    config: RunConfig
    texts: RunTexts
    net: MixerNet
    folder: Path
    processes: Processes
    checkpoints: CheckpointWriter | None = None  # none in all processes but the first
    trackers: tuple[Tracker, ...] = ()
    watch: Callable[[Line], None] = lambda line: None  # told of every evaluation; what it raises ends the run
    threads: ThreadChoice | None = None  # none: as many as torch has
    clock: Callable[[], float] = time.monotonic
    run_state: RunState = field(default_factory=RunState)
    train: BatchSource = field(init=False)
    evaluated: dict[str, BatchSource] = field(init=False)  # valid, and test if there is one
    rules: Rules = field(init=False)
    live: Live = field(init=False)
    block_dropout: BlockDropout = field(init=False)
    optimiser: Optimiser = field(init=False)
    average: Average = field(init=False)
    best: dict[str, Tensor] = field(default_factory=dict)
    state_SBH: Tensor | None = None  # context = document: the state after the last batch
    request: StopRequest = field(default_factory=StopRequest)
    _best_is_new: bool = False
    _generator: torch.Generator = field(default_factory=torch.Generator)
    _order: tuple[int, Ints] = (-1, np.zeros(0, np.int64))
    _since: float = 0.0  # the clock when `run_state.seconds` was last brought up to date
    _saved: float = 0.0  # the clock at the last checkpoint
    _timed: tuple[float, int] = (0.0, 0)  # seconds and words at the end of the last evaluation

    def __post_init__(self) -> None:
        config, net, rows = self.config, self.net, self.texts.rows
        self.train = train_batches(config, rows[TRAIN])
        self.evaluated = {name: evaluation_batches(config, own) for name, own in rows.items() if name != TRAIN}
        self.rules = Rules(config, self.train.words)
        self.live = Live(self.rules, leads=self.processes.leads)
        over = rows[TRAIN].over_sources
        spans = folded_spans(rows[TRAIN].spans, over.blocks if over else ())
        self.block_dropout = BlockDropout(config.block_dropout, spans, delta=net.delta)
        lazy = [] if net.config.tied or not net.inputs.takes_words else [net.inputs.word_vectors]
        self.optimiser = Optimiser(config.optimiser, net.parameters(), lazy=lazy)
        self.average = Average(config.optimiser.average, net.parameters())

    # ---- taking up and saving ---------------------------------------------------------------------------------------

    def take_up(self, checkpoint: Checkpoint) -> None:
        self.run_state = checkpoint.state
        if self.threads is not None:
            self.threads.keep(self.run_state.threads)
        self.net.load_state_dict(of_this_version(checkpoint.part("net")))
        self.optimiser.load(checkpoint.part("optimiser"))
        self.average.load(checkpoint.part("average"))
        self.best = {name: value.to(self.processes.device) for name, value in of_this_version(checkpoint.best).items()}
        state_SBH = checkpoint.tensors.get("state")
        if state_SBH is not None:
            self.state_SBH = state_SBH[:, self.processes.shard].to(self.processes.device)

    def save(self) -> None:
        """Write a checkpoint in the background; all processes call this together."""
        tensors = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        tensors |= {f"optimiser.{name}": value for name, value in self.optimiser.tensors().items()}
        tensors |= {f"average.{name}": value for name, value in self.average.tensors().items()}
        if isinstance(self.train, Streams) and self.run_state.index > 0:
            tensors["state"] = self._whole_state(len(self.train.first_B))
        if self.checkpoints is not None:
            self.checkpoints.write(self.run_state, tensors, self.best if self._best_is_new else None)
        self._best_is_new = False
        self._saved = self.clock()

    def _whole_state(self, streams: int) -> Tensor:
        """The states of all streams, whichever process has them; some processes may have none."""
        rows, units = self.net.state_shape
        whole_SBH = torch.zeros(rows, streams, units, device=self.processes.device)
        if self.state_SBH is not None:
            whole_SBH[:, self.processes.shard] = self.state_SBH
        self.processes.add_up([whole_SBH], torch.zeros(1))
        return whole_SBH

    # ---- the loop ---------------------------------------------------------------------------------------------------

    def run(self) -> str:
        """Train to the end; why it ended: epochs, patience or minutes. Interrupted when asked to stop."""
        for name, length in ((JOURNAL, self.run_state.journal), (TIMINGS, self.run_state.timings)):
            if self.processes.leads:
                Journal(self.folder / name).cut(length)
        self._since = self._saved = self.clock()
        self._timed = (self.run_state.seconds, self.run_state.words)
        try:
            with listening() as self.request:
                reason = self._loop()
        finally:
            self.live.close()
            if self.checkpoints is not None:
                self.checkpoints.close()
        if self.best:
            self.net.load_state_dict(self.best)
        return reason

    def _loop(self) -> str:
        time_over = 0 < 60 * self.config.schedule.minutes <= self.run_state.seconds
        while True:
            if self.rules.evaluation_due(self.run_state) or (
                time_over and self.run_state.words > self.run_state.evaluated
            ):
                self._evaluate()
                self.save()
            reason = self.rules.finished(self.run_state) or ("minutes" if time_over else "")
            if reason:
                return reason
            if self.threads is not None:
                change = self.threads.choose(self._rehearse)
                self.run_state.threads = self.threads.now
                if change:
                    self.live.note(change)
            stop, save, time_over = self.step()
            self.live.stepped(self.run_state)
            if stop:
                self._interrupted()
            if save:
                self.save()

    def _interrupted(self) -> NoReturn:
        self.save()
        self.live.note(f"stopped after {self.run_state.words:,} words; a checkpoint is saved")
        raise Interrupted

    def _tick(self) -> float:
        """Seconds spent so far."""
        now = self.clock()
        self.run_state.seconds += now - self._since
        self._since = now
        return self.run_state.seconds

    # ---- one step ---------------------------------------------------------------------------------------------------

    def step(self) -> tuple[bool, bool, bool]:
        """One update. Whether to stop, to save a checkpoint, and whether the time is over, as all processes see it."""
        number = self._next_batch()
        batch = self.train.batch(number, self.processes.shard).to(self.processes.device)
        self.optimiser.clear()
        nll, mass = self.backward(batch)
        numbers = torch.tensor([nll, mass, *self._wishes()], dtype=torch.float64)
        self.processes.add_up(self.optimiser.gradients(), numbers)
        nll, mass, *wishes = numbers.tolist()
        norm = self.optimiser.norm()
        if not (nll <= LARGEST_NLL * batch.words and math.isfinite(norm)):
            if not self.processes.leads:
                raise LostProcessError("The first process says what happened.", told=True)
            raise diverged(self, number, nll)
        self.optimiser.step(learning_rate=self.rules.learning_rate(self.run_state), norm=norm)
        self.run_state.train_nll += nll
        self.run_state.train_mass += mass
        self.run_state.train_words += batch.words
        self.run_state.moved(batch.words, len(self.train))
        self.average.take_in(self.run_state.step, batch.words)
        if self.run_state.index == 0:
            self.state_SBH = None
        stop, save, time_over = (wish > 0 for wish in wishes)
        return stop, save, time_over

    def _rehearse(self, ahead: int) -> None:
        """The gradients of a batch to come, for the time they take; afterwards everything is as it was."""
        state_SBH, self.state_SBH = self.state_SBH, None
        self.backward(self.train.batch(self._next_batch(ahead), self.processes.shard).to(self.processes.device))
        self.state_SBH = state_SBH
        self.optimiser.clear()

    def _next_batch(self, ahead: int = 0) -> int:
        epoch, order = self._order
        if epoch != self.run_state.epoch:
            order = self.train.order(self.run_state.epoch, self.config.seed)
            self._order = (self.run_state.epoch, order)
        return int(order[(self.run_state.index + ahead) % len(order)])

    def _wishes(self) -> tuple[float, float, float]:
        """Stop; save; time over. Clocks differ, so only the first process looks at its own."""
        if not self.processes.leads:
            return float(self.request.asked), 0.0, 0.0
        schedule = self.config.schedule
        save = self.clock() - self._saved >= schedule.checkpoint_seconds
        over = 0 < 60 * schedule.minutes <= self._tick()
        return float(self.request.asked), float(save), float(over)

    def backward(self, batch: Batch) -> tuple[float, float]:
        """Gradients of the summed nll of this process's part of a batch; that sum, and that of the dense mass."""
        if batch.real_TB.shape[1] == 0:
            return 0.0, 0.0
        hidden_PH, cases = self.forward(batch)
        products: torch.dtype = getattr(torch, self.config.products)
        nll_P, mass_P = self.net.nll(
            hidden_PH, batch.log_probs_PD, batch.words_P, cases, products=products,
            source_log_probs_PX=batch.source_log_probs_PX,
        )  # fmt: skip
        nll = nll_P.sum()
        nll.backward()  # type: ignore[no-untyped-call]
        summed, mass = torch.stack([nll.detach(), mass_P.sum()]).tolist()
        return summed, mass

    def forward(self, batch: Batch) -> tuple[Tensor, Cases]:
        """Hidden vectors of the predicted positions, and the columns that block dropout switches off there."""
        seeds = np.random.SeedSequence((self.config.seed, self.run_state.step))
        self._generator.manual_seed(int(seeds.generate_state(1, np.uint64)[0]))
        shard = self.processes.shard
        dropout = Dropout.of(self.net.config, self._generator, batch.whole[1], shard)
        hidden_TBH, state_SBH = self.net.hidden(
            batch.contexts_TBW, batch.features_TBF, self.state_SBH, dropout=dropout, sources=batch.sources,
            source_features_BSF=batch.source_features_BSF,
        )  # fmt: skip
        if self.train.carries:
            self.state_SBH = state_SBH.detach()
        rate = self.rules.block_dropout_rate(self.run_state)
        cases = self.block_dropout.cases(batch, rate=rate, generator=self._generator, shard=shard)
        return batch.predicted(hidden_TBH), cases

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def _evaluate(self) -> None:
        started = self._tick()
        try:
            with self.average.in_place():
                scores = {name: self.score(source) for name, source in self.evaluated.items()}
        except StoppedEvaluation:
            self._interrupted()  # a run that is taken up evaluates first
        line = self._journal_line(scores)
        line["best"] = self.run_state.judged(scores["valid"].mean_nll, self.config.optimiser)
        if line["best"]:
            with self.average.in_place():
                self.best = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
            self._best_is_new = True
        ended = self._tick()
        if self.processes.leads:
            self.run_state.journal = Journal(self.folder / JOURNAL).add(line)
            timing = self._timing_line(started, ended, sum(score.words for score in scores.values()))
            self.run_state.timings = Journal(self.folder / TIMINGS).add(timing)
        self._timed = (ended, self.run_state.words)
        for tracker in self.trackers:
            tracker.add(values_of(line), self.run_state.words)
        self.live.evaluated(line)
        self.watch(line)

    def score(self, source: BatchSource) -> Score:
        """How well the net as it is predicts a text."""
        return evaluate(self.net, source, self.processes, stopped=lambda: self.request.asked)

    def _journal_line(self, scores: Mapping[str, Score]) -> Line:
        state = self.run_state
        words = state.train_words
        line: Line = {
            "words": state.words,
            "epoch": self.rules.epochs(state),
            "step": state.step,
            "learning_rate": self.rules.learning_rate(state),
            "block_dropout_rate": self.rules.block_dropout_rate(state),
        }
        for text, score in {TRAIN: Score(state.train_nll / words, state.train_mass / words, words), **scores}.items():
            line |= score.named(text)
        return line

    def _timing_line(self, started: float, ended: float, evaluated: int) -> Line:
        since, words = self._timed
        return {
            "words": self.run_state.words,
            "seconds": ended,
            "train_words_per_second": (self.run_state.words - words) / max(1e-9, started - since),
            "evaluation_words_per_second": evaluated / max(1e-9, ended - started),
            "threads": torch.get_num_threads(),
        }
