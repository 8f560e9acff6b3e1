"""References by name, in order, or as JSON; never for too few utterances."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.nbest_samples import JSON_LINES, KALDI_COLUMN

from modlm.errors import InputError
from modlm.formats.nbest import NBest, read_nbest
from modlm.formats.references import references_of


@pytest.fixture
def nbest(tmp_path: Path) -> NBest:
    (tmp_path / "lists").write_text(KALDI_COLUMN)
    return read_nbest(tmp_path / "lists")


def of(nbest: NBest, tmp_path: Path, text: str) -> tuple[str, ...]:
    (tmp_path / "ref").write_text(text)
    return references_of(nbest, tmp_path / "ref")


@pytest.mark.parametrize(
    "text",
    [
        "d2#0 no\nd1#0 the cat\nd9#0 somebody else\n",
        "the cat\nno\n",
        '{"utt": "d2#0", "ref": "no"}\n{"utt": "d1#0", "ref": "the  cat"}\n',
    ],
    ids=["by name", "in order", "JSON lines"],
)
def test_references_are_found(nbest: NBest, tmp_path: Path, text: str) -> None:
    assert of(nbest, tmp_path, text) == ("the cat", "no")


def test_a_reference_may_be_empty(nbest: NBest, tmp_path: Path) -> None:
    assert of(nbest, tmp_path, "d1#0\nd2#0 no\n") == ("", "no")
    assert of(nbest, tmp_path, "\nno\n") == ("", "no")


def test_lists_may_bring_their_own(nbest: NBest, tmp_path: Path) -> None:
    assert references_of(nbest) == ()
    (tmp_path / "json").write_text(JSON_LINES)
    assert references_of(read_nbest(tmp_path / "json")) == ("the cat sat", "yes")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no references: the file is empty"),
        ("d1#0 the cat\nd3#0 no\n", "no reference for utterance 'd2#0'"),  # two lines, yet by name
        ("d1#0 a\nd2#0 b\nd1#0 c\n", "line 3: utterance 'd1#0' has a second reference"),
        ("one\ntwo\nthree\n", "3 lines for 2 utterances.*such as 'd1#0'"),
        ("the cat\nno </s>\n", "'d2#0' holds <s> or </s>"),
        ('{"utt": "d1#0"}\n', "line 1: there is no reference"),
    ],
)
def test_references_that_do_not_fit_are_refused(nbest: NBest, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        of(nbest, tmp_path, text)


def test_a_list_without_a_reference_among_others(tmp_path: Path) -> None:
    (tmp_path / "json").write_text(JSON_LINES.replace('"ref": "yes", ', ""))
    with pytest.raises(InputError, match="no reference for utterance 'd2#0'"):
        references_of(read_nbest(tmp_path / "json"))
