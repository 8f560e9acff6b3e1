"""Files of other programs: ARPA models, n-gram counts and n-best lists, to plain tables and back."""

from modlm.formats.arpa import ArpaOrder, ArpaRows, ArpaSection, ArpaTables, read_arpa, write_arpa
from modlm.formats.count_files import CountRows, CountTables, read_counts, write_counts

__all__ = ["ArpaOrder", "ArpaRows", "ArpaSection", "ArpaTables", "CountRows", "CountTables"]
__all__ += ["read_arpa", "read_counts", "write_arpa", "write_counts"]
