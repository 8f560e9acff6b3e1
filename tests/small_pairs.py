"""A tiny language and its translation: every word has one of its own, and the order is turned round."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from modlm.blocks import DeltaBlock, UniformBlock
from modlm.blocks.block import ColumnLayout
from modlm.blocks.copy import CopyBlock
from modlm.blocks.lexicon import LexiconBlock
from modlm.counts.translation.estimation import estimate_table
from modlm.model.mixture import Mixture
from modlm.nets.config import NetConfig
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.text.corpus import Corpus
from modlm.text.parallel import Parallel

SIZES = {"train": 80, "valid": 15, "test": 12}


def pairs(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Sources and targets; numbers stay as they are."""
    rng = random.Random(seed)
    sources, targets = [], []
    for _ in range(count):
        words = [rng.randrange(9) for _ in range(rng.randint(1, 5))]
        sources.append(" ".join(f"f{word}" if word < 7 else str(word) for word in words))
        targets.append(" ".join(f"e{word}" if word < 7 else str(word) for word in reversed(words)))
    return sources, targets


def write_pairs(folder: Path) -> dict[str, str]:
    """The texts of a run by the names of its settings; the first sentence to train on has a word that no other has."""
    found = {}
    for seed, (part, count) in enumerate(SIZES.items()):
        for side, lines in zip(("source", ""), pairs(count, seed), strict=True):
            if part == "train":
                lines[0] = "rare" if side else "rarity"
            path = folder / f"{part}.{side or 'target'}"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            setting = {"train": "text"}.get(part, part)
            found[setting if not side else {"text": "source"}.get(setting, f"{setting}_source")] = str(path)
    return found


def conditional(*, seed: int = 1, delta: bool = True, blocks: bool = True, **net: Any) -> tuple[Mixture, Parallel]:
    """A mixture with a net that was never trained, and the pairs that its table is from."""
    sources, targets = pairs(40, 7)
    both = Parallel(Corpus.from_text(sources), Corpus.from_text(targets))
    words = both.target.vocabulary
    columns: dict[str, Any] = {"uniform": UniformBlock(words)}
    if blocks:
        columns |= {
            "lexicon": LexiconBlock(estimate_table(both)),
            "copy": CopyBlock(both.source.vocabulary, words),
        }
    columns |= {"delta": DeltaBlock(words)} if delta else {}
    layout = ColumnLayout(columns)
    config = NetConfig(
        **{"body": "attention", "hidden": 8, "inputs": ("word",), "source_words": len(both.source.vocabulary), **net}
    )
    over = (len(layout.over_source), sum(map(len, layout.over_source.values())))
    made = MixerNet(
        config, vocab_size=len(words), features=0, dense=layout.dense, delta=delta, over_source=over, seed=seed
    )
    mixer = NetMixer(made, source_vocabulary=both.source.vocabulary)
    return Mixture(words, columns, mixer), both


def text_of(both: Parallel, count: int) -> tuple[Any, list[Any]]:
    """The first pairs as ids and sources."""
    return np.asarray(both.target.ids[: both.target.starts[count]]), list(both.sources[:count])
