"""Speeds of nets as ratios of each other: arguments that both scripts take, bars, and the page they print."""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from modlm.ground.files import new_file
from side_by_side.findings import rate
from side_by_side.report import cpu_model, load_average, version
from side_by_side.texts import default_sources
from side_by_side.timing import Sample


@dataclass(frozen=True, slots=True)
class Ratio:
    """One speed over another; the bar is the least it should be."""

    what: str
    value: float
    at_least: float | None

    @property
    def met(self) -> bool | None:
        """None when the number is only reported."""
        return None if self.at_least is None else self.value >= self.at_least


@dataclass(slots=True)
class Speeds:
    """Words a second of several models over the same text, measured in turns."""

    words: int
    samples: dict[str, Sample]
    ratios: list[Ratio] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def compare(self, name: str, other: str, *, at_least: float | None = None) -> None:
        """Add the median over the rounds of how many times faster the first was in that round."""
        mine, others = self.samples[name].seconds, self.samples[other].seconds
        value = statistics.median(theirs / ours for ours, theirs in zip(mine, others, strict=True))
        self.ratios.append(Ratio(f"{name} / {other}", value, at_least))

    def page(self, title: str, command: str, *, quick: bool) -> str:
        """Everything as Markdown."""
        lines = [f"# {title}, {datetime.date.today().isoformat()}", ""]
        lines += ["**A trial run (`--quick`): its numbers mean nothing.**", ""] if quick else []
        lines += [f"- {fact}" for fact in (*machine(), *self.facts)]
        lines += ["", "| ratio of words/s | value | bar | met |", "|---|--:|--:|---|"]
        for ratio in self.ratios:
            bar = "–" if ratio.at_least is None else f"≥ {ratio.at_least:g}"
            met = {True: "yes", False: "**no**", None: "–"}[ratio.met]
            lines.append(f"| {ratio.what} | {ratio.value:.3f} | {bar} | {met} |")
        lines += ["", f"| {self.words:,} words | words/s | median s | spread | n |", "|---|--:|--:|--:|--:|"]
        for name, sample in self.samples.items():
            speed = rate(self.words, sample.median)
            spread, rounds = f"{sample.spread:.0%}", len(sample.seconds)
            lines.append(f"| {name} | {speed} | {sample.median:.3f} | {spread} | {rounds} |")
        return "\n".join([*lines, "", f"    {command}", ""])


def machine() -> list[str]:
    """Processor, threads, load and versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("modlm", "torch", "numpy", "numba"))
    return [f"{cpu_model()}, {torch.get_num_threads()} threads; load average {load_average()}", versions]


def arguments(description: str, given: Sequence[str] | None) -> argparse.Namespace:
    """The command line of both scripts."""
    parser = argparse.ArgumentParser(
        description=f"{description} Texts that are not given are those of the Penn Treebank under MODLM_DATA."
    )
    parser.add_argument("--ptb", nargs=2, type=Path, metavar=("TRAIN", "TEST"), help="the texts")
    parser.add_argument("--hidden", type=int, default=200, metavar="N", help="units of a layer")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="rounds; medians are compared")
    parser.add_argument("--batches", type=int, default=40, metavar="N", help="updates in a round of training")
    parser.add_argument("--quick", action="store_true", help="try the script: two small rounds, no real numbers")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the page there, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the numbers as JSON")
    asked = parser.parse_args(given)
    asked.ptb = asked.ptb or ptb_texts(parser)
    if asked.quick:
        asked.repetitions, asked.batches = 2, 2
    return asked


def ptb_texts(parser: argparse.ArgumentParser) -> list[Path]:
    """The texts of the folder that MODLM_DATA names, where the command line names none."""
    found = default_sources()
    if not {"ptb.train", "ptb.test"} <= set(found):
        parser.error("name the texts with --ptb TRAIN TEST, or the folder that has them with MODLM_DATA.")
    return [Path(found["ptb.train"]), Path(found["ptb.test"])]


def publish(speeds: Speeds, title: str, script: str, asked: argparse.Namespace) -> None:
    """Print the page, and write what was asked for."""
    page = speeds.page(title, f"python benchmarks/{script} --hidden {asked.hidden}", quick=asked.quick)
    sys.stdout.write(page)
    if asked.out is not None:
        with new_file(asked.out) as target:
            target.write_text(page, encoding="utf-8")
    if asked.json is not None:
        found = {
            "ratios": [asdict(ratio) | {"met": ratio.met} for ratio in speeds.ratios],
            "words": speeds.words,
            "seconds": {name: sample.seconds for name, sample in speeds.samples.items()},
            "facts": [*machine(), *speeds.facts],
        }
        with new_file(asked.json) as target:
            target.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")
