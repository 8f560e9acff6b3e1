"""A corpus on disk: `ids.npy` (memory-mapped), `vocabulary.txt`, and `corpus.json` with the numbers that fit both.

The manifest is flat and has no sums of files: they would cost a pass over ids that are written as they come. Opening
looks at every id instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from modlm.errors import InputError
from modlm.ground.arrays import Ids
from modlm.store.folder import Folder
from modlm.store.manifest import Verify, manifest_name, read_manifest
from modlm.store.npy import open_npy
from modlm.text.tokens import TOKENIZER
from modlm.text.vocabulary import END, UNKNOWN, VOCABULARY, Vocabulary
from modlm.text.vocabulary_files import vocabulary_in

KIND, IDS = "corpus", "ids.npy"
PIECE = 1 << 22  # ids looked at together when a corpus is checked


class Numbers(NamedTuple):
    sentences: int
    unknown: int


def read_folder(path: Path, *, verify: Verify) -> tuple[Ids, Vocabulary, Numbers, tuple[int, ...]]:
    """The parts of a corpus folder, or an error that says what is wrong with it."""
    about = read_manifest(path, kind=KIND, verify=verify)
    folder = Folder(path, KIND, {"sources": [], **about}, {}, (VOCABULARY, TOKENIZER))
    numbers, sources = Numbers(folder.whole("sentences"), folder.whole("unknown")), folder.wholes("sources")
    if 0 in sources or sum(sources) not in (0, numbers.sentences):
        raise folder.damaged("its sources do not add up to its sentences")
    vocabulary = vocabulary_in(folder, what="corpus was")
    try:
        ids: Ids = open_npy(path / IDS, dtype=np.uint32, shape=(folder.whole("ids"),))
        found = check_ids(ids, vocabulary) if verify == "full" else numbers
    except (OSError, ValueError, InputError) as error:
        raise folder.damaged(f"{IDS}: {error}") from error
    if found != numbers:
        raise folder.damaged(f"{IDS} has {found}, but {manifest_name(KIND)} says {numbers}")
    return ids, vocabulary, numbers, sources


def check_ids(ids: Ids, vocabulary: Vocabulary) -> Numbers:
    """Sentences and unknown words of an array that is `<s> w ... </s>` again and again; else an error."""
    start = vocabulary.start
    if len(ids) and (ids[0] != start or ids[-1] != END):
        raise InputError(f"ids of a text begin with <s> ({start}) and end with </s> ({END}).")
    sentences, unknown = 0, 0
    for at in range(0, len(ids), PIECE):
        piece = np.asarray(ids[at : at + PIECE + 1])  # one more, to see what follows the last
        starts, ends = piece == start, piece == END
        wrong = np.flatnonzero((ends[:-1] != starts[1:]) | (piece[:-1] > start))
        if len(wrong):
            place = at + int(wrong[0])
            raise InputError(
                f"the ids {ids[place]} {ids[place + 1]} at place {place} cannot stand in a text: ids go to {start}, "
                f"and each </s> ({END}) has an <s> ({start}) behind it."
            )
        sentences += int(np.count_nonzero(starts[:PIECE]))
        unknown += int(np.count_nonzero(piece[:PIECE] == UNKNOWN))
    return Numbers(sentences, unknown)
