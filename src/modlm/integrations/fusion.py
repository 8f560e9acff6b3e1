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

from modlm.arrays import Floats, Ids, Ints
from modlm.errors import ConfigError
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
        names = tuple(model.vocabulary.words if tokens is None else tokens)
        self.tokens = names
        self.words_J: Ids = np.array([END if name == end else model.vocabulary.id(name) for name in names], np.uint32)
        self._silent_J = np.array([name in silent for name in names])
        wrong = [name for name, quiet in zip(names, self._silent_J, strict=True) if name == START_NAME and not quiet]
        if wrong:
            raise ConfigError(f"{START_NAME} is no word that a model predicts. Name it in `silent`.")
        known_J = np.array([name in RESERVED or name == end or name in model.vocabulary for name in names])
        self._offset_J = np.where(known_J, 0.0, unknown_offset)

    def start(self, count: int = 1) -> States:
        """States before the first token of so many hypotheses."""
        return self.model.start(count)

    def advance(self, states: States) -> Floats:
        """(B, J): weight * log P of every token after each state; at the least weight * LOWEST."""
        with np.errstate(divide="ignore"):
            log_probs_BJ = np.log(self.model.distributions(states)[:, self._columns()])
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
        own_B = row_keys(states)
        if keys_B is not None:
            own_B = np.stack((own_B, np.unique(keys_B, return_inverse=True)[1]), axis=1)
            own_B = np.unique(own_B, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((np.arange(len(own_B)), -np.asarray(scores_B), own_B))
        first = np.ones(len(order), dtype=bool)
        first[1:] = own_B[order][1:] != own_B[order][:-1]
        kept: Ints = np.sort(order[first])
        return kept

    def _columns(self) -> Ids:
        return np.minimum(self.words_J, len(self.model.vocabulary) - 1)  # `<s>` is silent: any column will do


def row_keys(states: States) -> Ints:
    """A number for each row; equal numbers mean equal states."""
    rows = np.ascontiguousarray(states).reshape(len(states), -1)
    width = rows.dtype.itemsize * rows.shape[1]
    return np.unique(rows.view(np.dtype((np.void, width))).reshape(-1), return_inverse=True)[1].reshape(-1)
