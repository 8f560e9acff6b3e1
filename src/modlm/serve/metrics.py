"""Counters of one server for Prometheus, with what its client tells about every process."""

import time
from functools import cache

import prometheus_client as prometheus

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
        of_models = [
            prometheus.Counter(f"modlm_{name}", meaning, ("model",), registry=self.registry)
            for name, meaning in OF_MODELS.items()
        ]
        self._of_model = cache(lambda model: [counter.labels(model) for counter in of_models])
        in_flight = prometheus.Gauge(
            "modlm_requests_in_flight", "Requests that are being answered.", registry=self.registry
        )
        in_flight.set_function(lambda: self.in_flight)
        prometheus.ProcessCollector(registry=self.registry)

    def answered(self, route: str, status: int, seconds: float) -> None:
        requests, times = self._of_route(route, status)
        requests.inc()
        times.observe(seconds)

    def scored(self, model: str, requests: int, sentences: int, words: int) -> None:
        for counter, amount in zip(self._of_model(model), (1, requests, sentences, words), strict=False):
            counter.inc(amount)

    def generated(self, model: str, words: int) -> None:
        self._of_model(model)[-1].inc(words)

    def text(self) -> bytes:
        return prometheus.generate_latest(self.registry)
