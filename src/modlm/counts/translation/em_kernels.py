"""Kernels of word alignment: which words meet, and the expectations of IBM Model 1 and of the HMM (Vogel et al. 1996).

Sentences are `<s> w … </s>`. A source's `<s>` is its empty word: what target words come from that no source word gives.
A table has a row for each source word and the empty word: sorted target words from first[f] to first[f + 1].
"""

from __future__ import annotations

import numpy as np

from modlm.counts.suffix_kernels import key_bound
from modlm.ground.arrays import Bools, Floats, Ids, Ints, inlined, int64, kernel

NEXT_TO_NOTHING = 1e-30  # the least weight of a translation under a prior


@kernel
def sentences_with(ids: Ids, starts: Ints, chosen: Ints, begins: Ints, out: Ints) -> None:
    """For each word, from begins[word] on, the chosen sentences that it is in, once for each time; `begins` moves."""
    for n in chosen:
        for t in range(starts[n], starts[n + 1] - 1):
            out[begins[ids[t]]] = n
            begins[ids[t]] += 1


@kernel
def meetings(
    begins: Ints, sentences: Ints, ids: Ids, starts: Ints, low: int, high: int, marks_J: Ints, first: Ints, words: Ids
) -> None:
    """The target words that source words low..high-1 meet, sorted; without room in `words` only how many, in `first`.

    `marks_J` has an entry for each target word, -1 before.
    """
    fills = len(words) > 0
    for f in range(low, high):
        at = first[f] if fills else 0
        found = 0
        for place in range(begins[f], begins[f + 1]):
            n = sentences[place]
            for t in range(starts[n] + 1, starts[n + 1] - 1):
                e = ids[t]
                if marks_J[e] != f:
                    marks_J[e] = f
                    if fills:
                        words[at + found] = e
                    found += 1
        if fills:
            words[at : at + found].sort()
        else:
            first[f] = found


@inlined
def place_of(words: Ids, low: int, high: int, word: int) -> int:
    """Where a word stands in a sorted row; -1 if it does not."""
    place = key_bound(words, low, high, word)
    return place if place < high and words[place] == word else -1


@inlined
def digamma(x: float) -> float:
    """The derivative of log gamma, above 0."""
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return float(np.log(x)) - 0.5 / x - series - shift


@kernel
def normalise(first: Ints, counts: Floats, prior: float, probs: Floats) -> None:
    """Probabilities from counts; without a prior, a row without counts stays as it is.

    With a prior, the weights of variational Bayes under a symmetric Dirichlet distribution, which sum to less than 1. A
    word that others explain away may have next to no counts: its weights are small and equal, but none of them is 0.
    """
    for f in range(len(first) - 1):
        total = 0.0
        for at in range(first[f], first[f + 1]):
            total += counts[at]
        if prior > 0 and first[f] < first[f + 1]:
            whole = digamma(total + prior * (first[f + 1] - first[f]))
            for at in range(first[f], first[f + 1]):
                probs[at] = max(NEXT_TO_NOTHING, np.exp(digamma(counts[at] + prior) - whole))
        elif total > 0:
            for at in range(first[f], first[f + 1]):
                probs[at] = counts[at] / total


@kernel
def model1(
    first: Ints, words: Ids, probs: Floats, source: Ids, source_starts: Ints, target: Ids, target_starts: Ints,
    chosen: Ints, counts: Floats, links: Ints,
) -> float:  # fmt: skip
    """Add the expected counts of some pairs; their log-likelihood, each source word being as likely as another.

    `links`, one for each id of the target, gets the likeliest source place, from 0, or -1 for the empty word.
    """
    longest = 0
    for n in chosen:
        longest = max(longest, source_starts[n + 1] - source_starts[n])
    places = np.empty(longest, np.int64)
    log_likelihood = 0.0
    for n in chosen:
        begin, size = source_starts[n], source_starts[n + 1] - 1 - source_starts[n]
        for t in range(target_starts[n] + 1, target_starts[n + 1] - 1):
            total, best = 0.0, -1
            for j in range(size):
                f = int64(source[begin + j])
                places[j] = place_of(words, first[f], first[f + 1], int64(target[t]))
                if places[j] >= 0:
                    total += probs[places[j]]
                    if best < 0 or probs[places[j]] > probs[places[best]]:
                        best = j
            links[t] = best - 1
            if total > 0:
                for j in range(size):
                    if places[j] >= 0:
                        counts[places[j]] += probs[places[j]] / total
            log_likelihood += np.log(total / size)
    return log_likelihood


@kernel
def hmm(
    first: Ints, words: Ids, probs: Floats, source: Ids, source_starts: Ints, target: Ids, target_starts: Ints,
    chosen: Ints, jumps: Floats, begins: Floats, ends: Floats, empty: float, counts: Floats, links: Ints,
    tallies: Floats,
) -> float:  # fmt: skip
    """The same by forward and backward passes over the places of the source that target words come from.

    A word comes from the empty word with probability `empty`, which remembers j; otherwise from place k after j with a
    probability in proportion to jumps[k - j + W], W being the middle, and begins[k] for the first; or the sentence is
    over, with ends[S - 1 - j]. `tallies` (6, 2 W + 1) gets for each jump the expected number, and the sum of expected
    leavings that could have made it, each over its norm; then the same for beginnings, and for ends.
    """
    wide, middle = 0, len(jumps) // 2
    long = 0
    for n in chosen:
        wide = max(wide, source_starts[n + 1] - source_starts[n] - 2)
        long = max(long, target_starts[n + 1] - target_starts[n] - 2)
    places, given = np.empty((long, wide + 1), np.int64), np.empty((long, wide + 1))
    masses, comes = np.empty((long + 1, wide + 1)), np.empty((long, wide))  # after i words: last place, or none yet
    later, earlier, norms, ahead = np.empty(wide + 1), np.empty(wide + 1), np.empty(wide + 1), np.empty(wide)
    log_likelihood = 0.0
    for n in chosen:
        begin, size = source_starts[n] + 1, source_starts[n + 1] - 2 - source_starts[n]
        start, length = target_starts[n] + 1, target_starts[n + 1] - 2 - target_starts[n]
        for i in range(length):
            for j in range(size + 1):
                f = int64(source[begin + j if j < size else begin - 1])
                place = place_of(words, first[f], first[f + 1], int64(target[start + i]))
                places[i, j], given[i, j] = place, probs[place] if place >= 0 else 0.0
        for j in range(size):
            norms[j] = jumps[middle - j : middle - j + size].sum() + ends[size - 1 - j]
        norms[size] = begins[:size].sum()
        masses[0, :size], masses[0, size] = 0.0, 1.0
        for i in range(length):
            before, after = masses[i], masses[i + 1]
            total = 0.0
            ahead[:size] = 0.0
            for j in range(size + 1):
                row, out = begins[:size] if j == size else jumps[middle - j : middle - j + size], before[j] / norms[j]
                for k in range(size):
                    ahead[k] += out * row[k]
            for k in range(size):
                comes[i, k] = (1 - empty) * given[i, k] * ahead[k]
                after[k] = comes[i, k] + empty * given[i, size] * before[k]
                total += after[k]
            after[size] = empty * given[i, size] * before[size]
            total += after[size]
            log_likelihood += np.log(total)
            if total == 0.0:
                break
            after[: size + 1] /= total
            comes[i, :size] /= total
            given[i, : size + 1] /= total
        else:
            later[size], over = 1.0, masses[length, size]
            for j in range(size):
                later[j] = (1 - empty) * ends[size - 1 - j] / norms[j]
                over += masses[length, j] * later[j]
            log_likelihood += np.log(over)
            later[: size + 1] /= over
            for j in range(size):
                stops = masses[length, j] * later[j]
                tallies[4, size - 1 - j] += stops
                tallies[5, size - 1 - j] += stops / norms[j]
                for k in range(size):
                    tallies[1, middle - j + k] += stops / norms[j]
            for i in range(length - 1, -1, -1):
                before = masses[i]
                nothing = 0.0
                for j in range(size + 1):
                    earlier[j] = empty * given[i, size] * later[j]
                    nothing += before[j] * earlier[j]
                if places[i, size] >= 0:
                    counts[places[i, size]] += nothing
                best, link = nothing, -1
                for k in range(size):
                    came = comes[i, k] * later[k]
                    if places[i, k] >= 0:
                        counts[places[i, k]] += came
                    if came > best:
                        best, link = came, k
                    ahead[k] = (1 - empty) * given[i, k] * later[k]
                links[start + i] = link
                for j in range(size + 1):
                    leaves, row = 0.0, begins[:size] if j == size else jumps[middle - j : middle - j + size]
                    low, high = (2, 0) if j == size else (0, middle - j)
                    for k in range(size):
                        leaves += row[k] * ahead[k]
                    share = before[j] / norms[j]
                    for k in range(size):
                        tallies[low, high + k] += share * row[k] * ahead[k]
                        tallies[low + 1, high + k] += share * leaves / norms[j]
                    if j < size:
                        tallies[5, size - 1 - j] += share * leaves / norms[j]
                    earlier[j] += leaves / norms[j]
                later[: size + 1] = earlier[: size + 1]
    return log_likelihood


@kernel
def grown(forward_SI: Bools, backward_SI: Bools, out_SI: Bools) -> None:
    """Grow-diag-final-and (Koehn et al. 2003): both directions' common links, grown, and those of words still alone."""
    size, length = out_SI.shape
    taken_S, taken_I = np.zeros(size, np.bool_), np.zeros(length, np.bool_)
    for j in range(size):
        for i in range(length):
            out_SI[j, i] = forward_SI[j, i] and backward_SI[j, i]
            if out_SI[j, i]:
                taken_S[j] = taken_I[i] = True
    added = True
    while added:
        added = False
        for i in range(length):
            for j in range(size):
                if not out_SI[j, i]:
                    continue
                for near_i in range(max(0, i - 1), min(length, i + 2)):
                    for near_j in range(max(0, j - 1), min(size, j + 2)):
                        either = forward_SI[near_j, near_i] or backward_SI[near_j, near_i]
                        if either and not out_SI[near_j, near_i] and not (taken_S[near_j] and taken_I[near_i]):
                            out_SI[near_j, near_i] = added = True
                            taken_S[near_j] = taken_I[near_i] = True
    for second in range(2):
        for i in range(length):
            for j in range(size):
                if (backward_SI if second else forward_SI)[j, i] and not taken_S[j] and not taken_I[i]:
                    out_SI[j, i] = taken_S[j] = taken_I[i] = True
