"""Counts: ids → how often every n-gram of orders 1..N occurs, in sorted arrays.

One file for each way to count. `ENGINES` names them all; their results are the same to the byte.
"""

from __future__ import annotations

from modlm.counts.counting import count_text, tally_text
from modlm.counts.counts import EDGES, MAX_ORDER, Counts, Layer
from modlm.counts.counts_folder import open_counts
from modlm.counts.engine import CountOptions, Engine, bytes_of
from modlm.counts.held_out_counts import held_out
from modlm.counts.imported import counts_from_tables, export_counts, import_counts
from modlm.counts.merging import merge
from modlm.counts.skip import SkipCounts
from modlm.counts.tally import Tally
from modlm.counts.trie import Trie
from modlm.families import ENGINES

__all__ = [
    "EDGES",
    "ENGINES",
    "MAX_ORDER",
    "CountOptions",
    "Counts",
    "Engine",
    "Layer",
    "SkipCounts",
    "Tally",
    "Trie",
    "bytes_of",
    "count_text",
    "counts_from_tables",
    "export_counts",
    "held_out",
    "import_counts",
    "merge",
    "open_counts",
    "tally_text",
]
