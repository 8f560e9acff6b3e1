"""Tables to ARPA files, as KenLM's lmplz writes them.

Numbers are the shortest decimals that read back as the same float32, so what is read and written again does not change.
Probability zero (minus infinity) is written -99, as SRILM does; `<s>`, which is never predicted, has 0 in that place,
as lmplz has, unless its row says something finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modlm.errors import EstimationError
from modlm.formats import write_kernels
from modlm.formats.arpa.header import TOLERANCE
from modlm.formats.output import RowWriter, text_output
from modlm.ground.arrays import Floats, Ids
from modlm.text.vocabulary import Vocabulary

LOG_ZERO = -99.0


class ArpaRows(NamedTuple):
    """Some rows of one order."""

    ngrams: Ids
    """(m, n) word ids, the predicted word last; J is `<s>`."""
    log10_probs: Floats
    log10_backoffs: Floats | None = None
    """None for the highest order."""


@dataclass(frozen=True, slots=True)
class ArpaSection:
    """The rows of one order, in pieces; their number is written before them."""

    count: int
    blocks: Iterable[ArpaRows]


def write_arpa(
    path: str | Path, vocabulary: Vocabulary, sections: Sequence[ArpaSection], *, overwrite: bool = True
) -> None:
    """Write sections[n - 1] as the n-grams of order n; gzip if the name ends in .gz. Rows keep their order."""
    with text_output(Path(path), overwrite=overwrite) as stream:
        counts = "".join(f"ngram {order}={section.count}\n" for order, section in enumerate(sections, 1))
        stream.write(f"\\data\\\n{counts}".encode())
        writer = RowWriter(stream, vocabulary)
        for order, section in enumerate(sections, 1):
            stream.write(f"\n\\{order}-grams:\n".encode())
            written = 0
            for block in section.blocks:
                _write_block(writer, block, order)
                written += len(block.ngrams)
            assert written == section.count, f"{section.count} {order}-grams were announced, {written} were given"
        stream.write(b"\n\\end\\\n")


def _write_block(writer: RowWriter, block: ArpaRows, order: int) -> None:
    ngrams, start = np.ascontiguousarray(block.ngrams, np.uint32), writer.vocabulary.start
    assert ngrams.shape == (len(block.log10_probs), order), f"{ngrams.shape} ids for rows of order {order}"
    assert block.log10_backoffs is None or len(block.log10_backoffs) == len(ngrams)
    log10_probs = block.log10_probs
    if order == 1:  # what is never predicted has no probability: lmplz writes 0
        log10_probs = np.where((ngrams[:, 0] == start) & np.isneginf(log10_probs), 0.0, log10_probs)
    if np.any(log10_probs > TOLERANCE):
        raise EstimationError(
            f"Cannot write the {order}-grams: the log10 probability {np.max(log10_probs):g} is above 0. "
            "The model it comes from is not a proper one; estimate it again."
        )
    probs = np.minimum(_finite(log10_probs, "probability", order), np.float32(0))
    backoffs = np.zeros(0, np.float32)
    if block.log10_backoffs is not None:
        backoffs = _finite(block.log10_backoffs, "backoff weight", order)

    def odd_row(row: int) -> bytes:
        """A row with a number too large or too small for the kernel."""
        words = " ".join(writer.vocabulary.word(word) for word in ngrams[row].tolist())
        prob, *backoff = (
            "0" if number == 0 else np.format_float_scientific(number, trim="-", exp_digits=1)
            for number in (probs[row], *backoffs[row : row + 1])
        )
        return ("\t".join((prob, words, *backoff)) + "\n").encode()

    writer.write(ngrams, partial(write_kernels.write_arpa_rows, ngrams, probs, backoffs), odd_row)


def _finite(numbers: Floats, what: str, order: int) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        rounded = np.asarray(numbers).astype(np.float32)
    rounded[np.isneginf(rounded)] = LOG_ZERO
    if not np.isfinite(rounded).all():
        raise EstimationError(
            f"Cannot write the {order}-grams: a log10 {what} is {rounded[~np.isfinite(rounded)][0]}. "
            "ARPA files hold finite numbers only; estimate the model again."
        )
    return rounded
