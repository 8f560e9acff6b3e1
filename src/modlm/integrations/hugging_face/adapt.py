"""Adapting a frozen causal language model to texts: count its tokens, run it once, tune or train lambda, report.

What lambda is learned from is never counted. Either it is the validation text (its first lines train the net, the last
fifth says when to stop, all of it tunes the static weights), or with `tune_lines` the last lines of the counted text:
their rows come from counts and indexes without them, and the whole validation text says when to stop. The test text is
only reported.
"""

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from modlm.blocks import NgramBlock, UniformBlock
from modlm.blocks.block import Block, ColumnLayout, Fold
from modlm.blocks.cache import CacheBlock
from modlm.blocks.held_out import HeldOutColumns
from modlm.blocks.infinite import InfiniteBlock
from modlm.blocks.log_rows import LogRows, new_rows
from modlm.blocks.online import OnlineBlock
from modlm.counts import count_text
from modlm.counts.counts import Counts
from modlm.errors import ConfigError, InputError
from modlm.ground.arrays import AnyFloats, Bools, Floats
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading
from modlm.integrations.hugging_face.lm_block import CausalLmBlock
from modlm.integrations.hugging_face.mixer_training import mixer_run, train_mixer
from modlm.integrations.hugging_face.pass_cache import entry_of, run_pass
from modlm.mixers import HeuristicMixer, StaticMixer, expectation_maximisation
from modlm.model.mixture import Mixture
from modlm.model.scored_text import ScoredText
from modlm.nets.config import one_of
from modlm.nets.net_mixer import NetMixer
from modlm.smoothing import estimate, smoother_of
from modlm.text.corpus import Corpus
from modlm.training.config import RunConfig

MIXERS = ("learned", "static")
STOPPING = 5  # without lines to tune on, every so many lines of the validation text says when to stop: the last ones
LM, NGRAM = "lm", "ngram"
STATIC = "static, lm and orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptConfig:
    """What is adapted to what."""

    hf: Path
    """A folder with a model that `transformers` reads."""
    gguf: str = ""
    """The name of a GGUF file in it."""
    text: tuple[Path, ...]
    """What is counted."""
    beside: tuple[Path, ...] = ()
    """Further texts, each with columns of its own counts."""
    online: int = 0
    """Orders of counts of the text read so far; 0: none."""
    cache: int = 0
    """How many of the last tokens a cache holds; 0: there is none."""
    index: tuple[Path, ...] = ()
    """Folders of `modlm index`, made with the model's tokenizer."""
    valid: Path
    test: Path | None = None
    order: int = 5
    smoothing: str = "modified-kneser-ney"
    mixer: str = "learned"
    """Which lambda is saved."""
    tune_lines: int = 0
    """How many of the last lines of the text lambda is learned from, held out of the counts; 0: the validation text."""
    reading: Reading = field(default_factory=Reading)
    training: RunConfig = field(default_factory=mixer_run)
    device: str = "cpu"
    dtype: str = "float32"
    """In which the model computes."""

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

    def as_dict(self) -> dict[str, Any]:
        texts = {
            text: {name: found.as_dict() for name, found in mixtures.items()} for text, mixtures in self.texts.items()
        }
        return {
            "texts": texts, "weights": self.weights, "mean_weights": self.mean_weights, "history": list(self.history),
            "costs": self.costs,
        }  # fmt: skip


@dataclass(slots=True)
class Prepared:
    """The model, the counts, and what they cost."""

    config: AdaptConfig
    lm: CausalLm
    block: CausalLmBlock
    ngram: NgramBlock
    others: dict[str, Block]
    counted: dict[str, tuple[Corpus, Counts]]
    """What was counted for the columns of n-grams, and its counts."""
    corpora: dict[str, Corpus]
    costs: dict[str, float]

    @property
    def blocks(self) -> dict[str, Block]:
        return {LM: self.block, NGRAM: self.ngram, **self.others}

    def read_as(self, config: AdaptConfig) -> Self:
        """The same with another reading, training or further columns; texts, their counts and the model stay."""
        features, source = self.lm.features(config.reading), self.block.source
        block = CausalLmBlock(self.lm.vocabulary, config.reading, features, source=source, lm=self.lm)
        others, counted = other_blocks(config, self.lm)
        counted[NGRAM] = self.counted[NGRAM]
        return replace(self, config=config, block=block, others=others, counted=counted, costs=dict(self.costs))


def adapt(config: AdaptConfig, prepared: Prepared | None = None) -> Result:
    """Count, run, tune, train, report; the run of the model over the texts goes on where it was interrupted.

    What was prepared already saves loading and counting.
    """
    own = prepared or prepare(config)
    rows = {name: rows_of(own, name) for name in own.corpora}
    fit, stop = tuning_parts(own, rows)
    tuned_PK, tuned_P2 = (
        np.concatenate([made(own, part) for part in (fit, stop)]) for made in (probs_of, lm_and_ngram)
    )
    weights_K, _ = expectation_maximisation(tuned_PK)
    whole_2, _ = expectation_maximisation(tuned_P2)
    begun = time.perf_counter()
    net, history = train_mixer(fit, stop, weights_K, vocab_size=len(own.lm.vocabulary), config=config.training)
    own.costs["seconds_training"] = time.perf_counter() - begun
    own.costs["peak_bytes"] = peak_memory()
    names = ColumnLayout(own.blocks).names
    reported = [name for name in ("valid", "test") if name in rows]
    last = rows[reported[-1]]
    mean_K = net.weights(last.features_TF[predicted(own, last)]).mean(axis=0)  # type: ignore[arg-type]  # a net takes singles
    return Result(
        Mixture(own.lm.vocabulary, own.blocks, StaticMixer(weights_K) if config.mixer == "static" else net),
        {name: scored(own, name, rows[name], weights_K, whole_2, net) for name in reported},
        dict(zip(names, weights_K.tolist(), strict=True)),
        dict(zip(names, mean_K.tolist(), strict=True)),
        history,
        own.costs,
    )


def prepare(config: AdaptConfig) -> Prepared:
    """The model loaded and the text counted over its tokens."""
    texts = {"valid": config.valid, **({"test": config.test} if config.test else {})}
    for path in (*config.text, *config.beside, *config.index, *texts.values()):
        if not path.exists():
            raise InputError("there is no such file.", path=path)  # now, and not after minutes of loading and counting
    begun = time.perf_counter()
    lm = CausalLm.load(config.hf, gguf=config.gguf, device=config.device, dtype=config.dtype)
    block = CausalLmBlock.of(lm, config.reading, path=config.hf, gguf=config.gguf)
    loaded = time.perf_counter()
    train = Corpus.from_text(list(config.text), lm.vocabulary)
    counts = count_text(train, order=config.order)
    estimates = estimate(smoother_of(config.smoothing), counts)
    costs = {
        "seconds_loading": loaded - begun,
        "lm_bytes": float(sum(p.numel() * p.element_size() for p in lm.model.parameters())),
        "seconds_counting": time.perf_counter() - loaded,
        "counted_tokens": float(train.words + train.sentences),
        "counts_bytes": float(sum(array.nbytes for array in estimates.counts.arrays().values())),
    }
    corpora = {name: Corpus.from_text(path, lm.vocabulary) for name, path in texts.items()}
    if 0 < train.sentences <= config.tune_lines:
        raise ConfigError(f"tune_lines is {config.tune_lines:,}, but the text has {train.sentences:,} lines.")
    if config.tune_lines:
        corpora = {"tune": train[train.sentences - config.tune_lines :], **corpora}
    elif corpora["valid"].sentences < 2:
        raise ConfigError("The validation text has one line, but it is split in two. Give more, or lines to tune on.")
    others, counted = other_blocks(config, lm)
    counted[NGRAM] = train, counts
    return Prepared(config, lm, block, NgramBlock(estimates), others, counted, corpora, costs)


def other_blocks(config: AdaptConfig, lm: CausalLm) -> tuple[dict[str, Block], dict[str, tuple[Corpus, Counts]]]:
    """The columns besides the model and the counts of the text, in the order of the settings, and what was counted."""
    found: dict[str, Block] = {}
    counted: dict[str, tuple[Corpus, Counts]] = {}
    for path in config.beside:
        name = free(re.sub(r"[^\w-]", "-", path.name.partition(".")[0]), found)
        text = Corpus.from_text(path, lm.vocabulary)
        counted[name] = text, count_text(text, order=config.order)
        found[name] = NgramBlock(estimate(smoother_of(config.smoothing), counted[name][1]))
    for path in config.index:
        found[free("infinite", found)] = InfiniteBlock.configured(lm.vocabulary, index=str(path))
    if config.online:
        found["online"] = OnlineBlock(lm.vocabulary, order=config.online)
    if config.cache:
        found["cache"] = CacheBlock(lm.vocabulary, words=config.cache)
    return found, counted


def free(name: str, taken: dict[str, Block]) -> str:
    """A name that no block has yet."""
    names = (f"{name}{number or ''}" for number in count())
    return next(one for one in names if one not in (LM, NGRAM, "online", "cache", *taken))


def rows_of(own: Prepared, name: str) -> LogRows:
    """The rows of a text: the model's from its pass, the others' from all but the lines to tune on, if it is those."""
    corpus, reading = own.corpora[name], own.config.reading
    ids = np.asarray(corpus.ids)
    entry = entry_of(ids, own.lm, reading, fingerprint=own.block.source["sha256"])
    found = run_pass(ids, own.lm, reading, entry, title=f"the model over {name}")
    if found.computed:
        own.costs[f"lm_tokens_per_second_{name}"] = found.computed / found.seconds
    begun = time.perf_counter()
    with new_rows(ids, corpus.starts, own.blocks) as rows:
        for table, values in zip(rows.block(LM), np.split(found.values_PX, [1], axis=1), strict=True):
            table[:] = 0.0
            table[predicted(own, rows)] = values
        for column, block in own.blocks.items():
            if column == LM:
                continue
            log_probs_TK, features_TF = (np.empty_like(table) for table in rows.block(column))
            if name == "tune":
                fill_held_out(own, column, block, log_probs_TK, features_TF)
            else:
                block.log_rows(ids, log_probs_TK, features_TF)
            for table, values in zip(rows.block(column), (log_probs_TK, features_TF), strict=True):
                table[:] = values
    own.costs[f"seconds_rows_{name}"] = time.perf_counter() - begun
    return rows


def fill_held_out(own: Prepared, column: str, block: Block, log_probs_TK: AnyFloats, features_TF: AnyFloats) -> None:
    """The rows of the lines to tune on from everything else that the block was made from."""
    lines = own.corpora["tune"]
    ids = np.asarray(lines.ids)
    if isinstance(block, NgramBlock):
        text, counts = own.counted[column]
        fold = Fold(ids, counted=also_in(text, lines))
        HeldOutColumns.of(counts, block.estimates).copy().fill(fold, log_probs_TK, features_TF)
    elif (without := block.held_out(lines.ids, lines.starts)) is not None:
        without.fill(Fold(ids), log_probs_TK, features_TF)
    else:
        block.log_rows(ids, log_probs_TK, features_TF)


def also_in(text: Corpus, lines: Corpus) -> Bools:
    """True at the places of lines that the text has, too, each as often as it stands there at most."""
    left = Counter(in_lines(text))
    known = list[bool]()
    for line in in_lines(lines):
        known.append(left[line] > 0)
        left[line] -= 1
    return np.repeat(np.array(known), np.diff(lines.starts))


def in_lines(text: Corpus) -> Iterator[bytes]:
    """Line by line, what can be compared."""
    ids = np.asarray(text.ids)
    return (ids[low:high].tobytes() for low, high in pairwise(text.starts.tolist()))


def predicted(own: Prepared, rows: LogRows) -> Bools:
    """Where a token is predicted."""
    here: Bools = rows.ids != own.lm.vocabulary.start
    return here


def tuning_parts(own: Prepared, rows: dict[str, LogRows]) -> tuple[LogRows, LogRows]:
    """What the net is trained on, and what says when to stop; no part of either was counted."""
    if "tune" in rows:
        return rows["tune"], rows["valid"]
    lines = rows["valid"].sentences
    cut = lines - max(1, lines // STOPPING)
    return rows["valid"].part(0, cut), rows["valid"].part(cut, lines)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def probs_of(own: Prepared, rows: LogRows) -> Floats:
    """(P, K): the rows of D at the predicted positions."""
    return np.exp(rows.log_probs_TD[predicted(own, rows)].astype(np.float64))


def lm_and_ngram(own: Prepared, rows: LogRows) -> Floats:
    """(P, 2): the model, and the whole n-gram model (all orders under the weights of its own smoothing)."""
    vocabulary = own.lm.vocabulary
    layout = ColumnLayout({NGRAM: own.ngram, "uniform": UniformBlock(vocabulary)})
    features_PF = rows.block(NGRAM)[1][predicted(own, rows)].astype(np.float64)
    weights_PK = HeuristicMixer(layout, own.ngram.estimates.smoother).weights(features_PF)
    probs_P1, probs_PN = (np.exp(rows.block(name)[0][predicted(own, rows)].astype(np.float64)) for name in (LM, NGRAM))
    whole_P = (weights_PK[:, :-1] * probs_PN).sum(axis=1) + weights_PK[:, -1] / len(vocabulary)
    return np.stack([probs_P1[:, 0], whole_P], axis=1)


def scored(
    own: Prepared, name: str, rows: LogRows, weights_K: Floats, whole_2: Floats, net: NetMixer
) -> dict[str, ScoredText]:
    """A text under the model alone, the counts alone, and the mixtures of both."""
    whole_P2, here = lm_and_ngram(own, rows), predicted(own, rows)
    with np.errstate(divide="ignore"):
        logs = {
            "lm alone": rows.block(LM)[0][here, 0].astype(np.float64),
            "n-gram model alone": np.log(whole_P2[:, 1]),
            "static, lm and n-gram model": np.log(whole_P2 @ whole_2),
            STATIC: np.log(probs_of(own, rows) @ weights_K),
        }
    begun, out = time.perf_counter(), np.zeros(len(rows.ids))
    net.score_rows(rows, out)
    logs["learned"] = out[here]
    own.costs[f"mixer_tokens_per_second_{name}"] = here.sum() / max(time.perf_counter() - begun, 1e-9)
    size = own.corpora[name].size
    return {mixture: ScoredText.of(rows.ids[here], log_probs_P, size) for mixture, log_probs_P in logs.items()}


def peak_memory() -> float:
    """The most memory that this process has had, in bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
