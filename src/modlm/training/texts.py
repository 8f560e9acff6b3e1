"""What a run needs before its first step: texts, read and made into rows once on each machine, batches, and the net.

The first process of a machine does that work and puts the rows into the cache; the others of the machine map them. With
several machines each makes the rows of those training sentences that its processes train on, and of no others: all
machines together have every row once. Validation and test texts, which are short, each machine has as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from modlm.blocks.log_rows import LogRows
from modlm.errors import InputError
from modlm.ground.arrays import Floats, Ints
from modlm.nets.batches import BatchSource, Sentences, Streams
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from modlm.text.corpus import Corpus
from modlm.text.options import TextOptions
from modlm.text.parallel import Parallel
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import Vocabulary
from modlm.training.blocks import RunBlock, columns_of, dense_blocks
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.leaks import warn_of_leaks
from modlm.training.row_cache import TRAIN, cached_rows

STEPS = 256  # context = document: predictions of each stream in a batch of an evaluation


@dataclass(frozen=True, slots=True)
class RunTexts:
    """What a process has of the texts of its run."""

    vocab_size: int
    rows: dict[str, LogRows]  # by name: train, valid, and test if there is one
    corpora: dict[str, Corpus]
    """The texts themselves; empty in processes that found the rows made. The first process has them."""
    blocks: Callable[[], Mapping[str, RunBlock]]
    """The dense blocks; counted when first asked for, which rows from the cache never do."""
    pairs: dict[str, Parallel] = field(default_factory=dict)  # the texts with their sources, where they have some

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the texts, in a process that has read them."""
        return self.corpora[TRAIN].vocabulary

    def fingerprints(self) -> dict[str, str]:
        """What the texts and the vocabulary are, so that a run is not taken up with others."""
        prints = self.vocabulary.fingerprints()
        prints |= {f"{name}_source": pairs.source.fingerprint for name, pairs in self.pairs.items()}
        return prints | {name: corpus.fingerprint for name, corpus in self.corpora.items()}

    @property
    def source_vocabulary(self) -> Vocabulary | None:
        return self.pairs[TRAIN].source.vocabulary if self.pairs else None

    def sentence(self, number: int) -> str:
        """A training sentence as text, for messages."""
        if not self.corpora:
            return ""
        train = self.corpora[TRAIN]
        return " ".join(train.vocabulary.decode(train.ids[train.starts[number] + 1 : train.starts[number + 1] - 1]))


def shared_texts(config: RunConfig, processes: Processes) -> RunTexts:
    """The texts, rows and blocks of a run; all processes call this together."""
    with processes.waiting_after("texts"):
        made, found = _made_or_found(config, processes)
    starts = None
    if processes.machines:
        starts = processes.spread_numbers(made.corpora[TRAIN].starts if made and processes.leads else None)
    if made is not None:
        return made
    rows = {name: LogRows.open(folder) for name, folder in found["folders"].items()}
    if starts is not None:
        rows[TRAIN] = replace(rows[TRAIN], text_starts=starts, kept=kept_here(config, processes, starts))
    return RunTexts(found["vocab_size"], rows, {}, dict)  # the blocks are those of the process that read the texts


def _made_or_found(config: RunConfig, processes: Processes) -> tuple[RunTexts | None, dict[str, Any]]:
    """What this process made of the texts, or where the first process of its machine has put it."""
    if config.source or (config.kind == "neural" and not config.extra):  # little to make: every process does it
        return _read_and_made(config, processes), {}
    made: list[RunTexts] = []

    def say() -> str:
        made.append(_read_and_made(config, processes))
        folders = {name: str(rows.folder) for name, rows in made[0].rows.items() if rows.folder is not None}
        cached = len(folders) == len(made[0].rows)
        return json.dumps({"vocab_size": made[0].vocab_size, "folders": folders if cached else {}})

    teller = processes.machine.start
    found = json.loads(processes.told(f"rows/{teller}", say, teller=teller))
    if not made and not found["folders"]:  # rows are in the memory of the process that made them
        made.append(_read_and_made(config, processes))
    return (made[0] if made else None), found


def _read_and_made(config: RunConfig, processes: Processes) -> RunTexts:
    corpora = read_texts(config)
    train, pairs = corpora[TRAIN], read_sources(config, corpora)
    blocks = cache(partial(dense_blocks, config, train, pairs.get(TRAIN)))
    others = {name: corpus for name, corpus in corpora.items() if name != TRAIN}
    kept = kept_here(config, processes, train.starts) if processes.machines else None
    rows = cached_rows(config, train, others, blocks=blocks, kept=kept, pairs=pairs)
    return RunTexts(len(train.vocabulary), rows, corpora, blocks, pairs)


def kept_here(config: RunConfig, processes: Processes, starts: Ints) -> Ints:
    """The training sentences that processes of this machine train on, rising."""
    nothing = np.zeros((0, 0), np.float32)
    plan = train_batches(config, LogRows(np.zeros(0, np.uint32), starts, nothing, nothing, {}))
    owners = plan.owners(processes.world)
    return np.flatnonzero((owners >= processes.machine.start) & (owners < processes.machine.stop))


def read_texts(config: RunConfig) -> dict[str, Corpus]:
    """The texts of a run as ids over one vocabulary."""
    words, text = config.vocabulary, list(map(Path, config.text))
    read = partial(Corpus.from_text, encoding_errors=config.encoding_errors)
    if words.tokenizer:
        train = read(text, TokenVocabulary.from_tokenizer(words.tokenizer))
    elif words.file:
        train = read(text, Vocabulary.from_file(words.file))
    else:
        train = read(text, max_words=words.max_words or None, min_count=words.min_count)
    if len(text) > 1 and len(train.sources) < len(text):
        raise InputError(
            "one of these has no sentences, and each text of a run is a source.", path=", ".join(config.text)
        )
    corpora = {TRAIN: train, "valid": read(config.valid, train.vocabulary)}
    if config.test:
        corpora["test"] = read(config.test, train.vocabulary)
    for name, corpus in corpora.items():
        if not corpus.sentences:
            path = ", ".join(config.text) if name == TRAIN else getattr(config, name)
            raise InputError("there is no sentence in the text. Give a text with one sentence per line.", path=path)
    return corpora


def read_sources(config: RunConfig, corpora: Mapping[str, Corpus]) -> dict[str, Parallel]:
    """The texts of a run with their sources, which have a vocabulary of their own; none without sources."""
    words, pairs = config.vocabulary, dict[str, Parallel]()
    options = TextOptions(
        max_words=words.max_words or None, min_count=words.min_count, encoding_errors=config.encoding_errors
    )
    for name, corpus in corpora.items() if config.source else ():
        paths = config.source if name == TRAIN else (getattr(config, f"{name}_source"),)
        source = Corpus.read([Path(path) for path in paths], options)
        own = ", ".join(config.text) if name == TRAIN else getattr(config, name)
        pairs[name] = Parallel(source, corpus, (", ".join(paths), own))
        options = TextOptions(vocabulary=pairs[TRAIN].source.vocabulary, encoding_errors=config.encoding_errors)
    return pairs


# ---- batches ---------------------------------------------------------------------------------------------------------


def train_batches(config: RunConfig, rows: LogRows) -> BatchSource:
    """Sentences of like length, or streams."""
    words, steps = config.schedule.batch_words, config.schedule.steps
    if config.net.context == "document":
        return Streams(rows, config.net.context_words, streams=max(1, words // steps), steps=steps)
    return Sentences(rows, config.net.context_words, most=words)


def evaluation_batches(config: RunConfig, rows: LogRows, *, streams: int = 0) -> BatchSource:
    """Large batches. A document is cut into a few streams, to be fast; one stream is what the model itself scores."""
    words = config.schedule.evaluation_words
    if config.net.context == "document":
        streams = streams or max(1, words // STEPS)
        return Streams(rows, config.net.context_words, streams=streams, steps=max(1, words // streams))
    return Sentences(rows, config.net.context_words, most=words)


# ---- all of it -------------------------------------------------------------------------------------------------------


def prepare(config: RunConfig, processes: Processes) -> tuple[RunTexts, MixerNet]:
    """Read, count and make rows, once on each machine; all processes call this together."""
    texts = shared_texts(config, processes)
    if processes.leads:
        dense = texts.rows["train"].spans
        as_they_are = [name for name, own in columns_of(config).items() if not own.held_out and name in dense]
        warn_of_leaks(as_they_are, texts.rows, texts.vocab_size)
    return texts, make_net(config, texts, processes).to(processes.device)


def make_net(config: RunConfig, texts: RunTexts, processes: Processes) -> MixerNet:
    """The net with its first parameters, and features scaled by the training text."""
    train = texts.rows["train"]
    counted_T = np.ones(len(train.ids), np.bool_)
    counted_T[train.starts[:-1]] = False

    def over_machines(sums: Floats) -> Floats:
        totals = torch.from_numpy(sums if processes.leads_machine else np.zeros_like(sums))
        processes.add_up_exactly(totals)
        return totals.numpy()

    features_TF = train.features_TF if processes.leads_machine else train.features_TF[:0]
    scaling = FeatureScaling.fit(
        features_TF, config.net.features, counted_T=counted_T, steady_F=train.steady_F, add_up=over_machines
    )
    source, over = texts.source_vocabulary, train.over_sources
    return MixerNet(
        replace(config.net, source_words=len(source) if source else 0),
        vocab_size=texts.vocab_size,
        features=train.features_TF.shape[1],
        dense=train.log_probs_TD.shape[1],
        delta=config.kind != "interpolated",
        over_source=(len(over.blocks), over.features_SF.shape[1]) if over else (0, 0),
        scaling=scaling,
        seed=config.seed,
    )
