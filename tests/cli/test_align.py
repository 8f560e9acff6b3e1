"""`modlm align`: a table and links from two texts, or a clear word about what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Modlm, Outcome

from modlm.counts.translation import align, open_table, read_table
from modlm.text.parallel import Parallel

FRENCH = "le chat\nle chien\nun chat noir\n\nle chat noir dort\n"
ENGLISH = "the cat\nthe dog\na black cat\nwell\nthe black cat sleeps\n"


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "fr").write_text(FRENCH)
    (tmp_path / "en").write_text(ENGLISH)
    return tmp_path / "fr", tmp_path / "en"


def test_the_table_is_that_of_the_library_as_a_folder_and_as_lines(
    ok: Modlm, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    table = align(Parallel.read(*texts)).table
    report = ok("align", *texts, "-o", tmp_path / "table", "--json").json
    assert open_table(tmp_path / "table").probs.tobytes() == table.probs.tobytes()
    assert (report["pairs"], report["left_out"], report["translations"]) == (5, 1, len(table.words))
    assert len(report["perplexity"]) == 11
    said = ok("align", *texts, "-o", tmp_path / "table.tsv", "--hmm", 0).out
    assert "5 pairs (1 with an empty side left out)" in said and "Model 1, 5" in said and "HMM" not in said
    lines = read_table(tmp_path / "table.tsv", table.source, table.target)
    assert next(iter(lines.row("chien"))) == "dog"


def test_links_have_a_line_for_each_pair(ok: Modlm, texts: tuple[Path, Path], tmp_path: Path) -> None:
    ok("align", *texts, "-o", tmp_path / "table", "--alignments", tmp_path / "links")
    lines = (tmp_path / "links").read_text().splitlines()
    assert len(lines) == 5 and lines[0] == "0-0 1-1" and lines[3] == ""
    shown = ok("align", *texts, "-o", tmp_path / "other", "--alignments", "-", "--symmetrise", "none").out
    assert shown.splitlines()[4] == "0-0 1-2 2-1 3-3"


def test_what_is_wrong_is_said_before_anything_is_written(
    modlm: Modlm, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    def fails(*arguments: object) -> Outcome:
        outcome = modlm(*arguments)
        assert outcome.code == 1
        return outcome

    (tmp_path / "short").write_text("the cat\n")
    error = fails("align", texts[0], tmp_path / "short", "-o", tmp_path / "table").err
    assert "fr has 5 lines" in error and "short has 1" in error
    error = fails("align", *texts, "-o", tmp_path / "table", "--alignments", "-", "--json").err
    assert "both write to standard output" in error
    assert "one of none" in fails("align", *texts, "-o", tmp_path / "table", "--symmetrise", "both").err
    assert not (tmp_path / "table").exists()
    (tmp_path / "table").mkdir()
    assert "already exists" in fails("align", *texts, "-o", tmp_path / "table").err
