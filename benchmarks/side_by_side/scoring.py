"""Scoring texts: whole files beside `query`, and the kernel on ids beside KenLM's own benchmark."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from modlm import Corpus, NgramLM
from side_by_side.findings import rate
from side_by_side.limits import copy_bandwidth, random_read_seconds
from side_by_side.processes import Finished, cores, counted, modlm_command
from side_by_side.timing import Sample, clocked, in_turns, must_agree, ratio
from side_by_side.workshop import THREADS, TRAINING, Workshop

CASES = (("ptb", "ptb.test.many"), ("newswire", "newswire.last"), ("newswire", "ptb.test.many"))
"""Models and texts: an unseen text, a large one out of the training text, and an unseen one for the large model."""
PERPLEXITY = re.compile(r"Perplexity including OOVs:\s*(\S+)")
PROBABILITY = re.compile(r"Probability sum: (\S+)")
QUERIES = re.compile(r"Queries: (\d+)")
WALL = re.compile(r"Excluding load, CPU: \S+ Wall: (\S+)")


def cases(shop: Workshop) -> list[tuple[str, str]]:
    """Those for which there are texts."""
    return [(model, text) for model, text in CASES if shop.texts.has(TRAINING[model]) and shop.texts.has(text)]


def found(pattern: re.Pattern[str], text: str) -> float:
    """The number that a program printed."""
    match = pattern.search(text)
    assert match is not None, f"{pattern.pattern!r} is not in what KenLM printed:\n{text[-500:]}"
    return float(match[1])


# ---- files -----------------------------------------------------------------------------------------------------------


def query(shop: Workshop) -> None:
    """Perplexity of a text file: in the process and as a command, on one and two cores, beside `query`."""
    shop.models("ptb", "newswire")
    for model, text in cases(shop):
        _query_case(shop, model, text)


def _query_case(shop: Workshop, model: str, text: str) -> None:
    lm, path = shop.load(model), shop.texts.path(text)
    once = lm.perplexity(path)
    functions: dict[str, Callable[[], float]] = {}
    for count in (1, THREADS):
        functions[f"in the process, {counted(count, 'core')}"] = on_cores(count, clocked(lambda: lm.perplexity(path)))
        functions[f"modlm eval, {counted(count, 'core')}"] = _command(shop, model, text, count)
    if shop.theirs(model) is not None:
        said = _query(shop, model, text).output
        must_agree(f"perplexity of {text} under {model}", math.log(once.perplexity), math.log(found(PERPLEXITY, said)))
        functions["query"] = lambda: _query(shop, model, text).seconds
        functions["query, no text"] = lambda: _query(shop, model, "").seconds
    samples = in_turns(shop.repetitions(5), functions)
    nothing = {who: sample for who, sample in samples.items() if who == "query, no text"}
    scored = {who: sample for who, sample in samples.items() if who not in nothing}
    shop.findings.times(f"query {model}, {text}", scored, work=once.predictions, unit="words")
    shop.findings.times(f"query {model}", nothing)
    _judge_files(shop, f"{model}, {text}", samples, once.predictions)
    _limit(
        shop, "query", model, text, samples["in the process, 1 core"].median / once.predictions,
        extra=path.stat().st_size / once.predictions / copy_bandwidth(1, quick=shop.quick),
    )  # fmt: skip


def on_cores(count: int, function: Callable[[], float]) -> Callable[[], float]:
    """The function when it has only so many cores."""

    def limited() -> float:
        with cores(count):
            return function()

    return limited


def _command(shop: Workshop, model: str, text: str, count: int) -> Callable[[], float]:
    command = [*modlm_command(), "eval", shop.ours(model).name, shop.texts.file(text)]
    return on_cores(count, lambda: shop.shell.run(command, threads=count).seconds)


def _query(shop: Workshop, model: str, text: str) -> Finished:
    given = shop.texts.file(text) if text else ""
    return shop.shell.run([shop.program("query"), "-v", "summary", f"{model}.probing"], stdin=given, show=bool(text))


def _judge_files(shop: Workshop, what: str, samples: dict[str, Sample], predictions: int) -> None:
    """In the process beside query without the time it needs to open its model; commands beside all of query."""
    for who, sample in samples.items():
        if who.startswith("query"):
            continue
        theirs = samples.get("query")
        if theirs is not None and who.startswith("in the process"):
            opening = samples["query, no text"].median
            theirs = Sample(tuple(max(seconds - opening, 1e-9) for seconds in theirs.seconds))
        faster = ratio(theirs, sample)
        judged = who == f"in the process, {counted(THREADS, 'core')}"
        shop.findings.judge(
            "query", f"{what}: {who}", faster.value, best=faster.best, at_least=2 if judged else None,
            ours=rate(predictions, sample.median), theirs=rate(predictions, theirs.median) if theirs else "–",
        )  # fmt: skip


def _limit(shop: Workshop, measurement: str, model: str, text: str, seconds: float, *, extra: float = 0.0) -> None:
    read = random_read_seconds(shop.ours_bytes(model), quick=shop.quick)
    also = " and one pass over the text at copy bandwidth" if extra else ""
    shop.findings.limit(
        f"{measurement} {model}, {text}", "one word, one core",
        ours=seconds * 1e9, limit=(read + extra) * 1e9, unit="ns",
        meaning=f"one independent random read from an array of the model's size{also}; a search needs several",
    )  # fmt: skip


# ---- ids -------------------------------------------------------------------------------------------------------------


def kernel(shop: Workshop) -> None:
    """`Compiled.score` on ids, mapped and resident, beside `kenlm_benchmark -q` at equal threads."""
    shop.models("ptb", "newswire")
    for model, text in cases(shop):
        # Not the repeated text: walked in many stretches at once, its copies would warm the caches for one another.
        _kernel_case(shop, model, "ptb.test" if text == "ptb.test.many" else text)


def _kernel_case(shop: Workshop, model: str, text: str) -> None:
    lm = shop.load(model)
    forms = {"mapped": lm, "resident": lm.resident()}
    corpus = Corpus.from_text(shop.texts.path(text), lm.vocabulary)
    predictions = len(corpus.ids) - corpus.sentences
    beside = shop.theirs(model) is not None
    if beside:
        _convert(shop, model, text)
        _check_kernel(shop, lm, corpus, model, text)
    for count in (1, THREADS):
        at = counted(count, "thread")
        functions = {f"{form}, {at}": _scored(own, corpus, count) for form, own in forms.items()}
        for function in functions.values():
            function()
        if beside:
            functions[f"kenlm_benchmark, {at}"] = _benchmarked(shop, model, text, count)
        samples = in_turns(shop.repetitions(15), functions)
        shop.findings.times(f"kernel {model}, {text}", samples, work=predictions, unit="words")
        theirs = samples.get(f"kenlm_benchmark, {at}")
        for form in forms:
            ours = samples[f"{form}, {at}"]
            faster = ratio(theirs, ours)
            shop.findings.judge(
                "kernel", f"{model}, {text}: {form}, {at}", faster.value, best=faster.best,
                at_least=2 if form == "resident" else None,
                ours=rate(predictions, ours.median), theirs=rate(predictions, theirs.median) if theirs else "–",
            )  # fmt: skip
        if count == 1:
            _limit(shop, "kernel", model, text, samples[f"resident, {at}"].median / predictions)


def _scored(lm: NgramLM, corpus: Corpus, count: int) -> Callable[[], float]:
    """The time to score; KenLM's benchmark has just read its model when its clock starts, and so have we."""
    compiled = lm.compiled
    arrays = compiled.index.arrays[:1] if compiled.index is not None else compiled.arrays
    score = clocked(lambda: compiled.score(corpus.ids, workers=count))

    def scored() -> float:
        for array in arrays:
            array.view(np.uint32).max()
        return score()

    return scored


def _convert(shop: Workshop, model: str, text: str) -> None:
    command: list[str | Path] = [shop.program("kenlm_benchmark"), "-v", "-m", f"{model}.probing"]
    shop.shell.run(command, stdin=shop.texts.file(text), stdout=f"{model}.{text}.ids")


def _run_benchmark(shop: Workshop, model: str, text: str, count: int) -> Finished:
    command: list[str | Path] = [shop.program("kenlm_benchmark"), "-q", "-m", f"{model}.probing", "-t", str(count)]
    return shop.shell.run(command, stdin=f"{model}.{text}.ids")


def _benchmarked(shop: Workshop, model: str, text: str, count: int) -> Callable[[], float]:
    """The wall time that KenLM's benchmark itself reports, loading excluded."""
    return lambda: found(WALL, _run_benchmark(shop, model, text, count).output)


def _check_kernel(shop: Workshop, lm: NgramLM, corpus: Corpus, model: str, text: str) -> None:
    done = _run_benchmark(shop, model, text, 1)
    must_agree(f"queries of {text}", len(corpus.ids) - corpus.sentences, found(QUERIES, done.output))
    total = float(np.log10(lm.compiled.score(corpus.ids)).sum())
    must_agree(f"probability of {text} under {model}", total, found(PROBABILITY, done.errors))
