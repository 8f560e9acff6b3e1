"""The disk engine: counts of texts, and with results, larger than memory; the same arrays as the memory engine's.

The text is taken in blocks that fit the limit. Each is sorted as the memory engine sorts whole texts, and its windows
of `order` words go to a file, equal ones counted together. Merging these sorted runs gives the windows of the whole
text in order, each once; n-grams are read off the sequence and written order by order, and suffixes are found by
search. All files are read and written from end to end; only the last step jumps, and mostly forward.

The windows come out of each block's sort in order, so all that is left to do is a merge; that is why no database is
asked to group and sort them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from modlm.counts.counts import Counts
from modlm.counts.disk_runs import merged, packing, windows_of, write_run
from modlm.counts.disk_trie import TrieWriter
from modlm.counts.engine import CountOptions
from modlm.counts.memory import padded, sort_suffixes
from modlm.ground.arrays import Ids
from modlm.ground.files import scratch_folder
from modlm.ground.progress import progress
from modlm.store.npy import forget
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import END

BYTES_PER_WORD = 40  # what sorting a block takes at most, all in all
OWN_BYTES = 256 << 20  # what the interpreter, its packages and fixed buffers take
LEAST_BLOCK = 1 << 18


def count(corpus: Corpus, options: CountOptions, *, block: int | None = None) -> Counts:
    """Counts of a corpus within about `memory` bytes, by default half of what the machine has.

    Files go to a new folder in `temporary` and are gone when the result is: its arrays are mapped from files that have
    no name any more. `block` is the number of words sorted at a time.
    """
    limit = options.memory if options.memory is not None else half_of_memory()
    free = max(limit - OWN_BYTES, limit // 4)
    block = block or max(LEAST_BLOCK, free // BYTES_PER_WORD)
    with scratch_folder(options.temporary) as folder:
        return _count(corpus, folder, options, block=block, free=free)


def half_of_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _count(corpus: Corpus, folder: Path, options: CountOptions, *, block: int, free: int) -> Counts:
    order, edge, workers, vocab_size = options.order, options.edge, options.workers, len(corpus.vocabulary)
    runs: list[Path] = []
    for begin in range(0, len(corpus.ids), block):
        core, text = _block(corpus, begin, begin + block, order=order, edge=edge)
        positions = sort_suffixes(text, vocab_size=vocab_size, order=order, workers=workers).positions
        pieces = windows_of(text, positions, core, order=order, vocab_size=vocab_size)
        runs.append(write_run(folder / f"run-{len(runs)}", pieces))
        forget(corpus.ids)
        del text, positions, pieces
    _, columns = packing(order, vocab_size)
    with TrieWriter(folder, order=order, vocab_size=vocab_size) as writer, progress("merging", unit="n-grams") as bar:
        for rows_UK in merged(runs, columns=columns, memory=free // 2):
            writer.append(rows_UK)
            bar.advance(len(rows_UK))
        trie, frequencies = writer.finish(workers=workers)
    return Counts(corpus.vocabulary, trie, frequencies, edge=edge, sentences=corpus.sentences)


def _block(corpus: Corpus, begin: int, end: int, *, order: int, edge: str) -> tuple[int, Ids]:
    """The ids begin..end-1 as the engine reads them, with what the windows of the last words need behind them.

    The first number is where that begins. An `</s>` closes it, which no window of the block itself can reach.
    """
    start = len(corpus.vocabulary)
    parts = [np.asarray(corpus.ids[begin:end]), np.asarray(corpus.ids[end : end + order - 1])]
    own, ahead = (padded(ids, start=start, order=order, edge=edge) for ids in parts)
    return len(own), np.concatenate((own, ahead[: order - 1], np.array([END], dtype=np.uint32)))
