"""What `scale.py` writes: the report of its runs, and for a page of the documentation what follows for larger sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from side_by_side.growth import Power, power

BEGIN, END = "<!-- from numbers: begin -->", "<!-- from numbers: end -->"
SIZES = (10**10, 10**12)
MOST_NGRAMS = 2**32 - 1  # of one counts folder
PARTITION = 128e6  # bytes of a shuffle that one task takes
CORES = 1000
FOR_TASKS, RESERVED = 0.6, 300e6  # Spark gives tasks this share of the heap, after taking so much for itself
REMARKS = (
    "Time and peak memory of memory, disk and lmplz are of the process, as the kernel counts them; of spark, of all "
    "processes together, looked at five times a second. lmplz estimates a model too, and its ARPA file goes nowhere. "
    "Same files: all engines that ran wrote the same bytes.",
)

Numbers = Mapping[str, Any]


def series(numbers: Numbers) -> dict[str, list[Mapping[str, Any]]]:
    """The runs of each engine, the smallest first."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for run in numbers["runs"]:
        found.setdefault(run["engine"], []).append(run)
    return {engine: sorted(runs, key=lambda run: run["words"]) for engine, runs in found.items()}


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first column stands at the left."""
    marks = ["---", *["--:"] * (len(columns) - 1)]
    return [f"| {' | '.join(row)} |" for row in (columns, marks, *rows)]


def amount(value: float, unit: str = "") -> str:
    """A number of three digits with a sign for its size."""
    for limit, sign in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * limit:  # from here on three digits round up to it
            return f"{value / limit:.3g} {sign}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def markdown(numbers: Numbers, *, drawing: str, fit: Callable[[Sequence[float], Sequence[float]], Power | None]) -> str:
    """The report."""
    lines = [f"# Counting, cost against size, {numbers['date']}", ""]
    lines += [f"- {line}" for line in numbers["machine"]]
    lines += [
        f"- order {numbers['order']}; disk with --memory {numbers['memory']}; spark with {numbers['spark_memory']}"
    ]
    lines += [f"- **failed: {line}**" for line in numbers["failed"]]
    lines += ["", f"![cost against size]({drawing})", "", "## Runs", ""]
    lines += table(
        ["engine", "words", "seconds", "words/s", "CPU s", "peak memory", "temporary files", "counts", "same files"],
        [_row(run, numbers) for runs in series(numbers).values() for run in runs],
    )
    lines += ["", "## Exponents", "", "seconds = factor · words^exponent, a line through the logarithms:", ""]
    rows = []
    for engine, runs in series(numbers).items():
        words = [run["words"] for run in runs]
        fits = [fit(words, [run[name] for run in runs]) for name in ("seconds", "cpu_seconds", "peak_bytes")]
        rows.append([engine, *(f"{found.exponent:.2f}" if found else "–" for found in fits)])
    lines += table(["engine", "seconds", "CPU seconds", "peak memory"], rows)
    lines += ["", "Small sizes are mostly the start of Python, of kernels and of Java, which flattens the line.", ""]
    spark = series(numbers).get("spark", [])
    if spark:
        lines += [f"## Jobs of Spark, {spark[-1]['words']:,} words", "", *_jobs(spark[-1]), ""]
    lines += [*REMARKS]
    return "\n".join(lines) + "\n"


def _row(run: Mapping[str, Any], numbers: Numbers) -> list[str]:
    sums = {other["sha256"] for other in numbers["runs"] if other["words"] == run["words"] and "sha256" in other}
    same = ("yes" if len(sums) == 1 else "**no**") if "sha256" in run else "–"
    return [
        run["engine"], f"{run['words']:,}", f"{run['seconds']:.1f}", amount(run["words"] / run["seconds"]),
        f"{run['cpu_seconds']:.1f}", amount(run["peak_bytes"], "B"), amount(run["temporary_bytes"], "B"),
        amount(run["output_bytes"], "B") if "output_bytes" in run else "–", same,
    ]  # fmt: skip


def _jobs(run: Mapping[str, Any]) -> list[str]:
    rows = [
        [
            title, f"{job['tasks']:.0f}", f"{job['cpu_seconds']:.1f}",
            f"{job['shuffle_bytes'] / run['words']:.2f}", f"{job['written_bytes'] / run['words']:.2f}",
            f"{job['spilled_bytes'] / run['words']:.2f}", amount(job["peak_memory_bytes"], "B"),
        ]
        for title, job in run["jobs"].items()
    ]  # fmt: skip
    columns = ["job", "tasks", "CPU s", "shuffled, B/word", "written, B/word", "spilled, B/word"]
    return table([*columns, "largest task"], rows)


def filled(page: str, numbers: Numbers, *, price: float) -> str:
    """The page with the part between its marks made from the numbers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"the page has no lines {BEGIN} and {END}"
    return "\n".join([before + BEGIN, "", *extrapolated(numbers, price=price), "", END + after])


def extrapolated(numbers: Numbers, *, price: float) -> list[str]:
    """The table of constants, and what they say of larger texts."""
    runs = series(numbers)["spark"]
    run = runs[-1]
    words, ngrams = run["words"], sum(run["ngrams"])
    jobs = run["jobs"].values()
    constants = {
        "bytes of text per word": run["text_bytes"] / words,
        "bytes shuffled per word, all jobs": sum(job["shuffle_bytes"] for job in jobs) / words,
        "bytes in the working folder per word": sum(job["written_bytes"] for job in jobs) / words,
        "processor seconds of Spark's tasks for a million words": sum(job["cpu_seconds"] for job in jobs) / words * 1e6,
        "bytes of counts per n-gram": run["output_bytes"] / ngrams,
        "n-grams of all orders per word": ngrams / words,
        "words of the vocabulary": float(run["vocabulary"]),
        "bytes of memory of the largest task": max(job["peak_memory_bytes"] for job in jobs),
    }
    lines = [
        f"**Constants**, measured {numbers['date']} at {words:,} words, order {numbers['order']}, by "
        f"`python benchmarks/scale.py` ({'; '.join(numbers['machine'])}):", "",
        *table(["constant", "value"], [[name, amount(value)] for name, value in constants.items()]), "",
    ]  # fmt: skip
    sizes = [float(one["words"]) for one in runs]
    growth = {
        "n-grams of all orders": power(sizes, [float(sum(one["ngrams"])) for one in runs]),
        "words of the vocabulary": power(sizes, [float(one["vocabulary"]) for one in runs]),
    }
    known = {name: law for name, law in growth.items() if law is not None}
    for name, law in known.items():
        lines.append(f"- {name} ≈ {law.factor:.3g} · words^{law.exponent:.3f} (from {len(runs)} sizes)")
    if len(known) < len(growth):
        lines.append("- One size was measured, so growth is unknown: what follows takes n-grams a word as constant, "
                     "which is too many, and the vocabulary as it is.")  # fmt: skip
    lines += ["", "**Worked out** (extrapolated, every line; nobody has run these sizes):", ""]
    rows = _worked_out(constants, known, ngrams / words, price)
    return lines + table(["", *(f"10^{round(math.log10(size))} words" for size in SIZES)], rows)


def _worked_out(
    constants: Mapping[str, float], growth: Mapping[str, Power], density: float, price: float
) -> list[list[str]]:
    columns = []
    for size in SIZES:
        law, words = growth.get("n-grams of all orders"), growth.get("words of the vocabulary")
        ngrams = law.at(size) if law else density * size
        vocabulary = words.at(size) if words else constants["words of the vocabulary"]
        shuffled = constants["bytes shuffled per word, all jobs"] * size
        hours = constants["processor seconds of Spark's tasks for a million words"] * size / 1e6 / 3600
        counts = ngrams * constants["bytes of counts per n-gram"]
        columns.append(
            {
                "text": amount(constants["bytes of text per word"] * size, "B"),
                "shuffle bytes, all jobs": amount(shuffled, "B"),
                "working folder": amount(constants["bytes in the working folder per word"] * size, "B"),
                f"tasks of a shuffle of {PARTITION / 1e6:.0f} MB": amount(shuffled / PARTITION),
                "executor memory per core, if tasks stay as large": amount(
                    constants["bytes of memory of the largest task"] / FOR_TASKS + RESERVED, "B"
                ),
                "vocabulary, uncut": amount(vocabulary),
                "n-grams": amount(ngrams),
                "counts": amount(counts, "B"),
                f"shards of at most {amount(MOST_NGRAMS)} n-grams": f"{math.ceil(ngrams / MOST_NGRAMS):,}",
                "core hours, without waiting for disks and network": amount(hours),
                f"hours on {CORES:,} cores": amount(hours / CORES),
                f"dollars, at an assumed {price:g} per core hour": amount(hours * price),
            }
        )
    return [[name, *(column[name] for column in columns)] for name in columns[0]]
