"""Text to ids in Spark: lines of any files that it reads in; out a vocabulary, and a table of sentences as ids.

The rules are those of `modlm.text`: one sentence per line, words between ASCII white space, the vocabulary by falling
count, ties in the order of UTF-8 bytes (which is how Spark compares strings).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from modlm.counts.spark import functions as F
from modlm.counts.spark.failures import failures_as_errors
from modlm.counts.spark.store import Store, has_scheme
from modlm.counts.spark.watching import watched
from modlm.errors import InputError
from modlm.text.corpus import Corpus
from modlm.text.encoding import NOT_UTF8, refused_word
from modlm.text.folds import stretches
from modlm.text.options import TextOptions
from modlm.text.packing import packing_at
from modlm.text.vocabulary import END, Vocabulary
from modlm.text.word_list import END_NAME, HEADER, RESERVED, START_NAME, UNKNOWN_NAME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

WHITE_SPACE = r"[ \t\n\x0B\f\r\x00]+"
INVALID = "not UTF-8"  # with white space inside, so that no text has this word
GLOB = "\\[]{}*?"
ROWS = 1 << 16  # of a table, at a time
PIECE = 1 << 22  # ids written at a time


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of texts, each as often as given: columns `round`, `value`, and hidden ones that tell the file.

    `bytes` is how much there is to read, packed or not.
    """

    frame: DataFrame
    paths: tuple[str, ...]
    options: TextOptions
    bytes: int

    @property
    def words(self) -> Column:
        """The words of each line; a single INVALID in place of a line that is not UTF-8 but must be."""
        strict = self.options.encoding_errors == "strict"
        value = F.col("value") if strict else F.make_valid_utf8("value")
        words = F.array_remove(F.split(value, WHITE_SPACE), "")
        return F.when(F.is_valid_utf8("value"), words).otherwise(F.array(F.lit(INVALID))) if strict else words


def lines_of(session: SparkSession, paths: Sequence[str], options: TextOptions) -> Lines:
    """The lines of all files, each as often as it is given."""
    texts = [as_spark_reads(path) for path in paths]
    with failures_as_errors():
        files = [_reader(session, again) for again in _rounds(texts)]
        size = sum(int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()) for frame in files)
        place = F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("start")
        rounds = [frame.select("value", F.lit(i).alias("round"), *place) for i, frame in enumerate(files)]
    return Lines(functools.reduce(lambda one, other: one.union(other), rounds), tuple(texts), options, size)


def _reader(session: SparkSession, paths: list[str]) -> DataFrame:
    return session.read.schema("value string").option("lineSep", "\n").text(paths)


def _rounds(paths: Sequence[str]) -> list[list[str]]:
    """All paths, then those that are there a second time, and so on: Spark reads a file of a list once."""
    times = Counter(paths)
    return [[path for path in times if times[path] > number] for number in range(max(times.values()))]


def as_spark_reads(path: str) -> str:
    """The path as Spark takes it; what Spark would read wrongly without a word is refused."""
    if path == "-":
        raise InputError("Spark reads files, not standard input. Write the text to a file first.", path="-")
    if has_scheme(path) or not Path(path).exists():
        return path
    file = Path(path)
    if file.name.startswith(("_", ".")):
        raise InputError("Spark passes over files whose names begin with _ or a dot. Rename it.", path=path)
    packing = packing_at(file)
    if packing is not None and packing.name == "xz":
        raise InputError(f"Spark cannot unpack {packing.name}. Unpack it, or pack it as bz2 or zst.", path=path)
    if packing is not None and file.suffix != packing.ending:
        raise InputError(f"it is packed ({packing.name}), which Spark knows by the ending {packing.ending}.", path=path)
    escaped = "".join("\\" + letter if letter in GLOB else letter for letter in str(file.absolute()))
    return f"file://{escaped}"


def vocabulary_of(store: Store, lines: Lines) -> Vocabulary:
    """The words of the text, counted, cut and ordered by Spark; only those that stay come here, part by part."""
    counted = lines.frame.select(F.explode(lines.words).alias("word")).groupBy("word").agg(F.count("*").alias("count"))
    kept = counted.filter((F.col("count") >= lines.options.min_count) & ~F.col("word").isin(*RESERVED, INVALID))
    store.write("words", kept.orderBy(F.desc("count"), "word").select("word"), title="counting words")
    pieces, left = [HEADER], lines.options.max_words
    for batch in store.batches("words", ["word"], rows=ROWS):
        words = batch.column(0)[:left].to_pylist()
        pieces.append("\n".join([*words, ""]).encode())
        left = None if left is None else left - len(words)
        if left == 0:
            break
    store.drop("words")
    return Vocabulary(b"".join(pieces))


def encode(store: Store, lines: Lines, vocabulary: Vocabulary) -> int:
    """The table `sentences`: a number `line` that grows along each file, and the `ids` of its words; how many."""
    _write_vocabulary(store, vocabulary, lines.options)
    known = F.broadcast(store.read("vocabulary"))
    words = lines.frame.select(F.monotonically_increasing_id().alias("line"), lines.words.alias("words"))
    tokens = words.select("line", F.posexplode_outer("words").alias("position", "word")).join(known, "word", "left")
    place = F.shiftleft(F.col("position").cast("long"), 32)
    sorted_ids = F.array_sort(F.collect_list(place.bitwiseOR(F.coalesce("id", F.lit(0)))))
    ids = F.transform(sorted_ids, lambda packed: packed.bitwiseAND(F.lit(0xFFFFFFFF)).cast("int"))
    sentences = tokens.groupBy("line").agg(ids.alias("ids"))
    store.write("sentences", sentences, title="encoding")
    store.drop("vocabulary")
    return _check_words(store, lines, vocabulary)


def _write_vocabulary(store: Store, vocabulary: Vocabulary, options: TextOptions) -> None:
    """Words with their ids, and names that may not stand in the text with ids by which they are found."""
    import pyarrow

    names = [*vocabulary.words, START_NAME, INVALID]
    ids = np.arange(len(names), dtype=np.int64)
    if not options.unknown_name:
        ids[0] = len(names)
    schema = pyarrow.schema({"word": pyarrow.string(), "id": pyarrow.int64()})
    with store.writer("vocabulary", schema) as writer:
        for begin in range(0, len(names), ROWS):
            part = slice(begin, begin + ROWS)
            writer.write_table(pyarrow.table([pyarrow.array(names[part]), pyarrow.array(ids[part])], schema=schema))


def _check_words(store: Store, lines: Lines, vocabulary: Vocabulary) -> int:
    """The number of sentences, once none of them has a word that a text must not have."""
    start = len(vocabulary)
    wrong = F.exists("ids", lambda word: (word == END) | (word >= start))
    with watched(store.session, "checking"):
        found = store.read("sentences").agg(F.count("*").alias("sentences"), F.count_if(wrong).alias("wrong")).first()
    assert found is not None
    if found["wrong"]:
        raise _fault(store, lines)
    if not found["sentences"]:
        raise InputError("there are no sentences: the text is empty.", path=", ".join(lines.paths))
    return int(found["sentences"])


def _fault(store: Store, lines: Lines) -> InputError:
    """What is wrong with the text, with one place where it is."""
    names = [START_NAME, END_NAME, INVALID, *([] if lines.options.unknown_name else [UNKNOWN_NAME])]
    bad = lines.frame.withColumn("words", lines.words).filter(F.arrays_overlap("words", F.array(*map(F.lit, names))))
    with watched(store.session, "looking for the place"):
        row = bad.select("file", "words", F.make_valid_utf8("value").alias("line")).first()
    assert row is not None
    name, line = next(name for name in names if name in row["words"]), str(row["line"])
    place = f"the line that begins with {line[:60]!r}"
    path = row["file"].removeprefix("file://")
    return InputError(f"{place} {NOT_UTF8}" if name == INVALID else refused_word(name, place), path=path)


def write_corpus(store: Store, corpus: Corpus) -> None:
    """The same table from ids that are here."""
    import pyarrow

    schema = pyarrow.schema({"line": pyarrow.int64(), "ids": pyarrow.list_(pyarrow.int32())})
    with store.writer("sentences", schema) as writer:
        for begin, end in stretches(corpus.starts, PIECE):
            starts = corpus.starts[begin : end + 1]
            ids = np.asarray(corpus.ids[starts[0] : starts[-1]])
            inner = ids[(ids != corpus.vocabulary.start) & (ids != END)].astype(np.int32)
            offsets = pyarrow.array(starts - starts[0] - 2 * np.arange(len(starts)), pyarrow.int32())
            numbers = pyarrow.array(np.arange(begin, end, dtype=np.int64))
            rows = pyarrow.ListArray.from_arrays(offsets, pyarrow.array(inner))
            writer.write_table(pyarrow.table([numbers, rows], schema=schema))
