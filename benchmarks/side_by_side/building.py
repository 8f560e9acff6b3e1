"""Text to a queryable model: time, peak memory, size on disk."""

from __future__ import annotations

from side_by_side.findings import duration, size
from side_by_side.limits import copy_bandwidth
from side_by_side.processes import Finished
from side_by_side.timing import Sample, ratio
from side_by_side.workshop import THREADS, TRAINING, Workshop

NAME = "build"
USUAL = {"ptb": 5, "newswire": 3}


def build(shop: Workshop) -> None:
    """`modlm ngram` as a whole command beside `lmplz` and `build_binary probing`, in turns."""
    for name in shop.models("ptb", "newswire"):
        shop.build_ours(name)  # not measured: compiles kernels for texts of this size and keeps them
        ours: list[Finished] = []
        inside: list[float] = []
        theirs: list[tuple[Finished, Finished]] = []
        for _ in range(shop.repetitions(USUAL[name])):
            ours.append(shop.build_ours(name))
            inside.append(shop.reports[name]["seconds_in_all"])
            if shop.kenlm is not None:
                theirs.append(shop.build_theirs(name))
        shop.theirs(name)
        samples = {"modlm ngram": Sample(tuple(run.seconds for run in ours)), "without start-up": Sample(tuple(inside))}
        if theirs:
            samples["lmplz"] = Sample(tuple(estimated.seconds for estimated, _ in theirs))
            samples["build_binary"] = Sample(tuple(built.seconds for _, built in theirs))
            samples["lmplz + build_binary"] = Sample(tuple(a.seconds + b.seconds for a, b in theirs))
        shop.findings.times(f"{NAME} {name}", samples, work=words_in(shop, name), unit="words")
        _judge_time(shop, name, samples)
        _judge_memory(shop, name, ours, theirs)
        _judge_size(shop, name)
        _limit(shop, name, samples["without start-up"])


def words_in(shop: Workshop, name: str) -> int:
    """How many words a training text has."""
    with shop.texts.path(TRAINING[name]).open("rb") as stream:
        return sum(len(line.split()) for line in stream)


def _judge_time(shop: Workshop, name: str, samples: dict[str, Sample]) -> None:
    both = samples.get("lmplz + build_binary")
    for who, label, bar in (("modlm ngram", "wall", 0.4), ("without start-up", "wall without start-up", None)):
        longer = ratio(samples[who], both)
        shop.findings.judge(
            NAME, f"{name}: {label}", longer.value, best=longer.best, at_most=bar,
            ours=duration(samples[who].median), theirs=duration(both.median) if both else "–",
        )  # fmt: skip


def _judge_memory(shop: Workshop, name: str, ours: list[Finished], theirs: list[tuple[Finished, Finished]]) -> None:
    peak = max(run.peak_bytes for run in ours)
    other = max((estimated.peak_bytes for estimated, _ in theirs), default=0)
    shop.findings.judge(
        NAME, f"{name}: peak memory beside lmplz -S 4G", peak / other if other else None,
        at_most=1.5 if name == "newswire" else None, ours=size(peak), theirs=size(other) if other else "–",
    )  # fmt: skip
    if theirs:
        binary = max(built.peak_bytes for _, built in theirs)
        shop.findings.facts.append(f"{name}: build_binary's peak memory is {size(binary)}, not counted above")


def _judge_size(shop: Workshop, name: str) -> None:
    mine, ngrams = shop.ours_bytes(name), sum(shop.reports[name]["ngrams"])
    binary = shop.theirs(name)
    other = binary.stat().st_size if binary else 0
    shop.findings.judge(
        NAME, f"{name}: bytes on disk", mine / other if other else None, at_most=1.0,
        ours=f"{size(mine)}, {mine / ngrams:.2f} an n-gram",
        theirs=f"{size(other)}, {other / ngrams:.2f} an n-gram" if other else "–",
    )  # fmt: skip
    shop.findings.facts.append(f"{name}: {ngrams:,} n-grams, {shop.reports[name]['words']:,} words in the vocabulary")


def _limit(shop: Workshop, name: str, ours: Sample) -> None:
    text = shop.texts.path(TRAINING[name]).stat().st_size
    ids = 4 * (words_in(shop, name) + 2 * shop.reports[name]["sentences"])
    model = shop.ours_bytes(name)
    moved = text + 2 * ids + 2 * model
    shop.findings.limit(
        f"{NAME} {name}", "text to model", ours=ours.median, unit="s",
        limit=moved / copy_bandwidth(THREADS, quick=shop.quick),
        meaning="read the text, write and read the ids, make the model and write it to the page cache, each once: "
        f"{size(moved)} at the copy bandwidth of {THREADS} threads; sorting is not in it",
    )  # fmt: skip
