"""Damaged inputs at every reader; `tests/fuzz` makes them."""

from __future__ import annotations

import time
from functools import partial

from tests.faults.outcome import Outcome, Row
from tests.fuzz.fuzz_readers import READERS, run

KINDS = {
    "arpa": ("ARPA files", ("arpa",)),
    "counts": ("count files", ("counts",)),
    "nbest": ("n-best lists of four forms", tuple(name for name in READERS if name.startswith("nbest"))),
    "config": ("configurations", ("config",)),
    "vocabulary": ("vocabularies", tuple(name for name in READERS if name.startswith("vocabulary"))),
}


def try_reader(names: tuple[str, ...], tries: int) -> Outcome:
    """So many inputs, shared among the readers; the first that is lost ends it."""
    outcome, begun = Outcome(), time.monotonic()
    for name in names:
        try:
            found = run(name, most=tries // len(names))
        except BaseException as error:
            outcome.check(name, f"{type(error).__name__}: {error}")
            continue
        outcome.tried += found.total()
        outcome.survived += found.total()
        outcome.count("read", found["read"])
        outcome.count("refused", found.total() - found["read"])
    outcome.figures["per_second"] = round(outcome.tried / (time.monotonic() - begun))
    return outcome


ROWS = {
    f"fuzz-{kind}": Row(f"fuzzed {what}", partial(try_reader, names), small=1000, full=200_000, unit="inputs")
    for kind, (what, names) in KINDS.items()
}
