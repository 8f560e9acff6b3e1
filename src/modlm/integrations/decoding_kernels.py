"""What shallow fusion does for every token of every hypothesis, in one pass."""

from __future__ import annotations

from modlm.ground.arrays import AnyFloats, Ints, Singles, kernel


@kernel
def add_weighted(
    log_probs_BW: AnyFloats, words_J: Ints, offset_J: Singles, weight_J: Singles, lowest: float, out_BJ: Singles
) -> None:  # fmt: skip
    """Adds to each token its weight times log P of its word, at the least `lowest`, and the offset."""
    for i in range(len(out_BJ)):
        for j in range(len(words_J)):
            out_BJ[i, j] += weight_J[j] * (max(log_probs_BW[i, words_J[j]], lowest) + offset_J[j])
