"""What a beam search does for every token of every hypothesis, in one pass: weigh and add, and choose the best."""

from __future__ import annotations

from modlm.ground.arrays import AnyFloats, Floats, Ints, Singles, kernel


@kernel
def best_extensions(scores_B: Floats, added_BJ: AnyFloats, best: Floats, parents: Ints, tokens: Ints) -> int:
    """The best sums of a row's score and an entry, the highest first; how many there are, at most len(best)."""
    found = 0
    for i in range(len(scores_B)):
        lowest = best[-1] - scores_B[i] if found == len(best) else -float("inf")
        for j in range(added_BJ.shape[1]):
            if not added_BJ[i, j] > lowest:
                continue
            score = scores_B[i] + added_BJ[i, j]
            place = min(found, len(best) - 1)
            while place > 0 and best[place - 1] < score:
                best[place], parents[place], tokens[place] = best[place - 1], parents[place - 1], tokens[place - 1]
                place -= 1
            best[place], parents[place], tokens[place] = score, i, j
            found = min(found + 1, len(best))
            lowest = best[-1] - scores_B[i] if found == len(best) else lowest
    return found


@kernel
def add_weighted(
    log_probs_BW: AnyFloats, words_J: Ints, offset_J: Singles, weight_J: Singles, lowest: float, out_BJ: AnyFloats
) -> None:
    """Adds to each token its weight times log P of its word, at the least `lowest`, and the offset."""
    for i in range(len(out_BJ)):
        for j in range(len(words_J)):
            out_BJ[i, j] += weight_J[j] * (max(log_probs_BW[i, words_J[j]], lowest) + offset_J[j])
