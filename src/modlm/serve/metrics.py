"""Counters of one server in Prometheus' text format.

All of them are changed in the event loop alone, so nothing is locked.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Histogram:
    """How often a value fell below each bound."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.buckets[bisect_left(BOUNDS, value)] += 1
        self.total += value


@dataclass(slots=True)
class Metrics:
    """What happened since the server began."""

    started: float = field(default_factory=time.time)
    begun: float = field(default_factory=time.monotonic)
    """The same by a clock that never jumps."""
    in_flight: int = 0
    requests: defaultdict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    """By route and status."""
    seconds: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    """By route, until the last byte of the answer."""
    batches: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    batched: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Requests in the batches of a model."""
    sentences: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    words: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    generated: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.requests[route, status] += 1
        self.seconds[route].add(seconds)

    def scored(self, model: str, requests: int, sentences: int, words: int) -> None:
        """Count a batch."""
        self.batches[model] += 1
        self.batched[model] += requests
        self.sentences[model] += sentences
        self.words[model] += words

    def text(self) -> str:
        """All of it as Prometheus reads it."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _head("modlm_requests_total", "counter", "Requests answered, by route and status.")
        for (route, status), count in sorted(self.requests.items()):
            yield f'modlm_requests_total{{route="{_escaped(route)}",status="{status}"}} {count}'
        yield from _head("modlm_request_seconds", "histogram", "Time until the last byte of an answer, by route.")
        for route, histogram in sorted(self.seconds.items()):
            yield from _histogram("modlm_request_seconds", f'route="{_escaped(route)}"', histogram)
        by_model = {
            "modlm_batches_total": (self.batches, "Passes of a model over sentences of one or more requests."),
            "modlm_batched_requests_total": (self.batched, "Requests in these batches."),
            "modlm_sentences_total": (self.sentences, "Sentences scored."),
            "modlm_words_total": (self.words, "Words scored."),
            "modlm_generated_words_total": (self.generated, "Words drawn."),
        }
        for name, (counts, meaning) in by_model.items():
            yield from _head(name, "counter", meaning)
            for model, count in sorted(counts.items()):
                yield f'{name}{{model="{_escaped(model)}"}} {count}'
        gauges = {
            "modlm_requests_in_flight": (self.in_flight, "Requests that are being answered."),
            "process_start_time_seconds": (self.started, "When the server began, in seconds since 1970."),
            "process_resident_memory_bytes": (resident_bytes(), "Memory in use."),
        }
        for name, (value, meaning) in gauges.items():
            yield from _head(name, "gauge", meaning)
            yield f"{name} {value}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


def _histogram(name: str, label: str, histogram: Histogram) -> Iterator[str]:
    below = 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), histogram.buckets, strict=True):
        below += count
        yield f'{name}_bucket{{{label},le="{bound}"}} {below}'
    yield f"{name}_sum{{{label}}} {histogram.total}"
    yield f"{name}_count{{{label}}} {below}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def resident_bytes() -> int:
    """Memory that this process holds; 0 where the system does not tell it this way."""
    try:
        pages = Path("/proc/self/statm").read_bytes().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
