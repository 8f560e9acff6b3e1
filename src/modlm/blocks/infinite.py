"""∞-gram columns: what followed the longest context that a text index has seen, however long.

The longest context is often seen once, so the next columns are those of the longest that was seen more often. What each
says is relative frequency; the features (its length, how often it was seen, how many words followed, whether always the
same) let lambda learn when to trust it. A context that was never seen gives a uniform column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, NOTHING, Beside, Block, Fold, Reads, Rows, flattened, made_whole
from modlm.counts import suffix_kernels
from modlm.counts.suffixes import Hit, TextIndex
from modlm.errors import ConfigError, VocabularyError
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints, in_parallel
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import UNKNOWN, Vocabulary

LEAST = (1, 4, 32)
LONGEST = 32  # words: contexts that are longer say the same
FOLLOWERS = 16  # places of a context, all over them, at which the feature looks for different followers
STRETCH, PROBES = 32, 16  # sentences, and how many stretches of them, that tell whether a text was indexed
FEATURES = ("log length", "log total", "log followers", "sparse")

Contexts = tuple[Ints, Ints, Ints]
"""Of each position: words in the context, how often the word followed it, and its ranges of suffixes (T, S, 2)."""


@dataclass(frozen=True, slots=True)
class InfiniteEvidence:
    """What a column looked up: a context (none: no context was seen), how often it was seen and what followed."""

    context: tuple[int, ...]
    total: int
    followers: int
    count: int
    """How often the word followed."""
    hits: list[Hit]


class InfiniteBlock(Block):
    """A column for each number of times that a context must have been seen at `least`, over a text index."""

    kind: ClassVar[str] = "infinite"

    def __init__(self, index: TextIndex, *, least: Sequence[int] = LEAST, longest: int = LONGEST) -> None:
        """`longest` is the number of words that are looked back."""
        if not least or min(least) < 1 or len(set(least)) < len(least) or longest < 1:
            raise ConfigError(
                f"An infinite block takes contexts seen at least 1 time or more, each number once, and of 1 word or "
                f"more, but least is {list(least)} and longest {longest}."
            )
        self.index, self.vocabulary, self.least = index, index.vocabulary, tuple(least)
        self.columns = tuple("∞-gram" if n == 1 else f"∞-gram {n}+" for n in least)
        self.features = tuple(f"{column} {name}" for column in self.columns for name in FEATURES)
        self.reads = Reads(longest)

    @classmethod
    def configured(
        cls, vocabulary: Vocabulary, *, index: str, least: Sequence[int] = LEAST, longest: int = LONGEST
    ) -> Self:
        """From settings: `index` is the folder that `modlm index` wrote."""
        opened = TextIndex.open(index)
        if opened.vocabulary != vocabulary:
            raise VocabularyError(
                f"The index in {index} has other words ({len(opened.vocabulary):,}) than the model "
                f"({len(vocabulary):,}). Set vocabulary.file to the vocabulary.txt in that folder, or index the text "
                f"with the words of the model (modlm index --vocab)."
            )
        return cls(opened, least=least, longest=longest)

    # ---- contexts ------------------------------------------------------------------------------------------------

    def contexts_along(self, ids: Ids, least: int) -> Contexts:
        """The longest context at each position of a text that was seen so often."""
        lengths_T, counts_T = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        ranges_TS2 = np.zeros((len(ids), len(self.index.table_SF), 2), np.int64)
        suffix_kernels.walk(
            self.index.tables, self.index.table_SF, np.asarray(ids, np.uint32), self.vocabulary.start, least,
            self.reads.words, lengths_T, counts_T, ranges_TS2,
        )  # fmt: skip
        return lengths_T, counts_T, ranges_TS2

    def _features(self, lengths_T: Ints, ranges_TS2: Ints, out_TF: AnyFloats) -> Floats:
        """Fills in the features of contexts, and gives how often each was seen."""
        followers_T = np.empty(len(lengths_T), np.int64)
        suffix_kernels.sample_followers(
            self.index.tables, self.index.table_SF, lengths_T, ranges_TS2, FOLLOWERS, followers_T
        )
        totals_T = np.where(lengths_T > 0, (ranges_TS2[:, :, 1] - ranges_TS2[:, :, 0]).sum(axis=1), 0).astype(float)
        out_TF[:, 0] = np.log1p(lengths_T)
        out_TF[:, 1], out_TF[:, 2] = (np.log(np.maximum(1, of_T)) for of_T in (totals_T, followers_T))
        out_TF[:, 3] = followers_T == 1
        return totals_T

    # ---- columns -------------------------------------------------------------------------------------------------

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """Rows of D and features along a text, from one walk for each column."""
        probs_TK, features_TF = np.ones((len(ids), len(self.columns))), np.zeros((len(ids), len(self.features)))
        predicted_T, uniform = ids < len(self.vocabulary), 1.0 / len(self.vocabulary)

        def fill(column: int) -> None:
            lengths_T, counts_T, ranges_TS2 = self.contexts_along(ids, self.least[column])
            width = len(FEATURES)
            totals_T = self._features(lengths_T, ranges_TS2, features_TF[:, column * width : (column + 1) * width])
            seen_T = lengths_T > 0
            probs_TK[predicted_T & ~seen_T, column] = uniform
            probs_TK[seen_T, column] = counts_T[seen_T] / totals_T[seen_T]

        in_parallel([partial(fill, column) for column in range(len(self.columns))])
        return Rows(probs_TK, features_TF)

    def to_mix(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Callable[[Floats, AnyFloats], None]]:
        """Columns are added up without being made: only words that followed have a share."""
        step = windows_BC.shape[1] + 2
        text = flattened(windows_BC, np.full(len(windows_BC), UNKNOWN, np.uint32))
        asked = slice(step - 1, None, step)
        features_BF = np.zeros((len(windows_BC), len(self.features)))
        found = list[tuple[Ints, Floats, Ints]]()
        for column, least in enumerate(self.least):
            lengths_T, _, ranges_TS2 = self.contexts_along(text, least)
            lengths_B, ranges_BS2 = lengths_T[asked].copy(), np.ascontiguousarray(ranges_TS2[asked])
            own_BF = features_BF[:, column * len(FEATURES) : (column + 1) * len(FEATURES)]
            found.append((lengths_B, self._features(lengths_B, ranges_BS2, own_BF), ranges_BS2))

        def add(weights_BK: Floats, out_BJ: AnyFloats) -> None:
            for column, (lengths_B, totals_B, ranges_BS2) in enumerate(found):
                for b, out_J in enumerate(out_BJ):
                    share = weights_BK[b, column]
                    if lengths_B[b] == 0:
                        out_J += share / len(self.vocabulary)
                    elif share > 0:
                        words, counts = self.followers(int(lengths_B[b]), ranges_BS2[b])
                        out_J[words] += counts * (share / totals_B[b])

        return features_BF, add

    def followers(self, length: int, ranges_S2: Ints) -> tuple[Ids, Ints]:
        """The words that followed a context, and how often each did."""
        most = min(len(self.vocabulary), int((ranges_S2[:, 1] - ranges_S2[:, 0]).sum()))
        words, counts = np.empty(most, np.uint32), np.empty(most, np.int64)
        found = suffix_kernels.followers(self.index.tables, self.index.table_SF, length, ranges_S2, words, counts)
        return words[:found], counts[:found]

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns and features after each window."""
        return made_whole(self, windows_BC, beside, len(self.columns))

    # ---- where it comes from -------------------------------------------------------------------------------------

    def evidence(self, window_C: Ids, word: int, *, limit: int = 3, around: int = 12) -> list[InfiniteEvidence]:
        """For each column what was looked up after a window, and places of the index where the word followed that."""
        text = np.append(window_C[window_C != NOTHING], np.uint32(word))
        found = list[InfiniteEvidence]()
        for least in self.least:
            lengths_T, counts_T, ranges_TS2 = self.contexts_along(text, least)
            length, count = int(lengths_T[-1]), int(counts_T[-1])
            if not length:
                found.append(InfiniteEvidence((), 0, 0, 0, []))
                continue
            words, counts = self.followers(length, ranges_TS2[-1])
            hits = self.index.within_sentences(text[-1 - length :], limit=limit if count else 0, context=around)
            context = tuple(text[-1 - length : -1].tolist())
            found.append(InfiniteEvidence(context, int(counts.sum()), len(words), count, hits))
        return found

    # ---- held out ------------------------------------------------------------------------------------------------

    def held_out(self, ids: Ids, starts: Ints) -> HeldOutInfinite | None:
        """What gives rows of a text without a fold of it, if long sentences of the text stand in the index."""
        for first in np.linspace(0, max(0, len(starts) - 1 - STRETCH), PROBES).astype(int).tolist():
            own = starts[first : first + STRETCH + 1]
            longest = int(np.argmax(np.diff(own)))
            if next(self.index.places_of(ids[own[longest] : own[longest + 1]]), None) is not None:
                return HeldOutInfinite(self)
        return None

    # ---- as data -------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """The index itself, so that a model is whole, and how it is asked."""
        settings = {"least": list(self.least), "longest": self.reads.words}
        return Parts(self.index.settings() | settings, self.index.arrays())

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block over the index that a folder keeps."""
        index, least, longest = (
            TextIndex.from_stored(stored, vocabulary),
            stored.wholes("least"),
            stored.whole("longest"),
        )
        return stored.checked(lambda: cls(index, least=least, longest=longest))


class HeldOutInfinite:
    """The columns of a block for folds of the text that was indexed: without the places where a fold stands."""

    def __init__(self, block: InfiniteBlock) -> None:
        self.block = block

    def copy(self) -> Self:
        """Itself: nothing is changed."""
        return self

    def fill(self, fold: Fold, log_probs_TK: AnyFloats, features_TF: AnyFloats) -> None:
        """The log rows and features of a fold of whole sentences, without these, each as often as the fold has it."""
        ranges: dict[int, list[tuple[int, int]]] = {}
        starts = np.flatnonzero(fold.ids == self.block.vocabulary.start)
        own = Counter(sentence.tobytes() for sentence in np.split(fold.ids, starts[1:]))
        for sentence, times in own.items():
            words = np.frombuffer(sentence, fold.ids.dtype)
            for shard, place in islice(self.block.index.places_of(words), times):  # from the end before the sentence
                ranges.setdefault(shard, []).append((place - 1, place - 2 + len(words)))
        ends = {shard: np.unique(found, return_counts=True) for shard, found in ranges.items()}
        cut = {shard: values[counts == 1] for shard, (values, counts) in ends.items()}  # neighbours make one range
        rest = InfiniteBlock(self.block.index.without(cut), least=self.block.least, longest=self.block.reads.words)
        rest.log_rows(fold.ids[fold.wanted], log_probs_TK, features_TF, fold.beside)
