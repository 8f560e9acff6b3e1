"""The columns of a run: what its settings name becomes blocks, from all counts.

Blocks are what a saved model keeps and what validation and test rows come from. With those of the training text itself
comes what is needed to make rows without a fold.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from modlm.blocks import CONSTANT_BLOCKS, DeltaBlock, NgramBlock
from modlm.blocks.block import DELTA, Block, HeldOut
from modlm.blocks.copy import CopyBlock
from modlm.blocks.held_out import HeldOutColumns
from modlm.blocks.lexicon import LexiconBlock
from modlm.blocks.model import ModelBlock
from modlm.counts.counting import count_text
from modlm.counts.counts import Counts
from modlm.counts.counts_folder import open_counts
from modlm.counts.imported import import_counts
from modlm.counts.translation.estimation import AlignmentOptions, estimate_table, estimate_without
from modlm.counts.translation.table import read_table
from modlm.errors import ConfigError, InputError, VocabularyError
from modlm.families import BLOCKS
from modlm.model.folder import load
from modlm.smoothing import estimate, smoother_of
from modlm.store.manifest import is_folder
from modlm.text.corpus import Corpus
from modlm.text.folds import fold_cuts
from modlm.text.parallel import Parallel
from modlm.text.vocabulary import Vocabulary
from modlm.training.config import ColumnsConfig, RunConfig, usual_columns
from modlm.training.leaks import check_block, check_text

COPY = "copy"
OVER_SOURCE = ("lexicon", COPY)  # kinds of blocks that need the sentences' sources


@dataclass(frozen=True, slots=True, eq=False)
class RunBlock:
    """A dense block of a run."""

    block: Block  # from all counts
    counts: Counts | None = None  # those of the training text, or of a part of it, if it comes from them
    counted: tuple[int, int] = (0, sys.maxsize)  # the positions of the training text that were counted, if not all
    without: HeldOut | None = None
    """What leaves folds of the training text out, if the block knows it in another way than by counts."""
    folds: Sequence[Block] = ()
    """The same block without each fold of the training text, if it was estimated from sentences and their sources."""

    def held_out(self) -> HeldOut:
        """The same columns without a fold of the training text that they come from."""
        if self.without is not None:
            return self.without
        assert self.counts is not None and isinstance(self.block, NgramBlock)
        return HeldOutColumns.of(self.counts, self.block.estimates)


def columns_of(config: RunConfig) -> dict[str, ColumnsConfig]:
    """The count blocks of a run by name: those it lists, or the usual ones where the kind needs some."""
    return dict(config.columns) or usual_columns(len(config.text), config.kind)


def dense_blocks(config: RunConfig, corpus: Corpus, pairs: Parallel | None = None) -> dict[str, RunBlock]:
    """The count blocks of a run, then the constant ones, in the order of their columns; `corpus` is the training text.

    `pairs` are its sentences with their sources, if they have some. Blocks of the training text that differ in their
    smoothing alone are counted once.
    """
    counted: dict[Hashable, Counts] = {}
    blocks = {
        name: _over_source(config, name, pairs) if own.block in OVER_SOURCE else _counted(name, own, corpus, counted)
        for name, own in columns_of(config).items()
    }
    constant = {name: kind for name, kind in CONSTANT_BLOCKS.items() if name in config.extra}
    return blocks | {name: RunBlock(kind(corpus.vocabulary)) for name, kind in constant.items()}


def all_blocks(config: RunConfig, vocabulary: Vocabulary, dense: Mapping[str, RunBlock]) -> dict[str, Block]:
    """All columns of the model: the dense blocks, then the deltas if it has any."""
    blocks: dict[str, Block] = {name: own.block for name, own in dense.items()}
    return blocks if config.kind == "interpolated" else {**blocks, DELTA: DeltaBlock(vocabulary)}


def _counted(name: str, config: ColumnsConfig, corpus: Corpus, counted: dict[Hashable, Counts]) -> RunBlock:
    if not config.held_out:
        block = _other_block(name, config, corpus)
        check_block(name, block, corpus)
        return RunBlock(block, without=block.held_out(corpus.ids, corpus.starts))
    own = corpus.source(config.source) if config.source else corpus
    key = (config.order, config.edge, config.positions, config.source, config.text)
    if key not in counted:
        others = [_other_text(name, config, corpus)] if config.text else []
        counted[key] = _count(config, Corpus.joined([own, *others]))
    begin = sum(corpus.sources[: config.source - 1]) if config.source else 0
    places = (int(corpus.starts[begin]), int(corpus.starts[begin + own.sentences]))
    return RunBlock(_smoothed(config, counted[key]), counted[key], places)


def _over_source(config: RunConfig, name: str, pairs: Parallel | None) -> RunBlock:
    """A block over the words of the source; a table of the training text is held out fold by fold."""
    own = config.columns[name]
    if pairs is None:
        raise ConfigError(f"columns.{name} reads a source. Name it with source = 'FILE', or with --source FILE.")
    words = (pairs.source.vocabulary, pairs.target.vocabulary)
    if own.block == COPY:
        return RunBlock(CopyBlock(*words))
    if "file" in own.settings:
        if others := [other for other in own.settings if other != "file"]:
            raise ConfigError(
                f"columns.{name}.settings names a file and {', '.join(others)}, but a table from a file is not "
                f"estimated. Leave out one or the other, or give each table a block of its own."
            )
        return RunBlock(LexiconBlock(read_table(own.settings["file"], *words)))
    with _settings_of(name, own):
        options = AlignmentOptions(**own.settings)
    cuts = fold_cuts(pairs.target.sources or (len(pairs),), config.folds)
    without = [LexiconBlock(table) for table in estimate_without(pairs, cuts, options)]
    return RunBlock(LexiconBlock(estimate_table(pairs, options)), folds=without)


def _other_block(name: str, config: ColumnsConfig, corpus: Corpus) -> Block:
    """A block that does not come from the training text."""
    if config.block:
        kind = BLOCKS[config.block]
        if not hasattr(kind, "configured"):
            raise ConfigError(f"columns.{name}.block: a {config.block!r} cannot be made from settings.")
        with _settings_of(name, config):
            block: Block = kind.configured(corpus.vocabulary, **config.settings)
        return block
    if config.model:
        return ModelBlock(load(config.model), corpus.vocabulary)
    if config.text:
        return _smoothed(config, _count(config, _other_text(name, config, corpus)))
    return _smoothed(config, _other_counts(config, corpus.vocabulary))


@contextmanager
def _settings_of(name: str, config: ColumnsConfig) -> Iterator[None]:
    try:
        yield
    except TypeError as error:
        raise ConfigError(f"columns.{name}.settings do not fit a {config.block!r}: {error}.") from error


def _smoothed(config: ColumnsConfig, counts: Counts) -> NgramBlock:
    return NgramBlock(estimate(smoother_of(config.smoothing), counts))


def _count(config: ColumnsConfig, corpus: Corpus) -> Counts:
    return count_text(corpus, order=config.order, edge=config.edge, positions=config.positions or None)


def _other_text(name: str, config: ColumnsConfig, corpus: Corpus) -> Corpus:
    texts = [Corpus.from_text(Path(path), corpus.vocabulary) for path in config.text]
    for text in texts:
        check_text(name, text, corpus)
    return Corpus.joined(texts)


def _other_counts(config: ColumnsConfig, vocabulary: Vocabulary) -> Counts:
    """Those of a counts folder or of count files, over our vocabulary."""
    paths = [Path(path) for path in config.counts]
    for path in paths:
        if not path.exists():
            raise InputError("there is no such counts folder or count file. Check columns.counts.", path=path)
    if not is_folder(path := paths[0], kind="counts"):
        return import_counts(paths, vocabulary=vocabulary).up_to(config.order)
    if len(paths) > 1:
        raise InputError("this counts folder must stand alone; only count files are taken together.", path=path)
    counts = open_counts(path)
    if counts.vocabulary != vocabulary:
        raise VocabularyError(
            f"The counts in {path} have another vocabulary ({len(counts.vocabulary)} words) than the run "
            f"({len(vocabulary)}). Set vocabulary.file to the vocabulary.txt in that folder, or count the text with "
            f"the run's vocabulary."
        )
    return counts.up_to(config.order)
