"""Rows for training: ten held-out folds beside one count, their size, and how soon a second run trains.

    python benchmarks/rows.py --ptb TRAIN TEST

Both sides begin with the text's ids and end with the rows of every position: counting is part of both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from modlm.blocks.log_rows import LogRows
from modlm.text.corpus import Corpus
from modlm.training.blocks import dense_blocks
from modlm.training.config import RunConfig
from modlm.training.rows import rows
from side_by_side.ratios import Speeds, arguments, publish
from side_by_side.timing import clocked, in_turns
from train import HYBRID, configured, trainer_of, updates

TITLE = "Rows for training"
FOLDS, ONE, FIRST_BATCH = "10 folds", "one count", "--first-batch"


def one_count(config: RunConfig, corpus: Corpus) -> LogRows:
    """Rows of a text from the counts of all of it."""
    return rows(corpus, dense_blocks(config, corpus))


def ten_folds(config: RunConfig, corpus: Corpus) -> LogRows:
    """Rows of each fold from the counts of the others."""
    return rows(corpus, dense_blocks(config, corpus), folds=config.folds)


def first_batch(asked: argparse.Namespace) -> None:
    """One update of a run, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="modlm-bench-") as folder:
        updates(trainer_of(configured(HYBRID, asked), Path(folder)), 1)


def measured(asked: argparse.Namespace, given: Sequence[str]) -> Speeds:
    """Words a second of both ways, bytes a position, and seconds until the first update."""
    config = configured(HYBRID, asked)
    corpus = Corpus.from_text(Path(asked.ptb[0]))
    size = ten_folds(config, corpus).bytes / len(corpus.ids)
    one_count(config, corpus)
    tasks = {
        FOLDS: clocked(partial(ten_folds, config, corpus)),
        ONE: clocked(partial(one_count, config, corpus)),
    }
    speeds = Speeds(corpus.words, in_turns(asked.repetitions, tasks))
    speeds.compare(FOLDS, ONE, at_least=0.333)
    with tempfile.TemporaryDirectory(prefix="modlm-bench-") as cache:
        command = [sys.executable, __file__, *given, FIRST_BATCH]
        run = partial(subprocess.run, command, env=os.environ | {"MODLM_CACHE": cache}, check=True)
        first = clocked(run)()
        again = in_turns(asked.repetitions, {"again": clocked(run)})["again"]
    speeds.facts += [
        f"{size:.1f} bytes a position (bar: 120), order {config.columns['kn'].order}",
        f"from starting Python to the end of the first update of a hybrid: {first:.2f} s in the first run, "
        f"{again.median:.2f} s in a second one, which finds its rows in the cache (bar: 5)",
    ]
    return speeds


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    words = list(sys.argv[1:] if given is None else given)
    asked = arguments("Rows for training, as ratios.", [word for word in words if word != FIRST_BATCH])
    if FIRST_BATCH in words:
        first_batch(asked)
        return 0
    publish(measured(asked, words), TITLE, "rows.py", asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
