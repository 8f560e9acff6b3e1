"""What it would take to train an n-gram model, from a sample: n-grams, time, memory and disk. Estimates, told as such.

The sample is counted and estimated here and now, half of it and all of it. Numbers of n-grams grow as powers of the
words (Heaps' law), whose exponents the two give; time is that of the sample, and grows as the n-grams do. Memory and
disk are bytes per word and n-gram as they were measured on the Penn Treebank and on 46M words of newswire.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from modlm.errors import ConfigError
from modlm.formats.kinds import kind_of
from modlm.model.ngram.readable_counts import counts_of
from modlm.model.ngram_lm import NgramLM
from modlm.text.options import TextOptions
from modlm.text.sources import Files

SAMPLE = 2 << 20  # bytes
DISK = 21.5  # bytes an n-gram: `modlm ngram ptb.train.txt`, 49.8 MB for 2,317,234 n-grams
MEMORY = {"always": 210e6, "word": 10.5, "n-gram": 14.0}  # 258 MB for these; 1.79 GB for 79,096,970 of 45.7M words


def sampled(paths: Sequence[Path], most: int = SAMPLE) -> tuple[list[str], int, bool]:
    """Lines from the start of each text, about how many bytes all have, and whether the lines are all there are."""
    lines, total, whole = list[str](), 0, True
    for path in paths:
        if str(path) == "-" or kind_of(path) != "text":
            raise ConfigError(f"{path} is not a text in a file, and --dry-run estimates from a sample of texts.")
        wanted = most // len(paths)
        blocks = Files([path]).blocks(wanted)
        block = next(blocks, None)
        head, read = (b"", 1) if block is None else (bytes(block.data[: block.size]), block.consumed)
        complete = next(blocks, None) is None
        size = path.stat().st_size * max(1.0, len(head) / read)  # more than was read: it is packed
        whole, total = whole and complete, total + (len(head) if complete else round(size))
        lines += head.decode("utf-8", "replace").split("\n")[:-1]
    return lines, total, whole


def forecast(
    paths: Sequence[Path], reading: TextOptions, *, order: int, edge: str, estimate: Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """Estimates for a model of these texts; exact numbers of n-grams where the sample is all of it."""
    lines, total, whole = sampled(paths)
    if len(lines) < 2:
        raise ConfigError("The texts have fewer than two lines, so there is nothing to estimate from.")
    half, every = lines[: len(lines) // 2], lines
    sizes, words, seconds = [], [], 0.0
    for part in (half, every, every):  # the first time is that of compiling
        begun = time.perf_counter()
        counts = counts_of(part, reading, order=order, edge=edge)
        (estimate or NgramLM.from_counts)(counts)
        seconds = time.perf_counter() - begun
        sizes.append(list(counts.trie.sizes))
        words.append(sum(len(line.split()) for line in part))
    grown = total / max(1, sum(len(line.encode()) + 1 for line in every))
    powers = [
        min(1.0, max(0.0, math.log(two / max(1, one)) / math.log(max(words[1], 2) / max(1, words[0]))))
        for one, two in zip(sizes[0], sizes[1], strict=True)
    ]
    ngrams = [round(count * (1.0 if whole else grown**power)) for count, power in zip(sizes[1], powers, strict=True)]
    about = round(words[1] * (1.0 if whole else grown))
    return {
        "texts": [str(path) for path in paths], "bytes": total, "words": about, "sample_words": words[1],
        "exact": whole, "order": order, "ngrams": ngrams,
        "seconds": seconds * sum(ngrams) / max(1, sum(sizes[1])),
        "memory": MEMORY["always"] + MEMORY["word"] * about + MEMORY["n-gram"] * sum(ngrams),
        "disk": DISK * sum(ngrams),
    }  # fmt: skip
