"""Words a second of the four models of the paper's footnote, over the same text, in turns.

How fast a net is does not depend on what it has learnt, so none is trained. The heuristic is the mixture over the same
columns, `p = D · λ` with λ by the fallback rule; the compiled form of the same model, faster by far, has no part here.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from modlm.blocks.block import ColumnLayout
from modlm.blocks.ngram import NgramBlock
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram.estimation import heuristic_mixture
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.text.corpus import Corpus
from modlm.training.blocks import RunBlock, all_blocks, dense_blocks
from modlm.training.config import RunConfig
from modlm.training.config_file import find_table, merged, run_config

PRESETS = {
    "LSTM LM": "paper/ptb-lstm",
    "LSTM-interpolated": "paper/ptb-kn-cr-lstm",
    "FF-interpolated": "paper/ptb-kn-c-ff",
}
HEURISTIC = "heuristic KN"
ROUNDS = 7


def words_per_second(train_text: Sequence[Path], test_text: Path, *, rounds: int = ROUNDS) -> dict[str, float]:
    """The median over the rounds, predictions a second from ids, for each model."""
    train = Corpus.from_text(list(train_text))
    test = Corpus.from_text(test_text, train.vocabulary)
    models = contestants(train)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(1 + rounds):  # in the first, compiled code is loaded and caches get warm
        for name, model in models.items():
            begun = time.perf_counter()
            model.perplexity(test)
            seconds[name].append(time.perf_counter() - begun)
    predictions = test.words + test.sentences
    return {name: round(predictions / statistics.median(found[1:]), 1) for name, found in seconds.items()}


def contestants(train: Corpus) -> dict[str, LanguageModel]:
    """The four models, with columns from the same counts."""
    texts = {"text": "train", "valid": "valid"}  # never opened
    configs = {name: run_config(merged(find_table(preset), texts)) for name, preset in PRESETS.items()}
    columns = dense_blocks(configs["FF-interpolated"], train)
    block = columns["kn"].block
    assert isinstance(block, NgramBlock)
    models: dict[str, LanguageModel] = {HEURISTIC: heuristic_mixture(block.estimates, extra=("uniform", "unknown"))}
    return models | {name: untrained(config, train, columns) for name, config in configs.items()}


def untrained(config: RunConfig, train: Corpus, columns: Mapping[str, RunBlock]) -> LanguageModel:
    """The model of a run before its first step: its speed does not depend on what it has learnt."""
    blocks = all_blocks(config, train.vocabulary, {} if config.kind == "neural" else columns)
    layout, words = ColumnLayout(blocks), len(train.vocabulary)
    net = MixerNet(config.net, vocab_size=words, features=layout.features, dense=layout.dense, delta=layout.deltas > 0)
    return Mixture(train.vocabulary, blocks, NetMixer(net))
