"""A text as ids: one flat array `<s> w ... </s> <s> ...` with its vocabulary, in memory or memory-mapped in a folder.

Text comes in, from files or as sentences; ids go out. When no vocabulary is given it is made in the same pass: words get
provisional ids as they are first seen, and final ones when all counts are known. An empty line is a sentence without
words, `<s> </s>`, as it is for KenLM.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, overload

import numpy as np

from modlm.arrays import Ids, Ints, threads
from modlm.errors import ConfigError, InputError
from modlm.files import new_folder
from modlm.text.corpus_folder import CorpusRecord, check_ids, read_folder, write_folder
from modlm.text.encoding import TextRules, VocabularyEncoder, encoded
from modlm.text.id_store import FileStore, IdStore, MemoryStore
from modlm.text.sources import BLOCK_BYTES, Files, Sentences, Text, source_of
from modlm.text.vocabulary import UNKNOWN, Vocabulary
from modlm.text.word_table import WordTable, merged


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences as ids. Slices are corpora that share the ids."""

    ids: Ids
    """`<s> w ... </s>` for each sentence."""
    vocabulary: Vocabulary
    sentences: int
    unknown: int
    """How many of the words are `<unk>`."""

    @classmethod
    def from_text(
        cls,
        text: Text,
        vocabulary: Vocabulary | None = None,
        *,
        max_words: int | None = None,
        min_count: int = 1,
        unknown_name: bool = True,
        encoding_errors: str = "strict",
        workers: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        block_bytes: int = BLOCK_BYTES,
    ) -> Corpus:
        """The ids of a text: files, standard input ("-") or sentences, as `sources.Text` says.

        Without a vocabulary, the words of the text are the vocabulary, as far as `max_words` (ordinary words) and
        `min_count` let them. `unknown_name` and `encoding_errors` are explained at `TextRules`. With a `folder` the ids
        are written there as they come, and memory does not limit the text.
        """
        rules = TextRules(unknown_name=unknown_name, encoding_errors=encoding_errors)
        limits = WordLimits(max_words=max_words, min_count=min_count)
        if vocabulary is not None and limits != WordLimits():
            raise ConfigError("max_words and min_count choose the words of a new vocabulary, but one was given already.")
        encoding = _Pass(source_of(text), rules, threads(workers), block_bytes)
        if folder is None:
            store = MemoryStore()
            return encoding.encode(vocabulary, store) if vocabulary else encoding.collect(limits, store)
        with new_folder(folder, overwrite=overwrite) as place:
            with FileStore(place / "ids.npy") as store:
                corpus = encoding.encode(vocabulary, store) if vocabulary else encoding.collect(limits, store)
            write_folder(place, corpus)
        return cls.open(folder, verify="fast")
