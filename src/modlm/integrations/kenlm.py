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
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ids
from modlm.blocks.block import NOTHING
from modlm.errors import InputError, require
from modlm.model.language_model import States, WindowModel
from modlm.text.vocabulary import END, UNKNOWN, UNKNOWN_NAME, Vocabulary

CACHED = 4096  # contexts whose left-over mass is remembered
LN10 = float(np.log(10.0))


class KenlmModel(WindowModel):
    """P(w | c) of a KenLM file over a given vocabulary. A state is the window of words before."""

    def __init__(self, path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
        kenlm = require("kenlm", extra="peers", purpose="Reading KenLM models")
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError("there is no such file. Give a KenLM binary or an ARPA file.", path=self.path)
        try:
            self._model: Any = kenlm.Model(str(self.path))
        except (OSError, RuntimeError) as error:
            raise InputError(f"KenLM cannot read it: {_first_line(error)}", path=self.path) from error
        self._new_state: Any = kenlm.State
        self.vocabulary = vocabulary
        self.context_length = int(self._model.order) - 1
        known = [
            place == END or (place != UNKNOWN and word in self._model) for place, word in enumerate(vocabulary.words)
        ]
        self._known = np.array(known)
        self._names = [
            word if here else UNKNOWN_NAME for word, here in zip(vocabulary.words, known, strict=True)
        ]  # what KenLM is asked for; it takes its own unknown word for whatever it lacks
        self._left_over = lru_cache(maxsize=CACHED)(self._left_over_after)

    # ---- along a text --------------------------------------------------------------------------------------------

    def word_probs(self, ids: Ids) -> Floats:
        """P of each word of a text of whole sentences, 1 at each `<s>`."""
        out = np.ones(len(ids))
        starts = np.append(np.flatnonzero(ids == self.vocabulary.start), len(ids))
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            out[begin + 1 : end] = self._sentence(ids[begin + 1 : end].tolist())
        return out

    def _sentence(self, words: list[int]) -> Floats:
        """The words of one sentence and its end."""
        sentence = " ".join(self._names[word] for word in words[:-1])
        found = np.fromiter((score for score, _, _ in self._model.full_scores(sentence)), np.float64, len(words))
        probs: Floats = np.exp(found * LN10)
        for place in np.flatnonzero(~self._known[words]).tolist():
            before = [self.vocabulary.start, *words[:place]][-self.window_length :]
            probs[place] = self._left_over(tuple(before))
        return probs

    # ---- states --------------------------------------------------------------------------------------------------

    def advance(self, states: States, words: Ids) -> tuple[States, Floats]:
        """The windows one word further, and the natural logarithm of its probability."""
        log_probs = np.zeros(len(states))
        for place, (window, word) in enumerate(zip(states.tolist(), words.tolist(), strict=True)):
            if word < len(self.vocabulary):
                log_probs[place] = self._log_prob(window, word)
        return self.moved(states, words), log_probs

    def _log_prob(self, window: list[int], word: int) -> float:
        before = self._context(window)
        if self._known[word]:
            return LN10 * float(self._model.BaseScore(self._state(before), self._names[word], self._new_state()))
        left = self._left_over(before)
        return float(np.log(left)) if left > 0 else -np.inf

    def distributions(self, states: States) -> Floats:
        """(B, J): one call into KenLM for each word it knows."""
        return np.stack([self._distribution(self._context(window)) for window in states.tolist()])

    def _distribution(self, before: tuple[int, ...]) -> Floats:
        state, after, score = self._state(before), self._new_state(), self._model.BaseScore
        probs = np.zeros(len(self.vocabulary))
        known = np.flatnonzero(self._known)
        names = self._names
        found = np.fromiter((score(state, names[word], after) for word in known.tolist()), np.float64, len(known))
        probs[known] = np.exp(found * LN10)
        total = float(probs.sum())
        probs[~self._known] = max(0.0, 1.0 - total) / (len(probs) - len(known))
        return probs / max(1.0, total)  # KenLM's floats may sum to a little more than one

    def _left_over_after(self, before: tuple[int, ...]) -> float:
        """What `<unk>` and each word that KenLM lacks have after a context."""
        return float(self._distribution(before)[UNKNOWN])

    def _context(self, window: list[int]) -> tuple[int, ...]:
        """The words of a window from the last `<s>` or NOTHING on."""
        words: list[int] = []
        for word in reversed(window):
            if word == NOTHING:
                break
            words.append(word)
            if word == self.vocabulary.start:
                break
        return tuple(reversed(words))

    def _state(self, before: tuple[int, ...]) -> Any:
        """KenLM's state after the words."""
        here, following = self._new_state(), self._new_state()
        at_start = before[:1] == (self.vocabulary.start,)
        (self._model.BeginSentenceWrite if at_start else self._model.NullContextWrite)(here)
        for word in before[1 if at_start else 0 :]:
            self._model.BaseScore(here, self._names[word], following)
            here, following = following, here
        return here


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200]
