"""A folder of recipes small enough for tests, with texts of a few hundred sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from modlm.experiments.reproduce.corpora import Corpora
from modlm.experiments.reproduce.recipe_folder import Recipes
from modlm.experiments.reproduce.runs import Runs

GOLDEN = Path(__file__).parent / "golden" / "small.txt"
CORPORA = """
[corpora.ptb]
title = "PTB"
train = "train.txt"
valid = "valid.txt"
test = "test.txt"
[corpora.wsj]
title = "WSJ"
stand_in = "newswire"
[corpora.newswire]
title = "newswire"
train = "more.txt"
[texts.sample]
of = "wsj"
every = 4
[texts.both]
of = ["ptb", "sample"]
[texts.both.full]
of = ["ptb", "wsj"]
"""
RUNS = """
[sizes]
kind = "sizes"
corpus = "ptb"
[kn]
kind = "ngram"
corpus = "ptb"
smoothing = "modified-kneser-ney"
[wsj-kn]
kind = "ngram"
corpus = "ptb"
text = "wsj"
smoothing = "modified-kneser-ney"
estimate = 90.0
[mixed]
kind = "static"
corpus = "ptb"
members = ["kn", "wsj-kn"]
[hybrid]
kind = "train"
preset = "paper/ptb-hybrid"
corpus = "ptb"
text = "both"
columns = { wsj = "wsj" }
settings = { folds = 2, net = { hidden = 4 }, schedule = { epochs = 1.0 } }
"""
PUBLISHED = """
[mini]
source = "nowhere"
unprinted = "made up for a test"
[mini.ptb]
sentences = 200
1 = 20.0
3 = 15.0
"""
MINI = """
paper = "Table 0"
title = "A small table"
[[rows]]
row = "sentences"
corpus = "ptb"
run = "sizes"
measure = "values.train sentences"
[[rows]]
row = "1"
what = "Kneser-Ney"
corpus = "ptb"
run = "kn"
[[rows]]
row = "2"
what = "other counts"
corpus = "ptb"
run = "wsj-kn"
[[rows]]
row = "3"
what = "mixed"
corpus = "ptb"
run = "mixed"
[[claims]]
says = "mixing helps"
lower = ["3"]
than = ["1"]
"""

Reproduce = Callable[..., Any]
"""Words of the command line to what `--json` prints."""


def write_recipes(folder: Path) -> None:
    """`recipes` and `data` in a folder."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = {"train": lines[:200], "valid": lines[200:250], "test": lines[250:], "more": lines[100:250]}
    (folder / "data").mkdir()
    for name, part in parts.items():
        (folder / "data" / f"{name}.txt").write_text("".join(part), encoding="utf-8")
    (folder / "recipes").mkdir()
    files = {"corpora": CORPORA, "runs": RUNS, "published": PUBLISHED, "mini": MINI}
    for name, text in files.items():
        (folder / "recipes" / f"{name}.toml").write_text(text, encoding="utf-8")


def runs_in(place: Path, scale: str = "here", *, given: dict[str, Path] | None = None, **options: Any) -> Runs:
    """A running on what `write_recipes` wrote."""
    corpora = Corpora(Recipes.open(place / "recipes", scale), place / "runs" / "texts", given=given or {})
    return Runs(corpora, place / "runs", **options)
