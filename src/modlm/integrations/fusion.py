"""Shallow fusion for beam searches of any kind: log-probabilities of every token after every hypothesis, in one call.

A beam search keeps one row of a state array for each hypothesis. `advance(states)` gives (B, J) weighted
log-probabilities to add to its own, and the states after every token, (B, J) too, computed where they are looked at.
States are plain numpy arrays: index them to reorder or repeat hypotheses. Equal rows have equal futures, so `recombine`
may drop all but the best of them without changing what can be found.

    fusion = ShallowFusion(lm, tokens, weight=0.3, end="</s>"); states = fusion.start(beams)
    scores_BJ, after = fusion.advance(states)          # the search adds its own scores and chooses
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
        parents, tokens = np.broadcast_arrays(*places)
        return self.fusion.follow(self.states[parents], tokens)


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
        to its logarithm. `minus` is a model to subtract, and its weight: what the decoder knows of its own text (LODR).
        """
        self.tokens = tuple(model.vocabulary.words if tokens is None else tokens)
        if START_NAME in self.tokens and START_NAME not in silent:
            raise ConfigError(f"{START_NAME} is no word that a model predicts. Name it in `silent`.")
        self._silent_J = np.array([name in silent for name in self.tokens])
        pairs = {"plus": (model, weight), **({"minus": (minus[0], -minus[1])} if minus else {})}
        self.models = {name: one for name, (one, _) in pairs.items()}
        self._tables = {name: self._tables_of(*pair, end, unknown_offset) for name, pair in pairs.items()}
        self._dtype = np.dtype([(name, one.start(0).dtype) for name, one in self.models.items()])

    def _tables_of(self, model: LanguageModel, weight: float, end: str, offset: float) -> tuple[Ints, Singles, Singles]:
        """For each of the decoder's tokens: the word, what is added to its logarithm, and its weight, 0 if silent."""
        known = model.vocabulary
        words_J = np.array([END if name == end else known.id(name) for name in self.tokens], np.int64)
        words_J[words_J >= len(known)] = END  # `<s>` is silent: any column will do
        new_J = np.array([name not in RESERVED and name != end and name not in known for name in self.tokens])
        offset_J, weight_J = np.where(new_J, offset, 0.0), np.where(self._silent_J, 0.0, weight)
        return words_J, offset_J.astype(np.float32), weight_J.astype(np.float32)

    def start(self, count: int = 1) -> States:
        """States before the first token of so many hypotheses."""
        states = np.empty(count, self._dtype)
        for name, model in self.models.items():
            states[name] = model.start(count)
        return states

    def advance(self, states: States) -> tuple[Singles, Following]:
        """(B, J): the sum of weight * log P of every token after each state, and the states after every token.

        Silent tokens have 0; the logarithm of 0 counts as LOWEST.
        """
        return self.fused(states, np.zeros((len(states), len(self.tokens)), np.float32)), Following(self, states)

    def fused(self, states: States, log_probs_BJ: Singles) -> Singles:
        """The decoder's log-probabilities and ours, added."""
        out_BJ = log_probs_BJ.astype(np.float32)
        for name, model in self.models.items():
            words_J, offset_J, weight_J = self._tables[name]
            log_probs_BW = model.log_distributions(states[name])
            decoding_kernels.add_weighted(log_probs_BW, words_J, offset_J, weight_J, LOWEST, out_BJ)
        return out_BJ

    def follow(self, states: States, tokens_B: NDArray[Any]) -> States:
        """The states one token further; those of silent tokens stay."""
        places, moved = np.asarray(tokens_B, dtype=np.int64), states.copy()
        for name, model in self.models.items():
            moved[name] = model.advance(states[name], self._tables[name][0][places].astype(np.uint32))[0]
        quiet = self._silent_J[places]
        moved[quiet] = states[quiet]
        return moved

    def recombine(self, states: States, scores_B: NDArray[Any], keys_B: NDArray[Any] | None = None) -> Ints:
        """The places of hypotheses to keep: the best of those with equal states (and keys), in their order."""
        best: dict[tuple[bytes, object], int] = {}
        for place in np.argsort(-np.asarray(scores_B), kind="stable").tolist():
            best.setdefault((states[place].tobytes(), None if keys_B is None else keys_B[place].item()), place)
        kept: Ints = np.sort(np.fromiter(best.values(), np.int64))
        return kept
