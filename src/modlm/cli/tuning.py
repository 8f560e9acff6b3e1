"""What `modlm tune` does: the search, and what it prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from modlm.cli.outcome import resumable
from modlm.cli.printing import finite, number, print_json, print_table


def search(
    table: dict[str, Any], vary: Sequence[str], folder: Path, *, trials: int, device: str, as_json: bool
) -> None:
    """Bring a search to so many trials and print what was tried."""
    from modlm.experiments.tuning import BEST, Search
    from modlm.experiments.variations import variations
    from modlm.training.config_file import check_files, run_config

    varied = variations(vary)
    check_files(run_config(table, where="modlm tune"))
    resumable("the same command", when=folder)
    found = Search(table, varied, folder, device, say=lambda message: print(message, file=sys.stderr)).run(trials)
    resumable("")
    if as_json:
        print_json([finite(asdict(one)) for one in found])
        return
    paths = [one.path for one in varied]
    rows = [
        [str(one.number), one.state, number(one.valid), *(_shown(one.settings.get(path)) for path in paths)]
        for one in found
    ]
    print_table(["trial", "", "valid", *paths], rows)
    if (folder / BEST).is_file():
        print(f"the best: modlm train {folder / BEST} -o DIR")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
