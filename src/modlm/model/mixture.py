"""`Mixture`: blocks and a mixer make a language model, P(w | c) = sum_k lambda_k(c) P_k(w | c)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from modlm.arrays import Floats, Ids
from modlm.blocks.block import Block, ColumnLayout, Rows
from modlm.blocks.model import ModelBlock, rows_after, trimmed
from modlm.errors import ConfigError
from modlm.mixers.mixer import Mixer
from modlm.model.language_model import States, WindowModel
from modlm.text.vocabulary import Vocabulary

CHUNK = 1 << 16  # positions whose rows are in memory at a time
WINDOWS = 64  # contexts whose J by K columns are in memory at a time


class Mixture(WindowModel):
    """Any columns, any weights. A state is the window of words that the columns look at."""

    def __init__(self, vocabulary: Vocabulary, blocks: Mapping[str, Block], mixer: Mixer) -> None:
        if not blocks:
            raise ConfigError("A mixture needs at least one block of columns.")
        self.vocabulary = vocabulary
        self.blocks = dict(blocks)
        self.mixer = mixer
        self.layout = ColumnLayout(self.blocks)
        weights = mixer.weights(np.zeros((1, self.layout.features))).shape[1]
        if weights != len(self.layout):
            raise ConfigError(
                f"The mixer has {weights} weights for {len(self.layout)} columns ({', '.join(self.layout.names)})."
            )
        self.context_length = max(block.context_length for block in blocks.values())
        self.reads_documents = any(getattr(block, "reads_documents", False) for block in blocks.values())

    def described(self) -> dict[str, Any]:
        """Its mixer and blocks."""
        blocks = [
            {"name": name, "kind": block.kind, "columns": len(block.columns)} for name, block in self.blocks.items()
        ]
        about: dict[str, Any] = {"model": "mixture", "mixer": self.mixer.kind, "blocks": blocks}
        weights = self.mixer.parts().settings.get("weights")
        return about | ({"weights": dict(zip(self.layout.names, weights, strict=True))} if weights else {})

    def rows(self, ids: Ids) -> Rows:
        """The rows of D and the features along a text."""
        return Rows.joined([block.rows(ids) for block in self.blocks.values()])

    def row_chunks(self, ids: Ids) -> Iterator[tuple[slice, Rows]]:
        """`rows` for stretches of whole sentences, so that memory does not grow with the text."""
        for place in stretches(ids, self.vocabulary.start, CHUNK):
            yield place, self.rows(ids[place])

    def word_probs(self, ids: Ids) -> Floats:
        """P of each word: each row of D times lambda."""
        out = np.empty(len(ids))
        for place, rows in self.row_chunks(ids):
            out[place] = np.einsum("tk,tk->t", rows.probs_TK, self.mixer.weights(rows.features_TF))
        out[ids == self.vocabulary.start] = 1.0
        return out

    def advance(self, states: States, words: Ids) -> tuple[States, Floats]:
        """The windows one word further, and the logarithm of its probability."""
        _, probs_BK, weights_BK = self.shares(states, words)
        with np.errstate(divide="ignore"):
            log_probs = np.log((probs_BK * weights_BK).sum(axis=1))
        log_probs[words == self.vocabulary.start] = 0.0
        return self.moved(states, words), log_probs

    def distributions(self, states: States) -> Floats:
        """D times lambda, the whole product."""
        out_BJ = np.empty((len(states), len(self.vocabulary)))
        for begin in range(0, len(states), WINDOWS):
            windows_BC = trimmed(states[begin : begin + WINDOWS])
            parts = [block.after(windows_BC) for block in self.blocks.values()]
            weights_BK = self.mixer.weights(np.concatenate([features for _, features in parts], axis=1))
            out_BJ[begin : begin + WINDOWS] = sum(
                np.einsum("bjk,bk->bj", columns_BJK, weights_BK[:, span.columns])
                for (columns_BJK, _), span in zip(parts, self.layout.spans.values(), strict=True)
            )
        return out_BJ

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of all blocks, in the order of D."""
        return self.layout.names

    def columns_after(self, window_1C: Ids) -> tuple[Floats, Floats]:
        """D after one window, and lambda."""
        parts = [block.after(trimmed(window_1C)) for block in self.blocks.values()]
        weights_1K = self.mixer.weights(np.concatenate([features for _, features in parts], axis=1))
        return np.concatenate([columns_1JK[0] for columns_1JK, _ in parts], axis=1), weights_1K[0]

    def shares(self, windows_BC: Ids, words_B: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """Columns and weights for a word after each window."""
        windows_BC = trimmed(windows_BC)
        rows = Rows.joined([rows_after(block, windows_BC, words_B) for block in self.blocks.values()])
        return self.layout.names, rows.probs_TK, self.mixer.weights(rows.features_TF)

    def shares_after(self, window_1C: Ids, words_B: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """The same for several words after one window; a model that is a column is asked once."""
        if not any(isinstance(block, ModelBlock) for block in self.blocks.values()):
            return super().shares_after(window_1C, words_B)
        columns_JK, weights_K = self.columns_after(window_1C)
        return self.layout.names, columns_JK[words_B], np.repeat(weights_K[None, :], len(words_B), axis=0)

    def shares_along(self, ids: Ids) -> tuple[tuple[str, ...], Floats, Floats]:
        """The same along a sentence, in one pass of each block over it."""
        rows = self.rows(ids)
        return self.layout.names, rows.probs_TK[1:], self.mixer.weights(rows.features_TF[1:])


def stretches(ids: Ids, start: int, length: int) -> Iterator[slice]:
    """Neighbouring stretches of whole sentences, of at most so many positions where a sentence is not longer."""
    starts = np.append(np.flatnonzero(ids == start), len(ids))
    begin = 0
    while begin < len(ids):
        near, far = np.searchsorted(starts, (begin, begin + length), side="right")
        end = int(starts[max(near, far - 1)])
        yield slice(begin, end)
        begin = end
