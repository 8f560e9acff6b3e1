"""Translation tables: how words of a source are translated, from a file, or by EM from parallel text."""

from modlm.counts.translation.estimation import Alignment, AlignmentOptions, align, estimate_table, estimate_without
from modlm.counts.translation.links import links_of, pharaoh
from modlm.counts.translation.table import TranslationTable, open_table, read_table

__all__ = ["Alignment", "AlignmentOptions", "TranslationTable", "align", "estimate_table", "estimate_without"]
__all__ += ["links_of", "open_table", "pharaoh", "read_table"]
