"""The long pass of a causal language model over a text, kept on disk part by part: killed at any moment, it goes on.

Kept are log P of each token and the features of its distribution, not whole distributions. The cache is `$MODLM_CACHE`,
or `~/.cache/modlm`, where an entry is found by contents: the model's weights, the tokens, and how the model reads. It
may be deleted at any time.
"""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from modlm.ground.arrays import Ids, Ints, Singles
from modlm.ground.files import new_file
from modlm.ground.progress import progress
from modlm.integrations.hugging_face.causal_lm import CausalLm, Reading
from modlm.store.npy import write_npy
from modlm.training.row_cache import cache_folder

VERSION = 2
PART = 2048  # positions in a file, at least


@dataclass(frozen=True, slots=True)
class Pass:
    values_PX: Singles
    """At every predicted place of the text: log P, then features."""
    computed: int
    """Places that were not in the cache."""
    seconds: float


def entry_of(ids: Ids, lm: CausalLm, reading: Reading, *, fingerprint: str) -> Path:
    """The folder of a text in the cache; `fingerprint` is that of the model's weights.

    A pass with hidden vectors serves those without, so it does not matter here whether they are asked for.
    """
    about = {
        "version": VERSION,
        "lm": fingerprint,
        "start": lm.start,
        "reading": asdict(replace(reading, hidden=False)) | {"dtype": str(lm.model.dtype)},
        "tokens": hashlib.sha256(np.ascontiguousarray(ids).data).hexdigest(),
        **lm.vocabulary.fingerprints(),
    }
    return cache_folder().parent / "lm" / hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:40]


def run_pass(ids: Ids, lm: CausalLm, reading: Reading, entry: Path, *, title: str) -> Pass:
    """Values of the whole text, from the cache as far as it goes."""
    sequences = lm.sequences(ids, reading)
    width = 1 + len(lm.features(reading))
    found: list[Singles] = [np.zeros((0, width), np.float32)]
    computed, begun = 0, time.perf_counter()
    entry.mkdir(parents=True, exist_ok=True)
    with progress(title, total=sum(map(len, sequences)), unit="tokens") as bar:
        for number, part in enumerate(parts_of(sequences)):
            places, path = sum(map(len, part)), entry / f"{number:06d}.npy"
            values = _kept(path, (places, width))
            if values is None:
                values = lm.along(ids, part, reading)
                with new_file(path) as target:
                    write_npy(target, values)
                computed += places
            found.append(values)
            bar.advance(places)
    return Pass(np.concatenate(found), computed, time.perf_counter() - begun)


def parts_of(sequences: list[Ints]) -> list[list[Ints]]:
    """Neighbouring sequences, at least PART places together."""
    parts: list[list[Ints]] = []
    for sequence in sequences:
        if not parts or sum(map(len, parts[-1])) >= PART:
            parts.append([])
        parts[-1].append(sequence)
    return parts


def _kept(path: Path, shape: tuple[int, int]) -> Singles | None:
    """A part that is there and whole."""
    try:
        values: Singles = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = values.ndim == 2 and len(values) == shape[0] and values.shape[1] >= shape[1]
    return np.ascontiguousarray(values[:, : shape[1]]) if whole and values.dtype == np.float32 else None
