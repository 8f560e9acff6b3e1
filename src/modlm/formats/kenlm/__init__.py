"""KenLM's binary files: where everything lies in them, their words, and their n-grams."""

from modlm.formats.kenlm.binary import Binary as Binary
from modlm.formats.kenlm.binary import open_binary as open_binary
