"""Counting on a real cluster, of which a worker dies; and interrupted in the middle."""

from __future__ import annotations

import random
import signal
from pathlib import Path

from tests.counts.loopback_cluster import MARKS, PATIENCE, command, conf_flags, wait_for, with_a_death
from tests.counts.spark_here import QUICK

pytestmark = MARKS


def folder_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_worker_that_dies_in_the_middle_does_not_change_the_result(tmp_path: Path) -> None:
    rng = random.Random(5)
    words = [f"w{int(rng.paretovariate(0.7)) % 3000}" for _ in range(40_000)]
    text, place = tmp_path / "text.txt", tmp_path / "tmp"
    text.write_text("".join(" ".join(words[at : at + 11]) + "\n" for at in range(0, len(words), 11)))
    place.mkdir()
    # when it dies, n-grams are being written, sorted, from what both workers hold of the shuffle
    with_a_death(
        tmp_path, "count", text, "-o", tmp_path / "cluster", "--order", 4, "--temporary", place,
        begun=lambda: any(place.glob("*modlm*/tables/windows")),
        ended=lambda: any(place.glob("*modlm*/tables/windows/_SUCCESS")),
    )  # fmt: skip
    assert list(place.iterdir()) == []
    alone = command("count", text, "-o", tmp_path / "memory", "--order", 4)
    assert alone.communicate()[1] == ""
    assert folder_bytes(tmp_path / "cluster") == folder_bytes(tmp_path / "memory")


def test_an_interruption_stops_the_jobs_and_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C while Spark works, in a process of its own."""
    text, place = tmp_path / "text.txt", tmp_path / "tmp"
    text.write_text("a b c d e f g\n" * 20_000)
    place.mkdir()
    where = ["--master", "local[2]", "--temporary", place, *conf_flags(QUICK)]
    counting = command("count", text, "-o", tmp_path / "counts", *where)
    try:
        wait_for(lambda: any(place.glob("*modlm*/tables/*")) or counting.poll() is not None, "the first table")
        counting.send_signal(signal.SIGINT)
        out, err = counting.communicate(timeout=PATIENCE)
    finally:
        counting.kill()
        counting.communicate()
    assert (counting.returncode, out, err) == (130, "", "modlm: interrupted; nothing was written\n")
    assert list(place.iterdir()) == []
    assert not (tmp_path / "counts").exists()
