"""What a stranger waits for: a fresh clone, first commands without kernels, `make demo`, the server's first answer.

In: a repository that git can clone. Out: a report in Markdown, with wall and processor time of each step and how busy
the machine was. Packages come from wherever pip is set up to find them.

    python benchmarks/first_day.py --out benchmarks/reports/DATE-first-day.md
    python benchmarks/first_day.py --busy 2            # also the demo beside two programs that do nothing but count
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

from side_by_side.processes import Shell
from side_by_side.report import cpu_model, load_average

ROOT = Path(__file__).parents[1]
COLUMNS = "| step | wall | processor | load average before |\n|---|--:|--:|---|"
AIM = "The aims are for two quiet cores: the first `modlm ngram` in 6 s, the demo in 3 minutes."


@dataclass(slots=True)
class Diary:
    """Steps in the order in which they were taken, as rows of a table."""

    rows: list[str] = field(default_factory=list)

    def note(self, what: str, load: str, seconds: float, cpu_seconds: float | None) -> None:
        """One more row, also told at once."""
        cpu = "–" if cpu_seconds is None else f"{cpu_seconds:.1f} s"
        self.rows.append(f"| {what} | {seconds:.1f} s | {cpu} | {load} |")
        print(self.rows[-1], file=sys.stderr)


def main(given: Sequence[str] | None = None) -> None:
    """Take every step in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--repository", default=str(ROOT), help="what to clone")
    parser.add_argument("--busy", type=int, default=0, help="programs beside a second demo; 0: no second demo")
    parser.add_argument("--installed", type=Path, help="a `modlm` to use in place of cloning and `make demo`")
    parser.add_argument("--out", type=Path, help="where the report goes, besides standard output")
    asked = parser.parse_args(given)
    os.environ.pop("PYTHONPATH", None)  # it could lend the clone another modlm
    diary = Diary()
    with tempfile.TemporaryDirectory(prefix="modlm-first-day-") as passing:
        folder = Path(passing)
        os.environ["MODLM_CACHE"] = str(folder / "rows")
        modlm = asked.installed.absolute() if asked.installed else cloned(diary, folder, asked.repository)
        first_commands(diary, modlm, folder)
        if asked.installed is None:
            del os.environ["NUMBA_CACHE_DIR"]  # the clone's own, which is empty
            step(diary, Shell(folder / "clone"), "`make demo` after that, kernels cold", ["make", "demo"])
            answered(diary, modlm, folder / "clone" / "demo")
        if asked.busy:
            with busy(asked.busy):
                empty_kernels(folder, "busy")
                step(diary, Shell(folder), f"`modlm demo`, kernels cold, beside {asked.busy} loops", [modlm, "demo"])
    page = report(diary, sys.argv[1:] if given is None else given)
    print(page, end="")
    if asked.out:
        asked.out.write_text(page, "utf-8")


def cloned(diary: Diary, folder: Path, repository: str) -> Path:
    """A clone with its environment; the `modlm` in it."""
    step(diary, Shell(folder), "`git clone`", ["git", "clone", "--quiet", repository, "clone"])
    step(diary, Shell(folder / "clone"), "what `make demo` installs first", ["make", ".venv/.package"])
    return folder / "clone" / ".venv" / "bin" / "modlm"


def answered(diary: Diary, modlm: Path, models: Path) -> None:
    """From `modlm serve` to its first answer."""
    load, begun = load_average(), time.perf_counter()
    with subprocess.Popen([modlm, "serve", models, "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            question = json.dumps({"context": "return true if", "k": 3}).encode()
            with urlopen(Request(f"{address}/next", question)) as answer:
                assert len(json.load(answer)["words"]) == 3
            diary.note("`modlm serve demo`, to its first answer", load, time.perf_counter() - begun, None)
        finally:
            server.terminate()


def first_commands(diary: Diary, modlm: Path, folder: Path) -> None:
    """`modlm ngram` and `modlm eval` with no kernel compiled, and once more."""
    shell = Shell(folder)
    empty_kernels(folder, "texts")
    shell.run([modlm, "demo", "--texts", "texts"])
    for name, command in {
        "ngram": [modlm, "ngram", "texts/train.txt", "-o", "model", "--force"],
        "eval": [modlm, "eval", "model", "texts/test.txt"],
    }.items():
        empty_kernels(folder, name)
        for which in ("first", "second"):
            step(diary, shell, f"{which} `modlm {name}`", command)


def step(diary: Diary, shell: Shell, what: str, command: Sequence[str | Path]) -> None:
    """Run a command to its end and note what it took."""
    load = load_average()
    done = shell.run(command)
    diary.note(what, load, done.seconds, done.cpu_seconds)


def empty_kernels(folder: Path, name: str) -> None:
    """Commands from here on find no compiled kernel but their own."""
    os.environ["NUMBA_CACHE_DIR"] = str(folder / f"kernels-{name}")


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Programs that take a core each, as long as this lasts."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def report(diary: Diary, given: Sequence[str]) -> str:
    """The page."""
    command = " ".join(["python benchmarks/first_day.py", *given])
    machine = f"{cpu_model()}, {os.cpu_count()} cores, load average at the end {load_average()}"
    parts = [f"# The first day, {time.strftime('%Y-%m-%d')}", f"    {command}", "\n".join([COLUMNS, *diary.rows])]
    return "\n\n".join([*parts, f"{machine}.", AIM]) + "\n"


if __name__ == "__main__":
    main()
