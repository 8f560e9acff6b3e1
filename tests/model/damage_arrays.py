"""Asks everything of model folders whose arrays were damaged; run as a program, so that a crash is seen from outside.

    python damage_arrays.py FOLDER SCRATCH ROUNDS

Copies the folder ROUNDS times to SCRATCH, writes nonsense over some of its arrays without changing their size, and uses
what `load` makes of it. Anything but an answer or a `ModlmError` ends the program with a traceback or a signal.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import modlm
from modlm.counts import export_counts, merge
from modlm.errors import ModlmError
from modlm.model.language_model import LanguageModel
from modlm.model.ngram.arpa import to_arpa
from modlm.model.ngram_lm import NgramLM

SENTENCE = "a b c a z b b a"


def damage(path: Path, levels: list[int], rng: np.random.Generator) -> None:
    """Nonsense over some or all of an array; most of the time what opening looks at stays as it was."""
    array = np.load(path)
    before, numbers = array.copy(), array.view(np.uint32)
    low, high = sorted(rng.integers(0, len(numbers) + 1, 2)) if rng.random() < 0.5 else (0, len(numbers))
    part = numbers[low:high]
    match rng.integers(6):
        case 0:
            part[:] = rng.integers(0, 1 << 32, len(part))
        case 1:
            part[:] = 0xFFFFFFFF
        case 2:
            part[:] = 0
        case 3:
            part[:] = rng.permutation(part)
        case 4:
            part[:] = rng.integers(0, 2 * len(array), len(part))  # nodes that are there, or almost
        case _:
            part += rng.integers(0, 3, len(part)).astype(np.uint32)
    if path.stem in ("first", "nodes") and rng.random() < 0.8:
        kept = [level for level in levels if level < len(array)] + [len(array) - 1]
        array[kept] = before[kept]
    if array.tobytes() == before.tobytes():
        numbers[len(numbers) // 2] ^= 1
    np.save(path, array)


def ask(model: LanguageModel) -> None:
    """Every kind of query."""
    model.score(SENTENCE)
    model.score_batch([SENTENCE, ""])
    model.perplexity([SENTENCE])
    for start in (True, False):
        model.next_words(SENTENCE, k=3, start=start)
    model.explain(SENTENCE)
    list(model.generate(modlm.Sampling(max_words=20), rng=np.random.default_rng(0)))
    states = model.start(3)
    for word in (2, 3, 0):
        states, _ = model.advance(states, np.full(3, word, np.uint32))
    model.distributions(states)
    if isinstance(model, NgramLM):
        model.resident().score_batch([SENTENCE, "", "b a c c b"])
        for work in WORK:
            with contextlib.suppress(ModlmError):  # what looks at all n-grams may refuse them
                work(model)


def export(model: NgramLM) -> None:
    """All n-grams as text."""
    to_arpa(model.compiled, model.vocabulary, os.devnull)


def count_again(model: NgramLM) -> None:
    """What can be made of the counts."""
    if model.counts is not None:
        NgramLM.from_counts(model.counts)
        export_counts(model.counts, os.devnull)
        merge([model.counts, model.counts])


WORK: tuple[Callable[[NgramLM], object], ...] = (
    lambda model: ask(model.as_mixture()),
    lambda model: model.pruned(1e-3),
    export,
    count_again,
)


def main(folder: Path, scratch: Path, rounds: int) -> None:
    warnings.simplefilter("ignore")  # numbers that are no probabilities may say so
    about = json.loads((folder / "model.json").read_text())["about"]
    levels = about["levels"] if "levels" in about else about["blocks"]["ngram"]["levels"]
    outcomes: Counter[str] = Counter()
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        place = scratch / "model"
        shutil.copytree(folder, place)
        arrays = sorted(place.rglob("*.npy"))
        for path in rng.choice(np.array(arrays), min(rng.integers(1, 4), len(arrays)), replace=False):
            damage(path, levels, rng)
        print("round", seed, flush=True)
        try:
            ask(modlm.load(place))
            outcomes["answered"] += 1
        except ModlmError:
            outcomes["refused"] += 1
        try:
            modlm.load(place, verify="full")
            outcomes["not noticed"] += 1
        except ModlmError:
            outcomes["noticed"] += 1
        shutil.rmtree(place)
    print(*(f"{name}: {number}" for name, number in sorted(outcomes.items())), sep=", ")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
