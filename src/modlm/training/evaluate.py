"""The mean negative log likelihood of a text as its model scores it, shared out over processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from modlm.model.scored_text import perplexity_of
from modlm.nets.batches import ALL, BatchSource
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.training.distributed import Processes
from modlm.training.signals import StoppedEvaluation


@dataclass(frozen=True, slots=True)
class Score:
    """How well a text is predicted; means over its words and sentence ends."""

    mean_nll: float
    dense_mass: float  # weight on the dense columns
    words: int

    @property
    def perplexity(self) -> float:
        return perplexity_of(-self.mean_nll, 1)

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
    mixer = NetMixer(net)
    shard, first, step = (processes.shard, 0, 1) if source.carries else (ALL, processes.rank, processes.world)
    totals, state = np.zeros(3), None
    for turn in range(-(-len(source) // step)):  # as many in every process
        if processes.agreed(stopped()):
            raise StoppedEvaluation
        number = first + turn * step
        if number < len(source):
            scored = mixer.score(source, number, state, shard=shard)
            totals += (-scored.log_probs_P.sum(), scored.mass_P.sum(), len(scored.log_probs_P))
            state = scored.state_SBH
    processes.add_up_exactly(torch.from_numpy(totals))
    nll, mass, words = totals.tolist()
    return Score(nll / words, mass / words, int(words))
