"""The benchmark of word alignment runs beside a stand-in for eflomal; what it measures is not looked at."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks import alignment

from modlm.errors import MissingPackageError
from modlm.text.parallel import Parallel

FRENCH, ENGLISH = ["le chat", "le chien", "un chat"], ["the cat", "the dog", "a cat"]


class Aligner:
    """Links every word to the one at the same place."""

    def __init__(self, model: int) -> None:
        assert model in (1, 2)

    def align(self, source: list[str], target: list[str], links_filename_fwd: str, links_filename_rev: str) -> None:
        assert [line.split() for line in source] == [line.split() for line in FRENCH[: len(source)]]
        for name in (links_filename_fwd, links_filename_rev):
            Path(name).write_text("0-0 1-1\n" * len(target))


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    for name, lines in {"fr": FRENCH, "en": ENGLISH}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return [str(tmp_path / "fr"), str(tmp_path / "en")]


def test_the_report_has_both_models_and_directions(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = ModuleType("eflomal")
    stand_in.Aligner = Aligner  # type: ignore[attr-defined]
    stand_in.__spec__ = ModuleSpec("eflomal", None)
    monkeypatch.setitem(sys.modules, "eflomal", stand_in)
    assert alignment.main([*texts, "--pairs", "2", "--out", str(tmp_path / "report.md")]) == 0
    rows = [line for line in (tmp_path / "report.md").read_text().splitlines() if "→" in line]
    assert len(rows) == 4 and all("| 1.000 | 1.000 |" in row for row in rows)  # of the stand-in with itself


def test_agreement_counts_words_without_links_as_well() -> None:
    target = Parallel.read(["a b c"], ["x y z"]).target
    ours, theirs = [{(0, 0), (1, 1)}], [{(0, 0), (2, 1)}]
    f1, same = alignment.agreement(ours, theirs, target, 1)
    assert f1 == pytest.approx(2 * 1 / 4) and same == pytest.approx(2 / 3)  # x and z, which has no link in either


def test_without_eflomal_it_says_what_is_missing(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="eflomal"):
        alignment.main(texts)
