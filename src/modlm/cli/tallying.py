"""What `modlm count` does: texts to counts and what goes beside them, each into a folder, and a summary."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.cli.estimating import folder_bytes
from modlm.cli.outcome import wrote
from modlm.cli.printing import print_json, print_table, size
from modlm.errors import ConfigError, OutputError
from modlm.files import new_folder

if TYPE_CHECKING:
    from modlm.counts import CountOptions, Counts
    from modlm.counts.tally import Tally
    from modlm.text.options import TextOptions

LARGEST = 4  # counts that discounts are estimated from


@dataclass(frozen=True, slots=True)
class Places:
    """Where results go."""

    counts: Path
    continuation: Path | None = None
    held_out: Path | None = None
    folds: int = 10
    force: bool = False

    def check(self) -> None:
        """Refuse before hours of work what would be refused after them."""
        for path in (self.counts, self.continuation, self.held_out):
            if path is not None and path.exists() and not self.force:
                raise OutputError(f"{path} already exists. Choose another name, or overwrite it with --force.")


def check_alone(places: Places, *, counts_of_counts: bool) -> None:
    """Refuse what skip n-grams do not have."""
    if places.continuation or places.held_out or counts_of_counts:
        raise ConfigError("Skip n-grams (--positions) are counted alone, without continuation counts and folds.")


def spark_settings(conf: Sequence[str], master: str | None, engine: str | None) -> dict[str, str]:
    """What --conf says, where the engine is Spark."""
    if engine not in (None, "spark") and (master or conf):
        raise ConfigError(f"--master and --conf are for the engine spark, but --engine is {engine}.")
    for setting in conf:
        if "=" not in setting or not setting.startswith("spark."):
            raise ConfigError(f"--conf takes a setting of Spark, spark.NAME=VALUE, not {setting!r}.")
    return dict(setting.split("=", 1) for setting in conf)


def tally(
    texts: Sequence[str],
    counting: CountOptions,
    reading: TextOptions,
    places: Places,
    *,
    counts_of_counts: bool,
    as_json: bool,
) -> None:
    """Count, save, and print what came out."""
    from modlm.counts import save_counts

    begun = time.perf_counter()
    with _counting(texts, counting, reading) as found:
        counts = found.counts
        report = describe(counts, counting.engine)
        save_counts(counts, places.counts, overwrite=places.force)
        wrote(places.counts)
        report |= {"output": str(places.counts), "bytes": folder_bytes(places.counts)}
        report["seconds"] = round(time.perf_counter() - begun, 3)
        if places.continuation is not None:
            save_counts(found.continuation(), places.continuation, overwrite=places.force)
            wrote(places.continuation)
            report["continuation"] = str(places.continuation)
        if counts_of_counts:
            both = zip(("raw", "continuation"), found.counts_of_counts(LARGEST), strict=True)
            report["counts_of_counts"] = {name: [row.tolist() for row in rows] for name, rows in both}
        if places.held_out is not None:
            report["folds"] = _save_folds(found, places.folds, places.held_out, force=places.force)
            report["held_out"] = str(places.held_out)
            wrote(places.held_out)
    report["seconds_in_all"] = round(time.perf_counter() - begun, 3)
    print_json(report) if as_json else print_summary(report)


def _counting(texts: Sequence[str], counting: CountOptions, reading: TextOptions) -> AbstractContextManager[Tally]:
    from modlm.counts import tally_text
    from modlm.counts.spark import spark_tally

    words = reading.vocabulary is None or reading.vocabulary.units == "words"
    if counting.engine == "spark" and words:  # which reads places that are no files here
        return spark_tally(texts, counting, reading)
    return tally_text([Path(text) for text in texts], counting, reading)


def _save_folds(found: Tally, folds: int, target: Path, *, force: bool) -> int:
    """A counts folder for each fold; the folder around them gets its name when all are there."""
    from modlm.counts import save_counts

    number = 0
    with new_folder(target, overwrite=force) as place:
        for number, counts in enumerate(found.held_out(folds), start=1):
            save_counts(counts, place / str(number - 1))
    return number


def describe(counts: Counts, engine: str) -> dict[str, Any]:
    """The numbers of counts that were just made."""
    levels = counts.trie.levels
    return {
        "order": counts.order,
        "engine": engine,
        "words": len(counts.vocabulary),
        "units": counts.vocabulary.units,
        "sentences": counts.sentences,
        "ngrams": [high - low for low, high in pairwise(levels[1:])],
    }


def print_summary(report: dict[str, Any]) -> None:
    """The numbers for people."""
    print(f"Counts up to order {report['order']}, {report['words']:,} {report['units']}, ", end="")
    print(f"{report['sentences']:,} sentences")
    columns = ["order", "n-grams"]
    rows = [[f"{n}-grams", f"{ngrams:,}"] for n, ngrams in enumerate(report["ngrams"], start=1)]
    for name, orders in report.get("counts_of_counts", {}).items():
        columns.append("occur 1, 2, … times" if name == "raw" else "after 1, 2, … words")
        for row, numbers in zip(rows, orders, strict=True):
            row.append(" ".join(f"{number:,}" for number in numbers))
    print_table(columns, rows)
    print(f"{report['output']}: {size(report['bytes'])}, counted in {report['seconds']:.1f} s ({report['engine']})")
    if "continuation" in report:
        print(f"{report['continuation']}: the counts that Kneser-Ney smooths")
    if "held_out" in report:
        print(f"{report['held_out']}: counts without each of {report['folds']} folds")
