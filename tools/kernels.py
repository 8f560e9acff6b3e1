"""Write `src/modlm/ground/kernels.json` anew: the kernels that each command calls, with the types of their arguments.

    python tools/kernels.py

Commands run here on a small text, one after the other in processes of their own, which note what numba is asked for.
The first run of each is what its helper compiles; what only the others need stands under "others", for `modlm warm`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "modlm" / "ground" / "kernels.json"
TEXT = "the cat sat on the mat\na dog sat on the log\nthe cat saw the dog\na cat ate\n" * 50
COMMANDS: dict[str, list[list[str]]] = {
    "count": [["text", "-o", "counts"], ["text", "-o", "counts-disk", "--engine", "disk"]],
    "ngram": [["text", "-o", "ngram"], ["text", "-o", "ngram-wb", "--smoothing", "witten-bell", "--order", "3"],
              ["text", "-o", "pruned", "--prune-entropy", "1e-4"]],
    "eval": [["ngram", "text"], ["mixed", "text"]],
    "score": [["ngram", "text"]],
    "next": [["ngram", "the cat"], ["learning", "the cat"]],
    "generate": [["ngram"]],
    "index": [["text", "-o", "index"]],
    "find": [["index", "the cat"]],
    "overlap": [["index", "text", "--least", "3"]],
    "interpolate": [["ngram", "ngram-wb", "--tune", "text", "-o", "mixed"],
                    ["ngram", "--online", "3", "--cache", "50", "--tune", "text", "-o", "learning"],
                    ["ngram", "index", "--tune", "text", "-o", "mixed-index"]],
    "convert": [["ngram", "model.arpa"], ["model.arpa", "from-arpa"]],
    "align": [["text", "text", "-o", "table", "--alignments", "links"]],
    "train": [["--text", "text", "--valid", "text", "-o", "run", "--epochs", "1", "--hidden", "8"],
              ["--text", "text", "--valid", "text", "--source", "text", "--valid-source", "text", "-o", "conditional",
               "--epochs", "1", "--hidden", "8"]],
}  # fmt: skip
ORDER = "count ngram index find overlap interpolate eval score next generate convert align train".split()
NOTE = """
import json, sys, threading
from numba.core.dispatcher import Dispatcher
own, inside, found = Dispatcher.compile, threading.local(), []
def compile(self, sig):
    outermost = not getattr(inside, "a_kernel", False)
    if outermost and self.py_func.__module__.startswith("modlm."):
        found.append((self.py_func.__module__, self.py_func.__qualname__, str(tuple(sig))))
    inside.a_kernel = True
    try:
        return own(self, sig)
    finally:
        inside.a_kernel = not outermost
Dispatcher.compile = compile
from modlm.cli.app import run
code = run(sys.argv[1:])
print("FOUND" + json.dumps(found))
sys.exit(code)
"""


def noted(arguments: list[str], folder: Path) -> list[tuple[str, ...]]:
    """The kernels that a command asks numba for, in order."""
    done = subprocess.run([sys.executable, "-c", NOTE, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"modlm {' '.join(arguments)}: {done.stderr}")
    return [tuple(one) for one in json.loads(done.stdout.rpartition("FOUND")[2])]


def main() -> None:
    """Run them all and write the table."""
    table: dict[str, list[tuple[str, ...]]] = {}
    others: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "text").write_text(TEXT, encoding="utf-8")
        for name in ORDER:
            first, *more = (noted([name, *arguments], Path(place)) for arguments in COMMANDS[name])
            table[name] = list(dict.fromkeys(first))
            others += [one for run in more for one in run]
            print(f"{name}: {len(table[name])} kernels")
    known = {one for found in table.values() for one in found}
    table["others"] = [one for one in dict.fromkeys(others) if one not in known]
    lines = ",\n".join(
        f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(one)}" for one in found) + "\n ]"
        for name, found in table.items()
    )
    TARGET.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
