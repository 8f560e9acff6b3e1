"""Speed and size beside KenLM in one run; writes a report. `benchmarks/README.md` explains it.

python benchmarks/against_kenlm.py --ptb TRAIN TEST --newswire TEXT --kenlm FOLDER-WITH-BINARIES
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from modlm.ground.files import new_file
from side_by_side import building, calling, opening, report, scoring
from side_by_side.findings import Findings
from side_by_side.limits import copy_bandwidth
from side_by_side.processes import Shell
from side_by_side.texts import Texts, default_sources
from side_by_side.workshop import PROGRAMS, THREADS, Workshop

MEASUREMENTS: dict[str, Callable[[Workshop], None]] = {
    "build": building.build,
    "query": scoring.query,
    "kernel": scoring.kernel,
    "python": calling.python,
    "distribution": calling.distribution,
    "open": opening.open_model,
    "start": opening.start,
    "encode": opening.encode,
}
REPORTS = Path(__file__).parent / "reports"


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Speed and size of modlm beside KenLM. Texts may be packed (xz, gz, bz2); those not given are "
        "looked for in the folder MODLM_DATA."
    )
    parser.add_argument("--ptb", nargs=2, type=Path, metavar=("TRAIN", "TEST"), help="the Penn Treebank")
    parser.add_argument("--newswire", type=Path, metavar="TEXT", help="some tens of millions of words")
    parser.add_argument("--large", type=Path, metavar="TEXT", help="a text with 300,000 different words or more")
    parser.add_argument("--kenlm", type=Path, metavar="FOLDER", help=f"the folder with {', '.join(PROGRAMS)}")
    parser.add_argument(
        "--kenlm-version", default="version not given", metavar="TEXT", help="its commit, for the report"
    )
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS), metavar="NAME",
                        help=f"some of {', '.join(MEASUREMENTS)}")  # fmt: skip
    parser.add_argument("--repetitions", type=int, metavar="N", help="instead of each measurement's own number")
    parser.add_argument("--work", type=Path, metavar="FOLDER",
                        help="keep texts and models there and use them again (default: a passing one)")  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="try the script: one repetition, small arrays, no real numbers"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the report (default: reports/DATE-against-kenlm.md)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the numbers as JSON")
    asked = parser.parse_args(given)
    if asked.kenlm is not None:
        missing = [name for name in PROGRAMS if not (asked.kenlm / name).is_file()]
        if missing:
            parser.error(f"{asked.kenlm} does not have {', '.join(missing)}. Give the folder with KenLM's programs.")
    return asked


def sources(asked: argparse.Namespace) -> dict[str, Path]:
    """The texts by name: those given, else those under MODLM_DATA."""
    given = {"newswire": asked.newswire, "large": asked.large}
    if asked.ptb is not None:
        given |= {"ptb.train": asked.ptb[0], "ptb.test": asked.ptb[1]}
    return default_sources() | {name: path.resolve() for name, path in given.items() if path is not None}


@contextlib.contextmanager
def work_folder(asked: Path | None) -> Iterator[Path]:
    """The folder asked for, or one that goes away."""
    if asked is not None:
        asked.mkdir(parents=True, exist_ok=True)
        yield asked.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="modlm-bench-") as name:
        yield Path(name)


def own_command(given: Sequence[str]) -> str:
    """This run as one would type it, without the folders of this machine."""
    words = [Path(word).name if os.sep in word else word for word in given]
    return shlex.join(["python", "benchmarks/against_kenlm.py", *words])


def measure(shop: Workshop, names: Sequence[str]) -> bool:
    """Run the measurements in the order of the table, saying on standard error what comes out; whether all went well.

    One that fails, or finds that the two programs disagree, is told in the report and does not cost the others.
    """
    failed = False
    for name in [name for name in MEASUREMENTS if name in names]:
        begun, known = time.perf_counter(), len(shop.findings.bars)
        print(f"{name}: {MEASUREMENTS[name].__doc__}", file=sys.stderr)
        try:
            MEASUREMENTS[name](shop)
        except Exception as error:
            traceback.print_exc()
            shop.findings.remark(f"**`{name}` stopped: {type(error).__name__}: {error}**")
            failed = True
        for bar in shop.findings.bars[known:]:
            print("  " + bar.line(), file=sys.stderr)
        print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return not failed


def main(given: Sequence[str] | None = None) -> int:
    """Measure and write the report; 0 even when a bar is missed, 1 when a measurement failed."""
    words = list(sys.argv[1:] if given is None else given)
    asked = arguments(words)
    if hasattr(os, "sched_setaffinity"):  # KenLM's programs take all cores they see
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    date, findings, before = datetime.date.today().isoformat(), Findings(), report.load_average()
    with work_folder(asked.work) as folder:
        kenlm = asked.kenlm.resolve() if asked.kenlm is not None else None
        shop = Workshop(
            Texts(folder, sources(asked)), Shell(folder), findings,
            kenlm=kenlm, quick=asked.quick, asked_repetitions=asked.repetitions,
        )  # fmt: skip
        all_well = measure(shop, asked.only)
        shop.describe_texts()
        commands = list(shop.shell.commands)
    bandwidths = [(count, copy_bandwidth(count, quick=asked.quick)) for count in (1, THREADS)]
    machine = report.machine(kenlm_version=asked.kenlm_version if kenlm else "not given", bandwidths=bandwidths)
    machine.append(f"load average before: {before}; all programs had {THREADS} cores")
    page = report.markdown(
        findings, date=date, command=own_command(words), commands=commands, machine=machine, quick=asked.quick
    )
    out = asked.out or REPORTS / f"{date}-against-kenlm.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    with new_file(out) as target:
        target.write_text(page, encoding="utf-8")
    if asked.json is not None:
        with new_file(asked.json) as target:
            target.write_text(
                json.dumps({"date": date, "machine": machine, **findings.as_dict()}, indent=1, ensure_ascii=False)
            )
    print(f"wrote {out}", file=sys.stderr)
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main())
