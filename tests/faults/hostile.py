"""Folders and files made to do harm: refused, or used within a bounded time and memory, and nothing outside is touched.

Each is opened and asked in a forked child whose address space is limited; what counts is its processor time and how
much its memory grew.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import json
import lzma
import os
import random
import resource
import shutil
import struct
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.damage import make
from tests.faults.outcome import Outcome, Row
from tests.faults.processes import finished

import modlm
from modlm.counts import count_text, import_counts
from modlm.errors import ModlmError
from modlm.formats.nbest import read_nbest
from modlm.text.vocabulary import Vocabulary

SECONDS = 10.0  # of the processor, for one of them
GROWTH = 1 << 30  # bytes that memory may grow by
ADDRESSES = 8 << 30  # bytes of addresses beyond those in use, so that nothing worse than an error can happen

Change = Callable[[Path], None]


def manifest(change: Callable[[dict[str, Any]], object]) -> Change:
    """An edited model.json, without its sum."""

    def edit(place: Path) -> None:
        found = json.loads((place / "model.json").read_text())
        found.pop("sha256", None)
        change(found)
        (place / "model.json").write_text(json.dumps(found))

    return edit


def listed(name: str, **record: Any) -> Change:
    return manifest(lambda found: found["files"].update({name: record or {"bytes": 1}}))


def raw(data: bytes) -> Change:
    return lambda place: _write(place / "model.json", data)


def _write(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def linked(name: str, to: str) -> Change:
    def link(place: Path) -> None:
        (place / name).unlink()
        (place / name).symlink_to(to)

    return link


def piped(name: str) -> Change:
    def pipe(place: Path) -> None:
        (place / name).unlink()
        os.mkfifo(place / name)

    return pipe


def replaced(name: str, data: bytes) -> Change:
    """Another file, of which the manifest says the truth as far as sizes go."""

    def replace(place: Path) -> None:
        _write(place / name, data)
        manifest(lambda found: found["files"][name].update(bytes=len(data)))(place)

    return replace


def sparse(place: Path) -> None:
    """Arrays of a trillion n-grams that take no room on the disk."""
    about = json.loads((place / "model.json").read_text())["about"]
    nodes = 1 << 32
    levels = [*about["levels"][:-1], nodes]
    name = "columns/ngram/words.npy"
    head = (place / name).read_bytes()[:128]
    shape = f"({nodes},)".encode()
    text = head[10:].split(b"'shape': ")[0] + b"'shape': " + shape + b", }"
    (place / name).write_bytes(head[:10] + text.ljust(117) + b"\n")
    os.truncate(place / name, 128 + 4 * nodes)

    def say(found: dict[str, Any]) -> None:
        found["about"]["levels"] = levels
        found["files"][name] |= {"bytes": 128 + 4 * nodes, "shape": [nodes]}

    manifest(say)(place)


def weights(header: bytes, length: int | None = None) -> Change:
    size = len(header) if length is None else length
    return replaced("weights.safetensors", struct.pack("<Q", size) + header + bytes(1 << 16))


LONG = "x" * 5000
FOLDERS: dict[str, tuple[str, Change]] = {
    "a path upwards": ("ngram", listed("../../../etc/passwd")),
    "a path upwards inside": ("ngram", listed("columns/../../secret.npy", bytes=1, dtype="<u4", shape=[1])),
    "an absolute path": ("ngram", listed("/etc/passwd")),
    "a path with NUL": ("ngram", listed("a\0b")),
    "a path of 5,000 letters": ("ngram", listed(LONG)),
    "a block whose name is a path": (
        "mixture",
        manifest(lambda found: found["about"].update(blocks={"../../x": found["about"]["blocks"]["ngram"]})),
    ),
    "vocabulary linked to /dev/zero": ("ngram", linked("vocabulary.txt", "/dev/zero")),
    "vocabulary linked to a secret": ("ngram", linked("vocabulary.txt", "/etc/passwd")),
    "vocabulary linked to itself": ("ngram", linked("vocabulary.txt", "vocabulary.txt")),
    "vocabulary is a pipe": ("ngram", piped("vocabulary.txt")),
    "manifest is a pipe": ("ngram", piped("model.json")),
    "manifest linked to /dev/zero": ("ngram", linked("model.json", "/dev/zero")),
    "weights linked to /dev/random": ("hybrid", linked("weights.safetensors", "/dev/urandom")),
    "manifest of nothing but brackets": ("ngram", raw(b"[" * (8 << 20))),
    "manifest of empty lists": ("ngram", raw(b"[" + b"[]," * (2 << 20) + b"[]]")),
    "manifest of 100 MB": ("ngram", raw(b" " * 100_000_000)),
    "manifest with an endless number": ("ngram", raw(b'{"version": ' + b"9" * 1_000_000 + b"}")),
    "shape of 2^59 numbers": (
        "ngram",
        manifest(lambda found: found["files"]["columns/ngram/words.npy"].update(shape=[2**59])),
    ),
    "shape that overflows": (
        "ngram",
        manifest(lambda found: found["files"]["columns/ngram/words.npy"].update(shape=[2**32] * 8)),
    ),
    "levels that overflow": ("ngram", manifest(lambda found: found["about"]["levels"].__setitem__(-1, 2**62))),
    "start beyond all nodes": ("ngram", manifest(lambda found: found["about"].update(start=2**62))),
    "a trillion n-grams": ("ngram", sparse),
    "vocabulary without an end": ("ngram", replaced("vocabulary.txt", b"<unk>\n</s>\n" + b"a" * 50_000_000)),
    "vocabulary of NULs": ("ngram", replaced("vocabulary.txt", bytes(50_000_000))),
    "vocabulary of line ends": ("ngram", replaced("vocabulary.txt", b"\n" * 50_000_000)),
    "net of 10^9 units": ("hybrid", manifest(lambda found: found["about"]["net"].update(hidden=10**9))),
    "net of 10^12 layers": ("hybrid", manifest(lambda found: found["about"]["net"].update(layers=10**12))),
    "weights: header of 2^60 bytes": ("hybrid", weights(b"{}", 2**60)),
    "weights: brackets without end": ("hybrid", weights(b"[" * 60_000)),
    "weights: tensor of 2^60 numbers": (
        "hybrid",
        weights(b'{"w": {"dtype": "F32", "shape": [1152921504606846976], "data_offsets": [0, 4]}}'),
    ),
    "weights: offsets beyond the file": (
        "hybrid",
        weights(b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [18446744073709551612, 0]}}'),
    ),
    "tokenizer of brackets": (
        "ngram",
        lambda place: (
            _write(place / "tokenizer.json", b"[" * 100_000),
            manifest(
                lambda found: (
                    found["files"].update({"tokenizer.json": {"bytes": 100_000}}),
                    found["about"].update(tokenizer="0" * 64),
                )
            )(place),
        )[0],
    ),
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": partial(gzip.compress, compresslevel=1),
    "bz2": partial(bz2.compress, compresslevel=9),
    "xz": partial(lzma.compress, preset=0),
}
READERS: dict[str, Callable[[Path], object]] = {
    "as a text": lambda path: count_text(path, order=2),
    "as an ARPA file": modlm.load,
    "as a count file": import_counts,
    "as an n-best list": read_nbest,
    "as a vocabulary": Vocabulary.from_file,
}
ABSURD = (
    *(-1, 0, 1, 2**31, 2**32, 2**53, 2**62, 2**63, 10**400, -(10**400), 1e308, 5e-324, None, True, "", "../x", LONG),
    *([], {}, [[]], [0] * 5000, {"kind": "ngram"}, [2**62] * 5, "\ud800"),
)


def bombs() -> dict[str, bytes]:
    """Small files that unpack to gigabytes: members of 20 MB, one behind the other."""
    packers = dict(PACKERS)
    try:
        import zstandard

        packers["zst"] = zstandard.ZstdCompressor(level=1).compress
    except ImportError:
        pass
    found = {}
    for name, pack in packers.items():
        for what, piece in {"zeros": b"\0", "letters": b"a", "line ends": b"\n", "words": b"a b c d\n"}.items():
            found[f"{name} of {what}"] = pack(piece * (20_000_000 // len(piece))) * 250
    return found


def measured(work: Callable[[], object]) -> int:
    """Do it in this child: 0 for a result or our error, within the limits."""
    warnings.simplefilter("ignore")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, used + ADDRESSES))
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        work()
        print("used", end=" ")
    except ModlmError as error:
        print("refused", end=" ")
        if len(str(error)) > 1500:
            print("with a message that is too long:", str(error)[:300])
            return 71
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    seconds = time.process_time() - begun
    print(f"{seconds:.2f} {growth}")
    return 0 if seconds < SECONDS and growth < GROWTH else 72


def use(place: Path, verify: str) -> None:
    model = modlm.load(place, verify=verify)  # type: ignore[arg-type]
    model.score("a b c")
    model.next_words("a b", k=2)
    if isinstance(model, modlm.NgramLM):
        model.pruned(0.5)


def try_one(outcome: Outcome, what: str, work: Callable[[], object], said: Path) -> None:
    code, text = finished(partial(measured, work), said)
    outcome.check(what, None if code == 0 else f"exit code {code}: {text[-600:]}")
    words = text.split()
    if code == 0:
        outcome.count(words[0])
        outcome.figures["most_seconds"] = max(outcome.figures.get("most_seconds", 0.0), float(words[1]))
        grown = round(int(words[2]) / 2**20)
        outcome.figures["most_MiB"] = max(outcome.figures.get("most_MiB", 0), grown)


def try_folders(tries: int) -> Outcome:
    """Every folder of the list, then such with absurd values at random places of their manifests."""
    outcome, rng = Outcome(), random.Random("hostile")
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        top = Path(name)
        for kind in ("ngram", "mixture", "hybrid"):
            make(kind, top / kind)
            use(top / kind, "full")  # compiles
        place = top / "place"
        cases: list[tuple[str, str, Change]] = [(what, *case) for what, case in FOLDERS.items()]
        while len(cases) < tries:
            kind = rng.choice(("ngram", "mixture", "hybrid"))
            cases.append((f"absurd {len(cases)}", kind, manifest(partial(make_absurd, rng=random.Random(len(cases))))))
        for what, kind, change in cases[:tries]:
            for verify in ("fast", "full"):
                shutil.copytree(top / kind, place)
                change(place)
                try_one(outcome, f"{what}, {verify}", partial(use, place, verify), top / "said")
                shutil.rmtree(place)
    return outcome


def make_absurd(found: dict[str, Any], rng: random.Random) -> None:
    """One to three values of a manifest become absurd."""
    for _ in range(rng.randint(1, 3)):
        at: Any = found
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = rng.choice(keys)
            if not isinstance(at[key], dict | list) or not at[key] or rng.random() < 0.15:
                at[key] = copy.deepcopy(rng.choice(ABSURD))
                break
            at = at[key]


def try_bombs(tries: int) -> Outcome:
    """Every bomb at every reader, as far as the tries go."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="bombs-") as name:
        top = Path(name)
        (top / "text").write_text("a b\nb c\n")
        count_text(top / "text", order=2)  # compiles
        made = bombs()
        outcome.figures["largest_file_KB"] = max(len(data) for data in made.values()) // 1000
        every = [(what, how) for how in READERS for what in made]
        for what, how in every[:tries]:
            (top / "bomb").write_bytes(made[what])
            try_one(outcome, f"{what} {how}", partial(READERS[how], top / "bomb"), top / "said")
    return outcome


ROWS = {
    "hostile-folders": Row("model folders made to do harm, fast and full", try_folders, small=len(FOLDERS), full=1000),
    "bombs": Row("bombs in gz, bz2, xz, zst (5 GB decompressed) at every reader", try_bombs, small=20, full=80),
}
