"""Counts: ids → how often every n-gram of orders 1..N occurs, in sorted arrays.

One file for each way to count. `families.ENGINES` names them all; their results are the same to the byte.
"""

from modlm.counts.counting import count_text, tally_text
from modlm.counts.counts import MAX_ORDER, Counts
from modlm.counts.counts_folder import open_counts
from modlm.counts.engine import CountOptions, bytes_of
from modlm.counts.imported import counts_from_tables, export_counts, import_counts
from modlm.counts.merging import merge
from modlm.counts.skip import SkipCounts
from modlm.counts.tally import held_out

__all__ = ["MAX_ORDER", "CountOptions", "Counts", "SkipCounts", "bytes_of", "count_text", "counts_from_tables"]
__all__ += ["export_counts", "held_out", "import_counts", "merge", "open_counts", "tally_text"]
