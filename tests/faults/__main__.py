"""Try faults and report what was lost.

    python -m tests.faults                        every row, a few tries each: minutes
    python -m tests.faults kill-save --tries 500
    python -m tests.faults --full --record        the numbers of docs/reliability.md: hours; writes the table there

Run from the root of the repository with PYTHONPATH=src:.:tests (`make faults` does).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("MODLM_PROGRESS", "0")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
RECORDS = ROOT / "docs" / "reliability"
BEGIN, END = "<!-- table: python -m tests.faults -->", "<!-- end of table -->"
GROUPS = ("kills", "outputs", "damage", "hostile", "reading", "serving")


def rows() -> dict[str, Any]:
    """Every row by its name, in the order of the table."""
    import importlib

    return {
        name: row for group in GROUPS for name, row in importlib.import_module(f"tests.faults.{group}").ROWS.items()
    }


def tried_alone(name: str, tries: int) -> dict[str, Any]:
    """A row in a process of its own, so that none finds what another left in memory; its record."""
    command = [sys.executable, "-m", "tests.faults", name, "--tries", str(tries), "--here"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    lines = done.stdout.splitlines()
    if done.returncode not in (0, 1) or not lines or not lines[-1].startswith("{"):
        raise SystemExit(f"{name}: the trial itself failed with exit code {done.returncode}")
    record: dict[str, Any] = json.loads(lines[-1])
    return record


def tried_here(name: str, tries: int) -> dict[str, Any]:
    """The record of a row."""
    row, begun = rows()[name], time.monotonic()
    outcome = row.run(tries)
    took = round(time.monotonic() - begun, 1)
    found = {"row": name, "what": row.what, "unit": row.unit, "tried": outcome.tried, "survived": outcome.survived}
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return {**found, "lost": outcome.lost, "seconds": took, "figures": outcome.figures, "machine": machine}


def table(records: Sequence[dict[str, Any]]) -> str:
    """The records as Markdown."""
    lines = ["| what was done | tried | survived | lost | besides |", "|---|--:|--:|--:|---|"]
    for record in records:
        besides = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in record["figures"].items())
        counts = " | ".join(f"{record[name]:,}" for name in ("tried", "survived", "lost"))
        lines.append(f"| {record['what']} | {counts} | {besides} |")
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def write_table() -> None:
    """Bring the table of the page up to the records."""
    found = [RECORDS / f"{name}.json" for name in rows()]
    records = [json.loads(path.read_text(encoding="utf-8")) for path in found if path.exists()]
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(records)}{END}{rest.split(END)[1]}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ROW", help=f"of {', '.join(rows())}; all if none is named")
    parser.add_argument("--tries", type=int, default=0, help="how often, instead of the few of each row")
    parser.add_argument("--full", action="store_true", help="as often as docs/reliability.md says")
    parser.add_argument("--record", action="store_true", help="write the records and the table in docs/")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    known, lost = rows(), 0
    if unknown := set(given.names) - set(known):
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    for name in given.names or known:
        tries = given.tries or (known[name].full if given.full else known[name].small)
        record = (tried_here if given.here else tried_alone)(name, tries)
        lost += record["lost"]
        if given.here:
            print(json.dumps(record))
            continue
        print(f"{name}: {record['tried']:,} tried, {record['lost']} lost, {record['seconds']} s {record['figures']}")
        if given.record:
            RECORDS.mkdir(exist_ok=True)
            (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            write_table()
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
