"""What a file is, told by its first lines, however long these are."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from modlm.formats.kinds import COUNT_LINE, kind_of


@pytest.mark.parametrize("line", [b"the cat\t3", b" a\t1\r", b"a b \t10", b"  x y\t0"])
def test_lines_of_count_files(line: bytes) -> None:
    assert COUNT_LINE.fullmatch(line)


@pytest.mark.parametrize("line", [b"the cat 3", b"\t3", b"   \t3", b"a\tb\t3", b"a\t", b"a\t3 4", b"a\t-3"])
def test_other_lines(line: bytes) -> None:
    assert not COUNT_LINE.fullmatch(line)


def seconds(path: Path) -> float:
    begun = time.process_time()
    assert kind_of(path) == "text"
    return time.process_time() - begun


@pytest.mark.parametrize("word", [b"word ", b"       x", b"x"])
def test_a_line_of_any_length_is_looked_at_in_time_that_grows_with_it(tmp_path: Path, word: bytes) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_bytes(word * (1_000_000 // len(word)) + b"\n")
    long.write_bytes(word * (16_000_000 // len(word)) + b"\n")
    kind_of(short)
    ratio = min(seconds(long) for _ in range(3)) / max(1e-4, min(seconds(short) for _ in range(3)))
    assert ratio < 64, f"16 times the length takes {ratio:.0f} times as long; were it quadratic, 256"
