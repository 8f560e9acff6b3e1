"""What `modlm ngram` does: inputs to counts, counts to a model, a model to a folder with a card, and a summary."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.cli.outcome import wrote
from modlm.cli.printing import number, print_json, print_table, size
from modlm.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from modlm.counts.counts import Counts
    from modlm.model.language_model import LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What to train on and how; each field is the option of the same name."""

    inputs: tuple[Path, ...]
    order: int | None = None
    smoothing: str = "modified-kneser-ney"
    edge: str | None = None
    vocab: Path | None = None
    tokenizer: Path | None = None
    max_words: int | None = None
    min_count: int = 1
    positions: tuple[int, ...] = ()
    discounts: tuple[tuple[float, ...], ...] = ()
    extra: tuple[str, ...] = ("uniform",)
    prune: tuple[int, ...] = ()
    prune_entropy: float = 0.0
    engine: str | None = None
    memory: str | None = None
    encoding_errors: str = "strict"


@dataclass(frozen=True, slots=True)
class Targets:
    """Where results go."""

    model: Path
    arpa: Path | None = None
    counts: Path | None = None
    force: bool = False

    def check(self) -> None:
        """Refuse before hours of work what would be refused after them."""
        for path in (self.model, self.arpa, self.counts):
            if path is not None and path.exists() and not self.force and (path.is_dir() or path.is_file()):
                raise OutputError(f"{path} already exists. Choose another name, or overwrite it with --force.")


def train(training: Training, targets: Targets, *, valid: Path | None, as_json: bool) -> None:
    """Train, save, and print what came out."""
    from modlm.cli.counting import counted
    from modlm.counts import save_counts
    from modlm.model.folder import save

    targets.check()
    _check_settings(training)
    begun = time.perf_counter()
    counts = counted(training)
    if targets.counts is not None:
        save_counts(counts, targets.counts, overwrite=targets.force)
        wrote(targets.counts)
    with notes_in_summary():
        model = model_of(counts, training)
    report = describe(model, counts)
    report["seconds"] = round(time.perf_counter() - begun, 3)
    if valid is not None:
        found = model.perplexity(valid, encoding_errors=training.encoding_errors)
        report["valid"] = {"text": str(valid), **found.as_dict()}
    save(model, targets.model, card=card(model, training, report), overwrite=targets.force)
    wrote(targets.model)
    report["output"], report["bytes"] = str(targets.model), folder_bytes(targets.model)
    if targets.arpa is not None:
        write_arpa(model, targets.arpa, force=targets.force)
        report["arpa"] = str(targets.arpa)
    report["seconds_in_all"] = round(time.perf_counter() - begun, 3)
    print_json(report) if as_json else print_summary(report)


def _check_settings(training: Training) -> None:
    """What would fail only after counting."""
    from modlm.blocks import CONSTANT_BLOCKS
    from modlm.counts import MAX_ORDER, bytes_of
    from modlm.counts.counts import check_edge
    from modlm.errors import choose
    from modlm.model.ngram.pruning import check_thresholds
    from modlm.smoothing import SMOOTHERS
    from modlm.smoothing.smoother import given_discounts

    choose(SMOOTHERS, training.smoothing, what="smoothing")
    check_edge(training.edge or "once")
    for name in training.extra:
        choose(CONSTANT_BLOCKS, name, what="constant column")
    if training.prune:
        check_thresholds(training.prune, training.order or MAX_ORDER)
    if training.discounts:
        given_discounts(training.discounts, training.order or len(training.discounts))
    if training.memory is not None:
        bytes_of(training.memory)
    if training.positions and (training.prune or training.prune_entropy):
        raise ConfigError("Skip n-grams (--positions) are saved as a mixture, which cannot be pruned.")


@contextmanager
def notes_in_summary() -> Iterator[None]:
    """Notes of the estimation stand in the summary, so they are not logged as well."""
    log = logging.getLogger("modlm")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def model_of(counts: Counts, training: Training) -> LanguageModel:
    """The n-gram model of the counts, or the mixture of skip n-grams."""
    from modlm.model.ngram_lm import NgramLM, heuristic_mixture
    from modlm.smoothing import SMOOTHERS, estimate

    discounts = training.discounts or None
    if training.positions:
        estimates = estimate(SMOOTHERS[training.smoothing](), counts, discounts=discounts)
        return heuristic_mixture(estimates, extra=training.extra)
    return NgramLM.from_counts(
        counts,
        smoothing=training.smoothing,
        discounts=discounts,
        extra=training.extra,
        prune=training.prune,
        prune_entropy=training.prune_entropy,
    )


def write_arpa(model: LanguageModel, target: Path, *, force: bool) -> None:
    """The model as an ARPA file."""
    from modlm.model.ngram.arpa import to_arpa
    from modlm.model.ngram_lm import NgramLM

    if not isinstance(model, NgramLM):
        raise ConfigError("Only n-gram models have an ARPA form; a mixture has none.")
    to_arpa(model.compiled, model.vocabulary, target, overwrite=force)
    wrote(target)


# ---- what came out ---------------------------------------------------------------------------------------------------


def describe(model: LanguageModel, counts: Counts) -> dict[str, Any]:
    """The numbers of a model that was just trained."""
    from modlm.model.mixture import Mixture
    from modlm.model.ngram_lm import NgramLM

    about: dict[str, Any] = {"order": counts.order, "words": len(model.vocabulary), "sentences": counts.sentences}
    about["units"] = model.vocabulary.units
    if isinstance(model, NgramLM):
        assert model.settings is not None
        levels = model.compiled.levels
        about["smoothing"] = model.settings.smoothing
        about["discounts"] = [list(row) for row in model.settings.discounts]
        about["notes"] = list(model.notes)
    else:
        assert isinstance(model, Mixture)
        levels, block = counts.trie.levels, model.blocks["ngram"]
        estimates = block.estimates  # type: ignore[attr-defined]
        about["smoothing"] = estimates.smoother.name
        about["discounts"] = [table[1:].tolist() for table in estimates.discounts]
        about["notes"] = list(estimates.notes)
        about["positions"] = list(counts.positions)  # type: ignore[attr-defined]
    about["ngrams"] = [high - low for low, high in pairwise(levels[1:])]
    return about


def folder_bytes(folder: Path) -> int:
    """The size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def print_summary(report: dict[str, Any]) -> None:
    """The numbers for people."""
    if "positions" in report:
        places = ", ".join(map(str, report["positions"]))
        print(f"Skip n-grams at positions {places}, {report['smoothing']}, {report['words']:,} {report['units']}")
    else:
        print(f"{report['order']}-gram model, {report['smoothing']}, {report['words']:,} {report['units']}")
    discounts = [" ".join(f"{value:.4g}" for value in shorter(row)) if any(row) else "–" for row in report["discounts"]]
    rows = [
        [f"{order}-grams", f"{ngrams:,}", losses]
        for order, (ngrams, losses) in enumerate(zip(report["ngrams"], discounts, strict=True), start=1)
    ]
    print_table(["order", "n-grams", "discounts of 1, 2, …"], rows)
    for note in report["notes"]:
        print(f"note: {note}")
    if "valid" in report:
        print(f"perplexity of {report['valid']['text']}: {describe_perplexity(report['valid'])}")
    print(f"{report['output']}: {size(report['bytes'])}, trained in {report['seconds']:.1f} s")
    if "arpa" in report:
        print(f"{report['arpa']}: the same model as an ARPA file")


def shorter(row: list[float]) -> list[float]:
    """Discounts up to where they no longer change."""
    last = max((r for r in range(1, len(row)) if row[r] != row[r - 1]), default=0)
    return row[: last + 1]


def describe_perplexity(numbers: dict[str, Any]) -> str:
    """A perplexity and what it counted."""
    parts = [number(numbers["perplexity"])]
    if numbers["unknown"]:
        parts.append(f"without unknown words {number(numbers['perplexity_without_unknown'])}")
    if numbers["bytes"]:
        if numbers["text_words"] != numbers["words"]:
            parts.append(f"{number(numbers['perplexity_per_word'])} a word")
        parts.append(f"{numbers['bits_per_byte']:.4f} bits a byte")
    parts.append(f"{numbers['predictions']:,} predictions, {numbers['unknown']:,} unknown")
    return f"{parts[0]} ({'; '.join(parts[1:])})"


def card(model: LanguageModel, training: Training, report: dict[str, Any]) -> str:
    """`card.md`: what the model is, what it was trained on, its numbers and the command."""
    from modlm import __version__

    lines = [
        f"# {report['order']}-gram model, {report['smoothing']}",
        "",
        f"- Trained on: {', '.join(path.name for path in training.inputs)} ({report['sentences']:,} sentences)",
        f"- Vocabulary: {report['words']:,} {report['units']}, sha256 {model.vocabulary.fingerprint}",
        f"- N-grams of each order: {', '.join(f'{count:,}' for count in report['ngrams'])}",
    ]
    if "valid" in report:
        lines.append(f"- Perplexity of {Path(report['valid']['text']).name}: {describe_perplexity(report['valid'])}")
    lines += [f"- Note: {note}" for note in report["notes"]]
    command = shlex.join(["modlm", *sys.argv[1:]]) if sys.argv[1:2] == ["ngram"] else ""
    lines += ["", f"Made by modlm {__version__}" + (":" if command else "."), ""]
    lines += [f"    {command}", ""] if command else []
    return "\n".join(lines)
