"""A text index: counts and places by brute force, shards that were added, damaged folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.counts.indexing import index_corpus, index_text
from modlm.counts.suffixes import TextIndex
from modlm.errors import ConfigError, InputError, ModelFolderError
from modlm.text.corpus import Corpus

LINES = st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(" ".join), min_size=1, max_size=30)
WORDS = st.lists(st.sampled_from("abcx"), min_size=1, max_size=6)


def times(flat: list[str], words: list[str]) -> int:
    return sum(flat[at : at + len(words)] == words for at in range(len(flat)))


@settings(max_examples=60)
@given(lines=LINES, words=WORDS)
def test_words_in_a_row_are_counted_whatever_the_line_breaks(lines: list[str], words: list[str]) -> None:
    index = index_corpus(Corpus.from_text(lines))
    assert index.count(" ".join(words)) == times(" ".join(lines).split(), words)


@settings(max_examples=20)
@given(lines=LINES, words=WORDS)
def test_documents_are_not_crossed(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], words: list[str]
) -> None:
    place = tmp_path_factory.mktemp("documents")
    (place / "all.txt").write_text("\n\n".join(line or "." for line in lines) + "\n")
    index = index_text(place / "all.txt", place / "index", documents=True)
    assert index.documents_3D.shape[1] == len(lines)
    assert index.count(" ".join(words)) == sum(times(line.split(), words) for line in lines)


@settings(max_examples=10)
@given(parts=st.lists(LINES, min_size=2, max_size=3), words=WORDS)
def test_added_text_makes_shards_that_are_summed_over(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[str]], words: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("added") / "index"
    for number, part in enumerate(parts):
        named = [line.replace("c", f"c{number}") for line in part]
        index = index_text(named, folder, add=number > 0)
    assert len(index.table_SF) == len(parts) and not index.fault()
    flats = [" ".join(part).replace("c", f"c{n}").split() for n, part in enumerate(parts)]
    for number in range(len(parts)):
        asked = [word.replace("c", f"c{number}") for word in words]
        assert index.count(" ".join(asked)) == sum(times(flat, asked) for flat in flats)
    assert index.words == sum(map(len, flats))
    assert index.sentences == sum(map(len, parts))


def test_large_ids_fill_keys_to_the_last_bit() -> None:
    """16 bits an id: four of them are a key of 64 bits, and the last word has all bits set."""
    words = [f"w{n:05}" for n in range(65_533)]
    index = index_corpus(Corpus.from_text([" ".join(words), " ".join(words[-5:]), " ".join(words[-5:])]))
    assert index.table_SF[0, 1] == 16
    for asked, count in ((words[-1:], 3), (words[-4:], 3), (words[-5:], 3), (words[-6:], 1), (words[:1], 1)):
        assert index.count(" ".join(asked)) == count


def test_a_small_limit_cuts_the_text_into_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modlm.counts.indexing.LEAST_SHARD", 16)
    monkeypatch.setattr("modlm.counts.indexing.SORTING", 1 << 16)
    lines = [f"a b {n % 7} c" for n in range(100)]
    index = index_text(lines, tmp_path / "index", memory="4MB")
    assert len(index.table_SF) > 5
    assert (index.words, index.sentences, index.count("a b 3")) == (400, 100, 14)
    assert {hit.line for hit in index.find("a b 3", limit=20).hits} == {n + 1 for n in range(100) if n % 7 == 3}


def test_places_have_source_line_and_context(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a b c\nd e\n\nf g\n")
    (tmp_path / "two.txt").write_text("x e\nf y\n")
    index = index_text([tmp_path / "one.txt", tmp_path / "two.txt"], tmp_path / "index")
    found = index.find("e f", context=2)
    assert found.count == 2
    here = {(Path(hit.source).name, hit.line, hit.before, hit.words, hit.after) for hit in found.hits}
    assert here == {("one.txt", 2, "⏎ d", "e ⏎  ⏎ f", "g ⏎"), ("two.txt", 1, "x", "e ⏎ f", "y ⏎")}
    assert index.find("nobody").count == 0 and index.find("<unk>").count == 0


def test_documents_of_json_lines_are_on_their_line(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"body": "a b\\nc d"}\n{"body": "c e"}\n')
    index = index_text(tmp_path / "pages.jsonl", tmp_path / "index", documents=True, field="body")
    assert [(hit.document, hit.line, hit.before, hit.after) for hit in index.find("c").hits] == [
        (0, 1, "a b ⏎", "d ⏎"),
        (1, 2, "", "e ⏎"),
    ]
    with pytest.raises(InputError, match="'text' is not there"):
        index_text(tmp_path / "pages.jsonl", tmp_path / "other", documents=True)


def test_what_cannot_be_indexed_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match="empty"):
        index_text(tmp_path / "empty.txt", tmp_path / "index")
    with pytest.raises(InputError, match="empty"):
        index_text(tmp_path / "empty.txt", tmp_path / "index", documents=True)
    assert not (tmp_path / "index").exists()
    index_text(["a b"], tmp_path / "index", max_words=1)
    with pytest.raises(ConfigError, match="words of the index"):
        index_text(["c"], tmp_path / "index", add=True, min_count=2)
    assert index_text(["c"], tmp_path / "index", add=True).vocabulary.words == ("<unk>", "</s>", "a")
    with pytest.raises(ConfigError, match="no words"):
        TextIndex.open(tmp_path / "index").find("")


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="no folder"):
        TextIndex.open(tmp_path / "nowhere")
    index = index_text(["a b c", "a b"], tmp_path / "index")
    wrong = {"table_SF": index.table_SF * 9, "documents_3D": index.documents_3D + 5, "sources": ()}
    for name, value in wrong.items():
        changed = TextIndex(**{**vars_of(index), name: value})
        changed.save(tmp_path / name)
        with pytest.raises(ModelFolderError, match="do not fit"):
            TextIndex.open(tmp_path / name)
    data = bytearray((tmp_path / "index" / "suffixes.npy").read_bytes())
    data[-2] ^= 0xFF
    (tmp_path / "index" / "suffixes.npy").write_bytes(data)
    TextIndex.open(tmp_path / "index").find("a b")  # whatever it says, it does not crash
    with pytest.raises(ModelFolderError, match="sha256"):
        TextIndex.open(tmp_path / "index", verify="full")


def vars_of(index: TextIndex) -> dict[str, object]:
    return {name: getattr(index, name) for name in TextIndex.__dataclass_fields__}


def test_sentences_one_behind_the_other_are_found() -> None:
    corpus = Corpus.from_text(["a b", "c", "", "a b", "c", "d"])
    index = index_corpus(corpus)
    assert list(index.places_of(np.asarray(corpus[2:5].ids))) == [(0, 7)]
    assert len(list(index.places_of(np.asarray(corpus[0:2].ids)))) == 2
