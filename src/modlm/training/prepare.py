"""Everything a run needs before its first step: vocabulary, texts, rows, the net and its batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modlm.blocks.block import Block
from modlm.blocks.log_rows import LogRows
from modlm.nets.batches import BatchSource, Sentences, Streams
from modlm.nets.block_dropout import BlockDropout
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from modlm.training.blocks import all_blocks, columns_of
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.leaks import warn_of_leaks
from modlm.training.shared_texts import SharedTexts, shared_texts, sums_over_machines
from modlm.training.trainer import Texts

EVALUATION_STEPS = 256  # context = document: predictions of each stream in a batch of an evaluation


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that has not begun."""

    texts: SharedTexts
    net: MixerNet
    block_dropout: BlockDropout

    @property
    def rows(self) -> dict[str, LogRows]:
        """By name: train, valid, and test if there is one."""
        return self.texts.rows

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the texts, in a process that has read them; the first process has."""
        return self.texts.corpora["train"].vocabulary

    def blocks(self, config: RunConfig) -> dict[str, Block]:
        """All columns, from all counts, as the model keeps them."""
        return all_blocks(config, self.vocabulary, self.texts.blocks())

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
    block_dropout = BlockDropout(config.block_dropout, texts.rows["train"].spans, delta=net.delta)
    return Prepared(texts, net.to(processes.device), block_dropout)


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
        dense=train.log_probs_TD.shape[1],
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
        train_batches(config, prepared.rows["train"]),
        evaluation_batches(config, prepared.rows["valid"]),
        evaluation_batches(config, prepared.rows["test"]) if "test" in prepared.rows else None,
        lambda number: _sentence(corpora["train"], number) if corpora else "",
    )


def train_batches(config: RunConfig, rows: LogRows) -> BatchSource:
    """Sentences of like length, or streams."""
    words, steps = config.schedule.batch_words, config.schedule.steps
    if config.net.context == "document":
        return Streams(rows, context_words(config), streams=max(1, words // steps), steps=steps)
    return Sentences(rows, context_words(config), most=words)


def evaluation_batches(config: RunConfig, rows: LogRows, *, streams: int = 0) -> BatchSource:
    """Large batches. A document is cut into a few streams, to be fast; one stream is what the model itself scores."""
    words = config.schedule.evaluation_words
    if config.net.context == "document":
        streams = streams or max(1, words // EVALUATION_STEPS)
        return Streams(rows, context_words(config), streams=streams, steps=max(1, words // streams))
    return Sentences(rows, context_words(config), most=words)


def context_words(config: RunConfig) -> int:
    """How many words before a position the net reads."""
    return config.net.words if "word" in config.net.inputs else 0


def _sentence(corpus: Corpus, number: int) -> str:
    ids = corpus.ids[corpus.starts[number] + 1 : corpus.starts[number + 1] - 1]
    return " ".join(corpus.vocabulary.decode(ids))
