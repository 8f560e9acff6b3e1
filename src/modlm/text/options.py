"""How a text becomes ids: made once, where somebody asks for a text to be read, and passed whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modlm.errors import ConfigError
from modlm.text.sources import BLOCK_BYTES

if TYPE_CHECKING:
    from modlm.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """Which words to know, what to do about the two things that may be wrong with a text, and how to read it."""

    vocabulary: Vocabulary | None = None
    """The words to know; None for those of the text, as far as the two limits below let them."""
    max_words: int | None = None
    """At most this many ordinary words, the most frequent ones; None for all."""
    min_count: int = 1
    """Only words that occur at least this often."""
    unknown_name: bool = True
    """Whether `<unk>` in a text is the unknown word, as the Penn Treebank is written; else it is an error."""
    encoding_errors: str = "strict"
    """Bytes that are not UTF-8: "strict" is an error, "replace" puts U+FFFD for them, as Python's decoder does."""
    workers: int | None = None
    """Threads; None for all cores."""
    block_bytes: int = BLOCK_BYTES
    """How much is read at a time."""

    def __post_init__(self) -> None:
        if self.max_words is not None and self.max_words < 1:
            raise ConfigError(f"max_words must be at least 1, but is {self.max_words}.")
        if self.min_count < 1:
            raise ConfigError(f"min_count must be at least 1, but is {self.min_count}.")
        if self.vocabulary is not None and (self.max_words is not None or self.min_count > 1):
            raise ConfigError("max_words and min_count choose words for a new vocabulary, but one was given already.")
        if self.encoding_errors not in ("strict", "replace"):
            raise ConfigError(f'encoding_errors must be "strict" or "replace", but is {self.encoding_errors!r}.')
