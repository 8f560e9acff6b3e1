"""The cache of a net: what followed those places of the text so far whose hidden vectors are like the one here.

The continuous cache of Grave, Joulin and Usunier (2017), for a net that is trained already:

    P(w | c) = sum_i exp(theta h·h_i) [w_i = w] / sum_i exp(theta h·h_i),  i over the last places that were predicted

The block holds the net's model, which is its first column; there is one more for each theta, and lambda, learned on a
held-out text, says which is good. While nothing has been read these are uniform. A word is scored, then kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, NOTHING, Beside, Block, Memories, Reads, Rows, one_each
from modlm.blocks.log_rows import log_rows
from modlm.errors import ConfigError
from modlm.families import MODELS
from modlm.ground.arrays import Floats, Ids, Singles
from modlm.model.language_model import States
from modlm.model.mixture import Mixture
from modlm.nets.net_mixer import NetMixer
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

WORDS = 2000
THETAS = (0.1, 0.3, 1.0)  # the flattest first
PIECE = 64  # places that stepwise readers share or copy together
TOGETHER = 256  # places along a text that look back at once


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What was read: never changed, so hypotheses share all but the last piece."""

    states: States
    """Of the model, one."""
    pieces: tuple[tuple[Ids, Singles], ...] = ()
    """Words that were predicted, with the hidden vectors that predicted them, at most twice as many as count."""

    def last(self, words: int, units: int) -> tuple[Ids, Singles]:
        """Those that count."""
        ids = [np.zeros(0, np.uint32), *(piece for piece, _ in self.pieces)]
        vectors = [np.zeros((0, units), np.float32), *(piece for _, piece in self.pieces)]
        return np.concatenate(ids)[-words:], np.concatenate(vectors)[-words:]

    def with_word(self, states: States, word: int, hidden_H: Singles, words: int) -> Memory:
        """One word further."""
        pieces, own = self.pieces, (np.array([word], np.uint32), hidden_H[None])
        if pieces and len(pieces[-1][0]) < PIECE:
            own = (np.concatenate((pieces[-1][0], own[0])), np.concatenate((pieces[-1][1], own[1])))
            pieces = pieces[:-1]
        enough = sum(len(ids) for ids, _ in pieces) + len(own[0]) - (len(pieces[0][0]) if pieces else 0) >= words
        return Memory(states, (*pieces[enough:], own))


class HiddenCacheBlock(Block):
    """The model of a net, and its cache; features: whether anything was read, how much, and how near the nearest is."""

    kind: ClassVar[str] = "hidden-cache"
    reads = Reads(learns=True)
    columns = ("", *(f"hidden cache {theta}" for theta in THETAS))
    features = ("hidden cache seen", "hidden cache log words", "hidden cache log nearest")

    def __init__(self, model: Mixture, *, words: int = WORDS) -> None:
        """The last `words` predicted words count, sentence ends among them."""
        if not isinstance(model.mixer, NetMixer) or model.reads.source or model.reads.learns:
            raise ConfigError("Only a model whose weights come from a net has hidden vectors to keep, and it must read "
                              "no source and have no columns that learn.")  # fmt: skip
        if words < 1:
            raise ConfigError(f"A cache holds at least 1 word, but words is {words}.")
        self.model, self.net, self.words, self.vocabulary = model, model.mixer, words, model.vocabulary
        self.nothing = Memory(model.state_after(np.full((1, 1), NOTHING, np.uint32)))

    # ---- along texts ---------------------------------------------------------------------------------------------

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """One pass of the net, then each place looks back."""
        start = self.vocabulary.start
        if len(ids) == 0 or ids[0] != start or (ids == NOTHING).any():
            return super().rows(ids, beside)
        memory: Memory = beside.memory or self.nothing
        carried = self.net.reads.document
        out_T, hidden_TH = np.zeros(len(ids)), np.zeros((len(ids), self.net.units), np.float32)
        before = self.net.unpacked(memory.states["state"]) if carried and self.net.state_size else None
        state = self.net.score_rows(
            log_rows(self.model.dense, ids, len(self.vocabulary)), out_T, before, carried=carried, hidden_TH=hidden_TH
        )
        probs_TK, features_TF = np.ones((len(ids), len(self.columns))), np.zeros((len(ids), len(self.features)))
        at_P = np.flatnonzero(ids != start)
        probs_TK[at_P, 0] = np.exp(out_T[at_P])
        known = memory.last(self.words, self.net.units)
        words, vectors = (np.concatenate(pair) for pair in zip(known, (ids[at_P], hidden_TH[at_P]), strict=True))
        for low in range(0, len(at_P), TOGETHER):
            some_P = at_P[low : low + TOGETHER]
            probs_TK[some_P, 1:], features_TF[some_P] = self._looked_back(
                words, vectors, len(known[0]) + low, len(some_P)
            )
        states = self.model.state_after(ids[np.flatnonzero(ids == start)[-1] :][None])
        if before is not None:
            states["state"] = self.net.packed(state)
        kept = range(max(0, len(words) - self.words), len(words), PIECE)
        pieces = tuple((words[place : place + PIECE], vectors[place : place + PIECE]) for place in kept)
        return Rows(probs_TK, features_TF, Memory(states, pieces))

    def _looked_back(self, words: Ids, vectors: Singles, begin: int, count: int) -> tuple[Floats, Floats]:
        """P of each of so many words in the columns of the cache, and the features, each from those before it alone."""
        first, own_B = max(0, begin - self.words), np.arange(begin, begin + count)[:, None]
        at_M = np.arange(first, begin + count)
        likeness_BM = (vectors[own_B[:, 0]] @ vectors[at_M].T).astype(np.float64)
        likeness_BM[(at_M >= own_B) | (at_M < own_B - self.words)] = -np.inf
        same_BM = words[at_M] == words[own_B]
        shares, features_BF = self._shares(likeness_BM, np.minimum(own_B[:, 0], self.words))
        seen_B, even = features_BF[:, 0] > 0, 1 / len(self.vocabulary)
        return np.stack([np.where(seen_B, (own * same_BM).sum(axis=1), even) for own in shares], axis=1), features_BF

    def _shares(self, likeness_BM: Floats, sizes_B: Floats) -> tuple[list[Floats], Floats]:
        """For each theta the shares of the places, all 0 where there are none; and the features."""
        seen_B = sizes_B > 0
        best_B = np.where(seen_B, likeness_BM.max(axis=1, initial=-np.inf), 0.0)
        shares, sums_B = list[Floats](), np.ones(len(likeness_BM))
        for theta in THETAS:
            powers_BM = np.exp(theta * (likeness_BM - best_B[:, None]))
            sums_B = np.where(seen_B, powers_BM.sum(axis=1), 1.0)
            shares.append(powers_BM / sums_B[:, None])
        return shares, np.stack([seen_B, np.log(np.maximum(sizes_B, 1)), -np.log(sums_B)], axis=1)

    # ---- word by word --------------------------------------------------------------------------------------------

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns and features after each memory."""
        memory_B = [memory or self.nothing for memory in one_each(beside.memory, len(windows_BC))]
        columns_BJK = np.full((len(memory_B), len(self.vocabulary), len(self.columns)), 1 / len(self.vocabulary))
        features_BF = np.zeros((len(memory_B), len(self.features)))
        if not memory_B:
            return columns_BJK, features_BF
        states = np.concatenate([memory.states for memory in memory_B])
        columns_BJK[:, :, 0] = self.model.distributions(states)
        hidden_BH, _ = self.net.hidden_after(*self.model.asked(states))
        for row, memory in enumerate(memory_B):
            words, vectors = memory.last(self.words, self.net.units)
            likeness_1M = (hidden_BH[row : row + 1] @ vectors.T).astype(np.float64)
            shares, features_BF[row : row + 1] = self._shares(likeness_1M, np.array([len(words)]))
            for column, own_1M in enumerate(shares if len(words) else (), start=1):
                columns_BJK[row, :, column] = np.bincount(words, own_1M[0], minlength=len(self.vocabulary))
        return columns_BJK, features_BF

    def remember(self, memory_B: Memories, words_B: Ids) -> Memories:
        """One word further each, which is kept with the hidden vector that was to predict it."""
        after_B = np.empty_like(memory_B)
        if len(memory_B) == 0:
            return after_B
        before = [memory or self.nothing for memory in memory_B]
        states = np.concatenate([memory.states for memory in before])
        hidden_BH, after_BS = self.net.hidden_after(*self.model.asked(states))
        moved = self.model.moved(states, words_B, after_BS)
        for row, (memory, word) in enumerate(zip(before, words_B.tolist(), strict=True)):
            own, predicted = moved[row : row + 1], word < len(self.vocabulary)
            after_B[row] = (
                memory.with_word(own, word, hidden_BH[row], self.words) if predicted else Memory(own, memory.pieces)
            )
        return after_B

    # ---- on disk -------------------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """The model, and how many words count."""
        inner = self.model.parts()
        return Parts({"model": inner.settings, "words": self.words}, inner.arrays, inner.texts)

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The block of a model inside a model, which has read nothing."""
        inner, words = stored.part("model"), stored.about.get("words")
        if not isinstance(words, int) or inner.member(MODELS) is not Mixture:
            raise stored.damaged(f"it must hold a mixture and a number of words, but these are {words!r}"[:200])
        model = Mixture.from_parts(inner, vocabulary_in(inner, what="model was"))
        return stored.checked(lambda: cls(model, words=words))
