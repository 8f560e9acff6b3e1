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
    """The score of a text; `stopped` is asked between batches and ends the evaluation by KeyboardInterrupt.

    Sentences are shared out batch by batch. Streams are evaluated by every process alike: their states pass from one
    batch to the next.
    """
    alike = isinstance(source, Streams)
    numbers = range(len(source)) if alike else range(processes.rank, len(source), processes.world)
    totals = torch.zeros(3, dtype=torch.float64)
    state: Tensor | None = None
    with torch.inference_mode():
        for number in numbers:
            if processes.world == 1 and stopped():
                raise KeyboardInterrupt
            batch = source.batch(number, WHOLE).to(processes.device)
            sums, state = _batch_sums(net, batch, state if alike else None)
            totals += sums
    if not alike:
        processes.add_up_exactly(totals)
    nll, mass, words = totals.tolist()
    return Score(nll / words, mass / words, int(words))


def _batch_sums(net: MixerNet, batch: Batch, state_SBH: Tensor | None) -> tuple[Tensor, Tensor]:
    """Summed nll, dense mass and words of a batch, and the state after it."""
    hidden_TBH, state_SBH = net.hidden(batch.contexts_TBW, batch.features_TBF, state_SBH)
    nll_P, mass_P = net.nll(batch.predicted(hidden_TBH), batch.log_probs_PD, batch.words_P)
    sums = (float(nll_P.cpu().double().sum()), float(mass_P.cpu().double().sum()), float(len(nll_P)))
    return torch.tensor(sums, dtype=torch.float64), state_SBH
