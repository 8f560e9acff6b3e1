"""Bars appear for long work that somebody watches, and never otherwise."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest

from modlm.ground import progress as progress_module
from modlm.ground.progress import Progress, progress, short, watched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal to put in the place of standard error; no delay before the bar."""
    monkeypatch.setenv("MODLM_PROGRESS", "1")
    monkeypatch.setattr(progress_module, "DELAY", 0.0)
    return Terminal()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (950, "950"),
        (999.7, "1k"),
        (12_345, "12.3k"),
        (999_999, "1M"),
        (4_560_000, "4.56M"),
        (1.2e9, "1.2G"),
        (-1500, "-1.5k"),
        (0.01234, "0.0123"),
    ],
)
def test_numbers_are_short(number: float, expected: str) -> None:
    assert short(number) == expected


def test_nothing_is_written_when_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Counting", total=10) as bar:
        bar.advance(10)
    assert capsys.readouterr() == ("", "")
    assert bar.done == 10


def test_the_setting_silences_a_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with redirect_stderr(terminal):
        assert watched()
        monkeypatch.setenv("MODLM_PROGRESS", "0")
        assert not watched()


@pytest.mark.parametrize("total", [100.0, None])
def test_a_watched_bar_shows_title_rate_and_note(terminal: Terminal, total: float | None) -> None:
    with redirect_stderr(terminal), progress("Counting", total=total, unit="words") as bar:
        bar.advance(40, note="perplexity [12]")
        bar.advance(60)
    shown = terminal.getvalue()
    assert "Counting" in shown
    assert "words/s" in shown


def test_short_work_stays_quiet(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "DELAY", 60.0)
    with redirect_stderr(terminal), progress("Counting", total=1) as bar:
        bar.advance(1)
    assert terminal.getvalue() == ""


def test_the_bar_goes_away_after_an_error(terminal: Terminal) -> None:
    seen: list[Progress] = []
    with pytest.raises(ValueError, match="inside"), redirect_stderr(terminal), progress("Counting", total=2) as bar:
        bar.advance(1)
        seen.append(bar)
        raise ValueError("inside")
    assert seen[0]._bar is not None
    assert not seen[0]._bar.live.is_started
