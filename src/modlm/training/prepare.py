"""Everything a run needs before its first step: vocabulary, texts, rows, the net and its batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from modlm.blocks import CONSTANT_BLOCKS
from modlm.blocks.block import Block, Span
from modlm.nets.block_dropout import BlockDropout
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.text.corpus import Corpus
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import Vocabulary
from modlm.training.batches import Batches, BatchSource, DenseRows, Streams
from modlm.training.blocks import CountColumns, count_columns, dense_blocks
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.row_cache import cached_rows
from modlm.training.text_rows import TextRows
from modlm.training.trainer import Texts

EVALUATION_STEPS = 256  # context = document: predictions of each stream in a batch of an evaluation


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that has not begun."""

    vocabulary: Vocabulary
    corpora: dict[str, Corpus]
    """By name: train, valid, and test if there is one."""
    rows: dict[str, TextRows]
    net: MixerNet
    block_dropout: BlockDropout
    columns: Callable[[], Mapping[str, CountColumns]]
    """The count columns; counted when first asked for, which rows from the cache never do."""

    def blocks(self, config: RunConfig) -> dict[str, Block]:
        """All dense columns, from all counts, as the model keeps them."""
        return dense_blocks(config, self.vocabulary, self.columns())

    def fingerprints(self) -> dict[str, str]:
        """What the texts and the vocabulary are, so that a run is not taken up with others."""
        prints = self.vocabulary.fingerprints()
        return prints | {name: _sha256(corpus) for name, corpus in self.corpora.items()}


def prepare(config: RunConfig, processes: Processes) -> Prepared:
    """Read, count and make rows; the first process does so before the others, which then find the rows made."""
    if not processes.leads:
        processes.wait()
    corpora = read_texts(config)
    vocabulary = corpora["train"].vocabulary
    columns = cache(partial(count_columns, config, corpora["train"]))
    others = {name: corpus for name, corpus in corpora.items() if name != "train"}
    rows = cached_rows(config, corpora["train"], others, columns=columns)
    if processes.leads:
        processes.wait()
    net = make_net(config, vocabulary, rows["train"])
    block_dropout = BlockDropout(config.block_dropout, dense_spans(config, rows["train"]), delta=net.delta)
    return Prepared(vocabulary, corpora, rows, net.to(processes.device), block_dropout, columns)


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


def read_texts(config: RunConfig) -> dict[str, Corpus]:
    """The texts of a run as ids over one vocabulary."""
    words = config.vocabulary
    read = partial(Corpus.from_text, encoding_errors=config.encoding_errors)
    if words.tokenizer:
        train = read(config.text, TokenVocabulary.from_tokenizer(words.tokenizer))
    elif words.file:
        train = read(config.text, Vocabulary.from_file(words.file))
    else:
        train = read(config.text, max_words=words.max_words or None, min_count=words.min_count)
    corpora = {"train": train, "valid": read(config.valid, train.vocabulary)}
    if config.test:
        corpora["test"] = read(config.test, train.vocabulary)
    return corpora


def make_net(config: RunConfig, vocabulary: Vocabulary, train: TextRows) -> MixerNet:
    """The net with its first parameters, and features scaled by the training text."""
    predicted = np.ones(len(train.ids), np.bool_)
    predicted[np.asarray(train.starts[:-1])] = False
    return MixerNet(
        config.net,
        vocab_size=len(vocabulary),
        features=train.features_TF.shape[1],
        dense=train.log_probs_TC.shape[1] + len(constant_names(config)),
        delta=config.kind != "interpolated",
        scaling=FeatureScaling.fit(train.features_TF, config.net.features, counted_T=predicted),
        seed=config.seed,
    )


def texts_of(config: RunConfig, prepared: Prepared) -> Texts:
    """The batches of a run."""
    return Texts(
        train_batches(config, prepared),
        evaluation_batches(config, prepared, "valid"),
        evaluation_batches(config, prepared, "test") if "test" in prepared.rows else None,
        lambda number: _sentence(prepared.corpora["train"], number),
    )


def train_batches(config: RunConfig, prepared: Prepared) -> BatchSource:
    """Sentences of like length, or streams."""
    schedule, dense = config.schedule, dense_rows(config, prepared, "train")
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
    return DenseRows(prepared.rows[text], len(prepared.vocabulary), reads, constant_names(config))


def _sentence(corpus: Corpus, number: int) -> str:
    ids = corpus.ids[corpus.starts[number] + 1 : corpus.starts[number + 1] - 1]
    return " ".join(corpus.vocabulary.decode(ids))


def _sha256(corpus: Corpus) -> str:
    return hashlib.sha256(np.ascontiguousarray(corpus.ids).view(np.uint8).data).hexdigest()
