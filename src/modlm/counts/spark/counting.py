"""From texts or a corpus to counts, by Spark: which jobs run, and how their tables become arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from modlm.counts.counts import Counts
from modlm.counts.disk_runs import OUT_ROWS, RowsUK
from modlm.counts.disk_trie import TrieWriter
from modlm.counts.engine import CountOptions
from modlm.counts.spark.folds import in_folds
from modlm.counts.spark.session import spark_session
from modlm.counts.spark.store import Store, working_store
from modlm.counts.spark.text import Lines, encode, lines_of, vocabulary_of, write_corpus
from modlm.counts.spark.windows import Windows
from modlm.counts.tally import Tally
from modlm.ground.progress import progress
from modlm.store.npy import new_npy
from modlm.text.corpus import Corpus
from modlm.text.options import TextOptions
from modlm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT_OF_A_PARTITION = 8 << 20  # bytes of text whose windows make one part of a shuffle
MOST_PARTITIONS = 20_000
SHUFFLE, FILES = "spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum"


class SparkTally(Tally):
    """A text whose sentences lie as ids in the store, counted, and what goes beside its counts, made when asked for."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        vocabulary: Vocabulary,
        options: CountOptions,
        *,
        sentences: int,
        lines: Lines | None = None,
        sources: Sequence[int] = (),
    ) -> None:
        self.store, self.folder, self.sentences = store, folder, sentences
        self.sources = sources or (sentences,)
        self.how = Windows(options.order, len(vocabulary), options.edge)
        self.lines = lines
        store.write("windows", self.how.counted(store.read("sentences")), title="counting n-grams")
        with self._writer() as writer, progress("writing", unit="n-grams") as bar:
            for rows_UK in self._rows("windows"):
                writer.append(rows_UK)
                bar.advance(len(rows_UK))
            trie, frequencies = writer.finish(workers=options.workers)
        store.drop("windows")
        self.counts = Counts(vocabulary, trie, frequencies, edge=options.edge, sentences=sentences)

    def held_out(self, folds: int) -> Iterator[Counts]:
        """For each fold the counts of everything else: windows are counted for each fold apart, and left out here."""
        whole = self.counts
        parts, sizes = in_folds(self.store, self.lines, self.sources, folds)
        self.store.write("folds", self.how.counted(parts, "fold"), title="counting folds")
        for fold, size in enumerate(sizes):
            with self._writer(frequencies_only=True) as writer:
                for rows_UK in self._rows("folds", without=fold):
                    writer.append(rows_UK)
                frequencies = writer.finish_frequencies(whole.frequencies.dtype)
            yield whole.with_frequencies(frequencies, sentences=self.sentences - size)
        self.store.drop("folds")

    def continuation(self) -> Counts:
        """The counts that Kneser-Ney smooths; in a file, as the counts themselves are."""
        path, frequencies = self.folder / "continuation.npy", self.counts.frequencies
        continued = self.counts.continuation(new_npy(path, dtype=frequencies.dtype, shape=frequencies.shape))
        path.unlink()
        return continued

    def _writer(self, *, frequencies_only: bool = False) -> TrieWriter:
        return TrieWriter(
            self.folder, order=self.how.order, vocab_size=self.how.vocab_size, frequencies_only=frequencies_only
        )

    def _rows(self, name: str, *, without: int | None = None) -> Iterator[RowsUK]:
        """A table of windows as the writer takes them; those of a fold without their counts."""
        columns = [*self.how.keys, "count", *([] if without is None else ["fold"])]
        for batch in self.store.batches(name, columns, rows=OUT_ROWS):
            arrays = [np.asarray(column) for column in batch.columns]
            rows_UK = np.stack([array.view(np.uint64) for array in arrays[: len(self.how.keys) + 1]], axis=1)
            if without is not None:
                rows_UK[arrays[-1] == without, -1] = 0
            yield rows_UK


@contextmanager
def spark_tally(
    text: Sequence[str] | Corpus, options: CountOptions, reading: TextOptions | None = None
) -> Iterator[SparkTally]:
    """Texts at any paths that Spark reads, or one that is here as ids.

    The tally is good inside the block; counts it gave stay good.
    """
    with spark_session(options) as session, working_store(session, options.temporary) as (store, folder):
        if isinstance(text, Corpus):
            write_corpus(store, text)
            with _partitions(session, 5 * len(text.ids)):
                yield SparkTally(
                    store, folder, text.vocabulary, options, sentences=text.sentences, sources=text.sources
                )
            return
        lines = lines_of(session, text, reading or TextOptions())
        with _partitions(session, lines.bytes):
            given = lines.options.vocabulary
            vocabulary = vocabulary_of(store, lines) if given is None else given
            sentences = encode(store, lines, vocabulary)
            yield SparkTally(store, folder, vocabulary, options, sentences=sentences, lines=lines)


def count(corpus: Corpus, options: CountOptions) -> Counts:
    with spark_tally(corpus, options) as tally:
        return tally.counts


@contextmanager
def _partitions(session: SparkSession, size: int) -> Iterator[None]:
    """Parts of shuffles by the size of the text, and parts of files that stay the same from job to job.

    The user's own number of the former is kept. The latter would follow the cores that the cluster happens to have.
    """
    parallel = session.sparkContext.defaultParallelism
    chosen = {FILES: str(parallel)}
    if not session.sparkContext.getConf().contains(SHUFFLE):
        chosen[SHUFFLE] = str(min(MOST_PARTITIONS, max(parallel, -(-size // TEXT_OF_A_PARTITION))))
    before = {name: session.conf.get(name, None) for name in chosen}
    for name, value in chosen.items():
        session.conf.set(name, value)
    try:
        yield
    except Exception:
        with suppress(Exception):  # a session that broke off has nothing to get back
            _set_back(session, before)
        raise
    _set_back(session, before)  # not after Ctrl-C, when Java still works on what it was asked


def _set_back(session: SparkSession, before: dict[str, str | None]) -> None:
    for name, old in before.items():
        session.conf.unset(name) if old is None else session.conf.set(name, old)
