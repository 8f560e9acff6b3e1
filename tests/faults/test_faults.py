"""Every row of docs/reliability.md with its small number of tries; `make faults` has the large ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.__main__ import PAGE, RECORDS, ROOT, table

from modlm.errors import require

ROWS = [
    *("kill-count-memory kill-count-disk kill-count-spark kill-save".split()),
    *("kill-convert kill-convert-folder kill-prune kill-train".split()),
    *("disk-full cache-full read-only permission changed-text clock two-writers".split()),
    *("damage-ngram damage-mixture damage-hybrid damage-counts hostile-folders bombs".split()),
    *("fuzz-arpa fuzz-counts fuzz-nbest fuzz-config fuzz-vocabulary".split()),
    *("slow-headers slow-bodies half-open many-connections odd-requests soak sigterm".split()),
]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("row", ROWS)
def test_nothing_is_lost(row: str) -> None:
    for package in ("torch", "fastapi"):
        require(package, extra="neural,serve", purpose="Trying faults")
    if "spark" in row:
        pytest.importorskip("pyspark", reason="needs the extra spark")
        if shutil.which("java") is None:
            pytest.skip("needs Java")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tests")))}
    command = [sys.executable, "-m", "tests.faults", row]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def records() -> list[dict[str, object]]:
    return [json.loads((RECORDS / f"{row}.json").read_text()) for row in ROWS if (RECORDS / f"{row}.json").exists()]


def test_the_page_shows_what_was_recorded_and_nothing_was_lost() -> None:
    found = records()
    assert found and all(record["lost"] == 0 for record in found)
    assert table(found) in PAGE.read_text(encoding="utf-8")


def test_every_kept_record_belongs_to_a_row() -> None:
    assert {path.stem for path in Path(RECORDS).glob("*.json")} <= set(ROWS)
