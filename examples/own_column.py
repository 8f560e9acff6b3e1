"""A column of one's own beside n-gram orders and deltas: words that stand in the sentence already, mixed by an LSTM.

    python examples/own_column.py TRAIN VALID TEST

prints the perplexity with and without the column, and where the last word of a sentence got its probability from.
"""

from __future__ import annotations

import sys

import numpy as np

import modlm
from modlm.text import Vocabulary


def said_before(windows: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
    """Nine tenths on the words of the window, the rest on all words alike."""
    probs_BJ = np.full((len(windows), len(vocabulary)), 0.1 / len(vocabulary))
    for row, window in zip(probs_BJ, windows, strict=True):
        for word in window:
            row[vocabulary.id(word)] += 0.9 / len(window)
    return probs_BJ / probs_BJ.sum(axis=1, keepdims=True)


def main(train: str, valid: str, test: str) -> None:
    """Train twice and compare."""
    mine = modlm.FunctionBlock(said_before, columns=("said before",), context_length=8)
    usual = {"ngram": modlm.Ngram(order=3), "uniform": modlm.Uniform(), "delta": modlm.Delta()}
    for name, columns in {"without": usual, "with": {"mine": mine, **usual}}.items():
        lm = modlm.train(
            train, valid, columns=columns, mixer=modlm.Lstm(hidden=50, dropout=0.2), block_dropout=0.5, epochs=3
        )  # fmt: skip
        print(f"{name} the column: {float(lm.perplexity(test)):.1f}")
    last = lm.explain("the cat saw the cat")[-2]
    print(last.word, {column: round(share, 2) for column, share in last.shares.items() if share > 0.01})


if __name__ == "__main__":
    main(*sys.argv[1:])
