"""Words: files to sentences to ids."""

from modlm.text.corpus import Corpus
from modlm.text.encoding import encode_blocks
from modlm.text.sources import Text
from modlm.text.vocabulary import END, END_NAME, START_NAME, UNKNOWN, UNKNOWN_NAME, Vocabulary

__all__ = ["END", "END_NAME", "START_NAME", "UNKNOWN", "UNKNOWN_NAME", "Corpus", "Text", "Vocabulary", "encode_blocks"]
