"""The cache: how often each word is among the last ones that were read, in any context (Kuhn and De Mori 1990)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from modlm.blocks import online_kernels
from modlm.blocks.block import ALONE, Beside, Memories, Rows, one_each
from modlm.blocks.history import History, Memory
from modlm.blocks.online import LearningBlock
from modlm.ground.arrays import AnyFloats, Floats, Ids
from modlm.text.vocabulary import Vocabulary

WORDS = 1000


class CacheBlock(LearningBlock):
    """One column; features are whether anything was read, and the logarithm of how many words count."""

    kind: ClassVar[str] = "cache"

    def __init__(self, vocabulary: Vocabulary, *, words: int = WORDS, decay: float = 1.0) -> None:
        """The last `words` count, sentence ends among them; each word counts `decay` times as much as the next."""
        super().__init__(vocabulary, {"words": words, "decay": float(decay)}, columns=("cache",))
        self.features = ("cache seen", "cache log words")
        self.history = History(
            vocabulary.start, len(vocabulary), order=0, words=2 * words, decay=float(decay), across=True
        )
        self.words, self.decay = words, float(decay)

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """Along a text; a word is in the cache after it was scored."""
        return self._rows(ids, beside.memory, self.history.read(beside.memory, ids))

    def _rows(self, ids: Ids, memory: Memory | None, after: Memory | None = None) -> Rows:
        last = self._last(memory)
        flat = np.concatenate((last, np.empty(len(ids), np.uint32)))
        probs_T1, features_TF = np.empty((len(ids), 1)), np.empty((len(ids), 2))
        online_kernels.cache_rows(
            ids, len(last), self.words, len(self.vocabulary), self.decay, flat, probs_T1, features_TF
        )
        return Rows(probs_T1, features_TF, after)

    def _last(self, memory: Memory | None) -> Ids:
        """The words that count."""
        memory = memory or self.history.nothing
        near, _, _, _ = self.history.laid_out(memory, lead=self.words)
        old = memory.old
        wanted = max(0, self.words - len(near))
        return np.concatenate((old.words_T[max(0, old.length - wanted) : old.length], near[-self.words :]))

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        """The row of D for a word after each memory."""
        memory_B = one_each(beside.memory, len(words_B))
        found = [self._rows(words_B[row : row + 1], memory) for row, memory in enumerate(memory_B)]
        probs, features = [row.probs_TK for row in found], [row.features_TF for row in found]
        return Rows(np.concatenate([np.empty((0, 1)), *probs]), np.concatenate([np.empty((0, 2)), *features]))

    def added(self, memory_B: Memories) -> Callable[[Floats, AnyFloats], None]:
        """What adds the column under weights."""

        def add(weights_BK: Floats, out_BJ: AnyFloats) -> None:
            for memory, weight, out_J in zip(memory_B, weights_BK[:, 0].tolist(), out_BJ, strict=True):
                online_kernels.add_cache(self._last(memory), self.words, self.decay, weight, out_J)

        return add
