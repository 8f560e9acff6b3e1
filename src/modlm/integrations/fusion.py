"""Shallow fusion for beam searches of any kind: log-probabilities of every token after every hypothesis, in one call.

A beam search keeps one row of a state array for each hypothesis. `advance(states)` gives (B, J) weighted
log-probabilities to add to its own, `follow(states, tokens)` the states after the chosen tokens. States are plain numpy
arrays: index them to reorder or repeat hypotheses. Equal rows have equal futures, so `recombine` may drop all but the
best of them without changing what can be found.

    fusion = ShallowFusion(lm, tokens, weight=0.3, end="</s>")
    states = fusion.start(beams)
    scores_BJ = decoder_log_probs_BJ + fusion.advance(states)
    states = fusion.follow(states[parents], chosen)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids, Ints
from modlm.integrations.steps import LOWEST
from modlm.model.language_model import LanguageModel, States
from modlm.text.vocabulary import END, END_NAME, RESERVED, START_NAME


class ShallowFusion:
    """A language model over a decoder's own tokens (J), in the order in which the decoder numbers them."""

    def __init__(
        self,
        model: LanguageModel,
        tokens: Sequence[str] | None = None,
        *,
        weight: float = 1.0,
        end: str = END_NAME,
        silent: Collection[str] = (),
        unknown_offset: float = 0.0,
    ) -> None:
        """Without `tokens`, those of the model in its own order.

        `end` is the token that ends a sentence. `silent` tokens (blanks, padding, the decoder's own start) cost nothing
        and leave the state as it is. A token that the model does not know gets P(`<unk>`), with `unknown_offset` added
        to its logarithm.
        """
        self.model, self.weight = model, weight
        self.tokens = tuple(model.vocabulary.words if tokens is None else tokens)
        if START_NAME in self.tokens and START_NAME not in silent:
            raise ConfigError(f"{START_NAME} is no word that a model predicts. Name it in `silent`.")
        words = [END if name == end else model.vocabulary.id(name) for name in self.tokens]
        self.words_J: Ids = np.array(words, np.uint32)
        self._silent_J = np.array([name in silent for name in self.tokens])
        known_J = np.array([name in RESERVED or name == end or name in model.vocabulary for name in self.tokens])
        self._offset_J = np.where(known_J, 0.0, unknown_offset)

    def start(self, count: int = 1) -> States:
        """States before the first token of so many hypotheses."""
        return self.model.start(count)

    def advance(self, states: States) -> Floats:
        """(B, J): weight * log P of every token after each state; at the least weight * LOWEST."""
        columns_J = np.minimum(self.words_J, len(self.model.vocabulary) - 1)  # `<s>` is silent: any column will do
        with np.errstate(divide="ignore"):
            log_probs_BJ = np.log(self.model.distributions(states)[:, columns_J])
        log_probs_BJ = np.maximum(log_probs_BJ, LOWEST).astype(np.float64) + self._offset_J
        log_probs_BJ[:, self._silent_J] = 0.0
        weighted_BJ: Floats = self.weight * log_probs_BJ
        return weighted_BJ

    def follow(self, states: States, tokens_B: NDArray[Any]) -> States:
        """The states one token further; those of silent tokens stay."""
        places = np.asarray(tokens_B, dtype=np.int64)
        moved = self.model.advance(states, self.words_J[places])[0]
        quiet = self._silent_J[places]
        if quiet.any():
            moved = moved.copy()
            moved[quiet] = states[quiet]
        return moved

    def recombine(self, states: States, scores_B: NDArray[Any], keys_B: NDArray[Any] | None = None) -> Ints:
        """The places of hypotheses to keep: the best of those with equal states (and keys), in their order."""
        best: dict[tuple[bytes, object], int] = {}
        for place in np.argsort(-np.asarray(scores_B), kind="stable").tolist():
            best.setdefault((states[place].tobytes(), None if keys_B is None else keys_B[place].item()), place)
        kept: Ints = np.sort(np.fromiter(best.values(), np.int64))
        return kept
