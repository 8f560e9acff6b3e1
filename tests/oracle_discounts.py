"""What smoothing families take from counts, as exact fractions; see `oracle`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

UNDISCOUNTED = ("maximum-likelihood", "additive", "witten-bell", "jelinek-mercer")
HALF = Fraction(1, 2)
DEFAULT_DISCOUNTS = (HALF, Fraction(1), Fraction(3, 2))  # for counts of 1, 2, and 3 or more
KATZ_LIMIT = 5  # Good-Turing leaves counts above this as they are


def estimate_discounts(smoothing: str, n: Mapping[int, int]) -> tuple[Fraction, ...]:
    """What one order subtracts from a count of 1, of 2, ...; the last value holds for all larger counts as well.

    n[r] is the number of n-gram types whose count is r: the counts of counts of this order, before any pruning.

    maximum-likelihood, witten-bell    (0,)
    absolute, kneser-ney               (d,)           d = n1 / (n1 + 2 n2)
    modified-absolute, -kneser-ney     (D1, D2, D3)   D_r = r - (r+1) Y n_{r+1} / n_r  with  Y = n1 / (n1 + 2 n2)
    good-turing                        (1 - 1*, ..., k - k*, 0)  with k = 5 and Katz's
                                       r* = r ((r+1) n_{r+1} / (r n_r) - A) / (1 - A),  A = (k+1) n_{k+1} / n_1

    Small or artificial text leaves some of these undefined or out of range. Then:

    d      undefined, 0 or 1 (n1 = 0 or n2 = 0):         1/2.
    D_r    undefined, negative, or r or more:            its own default, (1/2, 1, 3/2)[r-1]; the other two stay. So a
                                                         count above 0 never loses everything, and D_r = 0 is accepted.
    r*     a zero among n_1..n_{k+1}, A = 1, or any r*   the next smaller k, down to 1; if none works, 1/2 for every
           outside (0, r]:                               count. (k = 1 never works: it makes 1* = 0.)
    """
    if smoothing in UNDISCOUNTED:
        return (Fraction(0),)
    if smoothing == "good-turing":
        for k in range(KATZ_LIMIT, 0, -1):
            if any(n.get(r, 0) == 0 for r in range(1, k + 2)) or (k + 1) * n[k + 1] == n[1]:
                continue
            a = Fraction((k + 1) * n[k + 1], n[1])
            stars = {r: r * (Fraction((r + 1) * n[r + 1], r * n[r]) - a) / (1 - a) for r in range(1, k + 1)}
            if all(0 < star <= r for r, star in stars.items()):
                return (*(r - star for r, star in stars.items()), Fraction(0))
        return (HALF,)
    n1, n2 = n.get(1, 0), n.get(2, 0)
    if smoothing in ("absolute", "kneser-ney"):
        return (Fraction(n1, n1 + 2 * n2) if n1 and n2 else HALF,)
    discounts = list(DEFAULT_DISCOUNTS)
    for r in (1, 2, 3):
        if n1 + 2 * n2 and n.get(r, 0):
            d = r - (r + 1) * Fraction(n1, n1 + 2 * n2) * Fraction(n.get(r + 1, 0), n[r])
            discounts[r - 1] = d if 0 <= d < r else DEFAULT_DISCOUNTS[r - 1]
    return tuple(discounts)
