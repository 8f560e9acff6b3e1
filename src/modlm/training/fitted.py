"""Runs whose mixer is no net: weights that suit the validation text, found at once."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from modlm.blocks.block import ColumnLayout
from modlm.families import MIXERS
from modlm.mixers import StaticMixer
from modlm.model.folder import save
from modlm.model.interpolation import rows_of
from modlm.model.mixture import Mixture
from modlm.training.blocks import all_blocks, dense_blocks
from modlm.training.config import RunConfig
from modlm.training.journal import Line
from modlm.training.run_folder import MODEL, Result, card, check_run_folder, open_run_folder
from modlm.training.texts import read_sources, read_texts


def fit(config: RunConfig, folder: Path, *, resume: bool = False) -> Result:
    """Count, fit, and write the run folder; to resume is to do that again, which takes seconds."""
    check_run_folder(folder, resume=resume)
    begun, texts = time.perf_counter(), read_texts(config)
    vocabulary, pairs = texts["train"].vocabulary, read_sources(config, texts)
    blocks = all_blocks(config, vocabulary, dense_blocks(config, texts["train"], pairs.get("train")))
    layout = ColumnLayout(blocks)
    count = len(layout) + len(layout.over_source)
    equal = Mixture(vocabulary, blocks, StaticMixer(np.full(count, 1 / count), layout))
    rows = rows_of(equal, texts["valid"], pairs["valid"].sources if pairs else ())
    model = Mixture(vocabulary, blocks, MIXERS[config.mixer].fitted(layout, blocks, rows))
    reading = model.reads.source
    found = {
        name: float(model.perplexity(texts[name], source=Path(getattr(config, f"{name}_source")) if reading else None))
        for name in texts
        if name != "train"
    }
    best: Line = {"words": 0, **{f"{name}_dense_mass": 1.0 for name in found}}  # there are no other columns
    result = Result(
        folder=folder, kind=config.kind, stopped="fitted", words=0, epochs=0.0, evaluations=1,
        seconds=time.perf_counter() - begun, words_per_second=0.0, device="cpu", processes=1, best=best,
        parameters=int(model.described().get("parameters", len(layout))), valid_perplexity=found["valid"],
        test_perplexity=found.get("test"),
    )  # fmt: skip
    with open_run_folder(folder, config, resume=resume):
        prints = {name: corpus.fingerprint for name, corpus in texts.items()}
        save(model, folder / MODEL, card=card(result, config, prints), overwrite=True)
        result.write()
    return result
