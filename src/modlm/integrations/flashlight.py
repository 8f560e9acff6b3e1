"""A language model for flashlight-text's decoders, and so for torchaudio's `ctc_decoder`.

    lm = flashlight_lm(model, tokens)             lexicon-free: the model's words are the decoder's tokens
    lm = flashlight_lm(model, word_dictionary)    with a lexicon: they are words, numbered by the dictionary

Their decoders are C++ and call `start`, `score` and `finish` of a subclass of `flashlight.lib.text.decoder.LM`, one
word at a time; torchaudio's `CTCDecoderLM` is such a subclass. So the class is made when it is asked for, from
whichever of the two is installed. Whole distributions answer many questions at once where they are cheap, or where
steps are dear.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from modlm.arrays import Floats
from modlm.blocks.block import UNLIMITED
from modlm.errors import MissingPackageError, require
from modlm.integrations.fusion import LOWEST, one_word
from modlm.model.language_model import LanguageModel, States
from modlm.text.vocabulary import END

WHOLE = 4096  # words up to which a whole distribution costs little more than one word


class Dictionary(Protocol):
    """What flashlight calls a dictionary."""

    def index_size(self) -> int:
        """How many numbers there are."""

    def get_entry(self, index: int, /) -> str:
        """The word with a number."""


def flashlight_lm(
    model: LanguageModel,
    words: Sequence[str] | Dictionary,
    *,
    end: str | None = None,
    recombine: bool = False,
    whole: bool | None = None,
    streams: int = 8,
    classes: tuple[type, type] | None = None,
) -> Any:
    """The model as an `LM` over the decoder's numbering of words (or tokens).

    `end` names a token that stands for the end of a sentence. `recombine` gives hypotheses with equal futures one
    state, so that the decoder keeps the best of them: a better search, but fewer different hypotheses. `whole` computes
    all words after a state at once (default: for vocabularies up to WHOLE and for recurrent nets). States live until
    `streams` further utterances have begun. `classes` are the LM and LMState to build on; flashlight's or torchaudio's
    by default.
    """
    names = list(words) if isinstance(words, Sequence) else [words.get_entry(i) for i in range(words.index_size())]
    ids = [END if name == end else model.vocabulary.id(name) for name in names]
    if whole is None:
        whole = len(model.vocabulary) <= WHOLE or model.context_length >= UNLIMITED
    lm_class = _class_for(*(classes or _installed()))
    return lm_class(model, ids, recombine=recombine, whole=whole, streams=streams)


def _installed() -> tuple[type, type]:
    try:
        decoder = require("flashlight.lib.text.decoder", extra="decoders", purpose="Decoding with flashlight")
        return decoder.LM, decoder.LMState
    except MissingPackageError as missing:
        try:
            decoder = require("torchaudio.models.decoder", extra="decoders", purpose="Decoding with torchaudio")
        except MissingPackageError:
            raise missing from None
        return decoder.CTCDecoderLM, decoder.CTCDecoderLMState


@functools.cache
def _class_for(lm_base: Any, state_base: Any) -> Any:
    """The two classes, made once for each pair of bases."""

    class ModlmState(state_base):  # type: ignore[misc]
        """The model after some words. Rows are computed when first needed: most states are pruned before that."""

        def __init__(self, row: States | None, parent: Any = None, word: int = 0) -> None:
            super().__init__()
            self.row, self.parent, self.word = row, parent, word
            self.after: dict[int, tuple[Any, float]] = {}
            self.log_probs: Floats | None = None
            self.shared: dict[bytes, Any] = {} if parent is None else parent.shared

    class ModlmLM(lm_base):  # type: ignore[misc]
        """start, score and finish as flashlight's decoders call them; scores are natural logarithms."""

        def __init__(self, model: LanguageModel, ids: list[int], *, recombine: bool, whole: bool, streams: int) -> None:
            super().__init__()
            self.model, self._ids = model, ids
            self._recombine, self._whole = recombine, whole
            self._roots: deque[Any] = deque(maxlen=max(1, streams))  # C++ does not keep what we add to a state alive

        def start(self, start_with_nothing: bool) -> Any:
            """The state before the first word: of a sentence, or of anything."""
            empty = np.zeros((1, 0), dtype=np.uint32)
            row = self.model.state_after(empty) if start_with_nothing else self.model.start(1)
            root = ModlmState(row)
            self._roots.append(root)
            return root

        def score(self, state: Any, usr_token_idx: int) -> tuple[Any, float]:
            """The state after the word with this number, and log P of it."""
            known = state.after.get(usr_token_idx)
            if known is None:
                known = state.after[usr_token_idx] = self._next(state, self._ids[usr_token_idx])
            found: tuple[Any, float] = known
            return found

        def finish(self, state: Any) -> tuple[Any, float]:
            """The state itself, and log P of the end of the sentence."""
            return state, self._log_prob(state, END)

        def _next(self, state: Any, word: int) -> tuple[Any, float]:
            if self._whole and not self._recombine:
                return ModlmState(None, state, word), self._log_prob(state, word)
            row, log_prob = one_word(self.model, self._row(state), word)
            if not self._recombine:
                return ModlmState(row, state, word), log_prob
            key = row.tobytes()
            return state.shared.setdefault(key, ModlmState(row, state, word)), log_prob

        def _log_prob(self, state: Any, word: int) -> float:
            if not self._whole:
                return one_word(self.model, self._row(state), word)[1]
            if state.log_probs is None:
                with np.errstate(divide="ignore"):
                    state.log_probs = np.maximum(np.log(self.model.distributions(self._row(state))[0]), LOWEST)
            return float(state.log_probs[word])

        def _row(self, state: Any) -> States:
            if state.row is None:
                state.row = one_word(self.model, self._row(state.parent), state.word)[0]
            row: States = state.row
            return row

    return ModlmLM
