"""The demo's text is the same every time, and its parts have nothing in common."""

from __future__ import annotations

import sysconfig
import time
from pathlib import Path

import pytest

from modlm.errors import InputError, OutputError
from modlm.experiments import demo_text
from modlm.experiments.demo_text import LIBRARY, REFERENCE, DemoText, demo_sentences, documents, write_texts

RESERVED = {"<s>", "</s>", "<unk>"}
SECONDS = 60  # far above the few it takes, for slow machines


@pytest.fixture(scope="module")
def text() -> DemoText:
    started = time.monotonic()
    found = demo_sentences()
    assert time.monotonic() - started < SECONDS
    return found


def test_it_is_the_same_every_time(text: DemoText) -> None:
    assert demo_sentences() == text


def test_there_is_enough_of_each_part(text: DemoText) -> None:
    words = {part: sum(len(s.split()) for s in getattr(text, part)) for part in ("train", "valid", "test")}
    assert words["train"] > 150_000
    assert words["valid"] > 10_000
    assert words["test"] > 10_000


def test_the_two_sources_together_are_the_whole_text(text: DemoText, tmp_path: Path) -> None:
    sources = write_texts(tmp_path / "texts")
    assert sources[REFERENCE] + sources[LIBRARY] == text
    assert all(len(source.train) > len(source.test) > 50 for source in sources.values())
    for folder, part in ((".", text), (REFERENCE, sources[REFERENCE]), (LIBRARY, sources[LIBRARY])):
        lines = (tmp_path / "texts" / folder / "valid.txt").read_text(encoding="utf-8").splitlines()
        assert lines == part.valid


def test_texts_are_not_written_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        write_texts(tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"


def test_no_sentence_stands_twice_within_or_across_parts(text: DemoText) -> None:
    everything = [*text.train, *text.valid, *text.test]
    assert len(everything) == len(set(everything))


def test_sentences_are_plain_tokens_without_reserved_names(text: DemoText) -> None:
    for sentence in [*text.train, *text.valid, *text.test]:
        tokens = sentence.split(" ")
        assert len(tokens) >= 5
        assert all(tokens), sentence
        assert RESERVED.isdisjoint(tokens)
        assert sentence == sentence.lower()
        assert sentence.isprintable()


def test_a_document_goes_to_a_part_by_its_name_alone() -> None:
    parts = [demo_text._part_of(f"module{index}.py") for index in range(2000)]
    shares = {part: 100 * parts.count(part) / len(parts) for part in demo_text.SHARES}
    assert shares == pytest.approx(demo_text.SHARES, abs=2)


def test_neither_tests_nor_installed_packages_are_read() -> None:
    names = [name for name, _ in documents()]
    assert any(name.startswith("topics/") for name in names)
    assert "argparse.py" in names
    assert not [name for name in names if {"test", "tests", "site-packages", "idlelib"} & set(name.split("/"))]


def test_docstrings_come_in_the_order_of_the_source_also_from_nested_places(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        '"""One."""\nif True:\n    class A:\n        """Two."""\n        def f(self):\n            """Three."""\n'
    )
    assert demo_text._docstrings(source) == ["One.", "Two.", "Three."]


def test_a_file_that_is_not_python_gives_no_docstrings(tmp_path: Path) -> None:
    source = tmp_path / "template.py"
    source.write_bytes(b"print 'two'\n\x00")
    assert demo_text._docstrings(source) == []


def test_comments_of_several_lines_are_taken_and_notes_are_not(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("# a note\nx = 1  # another\n# first line\n#   second line\ny = 2\n")
    assert demo_text._comments(source) == ["first line\n  second line"]


def test_a_python_without_sources_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(InputError, match="train on your own file"):
        list(documents())
