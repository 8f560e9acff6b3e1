"""Shallow fusion for beam searches of any kind: log-probabilities of every token after every hypothesis, in one call.

A beam search keeps one row of a state array for each hypothesis. `advance(states)` gives (B, J) weighted
log-probabilities to add to its own, and the states after every token, (B, J) too, computed where they are looked at.
States are plain numpy arrays: index them to reorder or repeat hypotheses. Equal rows have equal futures, so `recombine`
may drop all but the best of them without changing what can be found.

    fusion = ShallowFusion(lm, tokens, weight=0.3, end="</s>")
    states = fusion.start(beams)
    scores_BJ, after = fusion.advance(states)
    ...                                            # the search adds its own scores and chooses
    states = after[parents, chosen]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modlm.errors import ConfigError
from modlm.ground.arrays import Ints, Singles
from modlm.integrations import decoding_kernels
from modlm.integrations.steps import LOWEST
from modlm.model.language_model import LanguageModel, States
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END, END_NAME, RESERVED, START_NAME


def decoder_tokens(vocabulary: TokenVocabulary, end: int) -> list[str]:
    """Our name of each of a decoder's tokens, by the tokenizer's ids; `end` is the id that ends its sentences.

    A vocabulary may have taken another token, such as that of a line feed, for `</s>`; the two change places.
    """
    names = [vocabulary.word(word) for word in vocabulary.ours.tolist()]
    if END_NAME in names:
        names[names.index(END_NAME)] = names[end]
    names[end] = END_NAME
    return names


class Following(NamedTuple):
    """The states after every token of every hypothesis; `after[parents, tokens]` computes those that are wanted."""

    fusion: ShallowFusion
    states: States

    def __getitem__(self, places: Any) -> Any:
        """States, one for each pair of a hypothesis and a token."""
        parents, tokens = np.broadcast_arrays(*places)
        return self.fusion.follow(self.states[parents], tokens)


class Part(NamedTuple):
    """One of the models of a fusion, over the decoder's tokens."""

    model: LanguageModel
    words_J: Ints
    """The model's word for each token."""
    offset_J: Singles
    """What is added to the logarithm of an unknown token."""
    weight_J: Singles
    """0 for silent tokens."""


class ShallowFusion:
    """Language models over a decoder's own tokens (J), in the order in which the decoder numbers them."""

    def __init__(
        self,
        model: LanguageModel,
        tokens: Sequence[str] | None = None,
        *,
        weight: float = 1.0,
        end: str = END_NAME,
        silent: Collection[str] = (),
        unknown_offset: float = 0.0,
        minus: tuple[LanguageModel, float] | None = None,
    ) -> None:
        """Without `tokens`, those of the model in its own order.

        `end` is the token that ends a sentence. `silent` tokens (blanks, padding, the decoder's own start) cost nothing
        and leave the state as it is. A token that the model does not know gets P(`<unk>`), with `unknown_offset` added
        to its logarithm. `minus` is a second model whose weighted logarithms are subtracted: an estimate of what the
        decoder has learned of its own training text (density ratio; with a bigram, LODR).
        """
        self.model, self.weight = model, weight
        self.tokens = tuple(model.vocabulary.words if tokens is None else tokens)
        if START_NAME in self.tokens and START_NAME not in silent:
            raise ConfigError(f"{START_NAME} is no word that a model predicts. Name it in `silent`.")
        self.silent_J = np.array([name in silent for name in self.tokens])
        weighted = [(model, weight), *([(minus[0], -minus[1])] if minus else [])]
        self.parts = [self._part(one, own, end, unknown_offset) for one, own in weighted]

    def _part(self, model: LanguageModel, weight: float, end: str, unknown_offset: float) -> Part:
        known = model.vocabulary
        words_J = np.array([END if name == end else known.id(name) for name in self.tokens], np.int64)
        words_J[self.silent_J & (words_J >= len(known))] = END  # `<s>` is silent: any column will do
        new_J = np.array([name not in RESERVED and name != end and name not in known for name in self.tokens])
        offset_J, weight_J = np.where(new_J, unknown_offset, 0.0), np.where(self.silent_J, 0.0, weight)
        return Part(model, words_J, offset_J.astype(np.float32), weight_J.astype(np.float32))

    def start(self, count: int = 1) -> States:
        """States before the first token of so many hypotheses."""
        return self._joined([part.model.start(count) for part in self.parts])

    def advance(self, states: States) -> tuple[Singles, Following]:
        """(B, J): the sum of weight * log P of every token after each state, and the states after every token.

        Silent tokens have 0; the logarithm of 0 counts as LOWEST.
        """
        scores_BJ = np.zeros((len(states), len(self.tokens)), np.float32)
        return self._add_to(scores_BJ, states), Following(self, states)

    def fused(self, states: States, log_probs_BJ: Singles) -> Singles:
        """The decoder's log-probabilities and ours, added."""
        return self._add_to(log_probs_BJ.astype(np.float32), states)

    def _add_to(self, out_BJ: Singles, states: States) -> Singles:
        for (model, *tables), own in zip(self.parts, self._own(states), strict=True):
            decoding_kernels.add_weighted(model.log_distributions(own), *tables, np.float32(LOWEST), out_BJ)
        return out_BJ

    def follow(self, states: States, tokens_B: NDArray[Any]) -> States:
        """The states one token further; those of silent tokens stay."""
        places = np.asarray(tokens_B, dtype=np.int64)
        after = [
            part.model.advance(own, part.words_J[places].astype(np.uint32))[0]
            for part, own in zip(self.parts, self._own(states), strict=True)
        ]
        moved = self._joined(after)
        quiet = self.silent_J[places]
        if quiet.any():
            moved = moved.copy()
            moved[quiet] = states[quiet]
        return moved

    def _joined(self, own: list[States]) -> States:
        """The states of one model as they are, of several as fields."""
        if len(own) == 1:
            return own[0]
        states = np.empty(len(own[0]), [(str(place), one.dtype) for place, one in enumerate(own)])
        for place, one in enumerate(own):
            states[str(place)] = one
        return states

    def _own(self, states: States) -> list[States]:
        """The states of each model."""
        return [states] if len(self.parts) == 1 else [states[str(place)] for place in range(len(self.parts))]

    def recombine(self, states: States, scores_B: NDArray[Any], keys_B: NDArray[Any] | None = None) -> Ints:
        """The places of hypotheses to keep: the best of those with equal states (and keys), in their order."""
        best: dict[tuple[bytes, object], int] = {}
        for place in np.argsort(-np.asarray(scores_B), kind="stable").tolist():
            best.setdefault((states[place].tobytes(), None if keys_B is None else keys_B[place].item()), place)
        kept: Ints = np.sort(np.fromiter(best.values(), np.int64))
        return kept
