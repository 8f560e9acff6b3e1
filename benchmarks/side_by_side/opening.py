"""Waiting before work begins: opening a model, starting a command, turning text into ids."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import modlm
from modlm import Corpus
from side_by_side.findings import duration, rate
from side_by_side.limits import copy_bandwidth
from side_by_side.processes import modlm_command
from side_by_side.scoring import on_cores
from side_by_side.timing import Sample, clocked, in_turns
from side_by_side.workshop import Workshop

CONTEXT = "the company said"


# ---- models ----------------------------------------------------------------------------------------------------------


def open_model(shop: Workshop) -> None:
    """`modlm.load` in a running process, quick and with every byte verified, beside `kenlm.Model`."""
    for name in shop.models("ptb", "newswire"):
        _open_one(shop, name)


def _open_one(shop: Workshop, name: str) -> None:
    folder, binary = shop.ours(name), shop.theirs(name)
    modlm.load(folder)
    functions: dict[str, Callable[[], float]] = {"modlm.load": clocked(lambda: modlm.load(folder))}
    if binary is not None and shop.module is not None:
        functions["kenlm.Model"] = clocked(lambda: shop.module.Model(str(binary)))
    samples = in_turns(shop.repetitions(11), functions)
    full = in_turns(
        shop.repetitions(3), {"modlm.load, verify=full": clocked(lambda: modlm.load(folder, verify="full"))}
    )
    shop.findings.times(f"open {name}", samples | full)
    _judge_opening(shop, name, samples | full)
    vocabulary = folder / "vocabulary.txt"
    read = min(clocked(vocabulary.read_bytes)() for _ in range(5))
    shop.findings.limit(
        f"open {name}", "opening", ours=samples["modlm.load"].median * 1e3, limit=read * 1e3, unit="ms",
        meaning="reading vocabulary.txt, the only file whose bytes are all looked at",
    )  # fmt: skip


def _judge_opening(shop: Workshop, name: str, samples: dict[str, Sample]) -> None:
    other = samples.get("kenlm.Model")
    for who, bar in (("modlm.load", 20), ("modlm.load, verify=full", None)):
        milliseconds = samples[who].median * 1e3
        shop.findings.judge(
            "open", f"{name}: {who}", milliseconds, unit="ms", at_most=bar, ours=duration(samples[who].median),
            theirs=duration(other.median) if other else "–",
        )  # fmt: skip


# ---- commands --------------------------------------------------------------------------------------------------------


def start(shop: Workshop) -> None:
    """`modlm --help` and `modlm next` as whole commands, the best of several."""

    def command(*words: str | Path) -> Callable[[], float]:
        return lambda: shop.shell.run(words).seconds

    def ours(*words: str) -> Callable[[], float]:
        return command(*modlm_command(), *words)

    functions = {
        "python -c pass": command(sys.executable, "-c", "pass"),
        "python -c 'import numba'": command(sys.executable, "-c", "import numba"),
        "modlm --help": ours("--help"),
    }
    names = shop.models("ptb", "newswire")
    functions |= {f"modlm next, {name}": ours("next", shop.ours(name).name, CONTEXT) for name in names}
    for function in functions.values():
        function()  # not measured: caches fill
    samples = in_turns(shop.repetitions(5), functions)
    shop.findings.times("start", samples)
    for who, sample in samples.items():
        if who.startswith("modlm"):
            bar, limit = (0.4, "python -c pass") if "help" in who else (1.0, "python -c 'import numba'")
            shop.findings.judge("start", f"{who}, best", sample.best, unit="s", at_most=bar, ours=duration(sample.best))
            shop.findings.limit(
                "start", who, ours=sample.best, limit=samples[limit].best, unit="s", meaning=f"`{limit}`"
            )


# ---- text ------------------------------------------------------------------------------------------------------------


def encode(shop: Workshop) -> None:
    """Text to ids on one core: with a vocabulary, and collecting one."""
    name = next((name for name in ("newswire.last", "ptb.train") if shop.texts.has(name)), None)
    if name is None:
        shop.findings.remark("No text was given to encode.")
        return
    path = shop.texts.path(name)
    corpus = Corpus.from_text(path)
    functions = {
        "with a vocabulary": on_cores(1, clocked(lambda: Corpus.from_text(path, corpus.vocabulary, workers=1))),
        "collecting the vocabulary": on_cores(1, clocked(lambda: Corpus.from_text(path, workers=1))),
    }
    for function in functions.values():
        function()
    samples = in_turns(shop.repetitions(7), functions)
    shop.findings.times(f"encode {name}", samples, work=corpus.words, unit="words")
    for who, sample in samples.items():
        shop.findings.judge(
            "encode", f"{name}: {who}, one core", corpus.words / sample.median / 1e6, unit="M words/s", at_least=5,
            ours=rate(corpus.words, sample.median),
        )  # fmt: skip
    text = path.stat().st_size
    shop.findings.limit(
        f"encode {name}", "text to ids, one core", ours=samples["with a vocabulary"].median * 1e3, unit="ms",
        limit=(text + corpus.ids.nbytes) / copy_bandwidth(1, quick=shop.quick) * 1e3,
        meaning="reading the text and writing the ids at the copy bandwidth of one thread",
    )  # fmt: skip
