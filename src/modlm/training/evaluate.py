"""The mean negative log likelihood of a text under a net, in large batches and shared out over processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from modlm.nets.mixer_net import MixerNet
from modlm.training.batches import WHOLE, Batch, BatchSource, Streams
from modlm.training.distributed import Processes
from modlm.training.journal import perplexity
from modlm.training.signals import StoppedEvaluation


@dataclass(frozen=True, slots=True)
class Score:
    """How well a text is predicted; means over its words and sentence ends."""

    mean_nll: float
    dense_mass: float
    """Weight on the dense columns."""
    words: int

    @property
    def perplexity(self) -> float:
        """exp of the mean."""
        return perplexity(self.mean_nll)

    def named(self, text: str) -> dict[str, float]:
        """The score as entries of a journal line."""
        return {
            f"{text}_mean_nll": self.mean_nll,
            f"{text}_perplexity": self.perplexity,
            f"{text}_dense_mass": self.dense_mass,
        }


def evaluate(
    net: MixerNet, source: BatchSource, processes: Processes, *, stopped: Callable[[], bool] = lambda: False
) -> Score:
    """The score of a text; `stopped` is asked between batches and ends the evaluation by StoppedEvaluation.

    Processes take batches of sentences in turns. Of streams, whose states pass from one batch to the next, each takes
    its part of every batch.
    """
    streams = isinstance(source, Streams)
    shard, first, step = (processes.shard, 0, 1) if streams else (WHOLE, processes.rank, processes.world)
    totals = torch.zeros(3, dtype=torch.float64)
    state: Tensor | None = None
    with torch.inference_mode():
        for turn in range(-(-len(source) // step)):  # as many in every process
            if processes.agreed(stopped()):
                raise StoppedEvaluation
            number = first + turn * step
            if number >= len(source):
                break
            batch = source.batch(number, shard).to(processes.device)
            if batch.real_TB.shape[1]:
                sums, state = _batch_sums(net, batch, state if streams else None)
                totals += sums
    processes.add_up_exactly(totals)
    nll, mass, words = totals.tolist()
    return Score(nll / words, mass / words, int(words))


def _batch_sums(net: MixerNet, batch: Batch, state_SBH: Tensor | None) -> tuple[Tensor, Tensor]:
    """Summed nll, dense mass and words of a batch, and the state after it."""
    hidden_TBH, state_SBH = net.hidden(batch.contexts_TBW, batch.features_TBF, state_SBH)
    nll_P, mass_P = net.nll(batch.predicted(hidden_TBH), batch.log_probs_PD, batch.words_P)
    sums = (float(nll_P.cpu().double().sum()), float(mass_P.cpu().double().sum()), float(len(nll_P)))
    return torch.tensor(sums, dtype=torch.float64), state_SBH
