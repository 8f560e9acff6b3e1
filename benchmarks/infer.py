"""Evaluation speed of nets: neurally interpolated n-grams beside the heuristic, a hybrid beside the plain LSTM.

    python benchmarks/infer.py --ptb TRAIN TEST

Every model scores the same text from its ids, in turns. Speed does not depend on what a net has learnt, so none is
trained. The heuristic is the mixture over the same columns, `p = D · λ` with λ by the fallback rule, not the compiled
n-gram form, which stands beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from modlm.blocks.ngram import NgramBlock
from modlm.experiments.reproduce.speed import untrained
from modlm.model.language_model import LanguageModel
from modlm.model.ngram_lm import NgramLM, heuristic_mixture
from modlm.text.corpus import Corpus
from modlm.training.blocks import dense_blocks
from modlm.training.config import RunConfig
from modlm.training.config_file import find_table, merged, run_config
from side_by_side.ratios import Speeds, arguments, publish
from side_by_side.timing import clocked, in_turns

TITLE = "Evaluation speed of nets"
PRESETS = {
    "FF-interpolated, C": "paper/ptb-kn-c-ff",
    "LSTM-interpolated, CR": "paper/ptb-kn-cr-lstm",
    "hybrid": "paper/ptb-hybrid",
    "plain LSTM": "paper/ptb-lstm",
}
HEURISTIC, COMPILED = "heuristic KN", "compiled KN"


def models(train: Corpus, hidden: int) -> dict[str, LanguageModel]:
    """All contestants, with columns from the same counts."""
    configs = {name: configured(preset, hidden) for name, preset in PRESETS.items()}
    columns = dense_blocks(configs["hybrid"], train)
    block = columns["kn"].block
    assert isinstance(block, NgramBlock)
    found: dict[str, LanguageModel] = {
        COMPILED: NgramLM.fit(train, 5, edge="repeat", extra=("uniform", "unknown")),
        HEURISTIC: heuristic_mixture(block.estimates, extra=("uniform", "unknown")),
    }
    return found | {name: untrained(config, train, columns) for name, config in configs.items()}


def configured(preset: str, hidden: int) -> RunConfig:
    """A preset with another number of units; its texts are never opened."""
    return run_config(merged(find_table(preset), {"text": "train", "valid": "valid", "net": {"hidden": hidden}}))


def measured(asked: argparse.Namespace) -> Speeds:
    """Words a second of every model, and the ratios that have bars."""
    train_text, test_text = map(Path, asked.ptb)
    train = Corpus.from_text(train_text)
    test = Corpus.from_text(test_text, train.vocabulary)
    tasks: dict[str, Callable[[], float]] = {}
    for name, model in models(train, asked.hidden).items():
        score = partial(model.perplexity, test)
        score()  # compiled code is loaded, caches are warm
        tasks[name] = clocked(score)
    speeds = Speeds(test.words, in_turns(asked.repetitions, tasks))
    speeds.compare("FF-interpolated, C", HEURISTIC, at_least=0.5)
    speeds.compare("LSTM-interpolated, CR", HEURISTIC, at_least=0.15)
    speeds.compare("hybrid", "plain LSTM", at_least=0.95)
    speeds.compare(HEURISTIC, COMPILED)
    speeds.facts.append(f"{len(train.vocabulary):,} words in the vocabulary, nets of {asked.hidden} units, order 5")
    return speeds


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    asked = arguments("Evaluation speed of nets, as ratios.", given)
    publish(measured(asked), TITLE, "infer.py", asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
