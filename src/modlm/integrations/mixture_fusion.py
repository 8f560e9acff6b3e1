"""A recogniser's distribution as a column of D: P = lambda_r P_r + sum_k lambda_k P_k at every step, an exact mixture.

lambda looks at the recogniser's certainty and at what was counted after the tokens so far. It is learned from sentences
that the recogniser heard: given the right tokens before, what did it expect next?

    mixture = fit_mixture(lm, heard, tokens, mixer="gli")          # heard: the right tokens (T), log-probabilities (T, J)
    mixture.save("fused"); fusion = MixtureFusion(mixture, tokens)
    beam_search(decoder, fusion, beam=8, end=2, most=200)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modlm.blocks.block import NOTHING, Block, ColumnLayout, Rows, trimmed
from modlm.blocks.given import GivenBlock
from modlm.errors import ConfigError
from modlm.families import MIXERS
from modlm.ground.arrays import Ids, Ints, Singles
from modlm.mixers.mixer import Mixer
from modlm.model.interpolation import ngram_blocks
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.text.vocabulary import Vocabulary

RECOGNISER = "recogniser"
STOPPING = 5  # one sentence in so many says when a net has learned enough
Heard = Iterable[tuple[NDArray[Any], Singles]]


class MixtureFusion:
    """A mixture with a given column, over the decoder's tokens (J); states are the words before, (B, C)."""

    def __init__(self, mixture: Mixture, tokens: Sequence[str] | None = None) -> None:
        """Without `tokens`, those of the mixture in its own order; with them, all of its words, each once."""
        names = [name for name, block in mixture.blocks.items() if isinstance(block, GivenBlock)]
        if len(names) != 1:
            raise ConfigError(f"The mixture needs one column that is given, but has {len(names)}: see `fit_mixture`.")
        self.mixture, self.given = mixture, names[0]
        self.words_J = words_of(tokens, mixture.vocabulary)
        self._moved = np.flatnonzero(self.words_J != np.arange(len(self.words_J)))

    def start(self, count: int = 1) -> Ids:
        """States before the first token."""
        length = max(1, *(block.reads.words for block in self.mixture.blocks.values()))
        states_BC = np.full((count, length), NOTHING, np.uint32)
        states_BC[:, -1] = self.mixture.vocabulary.start
        return states_BC

    def fused(self, states_BC: Ids, log_probs_BJ: Singles) -> Singles:
        """log P of every token by the mixture; exp of a row sums to 1 as that of the recogniser does."""
        probs_BJ = np.exp(log_probs_BJ)
        features_BF = GivenBlock.features_of(log_probs_BJ, probs_BJ)
        probs_BJ[:, self.words_J[self._moved]] = probs_BJ[:, self._moved]
        mixed_BJ = self.mixture.mixed(trimmed(states_BC), self.given, probs_BJ, features_BF)
        mixed_BJ[:, self._moved] = mixed_BJ[:, self.words_J[self._moved]]
        with np.errstate(divide="ignore"):
            log_mixed_BJ: Singles = np.log(mixed_BJ, out=mixed_BJ)
        return log_mixed_BJ

    def follow(self, states_BC: Ids, tokens_B: NDArray[Any]) -> Ids:
        """The states one token further."""
        words_B1 = self.words_J[np.asarray(tokens_B), None].astype(np.uint32)
        return np.concatenate((states_BC[:, 1:], words_B1), axis=1)


def words_of(tokens: Sequence[str] | None, vocabulary: Vocabulary) -> Ints:
    """Our word for each token of the decoder, which must be all of ours, each once, for sums to be 1."""
    if tokens is None:
        return np.arange(len(vocabulary))
    words_J = np.array([vocabulary.id(name) for name in tokens], np.int64)
    if not np.array_equal(np.sort(words_J), np.arange(len(vocabulary))):
        raise ConfigError(
            f"An exact mixture needs each of the model's {len(vocabulary):,} words once among the decoder's tokens, "
            f"but {len(np.unique(words_J)):,} are there, in {len(words_J):,} tokens. Train the model with the "
            f"decoder's own tokenizer, or use ShallowFusion."
        )
    return words_J


def fit_mixture(
    lm: LanguageModel, heard: Heard, tokens: Sequence[str] | None = None, *, mixer: str = "static"
) -> Mixture:
    """The recogniser and the orders of an n-gram model as columns, with lambda learned from what was heard.

    `heard` has for each sentence its tokens by the decoder's numbers, the end included, and the decoder's
    log-probabilities (T, J) at each, given those before. `mixer`: static, gli or net (a small one; needs torch).
    """
    vocabulary = lm.vocabulary
    words_J = words_of(tokens, vocabulary)
    (ngram,) = ngram_blocks(lm)
    blocks: dict[str, Block] = {RECOGNISER: GivenBlock(vocabulary), "ngram": ngram}
    parts = list[Rows]()
    for tokens_T, log_probs_TJ in heard:
        words_T = words_J[np.asarray(tokens_T)].astype(np.uint32)
        ids = np.concatenate((np.array([vocabulary.start], np.uint32), words_T))
        features_TF = GivenBlock.features_of(log_probs_TJ, np.exp(log_probs_TJ))
        own = Rows(np.exp(log_probs_TJ[np.arange(len(words_T)), tokens_T].astype(np.float64))[:, None], features_TF)
        counted = ngram.rows(ids)
        parts.append(Rows.joined([own, Rows(counted.probs_TK[1:], counted.features_TF[1:])]))
    if not parts:
        raise ConfigError("There is nothing to learn lambda from. Give the sentences of a held-out part.")
    return Mixture(vocabulary, blocks, _fitted(mixer, blocks, parts))


def _fitted(mixer: str, blocks: dict[str, Block], parts: list[Rows]) -> Mixer:
    def together(some: list[Rows]) -> Rows:
        return Rows(*(np.concatenate([getattr(r, name) for r in some]) for name in ("probs_TK", "features_TF")))

    layout = ColumnLayout(blocks)
    if mixer != "net":
        kind: type[Mixer] = MIXERS.choose(mixer)
        return kind.fitted(layout, blocks, together(parts))
    from modlm.integrations.hugging_face.mixer_training import MixerConfig, MixerRows, train_mixer
    from modlm.mixers import expectation_maximisation
    from modlm.nets.net_mixer import NetMixer

    def as_logs(rows: Rows) -> MixerRows:
        with np.errstate(divide="ignore"):
            return MixerRows(np.log(rows.probs_TK).astype(np.float32), rows.features_TF.astype(np.float32))

    fit = together([rows for place, rows in enumerate(parts) if place % STOPPING] or parts)
    first_K, _ = expectation_maximisation(fit.probs_TK)
    stop, size = as_logs(together(parts[::STOPPING])), layout.vocab_size
    return NetMixer(train_mixer(as_logs(fit), stop, first_K, vocab_size=size, config=MixerConfig(hidden=16)).net)
