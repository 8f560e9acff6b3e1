"""Everything a run needs before its first step: vocabulary, texts, rows, the net and its batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS
from modlm.blocks.block import Block, Span
from modlm.nets.block_dropout import BlockDropout
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from modlm.training.batches import Batches, BatchSource, DenseRows, Streams
from modlm.training.blocks import blocks_of, columns_of
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.leaks import warn_of_leaks
from modlm.training.shared_texts import SharedTexts, shared_texts, sums_over_machines
from modlm.training.text_rows import TextRows
from modlm.training.trainer import Texts

EVALUATION_STEPS = 256  # context = document: predictions of each stream in a batch of an evaluation


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that has not begun."""

    texts: SharedTexts
    net: MixerNet
    block_dropout: BlockDropout

    @property
    def rows(self) -> dict[str, TextRows]:
        """By name: train, valid, and test if there is one."""
        return self.texts.rows

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the texts, in a process that has read them; the first process has."""
        return self.texts.corpora["train"].vocabulary

    def blocks(self, config: RunConfig) -> dict[str, Block]:
        """All columns, from all counts, as the model keeps them."""
        return blocks_of(config, self.vocabulary, self.texts.columns())

    def fingerprints(self) -> dict[str, str]:
        """What the texts and the vocabulary are, so that a run is not taken up with others."""
        prints = self.vocabulary.fingerprints()
        return prints | {name: corpus.fingerprint for name, corpus in self.texts.corpora.items()}


def prepare(config: RunConfig, processes: Processes) -> Prepared:
    """Read, count and make rows, once on each machine; all processes call this together."""
    texts = shared_texts(config, processes, train_batches)
    if processes.leads:
        as_they_are = [name for name, columns in columns_of(config).items() if not columns.held_out]
        warn_of_leaks(as_they_are, texts.rows, texts.vocab_size)
    net = make_net(config, texts, processes)
    block_dropout = BlockDropout(config.block_dropout, dense_spans(config, texts.rows["train"]), delta=net.delta)
    return Prepared(texts, net.to(processes.device), block_dropout)


def constant_names(config: RunConfig) -> tuple[str, ...]:
    """The constant columns of a run in the order of the model."""
    return tuple(name for name in CONSTANT_BLOCKS if name in config.extra)


def dense_spans(config: RunConfig, rows: TextRows) -> dict[str, Span]:
    """Where the dense columns of each block stand: those of the rows, then the constant ones."""
    spans = {name: Span(name, slice(*block.columns), slice(*block.features)) for name, block in rows.blocks.items()}
    columns, features = rows.log_probs_TC.shape[1], rows.features_TF.shape[1]
    for place, name in enumerate(constant_names(config), start=columns):
        spans[name] = Span(name, slice(place, place + 1), slice(features, features))
    return spans


def make_net(config: RunConfig, texts: SharedTexts, processes: Processes) -> MixerNet:
    """The net with its first parameters, and features scaled by the training text."""
    train = texts.rows["train"]
    counted_T = np.ones(len(train.ids), np.bool_)
    counted_T[np.asarray(train.starts[:-1])] = False
    features_TF = train.features_TF if processes.leads_machine else train.features_TF[:0]
    add_up = sums_over_machines(processes)
    return MixerNet(
        config.net,
        vocab_size=texts.vocab_size,
        features=train.features_TF.shape[1],
        dense=train.log_probs_TC.shape[1] + len(constant_names(config)),
        delta=config.kind != "interpolated",
        scaling=FeatureScaling.fit(
            features_TF, config.net.features, counted_T=counted_T, steady_F=train.steady_F, add_up=add_up
        ),
        seed=config.seed,
    )


def texts_of(config: RunConfig, prepared: Prepared) -> Texts:
    """The batches of a run."""
    corpora = prepared.texts.corpora
    return Texts(
        train_batches(config, dense_rows(config, prepared, "train")),
        evaluation_batches(config, prepared, "valid"),
        evaluation_batches(config, prepared, "test") if "test" in prepared.rows else None,
        lambda number: _sentence(corpora["train"], number) if corpora else "",
    )


def train_batches(config: RunConfig, dense: DenseRows) -> BatchSource:
    """Sentences of like length, or streams."""
    schedule = config.schedule
    if config.net.context == "document":
        return Streams(dense, streams=max(1, schedule.batch_words // schedule.steps), steps=schedule.steps)
    return Batches(dense, batch_words=schedule.batch_words, seed=config.seed)


def evaluation_batches(config: RunConfig, prepared: Prepared, text: str, *, streams: int = 0) -> BatchSource:
    """Large batches. A document is cut into a few streams, to be fast; one stream is what the model itself scores."""
    words, dense = config.schedule.evaluation_words, dense_rows(config, prepared, text)
    if config.net.context == "document":
        streams = streams or max(1, words // EVALUATION_STEPS)
        return Streams(dense, streams=streams, steps=max(1, words // streams))
    return Batches(dense, batch_words=words, seed=config.seed)


def dense_rows(config: RunConfig, prepared: Prepared, text: str) -> DenseRows:
    """The rows of a text with the constant columns of the run."""
    reads = config.net.words if "word" in config.net.inputs else 0
    part = prepared.texts.part if text == "train" else None
    return DenseRows(prepared.rows[text], prepared.texts.vocab_size, reads, constant_names(config), part)


def _sentence(corpus: Corpus, number: int) -> str:
    ids = corpus.ids[corpus.starts[number] + 1 : corpus.starts[number + 1] - 1]
    return " ".join(corpus.vocabulary.decode(ids))
