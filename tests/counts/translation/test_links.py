"""Links of one direction, and of both joined, against a slow version with sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.counts.translation import links_of, pharaoh
from modlm.errors import ConfigError
from modlm.text.parallel import Parallel

PAIRS = Parallel.read(["a b c", "a", ""], ["x y", "x", "y"])  # ids <s> x y </s> <s> x </s> <s> y </s>
NONE = -1
FORWARD = np.array([NONE, 2, 0, NONE, NONE, 0, NONE, NONE, NONE, NONE])
BACK = np.array([NONE, 1, NONE, 1, NONE, NONE, 0, NONE, NONE, NONE])

Links = set[tuple[int, int]]


def grown(forward: Links, back: Links) -> Links:
    """Grow-diag-final-and as it is written down by Koehn et al."""
    links, either = forward & back, forward | back
    near = [(dj, di) for di in (-1, 0, 1) for dj in (-1, 0, 1)]
    while True:
        before = set(links)
        for j, i in sorted(links, key=lambda link: link[::-1]):
            for dj, di in near:
                new = j + dj, i + di
                free = new[0] not in {a for a, _ in links} or new[1] not in {b for _, b in links}
                if new in either and free:
                    links.add(new)
        if links == before:
            break
    for own in (forward, back):
        for j, i in sorted(own, key=lambda link: link[::-1]):
            if j not in {a for a, _ in links} and i not in {b for _, b in links}:
                links.add((j, i))
    return links


def test_one_direction_has_a_link_or_none_for_each_target_word() -> None:
    assert [pharaoh(own) for own in links_of(PAIRS, FORWARD)] == ["0-1 2-0", "0-0", ""]


def test_both_directions_are_joined() -> None:
    ways = {"intersection": ["0-1", "0-0", ""], "union": ["0-1 2-0 2-1", "0-0", ""]}
    for way, lines in ways.items():
        assert [pharaoh(own) for own in links_of(PAIRS, FORWARD, BACK, way=way)] == lines
    with pytest.raises(ConfigError, match="intersection, union, grow"):
        list(links_of(PAIRS, FORWARD, BACK, way="either"))


@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_growing_keeps_the_common_links_and_adds_only_proposed_ones(size: int, length: int, random: object) -> None:
    draw = random.randint  # type: ignore[attr-defined]
    pairs = Parallel.read([" ".join("a" * size)], [" ".join("x" * length)])
    forward = np.array([NONE, *(draw(-1, size - 1) for _ in range(length)), NONE])
    back = np.array([NONE, *(draw(-1, length - 1) for _ in range(size)), NONE])
    ahead = {(j, i) for i, j in enumerate(forward[1:-1].tolist()) if j >= 0}
    behind = {(j, i) for j, i in enumerate(back[1:-1].tolist()) if i >= 0}
    (found,) = links_of(pairs, forward, back, way="grow-diag-final-and")
    links = set(map(tuple, found.tolist()))
    assert ahead & behind <= links <= ahead | behind
    assert {i for _, i in links} | {j for j, _ in links} == {i for _, i in grown(ahead, behind)} | {
        j for j, _ in grown(ahead, behind)
    }
