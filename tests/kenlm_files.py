"""The binaries in `fixtures/kenlm`, and what KenLM itself says of them where its package is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "fixtures" / "kenlm"
TRIES = ("o2.trie", "o2.trie-qa", "o3.trie-a", "o4.trie-q", "o5.trie", "o5.trie-a", "o5.trie-q", "o5.trie-qa",
         "o6.trie-qa", "gaps.trie")  # fmt: skip
PROBING = ("o2.probing", "o3.probing", "o3.rest", "o5.probing", "o6.probing", "gaps.probing")
WORDLESS = ("o5.probing-v", "o5.trie-v")
EXACT = tuple(name for name in (*TRIES, *PROBING, *WORDLESS) if "-q" not in name and not name.startswith("gaps"))
"""Whose numbers are those of the ARPA file."""
ALL = (*TRIES, *PROBING, *WORDLESS)
_RNG = np.random.default_rng(5)
_WORDS = [
    *sorted(set((FOLDER / "text.txt").read_text().split())),
    "a",
    "b",
    "c",
    "d",
    "zork",
    "Zürich",
    "日本語の長い単語",
]
SENTENCES = [
    *(FOLDER / "text.txt").read_text().splitlines(), "", "zork", "a b c", "a b d c", "  nila\tdafe\r kose  ",
    *(" ".join(_RNG.choice(_WORDS, _RNG.integers(1, 12))) for _ in range(60)),
]  # fmt: skip


def arpa_of(name: str) -> Path:
    """The ARPA file that a binary was made of."""
    return FOLDER / f"{name.partition('.')[0]}.arpa"


def their_model(name: str) -> Any:
    """KenLM's own model of a file."""
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed (extra: peers)")
    return kenlm.Model(str(FOLDER / name))
