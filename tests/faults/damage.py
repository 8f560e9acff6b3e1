"""Model folders with a byte flipped, a file cut short or missing, one place at a time over all files.

`verify="full"` must refuse every one of them. With "fast" the process must live, and every answer must be a
`ModlmError` or a number: the right one, unless the byte was inside an array, which "fast" does not read. Both are asked
in forked children, so that a crash is seen from outside.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from tests.faults.outcome import Outcome, Row
from tests.faults.processes import finished

import modlm
from model.damage_arrays import ask
from modlm.counts import open_counts
from modlm.errors import ModlmError
from nets.small_mixtures import mixture_of
from small_texts import TEXTS, counts_of, model_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c a z b b a", "", "c a b"]
BATCH = 25  # damaged folders that one child looks at


def make(kind: str, place: Path) -> None:
    """A sound folder of a kind."""
    if kind == "ngram":
        modlm.save(model_of(TEXT, order=4, dtype=np.float32), place)
    elif kind == "mixture":
        modlm.save(model_of(TEXT, order=3).as_mixture(), place)
    elif kind == "hybrid":
        modlm.save(mixture_of(body="lstm", inputs=("counts", "word")), place)
    else:
        counts_of(TEXT, order=3).save(place)


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ rng.randint(1, 255)]) + data[at + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def missing(data: bytes, rng: random.Random) -> None:
    return None


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {"flip": flipped, "cut": cut, "missing": missing}


def opened(kind: str, place: Path, verify: str) -> object:
    opener = open_counts if kind == "counts" else modlm.load
    return opener(place, verify=verify)  # type: ignore[operator]


def answer(kind: str, place: Path) -> list[float]:
    """Some numbers of what the folder holds."""
    if kind == "counts":
        counts = opened(kind, place, "fast")
        return [float(counts.of(ngram)) for ngram in ("a", "a b", "a b c", "z", "b b a")]  # type: ignore[attr-defined]
    model = opened(kind, place, "fast")
    return [*model.score_batch(SENTENCES), model.next_words("a b", k=1)[0].probability]  # type: ignore[attr-defined]


def look(kind: str, sound: Path, scratch: Path, seeds: range, right: list[float]) -> None:
    """Damage, open and ask, once for each seed; a line for each."""
    warnings.simplefilter("ignore")
    files = sorted(path.relative_to(sound) for path in sound.rglob("*") if path.is_file())
    for seed in seeds:
        rng = random.Random(f"{kind} {seed}")
        name, how = files[seed % len(files)], rng.choice(("flip", "flip", "flip", "flip", "cut", "missing"))
        place = scratch / "folder"
        shutil.copytree(sound, place)
        data = DAMAGES[how]((place / name).read_bytes(), rng)
        if data is None:
            (place / name).unlink()
        else:
            (place / name).write_bytes(data)
        print("\ntrying", seed, name, how, flush=True)  # the last of these is the one that a crash was about
        print("\ncame to", seed, name, how, full(kind, place), fast(kind, place, right), flush=True)
        shutil.rmtree(place)


def full(kind: str, place: Path) -> str:
    try:
        opened(kind, place, "full")
    except ModlmError:
        return "noticed"
    return "unnoticed"


def fast(kind: str, place: Path, right: list[float]) -> str:
    try:
        found = answer(kind, place)
        if kind != "counts":
            ask(opened(kind, place, "fast"))  # type: ignore[arg-type]
    except ModlmError:
        return "refused"
    with np.errstate(all="ignore"):
        return "right" if np.allclose(found, right, rtol=1e-12, equal_nan=False) else "other"


READ_BY_FAST = ("model.json", "counts.json", "vocabulary.txt", "weights.safetensors")


def try_folder(kind: str, tries: int) -> Outcome:
    """Damage a folder of one kind at so many places."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="damage-") as name:
        sound, scratch = Path(name) / "sound", Path(name) / "scratch"
        scratch.mkdir()
        make(kind, sound)
        opened(kind, sound, "full")
        right = answer(kind, sound)
        if kind != "counts":
            ask(opened(kind, sound, "fast"))  # type: ignore[arg-type]  # compiles
        outcome.figures["files"] = sum(path.is_file() for path in sound.rglob("*"))
        for begin in range(0, tries, BATCH):
            work = partial(look, kind, sound, scratch, range(begin, min(begin + BATCH, tries)), right)
            code, said = finished(work, Path(name) / "said")
            judge(outcome, kind, code, said)
            shutil.rmtree(scratch / "folder", ignore_errors=True)
    return outcome


def judge(outcome: Outcome, kind: str, code: int, said: str) -> None:
    """Every line of a child, and how it ended."""
    for line in said.splitlines():
        if not line.startswith("came to"):
            continue
        _, _, _, name, _, by_full, by_fast = line.split()
        outcome.count(f"fast_{by_fast}")
        wrong = by_fast == "other" and name in READ_BY_FAST
        outcome.check(f"{kind} {line}", None if by_full == "noticed" and not wrong else "not as promised")
    if code:
        outcome.check(f"{kind}, the process", f"exit code {code}: {said[-800:]}")


ROWS = {
    "damage-ngram": Row("byte flipped, file cut or missing: n-gram model", partial(try_folder, "ngram"), 40, 3000),
    "damage-mixture": Row("the same: mixture", partial(try_folder, "mixture"), 40, 3000),
    "damage-hybrid": Row("the same: hybrid with a net", partial(try_folder, "hybrid"), 40, 3000),
    "damage-counts": Row("the same: counts", partial(try_folder, "counts"), 40, 3000),
}
