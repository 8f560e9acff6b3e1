"""From text to counts in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

import numpy as np

from modlm.counts.counts import Counts, check_edge, check_order
from modlm.counts.engine import bytes_of
from modlm.counts.skip import SkipCounts, build, check_positions, is_contiguous
from modlm.counts.spark import Cluster, tally_of_corpus, tally_of_texts
from modlm.counts.spark.store import has_scheme
from modlm.counts.tally import LocalTally, Tally
from modlm.errors import ConfigError, VocabularyError
from modlm.families import ENGINES
from modlm.files import scratch_folder
from modlm.text.corpus import Corpus
from modlm.text.encoding import TextRules
from modlm.text.reading import WordLimits
from modlm.text.sources import Files, Sentences, Text, source_of
from modlm.text.vocabulary import Vocabulary


def count_text(
    text: Text | Corpus,
    *,
    order: int | None = None,
    vocabulary: Vocabulary | None = None,
    edge: str = "once",
    positions: Sequence[int] | None = None,
    engine: str | None = None,
    memory: int | str | None = None,
    temporary: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    master: str | None = None,
    max_words: int | None = None,
    min_count: int = 1,
    unknown_name: bool = True,
    encoding_errors: str = "strict",
) -> Counts:
    """Counts of a text: files, sentences or a corpus, up to an order (5).

    `positions` instead of an order gives skip n-grams, as `counts.skip` says. The engine is `memory`, unless there is
    a `memory` limit ("2GB"): then it is `disk`, with its files in `temporary`; `spark` counts where `master` says. The
    rest is as for `Corpus.from_text`.
    """
    order, edge = _order_and_edge(order, edge, positions)
    with tally_text(
        text, order=order, vocabulary=vocabulary, edge=edge, positions=positions, engine=engine, memory=memory,
        temporary=temporary, workers=workers, master=master, max_words=max_words, min_count=min_count,
        unknown_name=unknown_name, encoding_errors=encoding_errors,
    ) as tally:  # fmt: skip
        return tally.counts


@contextmanager
def tally_text(
    text: Text | Corpus,
    *,
    order: int = 5,
    vocabulary: Vocabulary | None = None,
    edge: str = "once",
    positions: Sequence[int] | None = None,
    engine: str | None = None,
    memory: int | str | None = None,
    temporary: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    master: str | None = None,
    max_words: int | None = None,
    min_count: int = 1,
    unknown_name: bool = True,
    encoding_errors: str = "strict",
) -> Iterator[Tally]:
    """The same with what goes beside counts; the tally is good inside the block, counts it gave stay good."""
    limit = None if memory is None else bytes_of(memory)
    name = engine or ("memory" if memory is None else "disk")
    count = ENGINES.choose(name)
    skips = positions is not None and not is_contiguous(positions)
    if skips and name != "memory":
        raise ConfigError("Skip n-grams are counted in memory. Leave out the memory limit and the engine.")
    if name == "spark":
        with _spark_tally(
            text, vocabulary, order=order, edge=edge, temporary=temporary, workers=workers,
            cluster=Cluster(master=master, memory=limit), limits=WordLimits(max_words=max_words, min_count=min_count),
            rules=TextRules(unknown_name=unknown_name, encoding_errors=encoding_errors),
        ) as tally:  # fmt: skip
            yield tally
        return
    with _as_corpus(
        text, vocabulary, on_disk=name == "disk", temporary=temporary, max_words=max_words, min_count=min_count,
        unknown_name=unknown_name, encoding_errors=encoding_errors, workers=workers,
    ) as corpus:  # fmt: skip
        if skips and positions is not None:
            yield LocalTally(corpus, _count_skips(corpus, positions))
        else:
            counts = count(corpus, order=order, edge=edge, memory=limit, temporary=temporary, workers=workers)
            yield LocalTally(corpus, counts)


def _spark_tally(
    text: Text | Corpus,
    vocabulary: Vocabulary | None,
    *,
    order: int,
    edge: str,
    temporary: str | os.PathLike[str] | None,
    workers: int | None,
    cluster: Cluster,
    limits: WordLimits,
    rules: TextRules,
) -> AbstractContextManager[Tally]:
    """Files go to Spark as they are; sentences, corpora and tokens are made into ids here."""
    source = text if isinstance(text, Corpus) else source_of(text)
    words = vocabulary is None or vocabulary.units == Vocabulary.units
    if isinstance(source, Files) and words:
        paths = [text] if isinstance(text, str) else [str(path) for path in source.paths]
        if vocabulary is not None and limits != WordLimits():
            raise ConfigError("max_words and min_count choose words for a new vocabulary, but one was given already.")
        return tally_of_texts(
            paths, order=order, edge=edge, vocabulary=vocabulary, limits=limits, rules=rules, cluster=cluster,
            temporary=temporary, workers=workers,
        )  # fmt: skip
    return _tally_here(
        source, vocabulary, order=order, edge=edge, temporary=temporary, workers=workers, cluster=cluster,
        limits=limits, rules=rules,
    )  # fmt: skip


@contextmanager
def _tally_here(
    source: Files | Sentences | Corpus,
    vocabulary: Vocabulary | None,
    *,
    order: int,
    edge: str,
    temporary: str | os.PathLike[str] | None,
    workers: int | None,
    cluster: Cluster,
    limits: WordLimits,
    rules: TextRules,
) -> Iterator[Tally]:
    local = None if temporary is not None and has_scheme(os.fspath(temporary)) else temporary
    text = source if isinstance(source, Corpus) else source.paths if isinstance(source, Files) else source.items
    with (
        _as_corpus(
            cast("Text | Corpus", text), vocabulary, on_disk=True, temporary=local, max_words=limits.max_words,
            min_count=limits.min_count, unknown_name=rules.unknown_name, encoding_errors=rules.encoding_errors,
            workers=workers,
        ) as corpus,
        tally_of_corpus(
            corpus, order=order, edge=edge, cluster=cluster, temporary=temporary, workers=workers
        ) as tally,
    ):  # fmt: skip
        yield tally


def _order_and_edge(order: int | None, edge: str, positions: Sequence[int] | None) -> tuple[int, str]:
    """The order that the positions make, with the edge that they mean."""
    check_edge(edge)
    if positions is None:
        order = 5 if order is None else order
        check_order(order)
        return order, edge
    check_positions(positions)
    if order is not None and order != len(positions) + 1:
        raise ConfigError(f"{len(positions)} positions make the order {len(positions) + 1}, but order is {order}.")
    return len(positions) + 1, "repeat"


def _count_skips(corpus: Corpus, positions: Sequence[int]) -> SkipCounts:
    ids = np.asarray(corpus.ids)
    trie, frequencies = build(ids, vocab_size=len(corpus.vocabulary), positions=positions)
    return SkipCounts(corpus.vocabulary, trie, frequencies, sentences=corpus.sentences)


@contextmanager
def _as_corpus(
    text: Text | Corpus,
    vocabulary: Vocabulary | None,
    *,
    on_disk: bool,
    temporary: str | os.PathLike[str] | None,
    max_words: int | None,
    min_count: int,
    unknown_name: bool,
    encoding_errors: str,
    workers: int | None,
) -> Iterator[Corpus]:
    """The text as ids: in memory, or in a folder that goes away again."""
    if isinstance(text, Corpus):
        if vocabulary is not None and vocabulary != text.vocabulary:
            raise VocabularyError("The corpus has a vocabulary already, and another was given. Leave that out.")
        yield text
        return
    with scratch_folder(temporary) if on_disk else nullcontext() as place:
        yield Corpus.from_text(
            text,
            vocabulary,
            max_words=max_words,
            min_count=min_count,
            unknown_name=unknown_name,
            encoding_errors=encoding_errors,
            workers=workers,
            folder=place / "corpus" if place else None,
        )
