"""The benchmark of the compact form runs on a tiny text without its peers; what it measures is not looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_benchmarks import tiny_text


def test_the_report_shows_no_folder_and_says_what_was_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    import compact

    (tmp_path / "data" / "ptb").mkdir(parents=True)
    names = {
        f"ptb.{name}": tiny_text(tmp_path / "data" / "ptb" / f"{name}.txt", 200) for name in ("train", "test", "valid")
    }
    monkeypatch.setattr(compact, "default_sources", lambda: names)
    monkeypatch.setattr(compact, "RANDOM", 1000)
    out = tmp_path / "report.md"
    assert compact.main(["--texts", "ptb", "--work", str(tmp_path / "work"), "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert str(tmp_path) not in page
    assert "--kenlm was not given" in page and "--tongrams was not given" in page
    assert "3 not measured" in page
    assert page.count("| not measured |") == 3
