"""Builds the sdist, the wheel from it, and tries the wheel in a clean environment of every interpreter asked for.

    python tools/wheel_check.py                                    # with this Python; `make wheel-check`
    python tools/wheel_check.py --python python3.11 --python python3.12 --python python3.13
    python tools/wheel_check.py --extra neural                     # a tiny net is trained as well

Packages are installed with the versions of constraints.txt, from wherever pip is configured to look. What is tried runs
outside of the repository, so that nothing of it is found by accident.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = "the cat sat on the mat\nthe dog sat on the cat\na dog and a cat\n" * 20
COMMANDS = (
    "--version",
    "ngram train.txt -o model --order 3",
    "eval model train.txt",
    "next model 'the cat'",
    "convert model model.arpa",
    "inspect model",
    "reproduce --list",  # the recipes are in the wheel
)
NEURAL = (
    "train --text train.txt --valid train.txt -o run --hidden 4 --order 2 --epochs 1 --device cpu",
    "eval run train.txt",
    "train paper/ptb-hybrid --text train.txt --valid train.txt -o preset --hidden 4 --epochs 0.1 --device cpu",
)


def call(command: Sequence[object], **settings: object) -> None:
    """Run a command; what it printed is shown only when it failed."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **settings)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def build(folder: Path) -> Path:
    """The wheel that comes out of the sdist."""
    call([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT])
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    print(f"{sdist.name}: {sdist.stat().st_size:,} bytes; {wheel.name}: {wheel.stat().st_size:,} bytes", flush=True)
    return wheel


def try_out(python: str, wheel: Path, folder: Path, extras: Sequence[str]) -> None:
    """A clean environment with the wheel, and commands in it."""
    call([python, "-m", "venv", folder / "venv"])
    own = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    call([own, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wanted])
    call([own, "-m", "pip", "check"])
    (folder / "train.txt").write_text(TEXT, encoding="utf-8")
    settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    settings |= {"MODLM_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": str(folder / "numba"), "MODLM_PROGRESS": "0"}
    commands = [*COMMANDS, *(NEURAL if "neural" in extras else ())]
    for command in commands:
        call([own, "-m", "modlm", *shlex.split(command)], cwd=folder, env=settings)
    version = subprocess.run([str(own), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version}: installed, {len(commands)} commands passed", flush=True)


def main() -> None:
    """Build once, try with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", metavar="PATH", help="An interpreter; repeatable.")
    parser.add_argument("--extra", action="append", default=[], help="An extra to install as well; repeatable.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="modlm-wheel-") as place:
        wheel = build(Path(place) / "dist")
        for number, python in enumerate(asked.python or [sys.executable]):
            folder = Path(place) / str(number)
            folder.mkdir()
            try_out(python, wheel, folder, asked.extra)


if __name__ == "__main__":
    main()
