"""`Counts`: how often each n-gram occurs, for orders 1..N, over a fixed vocabulary.

One trie and one frequency per node. Continuation counts and held-out counts are `Counts` over the same trie with other
frequencies, so whatever reads counts reads all three. An n-gram with frequency 0 does not occur.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modlm.counts import trie_kernels
from modlm.counts.trie import Trie
from modlm.errors import ConfigError
from modlm.ground.arrays import Ids, Ints, in_parallel, threads
from modlm.store.folder import write_folder
from modlm.store.npy import copy_to, in_pieces, is_mapped, set_aside, zeros_beside
from modlm.text.vocabulary import Vocabulary

KIND = "counts"
EDGES = ("once", "repeat")
MAX_ORDER = 16
MOST = 2**32 - 1  # nodes of a trie, or words of a text, that 32 bits tell apart
LARGE = 1 << 26  # bytes of frequencies from which on files are worth the time that they take
ONE_THREAD = 20_000  # words of a text below which a second thread does not pay

Frequencies = NDArray[np.uint32] | NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Layer:
    """One order: its contexts are the nodes low..high-1 of the trie, their followers its n-grams."""

    trie: Trie
    frequencies: Frequencies
    low: int
    high: int


class Counts:
    """Read-only n-gram frequencies of orders 1..order, from `count_text`, `open_counts`, `import_counts` or `merge`."""

    def __init__(
        self, vocabulary: Vocabulary, trie: Trie, frequencies: Frequencies, *, edge: str = "once", sentences: int = 0,
        cut_off: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.vocabulary, self.trie, self.frequencies = vocabulary, trie, frequencies
        self.edge = edge
        """`once`: one `<s>` a sentence, as KenLM; `repeat`: order - 1 of them, as the paper's authors."""
        self.sentences = sentences
        """Sentences counted; 0 when the counts came without text."""
        self.cut_off = tuple(cut_off)
        """Per order, the least count that was kept by whoever made imported counts; empty when nothing was cut off."""

    @property
    def order(self) -> int:
        """N, the highest order."""
        return self.trie.order

    @property
    def start_context(self) -> tuple[int, int]:
        """The context before the first word of a sentence, and how many words it has."""
        wanted = min(1 if self.edge == "once" else self.order - 1, self.order - 1)
        node = self.node([len(self.vocabulary)] * wanted)
        return (node, wanted) if node else (0, 0)

    @property
    def context_length(self) -> int:
        """How many words of context the highest order looks at."""
        return self.order - 1

    def layer(self, order: int) -> Layer:
        """What smoothing reads of one order."""
        return Layer(self.trie, self.frequencies, self.trie.levels[order - 1], self.trie.levels[order])

    def walk(self, ids: Ids) -> tuple[Ids, Ids]:
        """Context node (NONE if unseen) and n-gram node (0 if unseen) of every order at every position of a text.

        The text begins with an empty context; `<s>` begins a sentence, NONE empties the context again.
        """
        walk = self._walk()
        contexts_TN, nodes_TN = np.empty((2, len(ids), self.order), dtype=np.uint32)
        if len(ids) < ONE_THREAD:  # beside a decoder it is a few words, and dividing them takes longer than the walk
            walk(ids, contexts_TN, nodes_TN)
            return contexts_TN, nodes_TN
        ranges = at_sentences(ids, len(self.vocabulary), threads())
        in_parallel([partial(walk, ids[a:b], contexts_TN[a:b], nodes_TN[a:b]) for a, b in ranges])
        return contexts_TN, nodes_TN

    def _walk(self) -> Callable[[Ids, Ids, Ids], object]:
        if len(self.trie) > MOST:
            raise ConfigError(
                f"{len(self.trie):,} n-grams: columns end at {MOST:,}. The compact form of an n-gram model has room."
            )
        trie, (node, depth) = self.trie, self.start_context
        tables = trie.words, trie.first, trie.suffix, self.order
        return lambda ids, *out: trie_kernels.walk(*tables, ids, len(self.vocabulary), node, depth, 0, 0, *out)

    def node(self, ids: Sequence[int]) -> int:
        """The node of one n-gram given by ids; 0 when it is not there (or empty)."""
        return int(self.nodes(np.array([ids], dtype=np.uint32).reshape(1, -1))[0])

    def nodes(self, ngrams_BC: Ids) -> Ids:
        """The node of each row, 0 where the n-gram is not there."""
        out = np.zeros(len(ngrams_BC), dtype=self.trie.first.dtype)
        if ngrams_BC.shape[1] <= self.order:
            rows = np.ascontiguousarray(ngrams_BC, dtype=np.uint32)
            trie_kernels.descend(self.trie.words, self.trie.first, rows, out)
        return out

    def of(self, ngram: str | Sequence[str]) -> int:
        """How often an n-gram occurs, given as words: `counts.of("the company")`."""
        words = ngram.split() if isinstance(ngram, str) else ngram
        ids = [self.vocabulary.start if word == "<s>" else self.vocabulary.id(word) for word in words]
        return int(self.frequencies[self.node(ids)]) if ids else 0

    def types(self, order: int) -> int:
        """How many different n-grams of an order occur."""
        return int(np.count_nonzero(self.frequencies[self.trie.nodes(order)]))

    def total(self, order: int) -> NDArray[np.float64]:
        """c(context) for each context of an order: the sum of its followers' frequencies."""
        return self._sums(order)[0]

    def followers(self, order: int) -> NDArray[np.float64]:
        """u(context) for each context of an order: how many different words follow it."""
        return self._sums(order)[1]

    def _sums(self, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = self.layer(order).low, self.layer(order).high
        total, followers, kept = np.empty((3, high - low))
        trie_kernels.context_sums(self.trie.first, self.frequencies, np.zeros(1), low, high, total, followers, kept)
        return total, followers

    def counts_of_counts(self, order: int, largest: int) -> Ints:
        """How many n-grams of an order occur r times, for r = 0..largest (entry 0 is not meaningful)."""
        out = np.zeros(largest + 2, dtype=np.int64)
        for low, high in in_pieces(self.trie.levels[order], self.trie.levels[order + 1], self.frequencies):
            trie_kernels.count_of_counts(self.frequencies, low, high, out)
        return out[:-1]

    def continuation(self, out: Frequencies | None = None) -> Counts:
        """The counts that Kneser-Ney smooths: below the highest order, in how many different left contexts.

        With edge `once`, n-grams that begin with `<s>` have nothing at their left and keep their frequencies. What
        occurs in a collection that was cut off stood after something, even if all of that was cut: it counts as one.
        They are written to `out`, zeros, if that is given; else to a file if the frequencies are in one.
        """
        trie, own = self.trie, self.frequencies
        adjusted: Any = zeros_beside(own, len(own), own.dtype) if out is None else np.asarray(out)
        extended = partial(trie_kernels.count_left_extensions, own, trie.suffix)
        bounds = list(pairwise(trie.levels[2:]))[::-1]
        if out is None and is_mapped(own):  # one by one, so that only one order is in memory
            for low, high in bounds:
                for part in in_pieces(low, high, own, trie.suffix, adjusted):
                    extended(*part, adjusted)
        else:
            in_parallel([partial(extended, *nodes, adjusted) for nodes in bounds])
        copy_to(adjusted[trie.nodes(self.order)], own[trie.nodes(self.order)])
        if self.edge == "once":
            for nodes in self.starting_with_start():
                adjusted[nodes] = own[nodes]
        if self.cut_off:
            np.maximum(adjusted, own > 0, out=adjusted)
        adjusted[1 + len(self.vocabulary)] = 0
        return self.with_frequencies(adjusted)

    def starting_with_start(self) -> list[slice]:
        """The nodes of the n-grams that begin with `<s>`, one slice for each order."""
        low = 1 + len(self.vocabulary)
        slices, first, end = [slice(low, low + 1)], self.trie.first, self.trie.contexts
        for _ in range(2, self.order + 1):
            last = slices[-1]
            slices.append(slice(int(first[min(last.start, end)]), int(first[min(last.stop, end)])))
        return slices

    def up_to(self, order: int) -> Counts:
        """The same counts without the orders above, the arrays shared; themselves if there are none, or of skips."""
        if type(self.trie) is not Trie or self.order <= order:
            return self
        trie, levels = self.trie, self.trie.levels[: order + 2]
        shorter = Trie(trie.words[: levels[-1]], trie.first[: levels[-2] + 1], trie.suffix[: levels[-1]], levels)
        given = {"edge": self.edge, "sentences": self.sentences, "cut_off": self.cut_off[:order]}
        return Counts(self.vocabulary, shorter, self.frequencies[: levels[-1]], **given)  # type: ignore[arg-type]

    def aside(self, folder: Path) -> Counts:
        """The same with words and frequencies in files, and with them what is made beside them, if they are large."""
        if self.frequencies.nbytes < LARGE or is_mapped(self.frequencies) or type(self.trie) is not Trie:
            return self
        folder.mkdir(parents=True, exist_ok=True)
        words, frequencies = (set_aside(array, folder) for array in (self.trie.words, self.frequencies))
        trie = replace(self.trie, words=words)
        about = {"edge": self.edge, "sentences": self.sentences, "cut_off": self.cut_off}
        return Counts(self.vocabulary, trie, frequencies, **about)  # type: ignore[arg-type]

    def settings(self) -> dict[str, Any]:
        levels, cut_off = list(self.trie.levels), list(self.cut_off)
        return {"edge": self.edge, "levels": levels, "sentences": self.sentences, "cut_off": cut_off}

    def arrays(self) -> dict[str, Ids | Frequencies]:
        """The arrays by the names they have on disk."""
        trie = self.trie
        return {"words": trie.words, "first": trie.first, "suffix": trie.suffix, "frequencies": self.frequencies}

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a counts folder, as `docs/formats.md` specifies it."""
        about = {"order": self.order, **self.vocabulary.fingerprints(), **self.settings()}
        texts = self.vocabulary.files()
        write_folder(path, kind=KIND, about=about, arrays=self.arrays(), texts=texts, overwrite=overwrite)

    def with_frequencies(self, frequencies: Frequencies, *, sentences: int | None = None) -> Counts:
        """The same n-grams with other frequencies; the trie is shared."""
        kept = self.sentences if sentences is None else sentences
        return Counts(self.vocabulary, self.trie, frequencies, edge=self.edge, sentences=kept, cut_off=self.cut_off)


def at_sentences(ids: Ids, start: int, parts: int) -> list[tuple[int, int]]:
    """Neighbouring ranges of a text that begin at sentence starts."""
    wanted = np.linspace(0, len(ids), parts + 1).astype(np.int64)
    cuts = [0, len(ids)]
    for place in wanted[1:-1]:
        ahead = ids[place : place + ONE_THREAD] == start
        if ahead.any():
            cuts.append(int(place + ahead.argmax()))
    return [(low, high) for low, high in pairwise(sorted(cuts)) if low < high]


def narrowed(frequencies: NDArray[np.integer[Any]]) -> Frequencies:
    """Frequencies as they are kept: in 32 bits, or in 64 when some count needs it."""
    wide = int(frequencies.max(initial=0)) > MOST
    return frequencies.astype(np.uint64, copy=False) if wide else frequencies.astype(np.uint32, copy=False)


def check_order(order: int) -> None:
    if not 1 <= order <= MAX_ORDER:
        raise ConfigError(f"order must be between 1 and {MAX_ORDER}, but is {order}.")


def check_edge(edge: str) -> None:
    if edge not in EDGES:
        raise ConfigError(f"edge must be one of {', '.join(EDGES)}, but is {edge!r}.")
