"""What a server takes on: sizes of requests, how many at once, and for how long."""

from dataclasses import asdict, dataclass

from modlm.errors import ConfigError

MOST_NEXT = 1000  # next words that one request may ask for
MOST_CONTEXT = 2000  # words before a prediction
MOST_SOURCE = 200  # words of a source sentence; most models have two columns for each
MOST_BEAM = 50  # hypotheses of a translation that are kept
MOST_MODELS = 16  # compared in one request


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one server; every one is answered with a 4xx or 503 that names it."""

    max_words: int = 20_000
    """Words of all sentences of a request."""
    max_sentences: int = 4096
    """Sentences of a request."""
    max_new_words: int = 1000
    """Words that one request may have generated."""
    max_body: int = 4_000_000
    """Bytes of a request's body."""
    max_concurrent: int = 128
    """Requests in work or waiting; more are turned away with 503."""
    max_connections: int = 1000
    """Connections that are open; more are turned away with 503."""
    max_header: int = 1 << 16
    """Bytes of a request's headers."""
    header_timeout: float = 10.0
    """Seconds for the headers of a request, and that an answer may wait to be read."""
    idle_timeout: float = 75.0
    """Seconds that a connection is kept open between requests."""
    timeout: float = 30.0
    """Seconds until an answer begins, and that a stream of generated words may last."""
    max_sessions: int = 64
    """Sessions that are open; more are turned away with 503."""
    session_timeout: float = 3600.0
    """Seconds without use after which a session ends."""
    grace: float = 10.0
    """Seconds that requests in flight get to end when the server is stopped."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value > 0 or value == float("inf"):
                raise ConfigError(f"{name} must be above 0, but is {value}.")

    def as_dict(self) -> dict[str, float]:
        fixed = {"max_next": MOST_NEXT, "max_context": MOST_CONTEXT, "max_models": MOST_MODELS}
        return asdict(self) | fixed | {"max_source": MOST_SOURCE, "max_beam": MOST_BEAM}
