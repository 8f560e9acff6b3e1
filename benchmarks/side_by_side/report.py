"""The report: one Markdown page with machine, versions, commands, bars, limits, raw numbers and remarks."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from side_by_side.findings import Bar, Findings, Limit, Raw, duration, rate

REMARKS = (
    "Both programs read the same plain text files, in the page cache; `<unk>` is renamed in them because lmplz refuses "
    "it. Disks are synchronised before each training run, so nobody waits for what the other wrote.",
    "Repetitions are taken in turns (ours, theirs, ours, …). Bars are judged by medians, start-up by the best; ratios "
    "of the best repetitions stand beside those of medians. Numba's on-disk cache is warm: a first run is not counted.",
    "Each comparison first checks that both compute the same numbers (logarithms within 1e-4, relatively; "
    "1e-3 for single words, since KenLM's unigram discounts are slightly off, kenlm#405); where they differ, "
    "the measurement ends and says so.",
    "Peak memory is the largest resident set of the process, as the kernel counts it; pages of mapped files are in it.",
    "`newswire.last` is a part of the training text, so its n-grams are all found; `ptb.test.many` is "
    "unseen text, 20 times over.",
    "`query` has one thread. Beside our in-process numbers stands its time without opening its model (measured with no "
    "text), beside our command all of its time.",
    "Training without start-up begins when `modlm ngram` has its arguments: Python and the command line are loaded, "
    "kernels not yet. It ends when the model is on disk.",
    "KenLM reads its model into memory before its clock starts, so the bars of the kernel and of batches are for our "
    "resident form (`resident=True`); the mapped one, which opens in milliseconds and is shared by processes, stands "
    "beside it. In each repetition of the kernel all of our model is read once before the clock starts, too.",
    "Our folder holds raw counts beside probabilities and backoffs; its size includes them.",
)


def markdown(
    findings: Findings, *, date: str, command: str, commands: Sequence[str], machine: Sequence[str], quick: bool
) -> str:
    """The page."""
    parts = [f"# modlm beside KenLM, {date}", ""]
    if quick:
        parts += ["**A trial run (`--quick`): its numbers mean nothing.**", ""]
    judged = [bar for bar in findings.bars if bar.met is not None]
    unjudged = sum(1 for bar in findings.bars if bar.rule and bar.met is None)
    met = sum(1 for bar in judged if bar.met)
    missing = f"; {unjudged} could not be measured" if unjudged else ""
    parts += [f"{met} of {len(judged)} bars met{missing}.", "", "## Machine and versions", ""]
    parts += [f"- {line}" for line in machine]
    parts += ["", "## Bars", "", *_bar_table(findings.bars)]
    parts += ["", "## Distance from the limits of the machine", "", *_limit_table(findings.limits)]
    parts += ["", "## Raw numbers", "", *_raw_table(findings.raw), ""]
    parts += [f"- {fact}" for fact in findings.facts]
    parts += ["", "## Commands", "", "```", command, "", *commands, "```", "", "## Remarks", ""]
    parts += [f"- {remark}" for remark in (*findings.remarks, *REMARKS)]
    return "\n".join(parts) + "\n"


def plain_page(
    findings: Findings, *, title: str, command: str, commands: Sequence[str], machine: Sequence[str]
) -> str:  # fmt: skip
    """Bars, commands and remarks alone."""
    judged = [bar for bar in findings.bars if bar.met is not None]
    unjudged = sum(1 for bar in findings.bars if bar.rule and bar.met is None)
    missing = f"; {unjudged} not measured" if unjudged else ""
    parts = [f"# {title}", "", f"{sum(bool(bar.met) for bar in judged)} of {len(judged)} bars met{missing}.", ""]
    parts += [*(f"- {line}" for line in machine), "", *_bar_table(findings.bars), "", "```", command, "", *commands]
    return "\n".join([*parts, "```", "", *(f"- {remark}" for remark in findings.remarks)]) + "\n"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    marks = ["--:" if i in right else "---" for i in range(len(columns))]
    return [f"| {' | '.join(row)} |" for row in (columns, marks, *rows)]


def _bar_table(bars: Sequence[Bar]) -> list[str]:
    rows = [
        [
            bar.measurement, bar.what, bar.ours, bar.theirs,
            f"{bar.value:.3g} {bar.unit}" if bar.value is not None else "–",
            f"{bar.best:.3g} {bar.unit}" if bar.best is not None else "–",
            bar.rule or "–", {True: "yes", False: "**no**", None: "not measured" if bar.rule else "–"}[bar.met],
        ]
        for bar in bars
    ]  # fmt: skip
    return _table(["measurement", "what", "ours", "KenLM", "value", "of bests", "bar", "met"], rows, right=(2, 3, 4, 5))


def _limit_table(limits: Sequence[Limit]) -> list[str]:
    rows = [
        [
            limit.measurement, limit.what, f"{limit.ours:.3g} {limit.unit}", f"{limit.limit:.3g} {limit.unit}",
            f"{limit.ours / limit.limit:.1f} ×", limit.meaning,
        ]
        for limit in limits
    ]  # fmt: skip
    return _table(["measurement", "what", "ours", "limit", "away", "the limit is"], rows, right=(2, 3, 4))


def _raw_table(raw: Sequence[Raw]) -> list[str]:
    rows = [
        [
            row.measurement, row.who, duration(row.sample.median),
            duration(row.sample.best), duration(row.sample.worst),
            f"{row.sample.spread:.0%}", str(len(row.sample.seconds)),
            f"{row.work:,.0f} {row.unit}" if row.unit else "–", rate(row.work, row.sample.median) if row.unit else "–",
        ]
        for row in raw
    ]  # fmt: skip
    columns = ["measurement", "who", "median", "best", "worst", "spread", "n", "work", "rate"]
    return _table(columns, rows, right=tuple(range(2, 9)))


# ---- the machine -----------------------------------------------------------------------------------------------------


def machine(*, kenlm_version: str, bandwidths: Sequence[tuple[int, float]]) -> list[str]:
    """Processor, memory, load and versions, one line each."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    lines = [
        f"{cpu_model()}, {os.cpu_count()} cores, {gigabytes:.1f} GB memory, {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("modlm", "numpy", "numba", "kenlm")),
        f"KenLM's programs: {kenlm_version}",
    ]
    lines += [
        f"copy bandwidth, {count} thread(s): {speed / 1e9:.1f} GB/s, read and written" for count, speed in bandwidths
    ]
    return lines


def load_average() -> str:
    """How busy the machine is with everything."""
    return ", ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"


def cpu_model() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def version(package: str) -> str:
    """An installed package's version."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed" if package != "modlm" else "from the source tree"
