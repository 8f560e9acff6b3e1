"""A KenLM model, binary or ARPA, as a language model over our vocabulary, through the `kenlm` package.

KenLM cannot list its words, so the vocabulary is ours. Words that both have keep KenLM's probability; what it leaves
over (its own unknown word, and words that we do not have) is shared equally by our `<unk>` and the words of ours that
it lacks, as `blocks/model.py` does for other models. So every distribution sums to one.

Each probability is a call into the package, and a whole distribution is one call a word: good for a column of a mixture
or a comparison, not for speed. `modlm convert` reads the ARPA file itself and has neither limit.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, NOTHING, Beside, Block, Reads, Rows
from modlm.errors import InputError, ModlmError, require
from modlm.ground.arrays import Floats, Ids
from modlm.mixers import StaticMixer
from modlm.model.mixture import Mixture
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import END, UNKNOWN, UNKNOWN_NAME, Vocabulary

CACHED = 4096  # contexts whose left-over mass is remembered
LN10 = float(np.log(10.0))


class KenlmModel(Mixture):
    """P(w | c) of a KenLM file over a given vocabulary: a mixture of one column."""

    def __init__(self, path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary, {"kenlm": KenlmBlock(path, vocabulary)}, StaticMixer(np.ones(1)))


class KenlmBlock(Block):
    """The column of a KenLM file, without features."""

    kind: ClassVar[str] = "kenlm"
    columns: tuple[str, ...] = ("kenlm",)

    def __init__(self, path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
        kenlm = require("kenlm", extra="peers", purpose="Reading KenLM models")
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError("there is no such file. Give a KenLM binary or an ARPA file.", path=self.path)
        try:
            self._model: Any = kenlm.Model(str(self.path))
        except (OSError, RuntimeError) as error:
            said = str(error).strip().split("\n")[0][:200]
            raise InputError(f"KenLM cannot read it: {said}", path=self.path) from error
        self._new_state: Any = kenlm.State
        self.vocabulary = vocabulary
        self.reads = Reads(int(self._model.order) - 1)
        words = enumerate(vocabulary.words)
        self._known = np.array([place == END or (place != UNKNOWN and word in self._model) for place, word in words])
        names = zip(vocabulary.words, self._known, strict=True)
        self._names = [word if here else UNKNOWN_NAME for word, here in names]
        """What KenLM is asked for; it takes its own unknown word for whatever it lacks."""
        self._left_over = lru_cache(maxsize=CACHED)(lambda before: float(self._distribution(before)[UNKNOWN]))
        """What `<unk>` and each word that KenLM lacks have after a context."""

    def rows(self, ids: Ids, beside: Beside = ALONE) -> Rows:
        """P of each word of a text of whole sentences."""
        probs_T1 = np.ones((len(ids), 1))
        starts = np.append(np.flatnonzero(ids == self.vocabulary.start), len(ids))
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            probs_T1[begin + 1 : end, 0] = self._sentence(ids[begin + 1 : end].tolist())
        return Rows(probs_T1, np.zeros((len(ids), 0)))

    def _sentence(self, words: list[int]) -> Floats:
        """The words of one sentence and its end."""
        sentence = " ".join(self._names[word] for word in words[:-1])
        found = np.fromiter((score for score, _, _ in self._model.full_scores(sentence)), np.float64, len(words))
        probs: Floats = np.exp(found * LN10)
        for place in np.flatnonzero(~self._known[words]).tolist():
            before = [self.vocabulary.start, *words[:place]][-max(1, self.reads.words) :]
            probs[place] = self._left_over(tuple(before))
        return probs

    def rows_after(self, windows_BC: Ids, words_B: Ids, beside: Beside = ALONE) -> Rows:
        """P of a word after each window."""
        probs_B1 = np.ones((len(words_B), 1))
        for place, (window, word) in enumerate(zip(windows_BC.tolist(), words_B.tolist(), strict=True)):
            if word < len(self.vocabulary):
                probs_B1[place] = self._prob(self._context(window), word)
        return Rows(probs_B1, np.zeros((len(words_B), 0)))

    def _prob(self, before: tuple[int, ...], word: int) -> float:
        if not self._known[word]:
            return self._left_over(before)
        return float(np.exp(LN10 * self._model.BaseScore(self._state(before), self._names[word], self._new_state())))

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """The whole column after each window: one call into KenLM for each word it knows."""
        columns_BJ = np.stack([self._distribution(self._context(window)) for window in windows_BC.tolist()])
        return columns_BJ[:, :, None], np.zeros((len(windows_BC), 0))

    def _distribution(self, before: tuple[int, ...]) -> Floats:
        state, after, score, names = self._state(before), self._new_state(), self._model.BaseScore, self._names
        probs = np.zeros(len(self.vocabulary))
        known = np.flatnonzero(self._known)
        found = np.fromiter((score(state, names[word], after) for word in known.tolist()), np.float64, len(known))
        probs[known] = np.exp(found * LN10)
        total = float(probs.sum())
        probs[~self._known] = max(0.0, 1.0 - total) / (len(probs) - len(known))
        return probs / max(1.0, total)  # KenLM's floats may sum to a little more than one

    def _context(self, window: list[int]) -> tuple[int, ...]:
        """The words of a window from the last `<s>` or NOTHING on."""
        begin = max((place for place, word in enumerate(window) if word >= len(self.vocabulary)), default=0)
        return tuple(word for word in window[begin:] if word != NOTHING)

    def _state(self, before: tuple[int, ...]) -> Any:
        """KenLM's state after the words."""
        here, following = self._new_state(), self._new_state()
        at_start = before[:1] == (self.vocabulary.start,)
        (self._model.BeginSentenceWrite if at_start else self._model.NullContextWrite)(here)
        for word in before[1 if at_start else 0 :]:
            self._model.BaseScore(here, self._names[word], following)
            here, following = following, here
        return here

    def parts(self) -> Parts:
        """Nothing: a KenLM file is not ours to copy."""
        raise ModlmError(f"A column of {self.path} has no form on disk; convert it with `modlm convert`, and mix that.")

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """Never there, since nothing is kept."""
        raise stored.damaged("a KenLM file is no part of a model folder")
