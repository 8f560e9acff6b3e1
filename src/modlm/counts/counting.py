"""From text to counts in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np

from modlm.counts.counts import Counts
from modlm.counts.engine import CountOptions
from modlm.counts.skip import SkipCounts, build
from modlm.counts.spark import spark_tally
from modlm.counts.spark.store import has_scheme
from modlm.counts.tally import LocalTally, Tally
from modlm.errors import VocabularyError
from modlm.families import ENGINES
from modlm.files import scratch_folder
from modlm.text.corpus import Corpus
from modlm.text.options import TextOptions
from modlm.text.sources import Files, Text, source_of
from modlm.text.vocabulary import Vocabulary

COUNTING, READING = CountOptions(), TextOptions()


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
    counting = CountOptions.asked(
        order=order, edge=edge, positions=positions, engine=engine, memory=memory, temporary=temporary,
        workers=workers, master=master,
    )  # fmt: skip
    reading = TextOptions(
        vocabulary=vocabulary, max_words=max_words, min_count=min_count, unknown_name=unknown_name,
        encoding_errors=encoding_errors, workers=workers,
    )  # fmt: skip
    with tally_text(text, counting, reading) as tally:
        return tally.counts


@contextmanager
def tally_text(
    text: Text | Corpus, counting: CountOptions = COUNTING, reading: TextOptions = READING
) -> Iterator[Tally]:
    """The same with what goes beside counts; the tally is good inside the block, counts it gave stay good."""
    count = ENGINES.choose(counting.engine)
    if counting.engine == "spark":
        with _spark_tally(text, counting, reading) as tally:
            yield tally
        return
    with _as_corpus(text, reading, counting.temporary, on_disk=counting.engine == "disk") as corpus:
        counts = _count_skips(corpus, counting) if counting.skips else count(corpus, counting)
        yield LocalTally(corpus, counts)


@contextmanager
def _spark_tally(text: Text | Corpus, counting: CountOptions, reading: TextOptions) -> Iterator[Tally]:
    """Files go to Spark as they are; sentences, corpora and tokens are made into ids here."""
    words = reading.vocabulary is None or reading.vocabulary.units == Vocabulary.units
    source = source_of(text) if words and not isinstance(text, Corpus) else None
    if isinstance(source, Files):
        paths = [text] if isinstance(text, str) else [str(path) for path in source.paths]
        with spark_tally(paths, counting, reading) as tally:
            yield tally
        return
    place = counting.temporary
    local = None if place is not None and has_scheme(os.fspath(place)) else place
    again = cast("Text", source.items) if source is not None else text
    with (
        _as_corpus(again, reading, local, on_disk=True) as corpus,
        spark_tally(corpus, counting, reading) as tally,
    ):
        yield tally


def _count_skips(corpus: Corpus, counting: CountOptions) -> SkipCounts:
    assert counting.positions is not None
    ids = np.asarray(corpus.ids)
    trie, frequencies = build(ids, vocab_size=len(corpus.vocabulary), positions=counting.positions)
    return SkipCounts(corpus.vocabulary, trie, frequencies, sentences=corpus.sentences)


@contextmanager
def _as_corpus(
    text: Text | Corpus, reading: TextOptions, temporary: str | os.PathLike[str] | None, *, on_disk: bool
) -> Iterator[Corpus]:
    """The text as ids: in memory, or in a folder that goes away again."""
    if isinstance(text, Corpus):
        if reading.vocabulary is not None and reading.vocabulary != text.vocabulary:
            raise VocabularyError("The corpus has a vocabulary already, and another was given. Leave that out.")
        yield text
    elif on_disk:
        with scratch_folder(temporary) as place:
            yield Corpus.read(text, reading, place / "corpus")
    else:
        yield Corpus.read(text, reading)
