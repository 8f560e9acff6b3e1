"""A language model for flashlight-text's decoders, and so for torchaudio's `ctc_decoder`.

    lm = flashlight_lm(model, tokens)             lexicon-free: the model's words are the decoder's tokens
    lm = flashlight_lm(model, word_dictionary)    with a lexicon: they are words, numbered by the dictionary

Their decoders are C++ and call `start`, `score` and `finish` of a subclass of `flashlight.lib.text.decoder.LM`, one
word at a time; torchaudio's `CTCDecoderLM` is such a subclass. So the class is made when it is asked for, from
whichever of the two is installed. Whole distributions answer many questions at once where they are cheap, or where
steps are dear.
"""

import functools
from collections import deque
from collections.abc import Sequence
from typing import Any

from modlm.errors import MissingPackageError, require
from modlm.integrations.steps import Node, Steps
from modlm.model.language_model import LanguageModel
from modlm.text.vocabulary import END


def flashlight_lm(
    model: LanguageModel,
    words: Sequence[str] | Any,
    *,
    end: str | None = None,
    recombine: bool = False,
    whole: bool | None = None,
    streams: int = 8,
    classes: tuple[type, type] | None = None,
) -> Any:
    """The model as an `LM` over the decoder's numbering of words (or tokens): a list, or one of its dictionaries.

    `end` names a token that stands for the end of a sentence. `recombine` gives hypotheses with equal futures one
    state, so that the decoder keeps the best of them: a better search, but fewer different hypotheses. `whole` computes
    all words after a state at once (default: for small vocabularies and for recurrent nets). States live until
    `streams` further utterances have begun. `classes` are the LM and LMState to build on; flashlight's or torchaudio's
    by default.
    """
    names = list(words) if isinstance(words, Sequence) else [words.get_entry(i) for i in range(words.index_size())]
    ids = [END if name == end else model.vocabulary.id(name) for name in names]
    lm_class = _class_for(*(classes or _installed()))
    return lm_class(Steps(model, whole=whole), ids, recombine=recombine, streams=streams)


def _installed() -> tuple[type, type]:
    try:
        decoder = require("flashlight.lib.text.decoder", extra="decoders", purpose="Decoding with flashlight")
        return decoder.LM, decoder.LMState
    except MissingPackageError as missing:
        try:
            decoder = require("torchaudio.models.decoder", extra="decoders", purpose="Decoding with torchaudio")
        except (MissingPackageError, OSError):  # OSError: built for another torch
            raise missing from None
        return decoder.CTCDecoderLM, decoder.CTCDecoderLMState


@functools.cache
def _class_for(lm_base: Any, state_base: Any) -> Any:
    """The two classes, made once for each pair of bases."""

    class ModlmState(state_base):  # type: ignore[misc]
        """A node of the model; what the decoder reached from here, by the decoder's numbers."""

        def __init__(self, node: Node, shared: dict[bytes, Any]) -> None:
            super().__init__()
            self.node, self.shared = node, shared
            self.after: dict[int, tuple[Any, float]] = {}

    class ModlmLM(lm_base):  # type: ignore[misc]
        """start, score and finish as flashlight's decoders call them; scores are natural logarithms."""

        def __init__(self, steps: Steps, ids: list[int], *, recombine: bool, streams: int) -> None:
            super().__init__()
            self._steps, self._ids, self._recombine = steps, ids, recombine
            self._roots: deque[Any] = deque(maxlen=max(1, streams))  # C++ does not keep what we add to a state alive

        def start(self, start_with_nothing: bool) -> Any:
            """The state before the first word: of a sentence, or of anything."""
            root = ModlmState(self._steps.start(nothing=start_with_nothing), {})
            self._roots.append(root)
            return root

        def score(self, state: Any, usr_token_idx: int) -> tuple[Any, float]:
            """The state after the word with this number, and log P of it."""
            known = state.after.get(usr_token_idx)
            if known is None:
                node, log_prob = self._steps.after(state.node, self._ids[usr_token_idx])
                known = state.after[usr_token_idx] = self._state(state, node), log_prob
            found: tuple[Any, float] = known
            return found

        def finish(self, state: Any) -> tuple[Any, float]:
            """The state itself, and log P of the end of the sentence."""
            return state, self._steps.log_prob(state.node)

        def _state(self, before: Any, node: Node) -> Any:
            if not self._recombine:
                return ModlmState(node, before.shared)
            return before.shared.setdefault(self._steps.row(node).tobytes(), ModlmState(node, before.shared))

    return ModlmLM
