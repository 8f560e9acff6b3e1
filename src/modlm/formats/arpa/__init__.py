"""ARPA files to tables of word ids and log10 numbers, and back."""

from modlm.formats.arpa.reading import ArpaOrder, ArpaTables, read_arpa
from modlm.formats.arpa.writing import ArpaRows, ArpaSection, write_arpa

__all__ = ["ArpaOrder", "ArpaRows", "ArpaSection", "ArpaTables", "read_arpa", "write_arpa"]
