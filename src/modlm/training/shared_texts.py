"""The texts of a run in every process that trains on them: read, counted and made into rows once on each machine.

The first process of a machine does that work and puts the rows into the cache; the others of the machine map them. With
several machines each makes the rows of those training sentences that its processes train on, and of no others: all
machines together have every row once. Validation and test texts, which are short, each machine has as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from modlm.arrays import Floats, Ints
from modlm.errors import InputError
from modlm.text.corpus import Corpus
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import Vocabulary
from modlm.training.batches import BatchSource, DenseRows, Part
from modlm.training.blocks import CountColumns, columns_of, count_columns
from modlm.training.config import RunConfig
from modlm.training.distributed import Processes
from modlm.training.row_cache import TRAIN, cached_rows
from modlm.training.text_rows import TextRows

Cut = Callable[[RunConfig, DenseRows], BatchSource]
"""How a run cuts its training text into batches."""


@dataclass(frozen=True, slots=True)
class SharedTexts:
    """What a process has of the texts of its run."""

    vocab_size: int
    rows: dict[str, TextRows]
    """By name: train, valid, and test if there is one."""
    part: Part | None
    """What the rows of the training text are rows of; None: of all of it."""
    corpora: dict[str, Corpus]
    """The texts themselves; empty in processes that found the rows made."""
    columns: Callable[[], Mapping[str, CountColumns]]
    """The count columns; counted when first asked for, which rows from the cache never do."""


def shared_texts(config: RunConfig, processes: Processes, cut: Cut) -> SharedTexts:
    """The texts, rows and columns of a run; all processes call this together."""
    with processes.waiting_after("texts"):
        made, found = _made_or_found(config, processes, cut)
    starts = None
    if processes.machines:
        starts = processes.spread_numbers(made.corpora[TRAIN].starts if made and processes.leads else None)
    if made is not None:
        return made
    rows = {name: TextRows.open(folder) for name, folder in found["folders"].items()}
    part = None if starts is None else Part(starts, kept_here(config, processes, cut, starts))
    return SharedTexts(found["vocab_size"], rows, part, {}, _no_columns)


def _made_or_found(config: RunConfig, processes: Processes, cut: Cut) -> tuple[SharedTexts | None, dict[str, Any]]:
    """What this process made of the texts, or where the first process of its machine has put it."""
    if not columns_of(config):  # no rows but words: every process reads them for itself, at the same time
        return _read_and_made(config, processes, cut), {}
    made: list[SharedTexts] = []

    def say() -> str:
        made.append(_read_and_made(config, processes, cut))
        return _whereabouts(made[0])

    teller = processes.machine.start
    found = json.loads(processes.told(f"rows/{teller}", say, teller=teller))
    if not made and not found["folders"]:  # rows are in the memory of the process that made them
        made.append(_read_and_made(config, processes, cut))
    return (made[0] if made else None), found


def _read_and_made(config: RunConfig, processes: Processes, cut: Cut) -> SharedTexts:
    corpora = read_texts(config)
    train = corpora[TRAIN]
    columns = cache(partial(count_columns, config, train))
    others = {name: corpus for name, corpus in corpora.items() if name != TRAIN}
    part = None
    if processes.machines:
        part = Part(train.starts, kept_here(config, processes, cut, train.starts))
    rows = cached_rows(config, train, others, columns=columns, kept=None if part is None else part.kept)
    return SharedTexts(len(train.vocabulary), rows, part, corpora, columns)


def _whereabouts(texts: SharedTexts) -> str:
    """Where the others of this machine find the rows; nowhere when they are not in the cache."""
    folders = {name: str(rows.folder) for name, rows in texts.rows.items() if rows.folder is not None}
    whole = len(folders) == len(texts.rows)
    return json.dumps({"vocab_size": texts.vocab_size, "folders": folders if whole else {}})


def _no_columns() -> Mapping[str, CountColumns]:
    raise AssertionError("only the process that read the texts can count them")


def kept_here(config: RunConfig, processes: Processes, cut: Cut, starts: Ints) -> Ints:
    """The training sentences that processes of this machine train on, rising."""
    nothing = np.zeros((0, 0), np.float32)
    plan = cut(config, DenseRows(TextRows(np.zeros(0, np.uint32), starts, nothing, nothing, {}), 0))
    owners = plan.owners(processes.world)
    return np.flatnonzero((owners >= processes.machine.start) & (owners < processes.machine.stop))


def sums_over_machines(processes: Processes) -> Callable[[Floats], Floats] | None:
    """Adds up what the first process of each machine gives, in all processes; none for a process alone."""
    if processes.world == 1:
        return None

    def add_up(sums: Floats) -> Floats:
        totals = torch.from_numpy(sums if processes.leads_machine else np.zeros_like(sums))
        processes.add_up_exactly(totals)
        return totals.numpy()

    return add_up


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
    return corpora
