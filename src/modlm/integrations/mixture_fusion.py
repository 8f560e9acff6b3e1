"""A recogniser's distribution as a column of D: P = lambda_r P_r + sum_k lambda_k P_k at every step, an exact mixture.

lambda looks at the recogniser's certainty and at what was counted after the tokens so far. It is learned from sentences
that the recogniser heard: given the right tokens before, what did it expect next?

    fit_mixture(lm, heard, tokens, mixer="net").save("fused")
    fusion = MixtureFusion(modlm.load("fused"), tokens)        # start, fused and follow, as ShallowFusion has them
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from modlm.blocks.block import ALONE, Beside, Block, ColumnLayout, Rows, trimmed
from modlm.blocks.constant import VocabularyBlock
from modlm.errors import ConfigError, ModlmError
from modlm.families import MIXERS
from modlm.ground.arrays import AnyFloats, Bools, Floats, Ids, Ints, Singles
from modlm.mixers import expectation_maximisation
from modlm.mixers.mixer import Mixer
from modlm.model.interpolation import ngram_blocks
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.text.vocabulary import Vocabulary

Heard = Iterable[tuple[NDArray[Any], Singles]]
RECOGNISER = "recogniser"
STOPPING = 5  # one sentence in so many says when a net has learned enough


class GivenBlock(VocabularyBlock):
    """A column that somebody else brings along with every question; it cannot be asked itself."""

    kind: ClassVar[str] = "given"
    columns: tuple[str, ...] = ("",)
    features = ("highest", "entropy")

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Nothing: it is given."""
        raise ModlmError("A column of this mixture is given from outside: use it in a decoder, by MixtureFusion.")


def features_of(log_probs_BJ: Singles, probs_BJ: Singles) -> Floats:
    """The features of given distributions: the highest log-probability, and the entropy in nats."""
    entropy_B = -np.einsum("bj,bj->b", probs_BJ, log_probs_BJ)
    if np.isnan(entropy_B).any():  # where some words are impossible: 0 log 0 is 0
        entropy_B = -np.einsum("bj,bj->b", probs_BJ, np.maximum(log_probs_BJ, np.float32(-1e4)))
    return np.stack((log_probs_BJ.max(axis=1), entropy_B), axis=1).astype(np.float64)


def mixed(
    mixture: Mixture, windows_BC: Ids, given: str, probs_BJ: AnyFloats, features_BF: Floats, beside: Beside = ALONE
) -> AnyFloats:
    """D times lambda by features alone, after windows, where one block's column and features are given.

    Written over `probs_BJ`.
    """
    others = {name: block for name, block in mixture.dense.items() if name != given}
    found = {name: block.to_mix(windows_BC, beside.of(name)) for name, block in others.items()}
    every = [features_BF if name == given else found[name][0] for name in mixture.dense]
    weights_BK = mixture.mixer.weights(np.concatenate(every, axis=1))
    probs_BJ *= weights_BK[:, mixture.layout.spans[given].columns].astype(probs_BJ.dtype)
    for name, (_, add) in found.items():
        add(weights_BK[:, mixture.layout.spans[name].columns], probs_BJ)
    return probs_BJ


class MixtureFusion:
    """A mixture with a given column, over the decoder's tokens (J); states are the words before, (B, C)."""

    def __init__(self, mixture: LanguageModel, tokens: Sequence[str] | None = None) -> None:
        """Without `tokens`, those of the mixture in its own order; with them, all of its words, each once."""
        blocks = mixture.blocks if isinstance(mixture, Mixture) else {}
        self.given = next((name for name, block in blocks.items() if isinstance(block, GivenBlock)), "")
        if not isinstance(mixture, Mixture) or not self.given:
            raise ConfigError(f"No column of this {type(mixture).__name__} is given. Make one with `fit_mixture`.")
        self.mixture = mixture
        self.words_J = words_of(tokens, mixture.vocabulary)
        self._moved = np.flatnonzero(self.words_J != np.arange(len(self.words_J)))

    def start(self, count: int = 1) -> Ids:
        return np.asarray(self.mixture.start(count)["words"])

    def fused(self, states_BC: Ids, log_probs_BJ: Singles) -> Singles:
        """log P of every token by the mixture; exp of a row sums to 1 as that of the recogniser does."""
        probs_BJ = np.exp(log_probs_BJ)
        features_BF = features_of(log_probs_BJ, probs_BJ)
        probs_BJ[:, self.words_J[self._moved]] = probs_BJ[:, self._moved]
        mixed_BJ = mixed(self.mixture, trimmed(states_BC), self.given, probs_BJ, features_BF)
        mixed_BJ[:, self._moved] = mixed_BJ[:, self.words_J[self._moved]]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mixed_BJ, out=mixed_BJ))

    def follow(self, states_BC: Ids, tokens_B: NDArray[Any]) -> Ids:
        return np.column_stack((states_BC[:, 1:], self.words_J[tokens_B].astype(np.uint32)))


def words_of(tokens: Sequence[str] | None, vocabulary: Vocabulary) -> Ints:
    """Our word for each token of the decoder, which must be all of ours, each once, for sums to be 1."""
    names = vocabulary.words if tokens is None else tokens
    words_J = np.array([vocabulary.id(name) for name in names], np.int64)
    if not np.array_equal(np.sort(words_J), np.arange(len(vocabulary))):
        raise ConfigError(
            f"An exact mixture needs each of the model's {len(vocabulary):,} words once among the decoder's tokens. "
            "Train the model with the decoder's tokenizer, or use ShallowFusion."
        )
    return words_J


def fit_mixture(
    lm: LanguageModel, heard: Heard, tokens: Sequence[str] | None = None, *, mixer: str = "static"
) -> Mixture:
    """The recogniser and the orders of an n-gram model as columns, with lambda learned from what was heard.

    `heard` has for each sentence its tokens by the decoder's numbers, the end included, and the decoder's
    log-probabilities (T, J) at each, given those before. `mixer`: static, gli or net (a small one; needs torch).
    """
    words_J, (ngram,), parts = words_of(tokens, lm.vocabulary), ngram_blocks(lm), list[Rows]()
    blocks: dict[str, Block] = {RECOGNISER: GivenBlock(lm.vocabulary), "ngram": ngram}
    for tokens_T, log_probs_TJ in heard:
        own_T1 = np.exp(log_probs_TJ[np.arange(len(tokens_T)), tokens_T].astype(np.float64))[:, None]
        rows = ngram.rows(np.append(lm.vocabulary.start, words_J[tokens_T]).astype(np.uint32))
        counted = Rows(rows.probs_TK[1:], rows.features_TF[1:])
        parts.append(Rows.joined([Rows(own_T1, features_of(log_probs_TJ, np.exp(log_probs_TJ))), counted]))
    if not parts:
        raise ConfigError("There is nothing to learn lambda from. Give the sentences of a held-out part.")
    rows = Rows(*(np.concatenate([getattr(one, name) for one in parts]) for name in ("probs_TK", "features_TF")))
    if mixer != "net":
        return Mixture(lm.vocabulary, blocks, MIXERS.choose(mixer).fitted(ColumnLayout(blocks), blocks, rows))
    stops_T = np.repeat(np.arange(len(parts)) % STOPPING == 0, [len(one.probs_TK) for one in parts])
    return Mixture(lm.vocabulary, blocks, _net(rows, stops_T, len(lm.vocabulary)))


def _net(rows: Rows, stops_T: Bools, vocab_size: int) -> Mixer:
    """A net that begins near static weights and ends where the marked rows are best."""
    from modlm.integrations.hugging_face.mixer_training import mixer_run, positions_alone, train_mixer

    with np.errstate(divide="ignore"):
        logs_TK, features_TF = np.log(rows.probs_TK).astype(np.float32), rows.features_TF.astype(np.float32)
    fit, stop = (positions_alone(logs_TK[some_T], features_TF[some_T]) for some_T in (~stops_T, stops_T))
    first_K, _ = expectation_maximisation(rows.probs_TK[~stops_T])
    return train_mixer(fit, stop, first_K, vocab_size=vocab_size, config=mixer_run(hidden=16))[0]
