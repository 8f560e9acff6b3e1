"""Checks across the rows of an ARPA file: no n-gram twice, and every context an n-gram itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from modlm.arrays import Ids, even_ranges, in_parallel, threads
from modlm.errors import InputError

if TYPE_CHECKING:
    from modlm.formats.arpa import ArpaTables


def check_ngrams(tables: ArpaTables) -> None:
    """Refuse a repeated n-gram, and an n-gram whose context (all words but the last) is no n-gram of the file.

    Unigrams are different already, and contexts of bigrams are unigrams. Linear in the number of n-grams; takes 8 to
    16 bytes for each n-gram of the largest two neighbouring orders while it runs.
    """
    from modlm.formats.check_kernels import enter_rows

    below: NDArray[np.uint64] | None = None
    for order in range(2, tables.max_order + 1):
        ngrams = tables.orders[order - 1].ngrams
        if below is not None:
            _check_contexts(tables, order, below)
        below = np.zeros(1 << (max(1, 3 * len(ngrams) // 2)).bit_length(), np.uint64)
        first, second = enter_rows(ngrams, below)
        if second >= 0:
            raise _repeated(tables, order, first, second)


def _check_contexts(tables: ArpaTables, order: int, below: NDArray[np.uint64]) -> None:
    from modlm.formats.check_kernels import first_without_context

    ngrams = tables.orders[order - 1].ngrams
    ranges = even_ranges(len(ngrams), threads()) if len(ngrams) else []
    found = in_parallel([partial(first_without_context, ngrams, start, end, below) for start, end in ranges])
    missing = [row for row in found if row >= 0]
    if missing:
        raise _without_context(tables, order, missing[0])


def _words(tables: ArpaTables, ngram: Ids) -> str:
    names = ["<s>" if word == len(tables.vocabulary) else tables.vocabulary.word(word) for word in ngram.tolist()]
    return repr(" ".join(names))


def _repeated(tables: ArpaTables, order: int, first: int, second: int) -> InputError:
    rows = tables.orders[order - 1]
    return InputError(
        f"the {order}-gram {_words(tables, rows.ngrams[second])} is there twice; it stands on line {rows.line(first)} "
        "already. Keep one of the two rows, and correct the count.",
        path=tables.path,
        line=rows.line(second),
    )


def _without_context(tables: ArpaTables, order: int, row: int) -> InputError:
    rows = tables.orders[order - 1]
    ngram = rows.ngrams[row]
    return InputError(
        f"the {order}-gram {_words(tables, ngram)} has no context: {_words(tables, ngram[:-1])} is not among the "
        f"{order - 1}-grams. Every n-gram's words but the last must be an n-gram too, since it carries the backoff "
        "weight; a tool that prunes must keep it.",
        path=tables.path,
        line=rows.line(row),
    )
