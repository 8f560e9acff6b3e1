"""From text to counts in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np

from modlm.config import choose
from modlm.counts.counts import Counts, check_edge, check_order
from modlm.counts.engine import bytes_of
from modlm.counts.skip import SkipCounts, build, check_positions, is_contiguous
from modlm.errors import ConfigError, VocabularyError
from modlm.files import scratch_folder
from modlm.text.corpus import Corpus
from modlm.text.sources import Text
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
    max_words: int | None = None,
    min_count: int = 1,
    unknown_name: bool = True,
    encoding_errors: str = "strict",
) -> Counts:
    """Counts of a text: files, sentences or a corpus, up to an order (5).

    `positions` instead of an order gives skip n-grams, as `counts.skip` says. The engine is `memory`, unless there is
    a `memory` limit ("2GB"): then it is `disk`, with its files in `temporary`. The rest is as for `Corpus.from_text`.
    """
    from modlm.counts import ENGINES

    order, edge = _order_and_edge(order, edge, positions)
    limit = None if memory is None else bytes_of(memory)
    name = engine or ("memory" if memory is None else "disk")
    count = choose(ENGINES, name, what="counting engine")
    skips = positions is not None and not is_contiguous(positions)
    if skips and name != "memory":
        raise ConfigError("Skip n-grams are counted in memory. Leave out the memory limit.")
    with _as_corpus(
        text, vocabulary, on_disk=name == "disk", temporary=temporary, max_words=max_words, min_count=min_count,
        unknown_name=unknown_name, encoding_errors=encoding_errors, workers=workers,
    ) as corpus:  # fmt: skip
        if skips and positions is not None:
            return _count_skips(corpus, positions)
        return count(corpus, order=order, edge=edge, memory=limit, temporary=temporary, workers=workers)


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
