"""Edit distances of many pairs, and the best hypothesis of many lists, as kernels."""

import numpy as np

from modlm.ground.arrays import Floats, Ids, Ints, kernel


@kernel
def edit_distances(ids: Ids, bounds: Ints, first: Ints, second: Ints, out: Ints) -> None:
    """Fewest insertions, deletions and substitutions between the sequences first[i] and second[i].

    Sequence s is ids[bounds[s, 0]:bounds[s, 1]]. One row of the table is kept, so memory is that of a sequence.
    """
    longest = 0
    for i in range(len(second)):
        longest = max(longest, bounds[second[i], 1] - bounds[second[i], 0])
    row = np.empty(longest + 1, np.int64)
    for i in range(len(first)):
        begin, end = bounds[first[i], 0], bounds[first[i], 1]
        other, stop = bounds[second[i], 0], bounds[second[i], 1]
        while begin < end and other < stop and ids[begin] == ids[other]:
            begin += 1
            other += 1
        while begin < end and other < stop and ids[end - 1] == ids[stop - 1]:
            end -= 1
            stop -= 1
        width = stop - other
        for column in range(width + 1):
            row[column] = column
        for place in range(begin, end):
            diagonal = row[0]
            row[0] += 1
            for column in range(1, width + 1):
                above = row[column]
                cost = diagonal if ids[place] == ids[other + column - 1] else diagonal + 1
                row[column] = min(cost, above + 1, row[column - 1] + 1)
                diagonal = above
        out[i] = row[width]


@kernel
def best_of_lists(starts: Ints, totals: Floats, out: Ints) -> None:
    """The place of the highest total of each list; the first of equal ones."""
    for u in range(len(starts) - 1):
        best = starts[u]
        for h in range(starts[u] + 1, starts[u + 1]):
            if totals[h] > totals[best]:
                best = h
        out[u] = best


@kernel
def envelopes(
    starts: Ints, heights: Floats, slopes: Floats, errors: Ints, steps: Floats, changes: Ints
) -> tuple[int, int]:
    """Where the winner of a list changes as t grows, each hypothesis being the line height + slope * t.

    Writes those t of all lists and by how much the errors change there; gives how many there are, and the errors at
    t = -infinity. Och (2003), section 4: between two such t the errors are constant, so nothing is missed.
    """
    found, base = 0, 0
    for u in range(len(starts) - 1):
        begin, count = starts[u], starts[u + 1] - starts[u]
        order = np.argsort(slopes[begin : begin + count], kind="mergesort")
        hull = np.empty(count, np.int64)
        since = np.empty(count, np.float64)  # where each line of the hull begins to win
        size = 0
        for k in range(count):
            line = begin + order[k]
            enters = -np.inf
            hidden = False
            while size > 0:
                top = hull[size - 1]
                if slopes[line] == slopes[top]:
                    if heights[line] <= heights[top]:  # the sort is stable: the earlier of equal lines stays
                        hidden = True
                        break
                    size -= 1
                    continue
                enters = (heights[top] - heights[line]) / (slopes[line] - slopes[top])
                if enters > since[size - 1]:
                    break
                size -= 1
            if hidden:
                continue
            if size == 0:
                enters = -np.inf
            hull[size], since[size] = line, enters
            size += 1
        base += errors[hull[0]]
        for k in range(1, size):
            if errors[hull[k]] != errors[hull[k - 1]]:
                steps[found] = since[k]
                changes[found] = errors[hull[k]] - errors[hull[k - 1]]
                found += 1
    return found, base
