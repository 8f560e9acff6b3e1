"""Is a model a language model? Laws that every one must keep, tried on positions of a text, and what came of it.

A law is tried on cases: words before, a word, and words behind it. What it measures is how far the model is from the
law; the worst is kept, and a case that is too far is made smaller for as long as it still is. What a subject cannot be
asked for is untested, never assumed. No law asks for more than two whole distributions a position.
"""

import hashlib
import math
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np

from modlm import __version__
from modlm.errors import ConfigError, InputError
from modlm.evaluation.subjects import Subject, Tokens, subject_of
from modlm.ground.arrays import Floats
from modlm.ground.progress import progress

SUMS = 1e-6  # how far a sum may be from 1
TRIED = 48  # words whose probabilities are summed where no whole distribution can be had
PLANTED = 24  # words of a planted tail
HOLDS, BROKEN, UNTESTED = "holds", "broken", "untested"


@dataclass(frozen=True, slots=True)
class Case:
    """A place in a text: what comes before it, its word, what comes behind."""

    before: Tokens
    word: Any
    behind: Tokens = ()

    @property
    def text(self) -> Tokens:
        return (*self.before, self.word, *self.behind)


@dataclass(frozen=True, slots=True)
class Measured:
    """How far a model is from a law in a case, and that in words."""

    deviation: float
    found: str = ""


@dataclass(frozen=True, slots=True)
class Law:
    """A law: what it says, how it is measured, what a subject must be able to do for that."""

    name: str
    says: str
    needs: tuple[str, ...]
    measure: Callable[[Subject, Case], Measured]
    cases: Callable[[Tokens, int, np.random.Generator], Iterator[Case]]
    fixed: float | None = None
    """A limit of its own; None: that of the certificate."""


@dataclass(frozen=True, slots=True)
class Verdict:
    law: str
    says: str
    status: str
    positions: int = 0
    worst: float = 0.0
    limit: float = 0.0
    note: str = ""
    counterexample: dict[str, Any] | None = None
    """The smallest that was found: the words before, the word, the words behind, and what was found there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """All verdicts, and about what."""

    model: str
    kind: str
    text: str
    tokens: int
    positions: int
    seed: int
    verdicts: tuple[Verdict, ...]
    fingerprints: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return all(verdict.status != BROKEN for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        return {"holds": self.holds, **asdict(self)}


def certify(
    model: Any, text: Any, *, positions: int = 25, tokens: int = 256, seed: int = 1, tolerance: float = 1e-4,
    **options: Any,
) -> Certificate:  # fmt: skip
    """The certificate of a model on a text: at `positions` drawn from its first `tokens`.

    The model is one of ours, a `Subject`, a function from the words before to probabilities, or, with
    `gives="log-probabilities"`, one from a text to its log-probabilities. `source` has the source of each line, for a
    model of ours that reads them. `tolerance` is for logarithms (nats).
    """
    if positions < 1 or tokens < 2:
        raise ConfigError(f"A certificate needs a position and two tokens, not {positions} and {tokens}.")
    subject = model if isinstance(model, Subject) else subject_of(model, **options)
    stream = subject.read(text, tokens)
    if len(stream) < 2:
        raise InputError("there is too little text for a certificate: it needs at least two words.")
    rng = np.random.default_rng(seed)
    places = sorted(rng.choice(len(stream), min(positions, len(stream)), replace=False).tolist())
    with progress("certifying", total=len(LAWS), unit="laws") as bar:
        verdicts = []
        for law in LAWS:
            verdicts.append(verdict_of(law, subject, stream, places, seed, tolerance))
            bar.advance(1)
    digest = hashlib.sha256(repr(stream).encode()).hexdigest()
    return Certificate(
        model=subject.name, kind=subject.kind, tokens=len(stream), positions=len(places), seed=seed,
        text=str(text) if isinstance(text, str | PathLike) else f"a {type(text).__name__}", verdicts=tuple(verdicts),
        fingerprints={**subject.fingerprints, "text": digest},
        versions={"modlm": __version__, "python": platform.python_version(), "numpy": np.__version__} | {
            name: str(sys.modules[name].__version__) for name in ("torch", "transformers") if name in sys.modules
        },
    )  # fmt: skip


def verdict_of(
    law: Law, subject: Subject, stream: Tokens, places: Sequence[int], seed: int, tolerance: float
) -> Verdict:
    """A law on all of its cases, the shortest first, until one breaks it."""
    limit = tolerance if law.fixed is None else law.fixed
    if missing := [need for need in law.needs if getattr(subject, need) is None]:
        asked = " or ".join(f"{ABILITIES[need]}" for need in missing)
        return Verdict(law.name, law.says, UNTESTED, limit=limit, note=f"this model cannot be asked for {asked}")
    worst, note, tried, rng = 0.0, "", 0, np.random.default_rng(seed)
    for case in chain.from_iterable(law.cases(stream, place, rng) for place in places):
        found = law.measure(subject, case)
        tried += 1
        worst, note = max(worst, found.deviation), note or (found.found if not found.deviation else "")
        if found.deviation > limit:
            small = smallest(law, subject, case, limit)
            found = law.measure(subject, small)
            shown = asdict(small) | {"found": found.found, "deviation": found.deviation}
            return Verdict(law.name, law.says, BROKEN, tried, found.deviation, limit, found.found, shown)
    if law is LAWS[0] and subject.distribution is None:
        return Verdict(law.name, law.says, UNTESTED, tried, worst, limit, f"no whole distribution can be had; {note}")
    partly = "in pieces is untested" if law.measure is goes_any_way and subject.streamed is None else ""
    return Verdict(law.name, law.says, HOLDS, tried, worst, limit, partly)


def smallest(law: Law, subject: Subject, case: Case, limit: float) -> Case:
    """A case with as few words behind, then before, as still break the law, by trying 0, 1, 2, 4, … of them."""
    for part in ("behind", "before"):
        words: Tokens = getattr(case, part)
        for kept in [0, *(1 << n for n in range(12))]:
            if kept >= len(words):
                break
            some = words[:kept] if part == "behind" else words[len(words) - kept :]
            smaller = Case(case.before, case.word, some) if part == "behind" else Case(some, case.word, case.behind)
            if law.measure(subject, smaller).deviation > limit:
                case = smaller
                break
    return case


# ---- cases -----------------------------------------------------------------------------------------------------------


def as_it_is(stream: Tokens, place: int, rng: np.random.Generator) -> Iterator[Case]:
    yield Case(stream[:place], stream[place], stream[place + 1 :])


def with_other_tails(stream: Tokens, place: int, rng: np.random.Generator) -> Iterator[Case]:
    """What comes later in another order, and the words up to here planted in the future again and again."""
    later = stream[place + 1 :]
    yield Case(stream[:place], stream[place], tuple(later[at] for at in rng.permutation(len(later)).tolist()))
    yield Case(stream[:place], stream[place], (stream[max(0, place - 3) : place + 1] * PLANTED)[:PLANTED])
    yield Case(stream[:place], stream[place], (stream[int(rng.integers(len(stream)))],))


def with_other_words(stream: Tokens, place: int, rng: np.random.Generator) -> Iterator[Case]:
    """Another word of the text in this place, and then the same again."""
    word = stream[int(rng.integers(len(stream)))]
    yield Case(stream[:place], word, (word,))


# ---- laws ------------------------------------------------------------------------------------------------------------


def sums_to_one(subject: Subject, case: Case) -> Measured:
    """|sum - 1|, or how far below 0 the least entry is; of words alone, how far their sum is above 1."""
    if subject.distribution is None:
        assert subject.log_probs is not None
        some = list(dict.fromkeys(case.behind + case.before))[:TRIED] or [case.word]
        total = sum(math.exp(subject.log_probs((*case.before, word))[-1]) for word in some)
        return Measured(max(0.0, total - 1), f"the probabilities of {len(some)} words sum to {total:.6g}")
    row_J = np.asarray(subject.distribution(case.before), np.float64)
    if not np.isfinite(row_J).all():
        return Measured(math.inf, "there are entries that are no numbers")
    total, least = float(row_J.sum()), float(row_J.min(initial=0.0))
    found = f"the sum over {len(row_J):,} entries is {total:.9g}" + (f", the least {least:.3g}" if least < 0 else "")
    return Measured(max(abs(total - 1), 2 * SUMS if least < 0 else 0.0), found)


def says_what_it_scores(subject: Subject, case: Case) -> Measured:
    """The score of the word within its text against the logarithm of its entry in the whole distribution."""
    assert subject.log_probs is not None
    score, entry = float(subject.log_probs(case.text)[len(case.before)]), entry_of(subject, case.before, case.word)
    return apart([score], [entry], "the score of {word!r} is {0:.9g}, its entry in the distribution says {1:.9g}", case)


def looks_back_alone(subject: Subject, case: Case) -> Measured:
    """Scores up to the word with nothing behind it, and with something."""
    assert subject.log_probs is not None
    end = len(case.before) + 1
    alone, followed = subject.log_probs(case.text[:end])[:end], subject.log_probs(case.text)[:end]
    said = "with nothing behind it a word scores {0:.9g}, with {behind} words behind it {1:.9g}"
    return apart(alone, followed, said, case)


def scores_before_it_learns(subject: Subject, case: Case) -> Measured:
    """A word twice in a row: the first must be scored as by a model that has never seen it here, then the second."""
    assert subject.log_probs is not None
    scores = subject.log_probs((*case.before, case.word, case.word))[len(case.before) :]
    if subject.distribution is None:
        once = subject.log_probs((*case.before, case.word))[len(case.before) :]
        return apart(once, scores[:1], "{word!r} alone scores {0:.9g}, the first of two in a row {1:.9g}", case)
    entries = [entry_of(subject, before, case.word) for before in (case.before, (*case.before, case.word))]
    return apart(entries, scores, "of {word!r} twice in a row, expected {0:.9g}, scored {1:.9g}", case)


def says_it_again(subject: Subject, case: Case) -> Measured:
    """The same question twice in a row."""
    worst = Measured(0.0)
    if subject.again is not None:
        first, second = subject.again(case.text), subject.again(case.text)
        worst = apart(first, second, "a text scored twice: {0:.9g}, then {1:.9g}", case)
    if subject.distribution is None:
        return worst
    rows = [np.array(subject.distribution(case.before), np.float64) for _ in range(2)]
    gap = float(np.abs(rows[0] - rows[1]).max(initial=0.0)) if len(rows[0]) == len(rows[1]) else math.inf
    return max(worst, Measured(gap, f"asked twice, an entry differs by {gap:.3g}"), key=lambda one: one.deviation)


def goes_any_way(subject: Subject, case: Case) -> Measured:
    """All of the text at once, word by word, and in pieces; and its lines one by one and in one batch."""
    assert subject.log_probs is not None
    whole, worst = subject.log_probs(case.text), Measured(0.0)
    for way in ("stepwise", "streamed"):
        if (scored := getattr(subject, way)) is not None:
            here = apart(whole, scored(case.text), f"all at once a word scores {{0:.9g}}, {way} {{1:.9g}}", case)
            worst = max(worst, here, key=lambda one: one.deviation)
    if subject.lines is not None:
        here = apart(*subject.lines(case.text), "a line alone scores {0:.9g}, in a batch of lines {1:.9g}", case)
        worst = max(worst, here, key=lambda one: one.deviation)
    return worst


def entry_of(subject: Subject, before: Tokens, word: Any) -> float:
    """The logarithm of a word's entry in the distribution after others."""
    assert subject.distribution is not None
    row_J, at = subject.distribution(before), subject.index(word)
    value = float(row_J[at]) if 0 <= at < len(row_J) else 0.0
    return math.log(value) if value > 0 else -math.inf


def apart(one: Sequence[float] | Floats, other: Sequence[float] | Floats, said: str, case: Case) -> Measured:
    """The largest difference of logarithms, of which -inf is one, and the pair that has it in words."""
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if len(first) != len(second):
        return Measured(math.inf, f"there are {len(first)} scores and {len(second)} scores of the same words")
    with np.errstate(invalid="ignore"):
        gap = np.where(first == second, 0.0, np.abs(first - second))
    gap = np.where(np.isnan(gap), math.inf, gap)
    if not gap.any():
        return Measured(0.0)
    at = int(gap.argmax())
    return Measured(float(gap[at]), said.format(first[at], second[at], word=case.word, behind=len(case.behind)))


LAWS = (
    Law("normalised", "Every distribution sums to 1 (±1e-6) and has no negative entry.",
        (), sums_to_one, as_it_is, SUMS),
    Law("scores", "The score of a text is what the distributions say.",
        ("log_probs", "distribution"), says_what_it_scores, as_it_is),
    Law("causal", "Nothing that comes later changes what came before.",
        ("log_probs",), looks_back_alone, with_other_tails),
    Law("learning", "A word is scored before anything is learned from it.",
        ("log_probs",), scores_before_it_learns, with_other_words),
    Law("repeatable", "Asked again, it says the same.", (), says_it_again, as_it_is),
    Law("ways", "Scores whole, word by word, in pieces and in batches agree.",
        ("log_probs", "stepwise"), goes_any_way, as_it_is),
)  # fmt: skip
ABILITIES = {
    "log_probs": "the scores of a text", "distribution": "whole distributions", "stepwise": "scores word by word",
}  # fmt: skip
