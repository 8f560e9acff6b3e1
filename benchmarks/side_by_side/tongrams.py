"""How fast tongrams looks up the n-grams of a text, in tries of the same counts."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from modlm.model.ngram_lm import NgramLM
from side_by_side.processes import Shell

TURNS, REPEATS = 5, 20


def lookups(shell: Shell, programs: Path, folder: Path, model: NgramLM, ids: np.ndarray) -> tuple[float, str]:
    """CPU seconds that its tries take for a lookup, the least, and which they are; they hash the words, and walk."""
    assert model.counts is not None
    counts, place = model.counts, folder / "tongrams"
    place.mkdir(exist_ok=True)
    names = np.array([*model.vocabulary.words, "<s>"])
    for order in range(1, counts.order + 1):
        path = place / f"{order}-grams.sorted.gz"
        if not path.exists():
            rows, many = counts.trie.ngrams(order), counts.frequencies[counts.trie.nodes(order)]
            with gzip.open(path, "wt", compresslevel=1) as stream:
                stream.write(f"{len(rows)}\n")
                for row, times in zip(names[rows].tolist(), np.maximum(many, 1).tolist(), strict=True):
                    stream.write(f"{' '.join(row)}\t{times}\n")
    asked = _windows(ids, names, len(model.vocabulary), counts.order)
    (place / "queries").write_text("\n".join(asked) + "\n")
    told, least = [], 9.0
    for kind, remapping in (("ef_trie", "1"), ("pef_trie", "2")):
        out = f"tongrams/{kind}.bin"
        how = [kind, str(counts.order), "count", "--remapping", remapping, "--dir", "tongrams", "--out", out]
        shell.run([programs / "build_trie", *how])
        lookup = [programs / "lookup_perf_test", out, "tongrams/queries"]
        few, many = (
            min(shell.run([*lookup, runs]).cpu_seconds for _ in range(TURNS)) for runs in ("1", str(1 + REPEATS))
        )  # fmt: skip
        each = (many - few) / REPEATS / len(asked)
        least = min(least, each)
        told.append(f"{kind} {(folder / out).stat().st_size / len(counts.trie):.2f} bytes, {1e6 * each:.2f} µs")
    return least, "; ".join(told)


def _windows(ids: np.ndarray, names: np.ndarray, start: int, order: int) -> list[str]:
    """The n-gram that ends at each word of a text, as long as there is one."""
    out: list[str] = []
    for sentence in np.split(ids, np.flatnonzero(ids == start)[1:]):
        words = names[sentence].tolist()
        out += [" ".join(words[max(0, end - order) : end]) for end in range(2, len(words) + 1)]
    return out
