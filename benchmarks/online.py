"""What columns that learn from the text so far are worth, and what they cost; prints a page, --json writes the numbers.

MODLM_DATA=FOLDER python benchmarks/online.py --json benchmarks/reports/DATE-online.json

Each model is one column; beside it stand the cache and the online block. Weights are generalised linear interpolation,
fitted to the validation text read in its order; then the test text is read in its order, as one document.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import modlm
from modlm.blocks.block import Beside, Block, ColumnLayout, Rows
from modlm.blocks.cache import CacheBlock
from modlm.blocks.model import ModelBlock
from modlm.blocks.online import OnlineBlock
from modlm.ground.files import new_file
from modlm.mixers import StaticMixer
from modlm.mixers.gli import GliMixer
from modlm.model.interpolation import rows_of
from modlm.model.mixture import Mixture
from modlm.model.scored_text import read_parts

TEXTS = {
    "Penn Treebank": ("ptb/ptb.{}.txt.xz", 1),
    "newswire": ("natural/newswire.{}.txt.xz", 2),
    "abstracts": ("natural/abstracts.{}.txt.xz", 2),
}
VARIANTS = {
    "alone": ("model",),
    "+ cache": ("model", "cache"),
    "+ online": ("model", "online"),
    "+ online + cache": ("model", "online", "cache"),
}
EDGES = (0, 300, 1000, 3000, 10_000, 30_000, 100_000)
UPDATES = 1_000_000


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Perplexity with and without columns that learn as they read.")
    parser.add_argument("--text", nargs=3, action="append", default=[], metavar=("TRAIN", "VALID", "TEST"))
    parser.add_argument("--model", nargs=4, action="append", default=[], metavar=("NAME", "MODEL", "VALID", "TEST"))
    parser.add_argument("--order", type=int, default=4, metavar="N", help="of the online block")
    parser.add_argument("--updates", type=int, default=UPDATES, metavar="N", help="words for speed and memory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    return parser.parse_args(given)


def chosen(rows: Rows, blocks: dict[str, Block], names: Sequence[str]) -> tuple[ColumnLayout, Rows]:
    """The columns and features of some blocks."""
    spans = ColumnLayout(blocks).spans
    columns = np.concatenate([np.arange(spans[name].columns.start, spans[name].columns.stop) for name in names])
    features = np.concatenate([np.arange(spans[name].features.start, spans[name].features.stop) for name in names])
    layout = ColumnLayout({name: blocks[name] for name in names})
    return layout, Rows(rows.probs_TK[:, columns], rows.features_TF[:, features])


def mixed(name: str, model: Any, valid: Any, test: Any, order: int) -> dict[str, Any]:
    """Log-probabilities of a test text under each variant, as perplexities and gains by place."""
    words = model.vocabulary
    blocks: dict[str, Block] = {
        "model": ModelBlock(model, words),
        "online": OnlineBlock(words, order=order),
        "cache": CacheBlock(words),
    }
    columns = len(ColumnLayout(blocks))
    whole = Mixture(words, blocks, StaticMixer(np.full(columns, 1 / columns)))
    learned, read = rows_of(whole, valid), rows_of(whole, test)
    logs: dict[str, np.ndarray] = {}
    for variant, names in VARIANTS.items():
        layout, rows = chosen(learned, blocks, names)
        mixer = GliMixer.fitted(layout, {one: blocks[one] for one in names}, rows)
        _, own = chosen(read, blocks, names)
        logs[variant] = np.log((own.probs_TK * mixer.weights(own.features_TF)).sum(axis=1))
    half = len(read.probs_TK) // 2
    gained = (logs["+ online + cache"] - logs["alone"]) / np.log(2)
    edges = [edge for edge in EDGES if edge < len(gained)] + [len(gained)]
    return {
        "name": name,
        "predictions": len(gained),
        "perplexity": {variant: float(np.exp(-own.mean())) for variant, own in logs.items()},
        "second_half": {variant: float(np.exp(-own[half:].mean())) for variant, own in logs.items()},
        "gain": [{"from": low, "to": high, "bits": float(gained[low:high].mean())} for low, high in pairwise(edges)],
    }


def costs(test: Any, model: Any, updates: int) -> list[dict[str, Any]]:
    """Processor time of a word, scored and learned, and what is in memory while a million are read."""
    ids = np.concatenate([part.ids for part in read_parts(test, model.vocabulary)])
    found = []
    for order in (1, 3, 5):
        block = OnlineBlock(model.vocabulary, order=order)
        memory = block.rows(ids[:5000]).memory
        begun, read, sizes = time.process_time(), 0, []
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = None
        while read < updates:
            rows = block.rows(ids, Beside(memory=memory))
            memory, read = rows.memory, read + len(ids)
            sizes.append(sum(array.nbytes for log in (memory.old, memory.log) for array in log.arrays))
        seconds = (time.process_time() - begun) / read
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        one = block.remember(np.array([memory], dtype=object), ids[1:2])
        begun = time.process_time()
        for word in np.resize(ids, 402)[2:, None]:
            block.rows_after(np.zeros((1, 1), np.uint32), word, Beside(memory=one))
            one = block.remember(one, word)
        stepwise = (time.process_time() - begun) / 400
        found.append(
            {
                "order": order, "words": read, "along": seconds * 1e6, "stepwise": stepwise * 1e6,
                "largest": max(sizes), "last": sizes[-1], "process": grown * 1024,
            }
        )  # fmt: skip
    return found


def page(numbers: dict[str, Any]) -> str:
    """The numbers as Markdown."""
    rows = ["| model, test text | predictions |" + "".join(f" {name} |" for name in VARIANTS)]
    rows.append("|---|--:|" + "--:|" * len(VARIANTS))
    for one in numbers["models"]:
        for what, key in (("", "perplexity"), (", second half", "second_half")):
            shown = "".join(f" {one[key][variant]:.2f} |" for variant in VARIANTS)
            rows.append(f"| {one['name']}{what} | {one['predictions'] // (2 if what else 1):,} |{shown}")
    rows += ["", "| words read before | " + " | ".join(one["name"] for one in numbers["models"]) + " |"]
    rows.append("|---|" + "--:|" * len(numbers["models"]))
    for place, low in enumerate(EDGES):
        cells = [one["gain"][place]["bits"] if place < len(one["gain"]) else None for one in numbers["models"]]
        if any(cell is not None for cell in cells):
            rows.append(f"| {low:,} | " + " | ".join("–" if c is None else f"{c:+.3f}" for c in cells) + " |")
    rows += ["", "| orders | words read | µs a word along a text | µs a word by itself | MB at most | MB at the end |"]
    rows.append("|--:|--:|--:|--:|--:|--:|")
    for one in numbers["costs"]:
        sizes = f"{one['largest'] / 1e6:.1f} | {one['last'] / 1e6:.1f}"
        rows.append(f"| {one['order']} | {one['words']:,} | {one['along']:.2f} | {one['stepwise']:.1f} | {sizes} |")
    return "\n".join(rows) + "\n"


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print."""
    asked = arguments(given)
    base = Path(os.environ.get("MODLM_DATA", "."))
    texts = {Path(own[0]).name: (own, 1) for own in asked.text} or {
        name: ([base / place.format(part) for part in ("train", "valid", "test")], least)
        for name, (place, least) in TEXTS.items()
    }
    models, last = [], None
    for name, ((train, valid, test), least) in texts.items():
        model = modlm.NgramLM.fit(Path(train), order=5, min_count=least)
        models.append(mixed(f"5-grams, {name}", model, Path(valid), Path(test), asked.order))
        last = last or (Path(test), model)
        print(json.dumps(models[-1]), flush=True)
    for name, folder, valid, test in asked.model:
        models.append(mixed(name, modlm.load(folder), Path(valid), Path(test), asked.order))
    command = "MODLM_DATA=FOLDER python benchmarks/online.py"
    numbers = {"date": str(datetime.date.today()), "command": command, "order": asked.order, "models": models}
    numbers["costs"] = costs(*last, asked.updates)
    if asked.json:
        with new_file(asked.json) as place:
            place.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(page(numbers), end="")


if __name__ == "__main__":
    main()
