"""The spark engine gives the memory engine's bytes from texts and corpora, and says clearly what it cannot do."""

from __future__ import annotations

import bz2
import gzip
import inspect
import lzma
import random
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.counts.same_counts import assert_same_arrays
from tests.counts.spark_here import quick, why_not

from modlm.cli.app import run
from modlm.counts import CountOptions, count_text, tally_text
from modlm.counts.engine import count_in_memory as count_here
from modlm.counts.spark import count as count_with_spark
from modlm.counts.spark import spark_tally
from modlm.counts.spark.session import check_java, check_master, master_of, spark_session
from modlm.counts.spark.store import Store
from modlm.counts.tally import LocalTally, Tally
from modlm.errors import ConfigError, EngineError, InputError, MissingPackageError
from modlm.text import Corpus, Vocabulary
from small_texts import TEXTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # pyspark leaves its connections to the collector
    pytest.mark.xdist_group("spark"),
]

RANDOM = random.Random(7)
PIECES = [
    "a",
    "b",
    "a",
    "b",
    "c",
    "é",
    "𐀀",
    "\ue000",
    "\uffff",
    "x\u00a0y",
    "<unk>",
    "\u2028",
    "\x01",
    "<S>",
    "ﬁ",
    "\x85",
]
SPACES = [" ", "  ", "\t", "\v", "\f", "\r", "\0", " \t "]
ENDS = ["\n", "\r\n"]


def wild_line() -> str:
    words = [RANDOM.choice(PIECES) + RANDOM.choice(SPACES) for _ in range(RANDOM.randrange(9))]
    return "".join(words) + RANDOM.choice(ENDS)


WILD = "".join(wild_line() for _ in range(150))


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with spark_session(quick()) as session:
        yield session


def assert_same_tally(found: Tally, expected: Tally, *, folds: int = 0) -> None:
    assert_same_arrays(found.counts, expected.counts)
    if not folds:
        return
    assert_same_arrays(found.continuation(), expected.continuation())
    for own, other in zip(found.counts_of_counts(4), expected.counts_of_counts(4), strict=True):
        np.testing.assert_array_equal(own, other)
    for without, other_without in zip(found.held_out(folds), expected.held_out(folds), strict=True):
        assert_same_arrays(without, other_without)


def assert_same_corpus_tally(corpus: Corpus, *, order: int, edge: str, folds: int = 0) -> None:
    how = CountOptions(order=order, edge=edge)
    expected = LocalTally(corpus, count_here(corpus, how))
    with spark_tally(corpus, how) as found:
        assert_same_tally(found, expected, folds=folds)


@pytest.mark.parametrize(
    ("text", "order", "edge", "folds"),
    [
        ("an empty line", 2, "once", 0),
        ("empty lines among others", 1, "once", 4),
        ("one sentence of each kind", 8, "repeat", 0),
        ("random sentences", 3, "once", 7),
        ("random sentences", 5, "repeat", 3),
    ],
)
def test_a_corpus_gives_the_same_counts_continuation_counts_and_folds(
    session: SparkSession, text: str, order: int, edge: str, folds: int
) -> None:
    assert_same_corpus_tally(Corpus.from_text(TEXTS[text]), order=order, edge=edge, folds=folds)


@pytest.mark.parametrize(("words", "order"), [(200, 9), (40_000, 5), (70_000, 8)], ids=["8 bits", "16 bits", "17 bits"])
def test_keys_sort_as_numbers_without_a_sign_and_windows_may_need_several(
    session: SparkSession, words: int, order: int
) -> None:
    """8 and 16 bits fill a key of 64, so that its first bit, which Spark takes for a sign, is set."""
    rng = np.random.default_rng(words)
    vocabulary = Vocabulary.from_words([f"w{word}" for word in range(words)])
    ids = [np.append(np.append(len(vocabulary), rng.integers(0, words, 9) + 2), 1) for _ in range(60)]
    corpus = Corpus.from_ids(np.concatenate(ids), vocabulary)
    assert_same_corpus_tally(corpus, order=order, edge="once", folds=2 if words == 200 else 0)


@pytest.mark.parametrize(("order", "edge"), [(1, "once"), (4, "once"), (6, "repeat")])
def test_texts_are_split_and_words_ordered_as_everywhere(
    session: SparkSession, tmp_path: Path, order: int, edge: str
) -> None:
    text = tmp_path / "wild.txt"
    text.write_bytes(WILD.encode())
    found = count_text(text, order=order, edge=edge, engine="spark", temporary=tmp_path)
    assert_same_arrays(found, count_text(text, order=order, edge=edge))
    assert [path.name for path in tmp_path.iterdir()] == ["wild.txt"]


def test_folds_follow_the_order_of_the_texts_however_spark_cuts_them(session: SparkSession, tmp_path: Path) -> None:
    """Files packed and not, with a mark in front, without a line end, given twice, with signs that are patterns."""
    lines = WILD.encode().splitlines(keepends=True)
    first, second, third = tmp_path / "a [1] ü%.txt", tmp_path / "b.txt.gz", tmp_path / "c.txt.bz2"
    first.write_bytes(b"\xef\xbb\xbf" + b"".join(lines[:90]))
    second.write_bytes(gzip.compress(b"".join(lines[90:120])))
    third.write_bytes(bz2.compress(b"".join(lines[120:]) + b"the end"))
    paths = [third, first, second, first]
    session.conf.set("spark.sql.files.maxPartitionBytes", "700")
    session.conf.set("spark.sql.files.openCostInBytes", "1")
    try:
        with (
            spark_tally([str(path) for path in paths], CountOptions(order=3)) as found,
            tally_text(paths, CountOptions(order=3)) as expected,
        ):
            assert_same_tally(found, expected, folds=6)
    finally:
        session.conf.unset("spark.sql.files.maxPartitionBytes")
        session.conf.unset("spark.sql.files.openCostInBytes")


@pytest.mark.parametrize(
    "options", [{"min_count": 3}, {"max_words": 4}, {"vocabulary": Vocabulary.from_words(["b", "é", "never"])}], ids=str
)
def test_vocabularies_may_be_cut_or_given(session: SparkSession, tmp_path: Path, options: dict[str, object]) -> None:
    text = tmp_path / "wild.txt"
    text.write_bytes(WILD.encode())
    found = count_text(text, order=2, engine="spark", **options)  # type: ignore[arg-type]
    assert_same_arrays(found, count_text(text, order=2, **options))  # type: ignore[arg-type]


def test_bytes_that_are_no_utf8_are_an_error_or_replaced(session: SparkSession, tmp_path: Path) -> None:
    text = tmp_path / "bad.txt"
    text.write_bytes(b"good line\nbad \xff\xc3( \xe2\x82 \xf0\x90\x80 \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 here\n")
    with pytest.raises(InputError, match=r"bad\.txt: the line that begins with 'bad .* not valid UTF-8"):
        count_text(text, engine="spark")
    found = count_text(text, order=2, engine="spark", encoding_errors="replace")
    assert_same_arrays(found, count_text(text, order=2, encoding_errors="replace"))


@pytest.mark.parametrize(
    ("line", "options", "rule"),
    [
        ("a </s> b", {}, "</s> stands in the line that begins with 'a </s> b'.*reserved name"),
        ("a <s>", {"vocabulary": Vocabulary.from_words(["a"])}, "<s> stands in the line.*reserved name"),
        ("a <unk>", {"unknown_name": False}, "<unk> stands in the line.*unknown_name = False"),
    ],
)
def test_names_that_may_not_stand_in_a_text(
    session: SparkSession, tmp_path: Path, line: str, options: dict[str, object], rule: str
) -> None:
    text = tmp_path / "text"
    text.write_text(f"fine\n{line}\n")
    with pytest.raises(InputError, match=rule):
        count_text(text, engine="spark", **options)  # type: ignore[arg-type]


def test_sentences_and_tokens_are_made_into_ids_before(session: SparkSession) -> None:
    assert_same_arrays(count_text(["a b", "", "a c"], order=3, engine="spark"), count_text(["a b", "", "a c"], order=3))
    corpus = Corpus.from_text(["a b"])
    how = CountOptions(order=3)
    assert_same_arrays(count_with_spark(corpus[0:0], how), count_here(corpus[0:0], how))


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_command_writes_the_same_bytes(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_bytes(WILD.encode())
    for engine in ("memory", "disk", "spark"):
        place = tmp_path / engine
        words = ["count", tmp_path / "text.txt", "-o", place / "counts", "--order", 3, "--continuation", place / "kn"]
        words += ["--held-out", place / "folds", "--folds", 2, "--counts-of-counts", "--engine", engine, "--json"]
        assert run([str(word) for word in words]) == 0
    assert folder_bytes(tmp_path / "memory") == folder_bytes(tmp_path / "disk") == folder_bytes(tmp_path / "spark")
    assert capsys.readouterr().err == ""


def test_the_session_is_left_as_it_was_found(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n")
    before = session.conf.get("spark.sql.shuffle.partitions")
    count_text(tmp_path / "text", engine="spark", order=1)
    assert session.conf.get("spark.sql.shuffle.partitions") == before
    with pytest.raises(ConfigError, match="session with the master"):
        count_text(tmp_path / "text", engine="spark", master="local[1]")


def test_a_working_folder_that_only_looks_shared_is_found_out(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").write_text("a b\n")
    monkeypatch.setattr(Store, "_parts", lambda self, name: [])
    with pytest.raises(EngineError, match="every machine of the cluster sees"):
        count_text(tmp_path / "text", engine="spark")


def test_an_interruption_leaves_nothing(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("a b\n")
    write = Store.write

    def interrupted(self: Store, name: str, *args: object, **options: object) -> None:
        if name == "windows":
            assert any(tmp_path.glob("*modlm*"))
            raise KeyboardInterrupt
        write(self, name, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "write", interrupted)
    words = ["count", tmp_path / "text", "-o", tmp_path / "counts", "--engine", "spark", "--temporary", tmp_path]
    assert run([str(word) for word in words]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("none", None, "there is no such file"),
        ("empty", b"", "the text is empty"),
        ("_hidden", b"a\n", "begin with _"),
        ("text.xz", lzma.compress(b"a\n"), "cannot unpack xz"),
        ("text.txt", gzip.compress(b"a\n"), "ending .gz"),
        ("-", None, "not standard input"),
    ],
    ids=["absent", "empty", "hidden", "xz", "gzip without its ending", "standard input"],  # gzip bytes tell the time
)
def test_texts_that_spark_cannot_read(
    session: SparkSession, tmp_path: Path, name: str, content: bytes | None, rule: str
) -> None:
    path = name if name == "-" else str(tmp_path / name)
    if content is not None:
        Path(path).write_bytes(content)
    with pytest.raises(InputError, match=rule), spark_tally([path], CountOptions()):
        pass


def test_skip_ngrams_are_counted_in_memory_only() -> None:
    with pytest.raises(ConfigError, match="counted in memory"):
        count_text(["a b"], positions=(3, 1), engine="spark")


def no_java(place: Path) -> None:
    assert place.is_dir()


def old_java(place: Path) -> None:
    (place / "bin").mkdir()
    (place / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    (place / "bin" / "java").chmod(0o755)


@pytest.mark.parametrize(("install", "found"), [(no_java, "no bin/java"), (old_java, "is version 8")])
def test_java_that_is_missing_or_too_old(
    install: Callable[[Path], None], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=f"{found}.*Java 17 or later, which is a package of the system"):
        check_java()


def test_pyspark_that_is_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[spark\]'"):
        count_text(["a"], engine="spark")


def test_a_master_that_does_not_answer_or_has_no_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        with pytest.raises(EngineError, match=r"spark://127.* does not answer .*leave --master out"):
            check_master(f"spark://127.0.0.1:{taken.getsockname()[1]}")
    with pytest.raises(ConfigError, match="spark://host:port"):
        check_master("spark://somewhere")
    check_master("local[3]")


def test_the_master_comes_from_the_option_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert master_of(CountOptions()) is None
    monkeypatch.setenv("MODLM_MASTER", "spark://there:7077")
    assert master_of(CountOptions()) == "spark://there:7077"
    assert master_of(CountOptions(master="local[4]")) == "local[4]"


def test_pyspark_has_the_private_parts_that_starting_java_touches() -> None:
    """Seen with pyspark 4.3.0: a context takes a gateway that was launched before, and keeps it as `_gateway`."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    assert list(inspect.signature(launch_gateway).parameters) == ["conf", "popen_kwargs"]
    assert "gateway" in inspect.signature(SparkContext._ensure_initialized).parameters
    assert hasattr(SparkContext, "_gateway")
