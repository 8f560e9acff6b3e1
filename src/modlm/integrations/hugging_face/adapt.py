"""Adapting a frozen causal language model to a text: count its tokens, run it once, tune or train lambda, report.

What lambda is learned from is never counted. Either it is the validation text (its first lines train the net, the last
fifth says when to stop, all of it tunes the static weights), or with `tune_lines` the last lines of the counted text:
their rows come from the counts without them, and the whole validation text says when to stop. The test text is only
reported.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from modlm.arrays import Floats
from modlm.blocks import NgramBlock, UniformBlock
from modlm.blocks.block import Block, ColumnLayout
from modlm.blocks.held_out import HeldOutColumns
from modlm.counts import count_text
from modlm.counts.counts import Counts
from modlm.errors import ConfigError, InputError
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading
from modlm.integrations.hugging_face.lm_block import CausalLmBlock
from modlm.integrations.hugging_face.mixer_training import (
    MixerConfig,
    MixerRows,
    Trained,
    log_probs,
    mean_weights,
    train_mixer,
)
from modlm.integrations.hugging_face.pass_cache import Pass, entry_of, run_pass
from modlm.mixers import HeuristicMixer, StaticMixer, expectation_maximisation
from modlm.model.mixture import Mixture
from modlm.model.scored_text import ScoredText
from modlm.nets.config import one_of
from modlm.nets.net_mixer import NetMixer
from modlm.smoothing import Estimates, estimate, smoother_of
from modlm.text.corpus import Corpus

MIXERS = ("learned", "static")
STOPPING = 5  # without lines to tune on, every so many lines of the validation text says when to stop: the last ones
LM, NGRAM = "lm", "ngram"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptConfig:
    """What is adapted to what."""

    hf: Path
    """A folder with a model that `transformers` reads."""
    gguf: str = ""
    """The name of a GGUF file in it."""
    text: tuple[Path, ...]
    """What is counted."""
    valid: Path
    test: Path | None = None
    order: int = 5
    smoothing: str = "modified-kneser-ney"
    mixer: str = "learned"
    """Which lambda is saved."""
    tune_lines: int = 0
    """How many of the last lines of the text lambda is learned from, held out of the counts; 0: the validation text."""
    reading: Reading = field(default_factory=Reading)
    training: MixerConfig = field(default_factory=MixerConfig)
    device: str = "cpu"

    def __post_init__(self) -> None:
        one_of("mixer", self.mixer, MIXERS)
        smoother_of(self.smoothing)
        if self.tune_lines < 0:
            raise ConfigError(f"tune_lines must not be negative, but is {self.tune_lines}.")


@dataclass(frozen=True, slots=True)
class Result:
    """An adapted model and its numbers."""

    model: Mixture
    texts: dict[str, dict[str, ScoredText]]
    """Perplexities by text, then by what was mixed."""
    weights: dict[str, float]
    """Static lambda by column."""
    mean_weights: dict[str, float]
    """Learned lambda by column, averaged over the last reported text."""
    history: tuple[float, ...]
    """Nats a token on the stopping part, epoch by epoch."""
    costs: dict[str, float]
    """Seconds, tokens a second, bytes."""
    lines: dict[str, dict[str, Floats]]
    """log P of every line, by text and by what was mixed, for those who want to know what could be chance."""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        texts = {
            text: {name: found.as_dict() for name, found in mixtures.items()} for text, mixtures in self.texts.items()
        }
        return {
            "texts": texts, "weights": self.weights, "mean_weights": self.mean_weights, "history": list(self.history),
            "costs": self.costs,
        }  # fmt: skip


@dataclass(slots=True)
class Workshop:
    """The model, the counts, and what they cost."""

    config: AdaptConfig
    lm: CausalLm
    block: CausalLmBlock
    counts: Counts
    estimates: Estimates
    ngram: NgramBlock
    corpora: dict[str, Corpus]
    costs: dict[str, float]

    @property
    def blocks(self) -> dict[str, Block]:
        """The columns of D."""
        return {LM: self.block, NGRAM: self.ngram}

    def read_as(self, config: AdaptConfig) -> Workshop:
        """The same with another reading or training; texts, counts and the model stay."""
        block = CausalLmBlock(
            self.lm.vocabulary, config.reading, self.lm.features(config.reading), source=self.block.source, lm=self.lm
        )
        return replace(self, config=config, block=block, costs=dict(self.costs))


def adapt(config: AdaptConfig, shop: Workshop | None = None) -> Result:
    """Count, run, tune, train, report; the run of the model over the texts goes on where it was interrupted.

    A workshop that was prepared already saves loading and counting.
    """
    shop = shop or prepare(config)
    rows = {name: rows_of(shop, name) for name in shop.corpora}
    fit, stop = tuning_parts(shop, rows)
    tuned = MixerRows(
        np.concatenate((fit.log_probs_PK, stop.log_probs_PK)), np.concatenate((fit.features_PF, stop.features_PF))
    )
    weights_K, _ = expectation_maximisation(np.exp(tuned.log_probs_PK.astype(np.float64)))
    begun = time.perf_counter()
    trained = train_mixer(fit, stop, weights_K, vocab_size=len(shop.lm.vocabulary), config=config.training)
    shop.costs["seconds_training"] = time.perf_counter() - begun
    shop.costs["peak_bytes"] = peak_memory()
    names = ColumnLayout(shop.blocks).names
    reported = [name for name in ("valid", "test") if name in rows]
    model: Mixture = (
        Mixture(shop.lm.vocabulary, shop.blocks, StaticMixer(weights_K))
        if config.mixer == "static"
        else Mixture(shop.lm.vocabulary, shop.blocks, NetMixer(trained.net))
    )
    whole_2, _ = expectation_maximisation(lm_and_ngram(shop, tuned))
    logs = {name: log_likelihoods(shop, name, rows[name], weights_K, whole_2, trained) for name in reported}
    return Result(
        model,
        {
            name: {mixture: perplexity_of(found, shop.corpora[name]) for mixture, found in mixtures.items()}
            for name, mixtures in logs.items()
        },
        dict(zip(names, weights_K.tolist(), strict=True)),
        dict(zip(names, mean_weights(trained.net, rows[reported[-1]]).tolist(), strict=True)),
        trained.history,
        shop.costs,
        {
            name: {mixture: sums_of_lines(found, shop.corpora[name]) for mixture, found in mixtures.items()}
            for name, mixtures in logs.items()
        },
    )


def prepare(config: AdaptConfig) -> Workshop:
    """The model loaded and the text counted over its tokens."""
    for path in (*config.text, config.valid, *([config.test] if config.test else [])):
        if not path.exists():
            raise InputError("there is no such file.", path=path)  # now, and not after minutes of loading and counting
    costs: dict[str, float] = {}
    begun = time.perf_counter()
    lm = CausalLm.load(config.hf, gguf=config.gguf, device=config.device)
    block = CausalLmBlock.of(lm, config.reading, path=config.hf, gguf=config.gguf)
    costs["seconds_loading"] = time.perf_counter() - begun
    costs["lm_bytes"] = float(sum(p.numel() * p.element_size() for p in lm.model.parameters()))
    begun = time.perf_counter()
    train = Corpus.from_text(list(config.text), lm.vocabulary)
    counts = count_text(train, order=config.order)
    estimates = estimate(smoother_of(config.smoothing), counts)
    costs["seconds_counting"] = time.perf_counter() - begun
    costs["counted_tokens"] = float(train.words + train.sentences)
    costs["counts_bytes"] = float(sum(array.nbytes for array in estimates.counts.arrays().values()))
    corpora = {"valid": Corpus.from_text(config.valid, lm.vocabulary)}
    if config.test is not None:
        corpora["test"] = Corpus.from_text(config.test, lm.vocabulary)
    shop = Workshop(config, lm, block, counts, estimates, NgramBlock(estimates), corpora, costs)
    if config.tune_lines:
        if config.tune_lines >= train.sentences:
            raise ConfigError(f"tune_lines is {config.tune_lines:,}, but the text has {train.sentences:,} lines.")
        shop.corpora = {"tune": train[train.sentences - config.tune_lines :], **corpora}
    elif corpora["valid"].sentences < 2:
        raise ConfigError("The validation text has one line, but it is split in two. Give more, or lines to tune on.")
    return shop


def rows_of(shop: Workshop, name: str) -> MixerRows:
    """The rows of a text: the model's from its pass, the counts' from all of them or, when it was counted, the rest."""
    corpus = shop.corpora[name]
    ids = np.asarray(corpus.ids)
    found = _pass(shop, name)
    begun = time.perf_counter()
    log_probs_TN = np.empty((len(ids), len(shop.ngram.columns)), np.float32)
    features_TF = np.empty((len(ids), len(shop.ngram.features)), np.float32)
    if name == "tune":
        HeldOutColumns.of(shop.counts, shop.estimates).copy().fill(ids, log_probs_TN, features_TF)
    else:
        shop.ngram.log_rows(ids, log_probs_TN, features_TF)
    predicted = ids != shop.lm.vocabulary.start
    shop.costs[f"seconds_rows_{name}"] = time.perf_counter() - begun
    return MixerRows(
        np.concatenate((found.values_PX[:, :1], log_probs_TN[predicted]), axis=1),
        np.concatenate((found.values_PX[:, 1:], features_TF[predicted]), axis=1),
    )


def _pass(shop: Workshop, name: str) -> Pass:
    ids, config = np.asarray(shop.corpora[name].ids), shop.config
    entry = entry_of(ids, shop.lm, config.reading, fingerprint=shop.block.source["sha256"])
    found = run_pass(ids, shop.lm, config.reading, entry, title=f"the model over {name}")
    if found.computed:
        shop.costs[f"lm_tokens_per_second_{name}"] = found.computed / found.seconds
    return found


def tuning_parts(shop: Workshop, rows: dict[str, MixerRows]) -> tuple[MixerRows, MixerRows]:
    """What the net is trained on, and what says when to stop; no part of either was counted."""
    if "tune" in rows:
        return rows["tune"], rows["valid"]
    corpus = shop.corpora["valid"]
    lines = corpus.sentences - max(1, corpus.sentences // STOPPING)
    places = int(corpus.starts[lines]) - lines  # predicted positions of the lines before
    return rows["valid"].part(0, places), rows["valid"].part(places, len(rows["valid"]))


# ---- numbers ---------------------------------------------------------------------------------------------------------


def lm_and_ngram(shop: Workshop, rows: MixerRows) -> Floats:
    """(P, 2): the model, and the whole n-gram model (all orders under the weights of its own smoothing)."""
    vocabulary = shop.lm.vocabulary
    layout = ColumnLayout({NGRAM: shop.ngram, "uniform": UniformBlock(vocabulary)})
    features = rows.features_PF[:, len(shop.block.features) :].astype(np.float64)
    weights_PK = HeuristicMixer(layout, shop.estimates.smoother).weights(features)
    probs_PN = np.exp(rows.log_probs_PK[:, 1:].astype(np.float64))
    whole_P = (weights_PK[:, :-1] * probs_PN).sum(axis=1) + weights_PK[:, -1] / len(vocabulary)
    return np.stack([np.exp(rows.log_probs_PK[:, 0].astype(np.float64)), whole_P], axis=1)


def log_likelihoods(
    shop: Workshop, name: str, rows: MixerRows, weights_K: Floats, whole_2: Floats, trained: Trained
) -> dict[str, Floats]:
    """log P of every token under the model alone, the counts alone, and the mixtures of both."""
    whole_P2 = lm_and_ngram(shop, rows)
    with np.errstate(divide="ignore"):
        logs = {
            "lm alone": rows.log_probs_PK[:, 0].astype(np.float64),
            "n-gram model alone": np.log(whole_P2[:, 1]),
            "static, lm and n-gram model": np.log(whole_P2 @ whole_2),
            "static, lm and orders": np.log(np.exp(rows.log_probs_PK.astype(np.float64)) @ weights_K),
        }
    begun = time.perf_counter()
    logs["learned"] = log_probs(trained.net, rows)
    shop.costs[f"mixer_tokens_per_second_{name}"] = len(rows) / max(time.perf_counter() - begun, 1e-9)
    return logs


def sums_of_lines(log_probs_P: Floats, corpus: Corpus) -> Floats:
    """log P of each line, its end included."""
    firsts = corpus.starts[:-1] - np.arange(corpus.sentences)  # places among the predicted ones
    sums: Floats = np.add.reduceat(log_probs_P, firsts)
    return sums


def perplexity_of(log_probs_P: Floats, corpus: Corpus) -> ScoredText:
    """The perplexity of a text whose predictions have these logarithms."""
    ids = np.asarray(corpus.ids)
    return ScoredText.of(ids[ids != corpus.vocabulary.start], log_probs_P, corpus.size)


def peak_memory() -> float:
    """The most memory that this process has had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
