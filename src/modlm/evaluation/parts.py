"""A development part and a test part of utterances, cut between sessions, so that no dialogue or speaker is in both."""

import re
from collections.abc import Sequence

import numpy as np

from modlm.errors import ConfigError
from modlm.ground.arrays import Bools, Ints

NUMBERED = r"(.+)[-_#/:.][0-9]+"
"""An utterance called after its session, with its number behind."""


def sessions_of(utterances: Sequence[str], pattern: str | None = None) -> Ints:
    """The session (by number) of each utterance: what a regular expression finds at the beginning of its name.

    The first group of the expression is the session's name, or all of it where it has no group; an utterance that does
    not match is a session of its own. Without a pattern it is the name without its last number (`dialogue-7#12`,
    `speaker_004`), unless that makes all utterances one session.
    """
    try:
        compiled = re.compile(pattern if pattern is not None else f"{NUMBERED}$")
    except re.error as error:
        raise ConfigError(f"The session pattern {pattern!r} is not a regular expression: {error}.") from None
    names = [_name(compiled, utterance) for utterance in utterances]
    if pattern is None and len(set(names)) == 1:
        names = [(utterance, "") for utterance in utterances]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return np.array([places[name] for name in names], dtype=np.int64)


def _name(pattern: re.Pattern[str], utterance: str) -> tuple[str, str]:
    found = pattern.match(utterance)
    if found is None:
        return utterance, "alone"
    return (found[1] if pattern.groups and found[1] is not None else found[0]), "session"


def development_part(sessions_U: Ints, share: float, *, rng: np.random.Generator) -> Bools:
    """Which utterances are for development: whole sessions, drawn until they hold the share or pass it."""
    if not 0 < share < 1:
        raise ConfigError(f"The share for development must be between 0 and 1, but is {share}.")
    counts = np.bincount(sessions_U)
    if len(counts) < 2:
        raise ConfigError(
            "All utterances are one session, which cannot be cut in two. Give another pattern for sessions, "
            "more utterances, or the weights."
        )
    order = rng.permutation(len(counts))
    wanted = int(np.searchsorted(np.cumsum(counts[order]), share * len(sessions_U))) + 1
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[order[: min(wanted, len(counts) - 1)]] = True
    part: Bools = chosen[sessions_U]
    return part
