"""`SourceRows`: along a text the log rows of the columns over its sources, as nets take them.

Sentences have as many columns as their sources have words, so rows are ragged: nothing is kept of what is not there.
Rows of the training text come from blocks without the fold that a sentence is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modlm.blocks.block import Beside, Block
from modlm.blocks.over_source import laid_out
from modlm.errors import ConfigError
from modlm.ground.arrays import Bools, Ids, Ints, Singles
from modlm.text.folds import Cut, stretches

TOGETHER = 1 << 12  # positions whose rows are made at once, as wide as the longest source among them


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows:
    """Sentence n has T_n predictions, all but `<s>`, and S_n source words."""

    log_probs: Mapping[str, Singles]
    """Of each block in the order of D, from cells[n] on (T_n, S_n): natural logarithms, -inf of 0."""
    cells: Ints
    features_SF: Singles
    """Of all source words one behind the other; the features of all blocks side by side."""
    starts: Ints
    """Where the words of each source begin, and behind them their number."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of the G blocks."""
        return tuple(self.log_probs)

    def batch(self, sentences_B: Ints, steps: int) -> tuple[Singles, Singles, Bools]:
        """Some sentences side by side: log rows (T, B, G times S), S being the longest of their sources; features
        (B, S, F); and which of B by S are words. Beyond a sentence or a source stand -inf and 0.
        """
        sizes_B = np.diff(self.starts)[sentences_B]
        places_S = np.arange(sizes_B.max(initial=0))
        real_BS = places_S < sizes_B[:, None]
        lengths_B = np.diff(self.cells)[sentences_B] // np.maximum(sizes_B, 1)
        real_BTS = (np.arange(steps) < lengths_B[:, None])[:, :, None] & real_BS[:, None]
        log_probs = np.full((len(self.blocks), *real_BTS.shape), -np.inf, np.float32)
        ranges = [slice(*self.cells[n : n + 2].tolist()) for n in sentences_B.tolist()]
        for own_BTS, cells in zip(log_probs, self.log_probs.values(), strict=True):
            own_BTS[real_BTS] = np.concatenate([cells[:0], *(cells[part] for part in ranges)])
        features_BSF = np.zeros((*real_BS.shape, self.features_SF.shape[1]), np.float32)
        features_BSF[real_BS] = self.features_SF[(self.starts[sentences_B][:, None] + places_S)[real_BS]]
        log_probs_TBX = log_probs.transpose(2, 1, 0, 3).reshape(steps, len(sentences_B), -1)
        return np.ascontiguousarray(log_probs_TBX), features_BSF, real_BS


def source_rows(
    blocks: Mapping[str, Block],
    ids: Ids,
    starts: Ints,
    sources: Sequence[Ids],
    *,
    held_out: Mapping[str, Sequence[Block]] | None = None,
    cuts: Sequence[Sequence[Cut]] = (),
) -> SourceRows:
    """The rows of a text whose sentences begin at `starts`, which ends with its length.

    `held_out` has, for blocks that come from this very text, one for each fold of `cuts` that knows nothing of it.
    """
    if len(sources) != len(starts) - 1:
        raise ConfigError(f"There are {len(sources):,} sources for {len(starts) - 1:,} sentences. Give one for each.")
    words, source_starts = laid_out(sources)
    sizes = np.diff(source_starts)
    cells = np.append(0, np.cumsum((np.diff(starts) - 1) * sizes))
    log_probs, features = dict[str, Singles](), [np.zeros((len(words), 0), np.float32)]
    for name, block in blocks.items():
        if not block.per_source:
            continue
        log_probs[name], own_SF = (
            np.empty(cells[-1], np.float32),
            np.empty((len(words), len(block.features)), np.float32),
        )
        folds = (held_out or {}).get(name)
        for fold, some in zip(folds or [block], cuts if folds else [[(0, len(sources))]], strict=True):
            for low, high in some:
                said = slice(source_starts[low], source_starts[high])
                own_SF[said] = fold.source_features(words[said])
                for first, after in stretches(starts[low : high + 1], TOGETHER):
                    part = slice(low + first, low + after)
                    text = ids[starts[part.start] : starts[part.stop]]
                    probs_TS = fold.rows(text, Beside(sources[part])).probs_TK
                    sizes_T = np.repeat(sizes[part], np.diff(starts)[part])
                    real_TS = np.arange(probs_TS.shape[1]) < np.where(text < len(block.vocabulary), sizes_T, 0)[:, None]
                    with np.errstate(divide="ignore"):
                        log_probs[name][cells[part.start] : cells[part.stop]] = np.log(probs_TS[real_TS])
        features.append(own_SF)
    return SourceRows(log_probs, cells, np.concatenate(features, axis=1), source_starts)
