"""What `modlm count` does: texts to counts and what goes beside them, each into a folder, and a summary."""

from __future__ import annotations

import time
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
    from modlm.counts.counts import Counts
    from modlm.counts.tally import Tally
    from modlm.text.vocabulary import Vocabulary

LARGEST = 4  # counts that discounts are estimated from


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to count and how; each field is the option of the same name."""

    texts: tuple[str, ...]
    order: int | None = None
    edge: str = "once"
    vocab: Path | None = None
    tokenizer: Path | None = None
    max_words: int | None = None
    min_count: int = 1
    positions: tuple[int, ...] = ()
    folds: int = 10
    counts_of_counts: bool = False
    engine: str | None = None
    master: str | None = None
    conf: tuple[str, ...] = ()
    memory: str | None = None
    temporary: str | None = None
    encoding_errors: str = "strict"

    @property
    def chosen_engine(self) -> str:
        """The engine that was asked for, or the one that the other options mean."""
        if self.engine is not None:
            return self.engine
        return "spark" if self.master or self.conf else "memory" if self.memory is None else "disk"


@dataclass(frozen=True, slots=True)
class Places:
    """Where results go."""

    counts: Path
    continuation: Path | None = None
    held_out: Path | None = None
    force: bool = False

    def check(self) -> None:
        """Refuse before hours of work what would be refused after them."""
        for path in (self.counts, self.continuation, self.held_out):
            if path is not None and path.exists() and not self.force:
                raise OutputError(f"{path} already exists. Choose another name, or overwrite it with --force.")


def tally(asked: Asked, places: Places, *, as_json: bool) -> None:
    """Count, save, and print what came out."""
    from modlm.counts import save_counts

    places.check()
    _check_settings(asked, places)
    begun = time.perf_counter()
    with _counting(asked, _vocabulary(asked)) as found:
        counts = found.counts
        report = describe(counts, asked)
        save_counts(counts, places.counts, overwrite=places.force)
        wrote(places.counts)
        report |= {"output": str(places.counts), "bytes": folder_bytes(places.counts)}
        report["seconds"] = round(time.perf_counter() - begun, 3)
        if places.continuation is not None:
            save_counts(found.continuation(), places.continuation, overwrite=places.force)
            wrote(places.continuation)
            report["continuation"] = str(places.continuation)
        if asked.counts_of_counts:
            both = zip(("raw", "continuation"), found.counts_of_counts(LARGEST), strict=True)
            report["counts_of_counts"] = {name: [row.tolist() for row in rows] for name, rows in both}
        if places.held_out is not None:
            report["folds"] = _save_folds(found, asked.folds, places.held_out, force=places.force)
            report["held_out"] = str(places.held_out)
            wrote(places.held_out)
    report["seconds_in_all"] = round(time.perf_counter() - begun, 3)
    print_json(report) if as_json else print_summary(report)


def _check_settings(asked: Asked, places: Places) -> None:
    """What would fail only after counting, and options that mean nothing here."""
    from modlm.counts import bytes_of
    from modlm.counts.counts import check_edge

    check_edge(asked.edge)
    if asked.memory is not None:
        bytes_of(asked.memory)
    if asked.chosen_engine != "spark" and (asked.master or asked.conf):
        raise ConfigError(f"--master and --conf are for the engine spark, but --engine is {asked.engine}.")
    if asked.positions and (places.continuation or places.held_out or asked.counts_of_counts):
        raise ConfigError("Skip n-grams (--positions) are counted alone, without continuation counts and folds.")
    for setting in asked.conf:
        if "=" not in setting or not setting.startswith("spark."):
            raise ConfigError(f"--conf takes a setting of Spark, spark.NAME=VALUE, not {setting!r}.")


def _vocabulary(asked: Asked) -> Vocabulary | None:
    """The words or tokens that were given."""
    from modlm.text.tokens import TokenVocabulary
    from modlm.text.vocabulary import Vocabulary

    if (asked.vocab or asked.tokenizer) and (asked.max_words is not None or asked.min_count > 1):
        raise ConfigError(
            "--vocab and --tokenizer say what to know. Leave out --max-words and --min-count, which choose words."
        )
    if asked.tokenizer is not None:
        if asked.vocab:
            raise ConfigError("--tokenizer brings its own tokens. Leave out --vocab.")
        return TokenVocabulary.from_tokenizer(asked.tokenizer)
    return Vocabulary.from_file(asked.vocab) if asked.vocab else None


def _counting(asked: Asked, vocabulary: Vocabulary | None) -> AbstractContextManager[Tally]:
    from modlm.counts import CountOptions, tally_text
    from modlm.counts.spark import spark_tally
    from modlm.text.options import TextOptions

    counting = CountOptions.asked(
        order=None if asked.positions else asked.order,
        edge=asked.edge,
        positions=asked.positions or None,
        engine=asked.chosen_engine,
        memory=asked.memory,
        temporary=asked.temporary,
        master=asked.master,
        conf=dict(setting.split("=", 1) for setting in asked.conf),
    )
    reading = TextOptions(
        vocabulary=vocabulary,
        max_words=asked.max_words,
        min_count=asked.min_count,
        encoding_errors=asked.encoding_errors,
    )
    if counting.engine == "spark" and asked.tokenizer is None:
        return spark_tally(asked.texts, counting, reading)
    return tally_text([Path(text) for text in asked.texts], counting, reading)


def _save_folds(found: Tally, folds: int, target: Path, *, force: bool) -> int:
    """A counts folder for each fold; the folder around them gets its name when all are there."""
    from modlm.counts import save_counts

    number = 0
    with new_folder(target, overwrite=force) as place:
        for number, counts in enumerate(found.held_out(folds), start=1):
            save_counts(counts, place / str(number - 1))
    return number


def describe(counts: Counts, asked: Asked) -> dict[str, Any]:
    """The numbers of counts that were just made."""
    levels = counts.trie.levels
    return {
        "order": counts.order,
        "engine": asked.chosen_engine,
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
