"""Counters of one server for Prometheus, with what its client tells about every process."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from functools import cache

import prometheus_client as prometheus
from prometheus_client.core import CounterMetricFamily

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OF_MODELS = {
    "batches": "Passes of a model over sentences of one or more requests.",
    "batched_requests": "Requests in these batches.",
    "sentences": "Sentences scored.",
    "words": "Words scored.",
    "generated_words": "Words drawn.",
}


class Metrics:
    """What happened since the server began."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.in_flight = 0
        self.of_models: Counter[tuple[str, str]] = Counter()
        """By what was counted (a key of OF_MODELS) and model; changed in the event loop alone, so nothing is locked."""
        self.registry = prometheus.CollectorRegistry()
        requests = prometheus.Counter(
            "modlm_requests_total", "Requests answered, by route and status.", ("route", "status"),
            registry=self.registry,
        )  # fmt: skip
        seconds = prometheus.Histogram(
            "modlm_request_seconds", "Time until the last byte of an answer, by route.", ("route",),
            buckets=BOUNDS, registry=self.registry,
        )  # fmt: skip
        # Finding the counters of a route takes several times as long as adding to them.
        self._of_route = cache(lambda route, status: (requests.labels(route, status), seconds.labels(route)))
        self.registry.register(self)
        in_flight = prometheus.Gauge(
            "modlm_requests_in_flight", "Requests that are being answered.", registry=self.registry
        )
        in_flight.set_function(lambda: self.in_flight)
        prometheus.ProcessCollector(registry=self.registry)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        requests, times = self._of_route(route, status)
        requests.inc()
        times.observe(seconds)

    def scored(self, model: str, requests: int, sentences: int, words: int) -> None:
        """Count a batch."""
        for name, amount in zip(OF_MODELS, (1, requests, sentences, words), strict=False):
            self.of_models[name, model] += amount

    def generated(self, model: str, words: int) -> None:
        """Count words that were drawn."""
        self.of_models["generated_words", model] += words

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The counters of models; the registry asks for them."""
        for name, meaning in OF_MODELS.items():
            family = CounterMetricFamily(f"modlm_{name}", meaning, labels=("model",))
            for (counted, model), amount in sorted(self.of_models.items()):
                if counted == name:
                    family.add_metric((model,), amount)
            yield family

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return prometheus.generate_latest(self.registry)
