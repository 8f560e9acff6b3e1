"""Perplexity against size when a model is pruned; prints a page, or with --json writes the numbers behind the figure.

python benchmarks/pruning.py --ptb TRAIN TEST --kenlm FOLDER-WITH-BINARIES --json benchmarks/reports/DATE-pruning.json
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from modlm.ground.files import new_file
from side_by_side.texts import OPENERS, default_sources

ENTROPY = (0.0, 1e-9, 1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5)
COUNTS = ("0,0,1", "0,1,1", "0,1,2", "0,2,3")
BINARIES = {"trie": ["trie"], "trie, 8 bits": ["-q", "8", "-b", "8", "-a", "22", "trie"]}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Perplexity against size of pruned models, ours and KenLM's.")
    parser.add_argument("--ptb", nargs=2, type=Path, metavar=("TRAIN", "TEST"), help="default: from MODLM_DATA")
    parser.add_argument("--order", type=int, default=5, metavar="N")
    parser.add_argument("--kenlm", type=Path, metavar="FOLDER", help="the folder with build_binary and query")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    return parser.parse_args(given)


def measured(
    train: Path, test: Path, folder: Path, options: Sequence[str], asked: argparse.Namespace
) -> dict[str, Any]:
    """One model: n-grams, bytes on disk and perplexity, and the sizes of KenLM's binaries of the same model."""
    command = [sys.executable, "-m", "modlm", "ngram", train, "-o", folder / "model", "--order", asked.order, *options]
    command += ["--arpa", folder / "model.arpa", "--valid", test, "--force", "--json"]
    told = json.loads(subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout)
    found = {
        "options": " ".join(options),
        "ngrams": sum(told["ngrams"]),
        "bytes": told["bytes"],
        "perplexity": told["valid"]["perplexity"],
        "kenlm": {},
    }
    for name, flags in BINARIES.items() if asked.kenlm else ():
        binary = folder / "model.binary"
        command = [asked.kenlm / "build_binary", *flags, folder / "model.arpa", binary]
        subprocess.run([*map(str, command)], check=True, capture_output=True)
        found["kenlm"][name] = {"bytes": binary.stat().st_size, "perplexity": perplexity(asked.kenlm, binary, test)}
    return found


def perplexity(kenlm: Path, binary: Path, test: Path) -> float:
    """What KenLM's own program says of the test text, unknown words included."""
    with OPENERS.get(test.suffix, lambda path: path.open("rb"))(test) as text:
        told = subprocess.run(
            [kenlm / "query", "-v", "summary", binary], input=text.read(), capture_output=True, check=True
        )
    return float(re.search(r"including OOVs:\s*(\S+)", told.stdout.decode())[1])


def page(numbers: dict[str, Any]) -> str:
    """The numbers as Markdown."""
    rows = [
        "| pruned by | n-grams | MB | perplexity |" + "".join(f" KenLM {name}, MB (perplexity) |" for name in BINARIES)
    ]
    rows.append("|---|--:|--:|--:|" + "--:|" * len(BINARIES))
    for one in numbers["models"]:
        sizes = (one["kenlm"].get(name) for name in BINARIES)
        shown = "".join(
            f" {size['bytes'] / 1e6:.1f} ({size['perplexity']:.2f}) |" if size else " – |" for size in sizes
        )
        what = f"`{one['options']}`" if one["options"] else "nothing"
        rows.append(f"| {what} | {one['ngrams']:,} | {one['bytes'] / 1e6:.1f} | {one['perplexity']:.2f} |{shown}")
    return "\n".join(rows) + "\n"


def main(given: Sequence[str] | None = None) -> None:
    """Measure and print."""
    asked = arguments(given)
    found = default_sources()
    train, test = asked.ptb or (found["ptb.train"], found["ptb.test"])
    settings = [[] if not value else ["--prune-entropy", f"{value:g}"] for value in ENTROPY]
    settings += [["--prune", value] for value in COUNTS]
    with tempfile.TemporaryDirectory() as name:
        models = [measured(train, test, Path(name), options, asked) for options in settings]
    command = "python benchmarks/pruning.py --ptb TRAIN TEST"
    command += " --kenlm FOLDER" if asked.kenlm else ""
    numbers = {"date": str(datetime.date.today()), "command": command, "order": asked.order, "models": models}
    if asked.json:
        with new_file(asked.json) as place:
            place.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(page(numbers), end="")


if __name__ == "__main__":
    main()
