"""The kernel of held-out counts."""

from __future__ import annotations

import numpy as np

from modlm.arrays import Ids, kernel


@kernel
def take_away(nodes_TN: Ids, ids: Ids, start: int, padded: bool, frequencies: np.ndarray) -> int:
    """Take one from the frequency of every n-gram of a walk; the first position where one is not there, or -1.

    Without padding the orders that would reach beyond `<s>` have no n-gram.
    """
    order = nodes_TN.shape[1]
    begin = 0
    for t in range(len(ids)):
        if ids[t] == start:
            begin = t
            continue
        for n in range(order if padded else min(order, t - begin + 1)):
            node = nodes_TN[t, n]
            if node == 0 or frequencies[node] == 0:
                return t
            frequencies[node] -= 1
    return -1
