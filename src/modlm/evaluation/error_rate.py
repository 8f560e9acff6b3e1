"""Word and character error rates of hypotheses, with bootstrap intervals over utterances or sessions.

Distances come from a kernel of our own, not from a package: texts become ids in bulk as everywhere here, so that all
pairs are one call without a Python object for each word, and nothing more has to be installed.
Characters are those of the words with one space between; words are split at ASCII white space.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modlm.errors import ConfigError
from modlm.evaluation import error_kernels
from modlm.ground.arrays import Floats, Ids, Ints
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import split_words

UNITS = {"words": "WER", "characters": "CER"}
DRAWS = 1000
LEVEL = 0.95
CELLS = 1 << 24  # of draws by utterances in memory at a time


@dataclass(frozen=True, slots=True)
class Errors:
    """Edit distances of hypotheses (H) from their references, whose lengths (U) are in the same unit."""

    distances: Ints
    lengths: Ints


@dataclass(frozen=True, slots=True)
class Rate:
    """Errors for each unit of the references, with an interval."""

    errors: int
    length: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """May be above 1, since insertions have no limit."""
        return self.errors / self.length

    def as_dict(self) -> dict[str, Any]:
        return {"rate": self.rate, "errors": self.errors, "length": self.length, "interval": [self.low, self.high]}


def count_errors(
    hypotheses: Sequence[str], references: Sequence[str], reference_of: Ints, *, unit: str = "words"
) -> Errors:
    """Edit distances of hypotheses from the references at those places."""
    if unit not in UNITS:
        raise ConfigError(f"Errors are counted in {' or '.join(UNITS)}, but {unit!r} was asked for.")
    ids, bounds = (_word_ids if unit == "words" else _character_ids)([*references, *hypotheses])
    distances = np.empty(len(hypotheses), dtype=np.int64)
    own = np.arange(len(references), len(references) + len(hypotheses))
    error_kernels.edit_distances(ids, bounds, own, np.asarray(reference_of, dtype=np.int64), distances)
    return Errors(distances, (bounds[:, 1] - bounds[:, 0])[: len(references)])


def _word_ids(texts: list[str]) -> tuple[Ids, Ints]:
    corpus = Corpus.from_text(texts)
    return corpus.ids, np.stack((corpus.starts[:-1] + 1, corpus.starts[1:] - 1), axis=1)


def _character_ids(texts: list[str]) -> tuple[Ids, Ints]:
    spaced = [" ".join(split_words(text)) for text in texts]
    ids = np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = np.cumsum(np.fromiter(map(len, spaced), np.int64, len(spaced)))
    return ids, np.stack((np.concatenate((np.zeros(1, np.int64), ends[:-1])), ends), axis=1)


def drawn_errors(errors_GM: Ints, lengths_G: Ints, *, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """(D, M): error rates of systems M when the groups G are drawn again with replacement, the same for all systems."""
    groups = len(lengths_G)
    both_GM = np.concatenate((errors_GM, lengths_G[:, None]), axis=1).astype(np.float64)
    out = []
    for begin in range(0, draws, step := max(1, CELLS // max(1, groups))):
        times_DG = rng.multinomial(groups, np.full(groups, 1 / groups), size=min(step, draws - begin))
        out.append(times_DG @ both_GM)
    drawn_DM = np.concatenate([np.zeros((0, both_GM.shape[1])), *out])
    lengths_D1 = drawn_DM[:, -1:]
    rates_DM: Floats = drawn_DM[:, :-1] / np.where(lengths_D1 > 0, lengths_D1, 1.0)
    return rates_DM


def interval(drawn: Floats) -> tuple[float, float]:
    """The middle 95% of what was drawn; NaN of nothing."""
    if len(drawn) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return low, high


def probability_better(drawn: Floats, than: Floats) -> float:
    """The share of draws with fewer errors, equal ones counted half."""
    if len(drawn) == 0:
        return float("nan")
    return float((drawn < than).mean() + (drawn == than).mean() / 2)
