"""What the measurements found: bars met or missed, raw times, distances to physical limits, remarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from side_by_side.timing import Sample


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of the table that matters."""

    measurement: str
    what: str
    ours: str
    theirs: str
    value: float | None
    """The number that the bar is about: a ratio, seconds, or a rate; None if it could not be measured."""
    best: float | None
    """The same from the best repetitions instead of medians, where both were measured."""
    unit: str
    """Behind the value: "×" for a ratio to KenLM."""
    rule: str
    """Such as "≤ 0.4"; empty when the number is only reported."""
    met: bool | None

    def line(self) -> str:
        """The bar in one line of plain text."""
        value = f"{self.value:.3g} {self.unit}" if self.value is not None else "not measured"
        verdict = {True: f" ({self.rule}: met)", False: f" ({self.rule}: MISSED)", None: ""}[self.met]
        return f"{self.what}: {self.ours}, KenLM {self.theirs}: {value}{verdict}"


@dataclass(frozen=True, slots=True)
class Raw:
    """The times behind a bar."""

    measurement: str
    who: str
    sample: Sample
    work: float
    """How much was done in each repetition."""
    unit: str
    """Of the work: words, sentences, contexts; empty when only the time counts."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How far a number is from what the machine could do at best."""

    measurement: str
    what: str
    ours: float
    limit: float
    unit: str
    meaning: str
    """What the limit is and how it was measured."""


@dataclass(slots=True)
class Findings:
    """Everything found in one run."""

    bars: list[Bar] = field(default_factory=list)
    raw: list[Raw] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    """Sizes of the texts and models."""

    def judge(
        self, measurement: str, what: str, value: float | None, *, unit: str = "×", ours: str, theirs: str = "–",
        best: float | None = None, at_most: float | None = None, at_least: float | None = None,
    ) -> None:  # fmt: skip
        """Add a bar; without `at_most` and `at_least` it is only reported."""
        rule = f"≤ {at_most:g}" if at_most is not None else f"≥ {at_least:g}" if at_least is not None else ""
        met = None
        if rule and value is not None:
            met = value <= at_most if at_most is not None else at_least is not None and value >= at_least
        self.bars.append(Bar(measurement, what, ours, theirs, value, best, unit, rule, met))

    def times(self, measurement: str, samples: Mapping[str, Sample], *, work: float = 0, unit: str = "") -> None:
        """Add raw times of several contestants over the same work."""
        self.raw += [Raw(measurement, who, sample, work, unit) for who, sample in samples.items()]

    def limit(self, measurement: str, what: str, *, ours: float, limit: float, unit: str, meaning: str) -> None:
        """Add a distance to a limit; `ours` and `limit` are costs, so larger is worse."""
        self.limits.append(Limit(measurement, what, ours, limit, unit, meaning))

    def remark(self, text: str) -> None:
        """Add a remark, once."""
        if text not in self.remarks:
            self.remarks.append(text)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "bars": [asdict(bar) for bar in self.bars],
            "raw": [asdict(raw) for raw in self.raw],
            "limits": [asdict(limit) for limit in self.limits],
            "remarks": self.remarks,
            "facts": self.facts,
        }


def rate(work: float, seconds: float) -> str:
    """Work a second for people."""
    per_second = work / seconds
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if per_second >= limit:
            return f"{per_second / limit:.2f}{sign}/s"
    return f"{per_second:.3g}/s"


def duration(seconds: float) -> str:
    """A time for people."""
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= limit:
            return f"{seconds / limit:.3g} {unit}" if seconds < 100 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def size(count: float) -> str:
    """Bytes for people."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{count / limit:.2f} {unit}"
    return f"{count:.0f} B"
