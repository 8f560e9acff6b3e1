"""Discounts from counts of counts, and the named rules for texts that do not determine them.

Tiny, repeated or artificial text leaves some count of counts at zero. Then no formula applies, and a fixed discount of
half a count (one and one and a half for counts of two and three) takes its place: the *default discounts*.
"""

from __future__ import annotations

import numpy as np

from modlm.ground.arrays import Floats, Ints

DEFAULT = (0.5, 1.0, 1.5)


def one_discount(n: Ints) -> tuple[Floats, str]:
    """d = n1 / (n1 + 2 n2), the same for every count (Ney et al. 1994)."""
    if n[1] == 0 or n[2] == 0:
        missing = "once" if n[1] == 0 else "twice"
        return np.array([0.0, DEFAULT[0]]), f"no n-gram occurs {missing}; the default discount {DEFAULT[0]} is used"
    return np.array([0.0, n[1] / (n[1] + 2 * n[2])]), ""


def three_discounts(n: Ints) -> tuple[Floats, str]:
    """D_r = r - (r + 1) Y n_{r+1} / n_r with Y = n1 / (n1 + 2 n2), for r = 1, 2 and 3 or more (Chen & Goodman).

    A value that is undefined (n_r = 0) or outside [0, r) gives way to its default.
    """
    table, replaced = np.zeros(4), []
    for r in (1, 2, 3):
        value = np.nan
        if n[r] > 0 and n[1] + 2 * n[2] > 0:
            value = r - (r + 1) * (n[1] / (n[1] + 2 * n[2])) * n[r + 1] / n[r]
        if not 0 <= value < r:
            replaced.append(f"D{r}{'+' if r == 3 else ''} = {DEFAULT[r - 1]}")
            value = DEFAULT[r - 1]
        table[r] = value
    if not replaced:
        return table, ""
    found = ", ".join(f"n{r} = {n[r]}" for r in (1, 2, 3, 4))
    return (
        table,
        f"the counts of counts ({found}) do not determine all discounts; defaults are used: {', '.join(replaced)}",
    )


KATZ = 5  # counts above this are trusted as they are


def katz_discounts(n: Ints) -> tuple[Floats, str]:
    """r - r*, where r* is Good and Turing's count as Katz (1987) scales it for r up to k = 5.

    Where that is undefined or not in (0, r], k is lowered until it is; where no k works, half a count is taken.
    """
    for k in range(KATZ, 0, -1):
        if np.any(n[1 : k + 2] == 0):
            continue
        r = np.arange(1, k + 1)
        tail = (k + 1) * n[k + 1] / n[1]
        if tail == 1:
            continue
        adjusted = r * ((r + 1) * n[2 : k + 2] / (r * n[1 : k + 1]) - tail) / (1 - tail)
        if np.all((adjusted > 0) & (adjusted <= r)):
            note = "" if k == KATZ else f"the counts of counts allow Good-Turing discounts only up to {k}"
            return np.concatenate(([0.0], r - adjusted, [0.0])), note
    note = f"the counts of counts do not determine Good-Turing discounts; the default discount {DEFAULT[0]} is used"
    return np.array([0.0, DEFAULT[0]]), note
