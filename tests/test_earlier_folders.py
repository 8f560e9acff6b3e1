"""Folders that an earlier version wrote (`fixtures/before`) give the same numbers as they gave it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import modlm
from modlm.blocks.log_rows import LogRows
from modlm.counts import open_counts
from modlm.text import Corpus

FIXTURES = Path(__file__).parent / "fixtures"
SENTENCES = ("w0 w3 w6 w9", "w1 w4 w7", "w5", "", "w13 nowhere w2 w2")
FULL, FAST = "full", "fast"


def corpus_numbers(folder: Path, verify: Any) -> dict[str, Any]:
    corpus = Corpus.open(folder, verify=verify)
    return {
        "ids": corpus.ids.tolist(),
        "words": corpus.vocabulary.words,
        "sentences": corpus.sentences,
        "unknown": corpus.unknown,
        "sources": list(corpus.sources),
    }


def counts_numbers(folder: Path, verify: Any) -> dict[str, Any]:
    counts = open_counts(folder, verify=verify)
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in counts.settings().items()}
    return {"settings": settings, "arrays": {name: array.tolist() for name, array in counts.arrays().items()}}


def model_numbers(folder: Path, verify: Any) -> dict[str, Any]:
    model = modlm.load(folder, verify=verify)
    return {
        "log_probs": [model.log_probs(model.sentence_ids(sentence)).tolist() for sentence in SENTENCES],
        "after": [model.next_words(sentence, k=2)[-1].probability for sentence in SENTENCES],
    }


def rows_numbers(folder: Path, verify: Any) -> dict[str, Any]:
    rows = LogRows.open(folder, verify=verify)
    blocks = {
        name: [span.columns.start, span.columns.stop, span.features.start, span.features.stop, span.steady]
        for name, span in rows.spans.items()
    }
    return {
        "blocks": blocks,
        "ids": rows.ids.tolist(),
        "starts": rows.starts.tolist(),
        "log_probs": rows.log_probs_TD.sum(axis=1, where=np.isfinite(rows.log_probs_TD)).tolist(),
        "features": rows.features_TF.sum(axis=1).tolist(),
    }


FOLDERS: dict[str, Callable[[Path, Any], dict[str, Any]]] = {
    "corpus": corpus_numbers,
    "corpus-of-tokens": corpus_numbers,
    "counts": counts_numbers,
    "counts-on-disk": counts_numbers,
    "counts-with-skips": counts_numbers,
    "ngram": model_numbers,
    "mixture-of-models": model_numbers,
    "mixture-of-orders": model_numbers,
    "run": model_numbers,
    "rows": rows_numbers,
}


def close(found: Any, expected: Any) -> bool:
    """The same whole numbers and names, and floats as near as another machine's arithmetic comes."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return bool(found == pytest.approx(expected, rel=1e-6) if isinstance(expected, float) else found == expected)


@pytest.mark.parametrize("verify", [FAST, FULL])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_an_earlier_version_gives_the_same_numbers(name: str, verify: str) -> None:
    expected = json.loads((FIXTURES / "before.json").read_text(encoding="utf-8"))["numbers"][name]
    assert close(json.loads(json.dumps(FOLDERS[name](FIXTURES / "before" / name, verify))), expected)
