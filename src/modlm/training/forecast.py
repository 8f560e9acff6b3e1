"""What a run would take, measured: a few seconds of it with the real vocabulary and net, on a sample of the text."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from modlm.ground.files import folder_bytes
from modlm.model.ngram.forecast import forecast, sampled
from modlm.text.options import TextOptions
from modlm.text.vocabulary import Vocabulary
from modlm.training.config import RunConfig, ScheduleConfig, VocabularyConfig

SECONDS = 10.0  # of training
SAMPLE = 1 << 19  # bytes


def run_forecast(config: RunConfig, *, device: str) -> dict[str, Any]:
    """Estimates of a run: its n-grams, parameters, words per second, time at most, memory and disk."""
    from modlm.training.run import train

    texts = [Path(text) for text in config.text]
    known = config.vocabulary
    reading = TextOptions(max_words=known.max_words or None, min_count=known.min_count)
    counted = max((block.order for block in config.columns.values() if block.held_out), default=1)
    told = forecast(texts, TextOptions(), order=counted, edge="once")
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
        here = Path(place)
        os.environ["MODLM_CACHE"] = place  # rows of the trial are of no use to anybody
        for name, paths in (("train", texts), ("valid", [Path(config.valid)])):
            lines = sampled(paths, SAMPLE if name == "train" else SAMPLE // 16)[0]
            (here / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not (known.file or known.tokenizer):
            Vocabulary.from_text(texts, max_words=reading.max_words, min_count=reading.min_count).save(here / "words")
            known = VocabularyConfig(file=str(here / "words"))
        sources = {name: replace(block, text=(), source=0) for name, block in config.columns.items()}
        schedule = replace(config.schedule, minutes=SECONDS / 60, evaluate_every=0)
        trial = replace(
            config, text=(str(here / "train"),), valid=str(here / "valid"), test="", vocabulary=known, columns=sources,
            schedule=schedule, tracking=(),
        )  # fmt: skip
        result = train(trial, here / "run", device=device)
        written = folder_bytes(here / "run")
    words = told["words"]
    epochs: ScheduleConfig = config.schedule
    seconds = epochs.epochs * words / max(1.0, result.words_per_second)
    limit = epochs.minutes * 60 or seconds
    return told | {
        "kind": config.kind, "parameters": result.parameters, "words_per_second": result.words_per_second,
        "epochs": epochs.epochs, "counting_seconds": told["seconds"], "seconds": min(seconds, limit) + told["seconds"],
        "memory": told["memory"] + 24.0 * result.parameters + 4e8, "disk": written + told["disk"],
    }  # fmt: skip
