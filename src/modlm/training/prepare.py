"""Everything a run needs before its first step: texts with their rows, and the net."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from modlm.ground.arrays import Floats
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.training.blocks import columns_of
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.leaks import warn_of_leaks
from modlm.training.texts import RunTexts, shared_texts


def prepare(config: RunConfig, processes: Processes) -> tuple[RunTexts, MixerNet]:
    """Read, count and make rows, once on each machine; all processes call this together."""
    texts = shared_texts(config, processes)
    if processes.leads:
        dense = texts.rows["train"].spans
        as_they_are = [name for name, own in columns_of(config).items() if not own.held_out and name in dense]
        warn_of_leaks(as_they_are, texts.rows, texts.vocab_size)
    return texts, make_net(config, texts, processes).to(processes.device)


def make_net(config: RunConfig, texts: RunTexts, processes: Processes) -> MixerNet:
    """The net with its first parameters, and features scaled by the training text."""
    train = texts.rows["train"]
    counted_T = np.ones(len(train.ids), np.bool_)
    counted_T[train.starts[:-1]] = False

    def over_machines(sums: Floats) -> Floats:
        totals = torch.from_numpy(sums if processes.leads_machine else np.zeros_like(sums))
        processes.add_up_exactly(totals)
        return totals.numpy()

    features_TF = train.features_TF if processes.leads_machine else train.features_TF[:0]
    scaling = FeatureScaling.fit(
        features_TF, config.net.features, counted_T=counted_T, steady_F=train.steady_F, add_up=over_machines
    )
    source, over = texts.source_vocabulary, train.over_sources
    return MixerNet(
        replace(config.net, source_words=len(source) if source else 0),
        vocab_size=texts.vocab_size,
        features=train.features_TF.shape[1],
        dense=train.log_probs_TD.shape[1],
        delta=config.kind != "interpolated",
        over_source=(len(over.blocks), over.features_SF.shape[1]) if over else (0, 0),
        scaling=scaling,
        seed=config.seed,
    )
