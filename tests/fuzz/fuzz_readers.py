"""Damaged files thrown at the readers of ARPA, count and n-best files: a result or a ModlmError, and nothing else.

    python tests/fuzz/fuzz_readers.py arpa --seconds 600
    python tests/fuzz/fuzz_readers.py counts --atheris          (guided by coverage, if atheris is installed)

The seed of a failing file is printed; `--seed` makes it again.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.formats.arpa_samples import VALID
from tests.formats.nbest_samples import JSON_LINES, JSON_VARIANTS, KALDI_COLUMN, MOSES

from modlm.errors import ModlmError
from modlm.formats import read_arpa, read_counts
from modlm.formats.nbest import read_nbest

COUNTS = "the\t900\nof\t400\n<S>\t70\n</S>\t70\n<UNK>\t3\nthe of\t12\n<S> the\t9\nof the <UNK>\t2\na b c d\t1\nthe\t5\n"
READERS: dict[str, tuple[Callable[[Path], object], bytes]] = {
    "arpa": (read_arpa, VALID.encode()),
    "counts": (read_counts, COUNTS.encode()),
    "nbest-jsonl": (partial(read_nbest, form="jsonl"), JSON_LINES.encode()),
    "nbest-flat": (read_nbest, JSON_VARIANTS["a line for each hypothesis"].encode()),
    "nbest-kaldi": (partial(read_nbest, form="kaldi"), KALDI_COLUMN.encode()),
    "nbest-moses": (partial(read_nbest, form="moses"), MOSES.encode()),
}
PIECES = [
    b"\\data\\\n", b"\\end\\\n", b"\\1-grams:\n", b"\\4-grams:\n", b"ngram 4=1\n", b"ngram 1=99999999999\n",
    b"ngram 2=-1\n", b"\t", b"\n", b" ", b"\r", b"\0", b"\x0b", b"\xff", b"\xc3", b"\xef\xbb\xbf",
    b"-99", b"nan", b"inf", b"1e999", b"-1e-400", b"0.1234567890123456789", b"9223372036854775807",
    b"9223372036854775808", b"<s>", b"</s>", b"<unk>", b"<S>", b"<UNK>", b"a", b"x" * 70_000, b"a " * 100,
    b'{"utt": "u", "nbest": [', b'"score": NaN', b"[" * 3000, b'"\\ud800"', b" ||| ", b"tensor(-1)", b"u-1 ", b"null",
    b"-1\t" * 100, b"9" * 400, b"\n" * 3000, b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\0",
]  # fmt: skip
SLOW = 5.0  # seconds for one small file; compiling happens before the clock starts


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The file after one to six random edits of bytes, pieces and lines."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(EDITS)(data, rng)
    if rng.random() < 0.05:
        packed = gzip.compress(data, 1)
        data = packed[: rng.randrange(len(packed) + 1)] if rng.random() < 0.5 else packed
    return data


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _flip(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def _delete(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + data[place + rng.choice((1, 1, 2, 5, 20, 1000)) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + rng.choice(PIECES) + data[place:]


def _copy(data: bytes, rng: random.Random) -> bytes:
    start, place = _place(data, rng), _place(data, rng)
    return data[:place] + data[start : start + rng.randrange(60)] + data[place:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(4)
    if what == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 1:
        del lines[one]
    elif what == 2:
        lines.insert(other, lines[one])
    else:
        rng.shuffle(lines)
    return b"".join(lines)


def _number(data: bytes, rng: random.Random) -> bytes:
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return data
    place = rng.choice(places)
    return data[:place] + rng.choice((b"0", b"1", b"7", b"10", b"", b"-", b".", b"e")) + data[place + 1 :]


def _nonsense(data: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(300)) if rng.random() < 0.1 else data


EDITS = [_flip, _flip, _delete, _delete, _insert, _insert, _copy, _lines, _lines, _number, _number, _nonsense]


def attempt(read: Callable[[Path], object], data: bytes, path: Path) -> str:
    """What came of it: 'read', or the first words of the message. Anything but a ModlmError goes through."""
    path.write_bytes(data)
    started = time.monotonic()
    try:
        read(path)
        outcome = "read"
    except ModlmError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert "\n" not in message and len(message) < 1000, message
        outcome = type(error).__name__
    took = time.monotonic() - started
    assert took < SLOW, f"{took:.1f} s for {len(data)} bytes"
    return outcome


def run(kind: str, *, seconds: float, seed: int = 0, most: int = sys.maxsize) -> Counter[str]:
    """Throw damaged files at a reader for so long, and count what came of them."""
    read, valid = READERS[kind]
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(valid)
        read(path)  # compiles
        end = time.monotonic() + seconds
        while time.monotonic() < end and outcomes.total() < most:
            data = damaged(valid, random.Random(f"{kind} {seed}"))
            try:
                outcomes[attempt(read, data, path)] += 1
            except BaseException:
                print(f"{kind}: seed {seed} gives {data!r:.2000}", file=sys.stderr)
                raise
            seed += 1
    return outcomes


def run_atheris(kind: str) -> None:
    """The same guided by coverage; ends when interrupted."""
    import atheris

    read, _ = READERS[kind]
    path = Path(tempfile.mkdtemp()) / "file"

    def one(data: bytes) -> None:
        attempt(read, data, path)

    atheris.instrument_all()
    atheris.Setup(sys.argv[:1], one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=READERS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true")
    arguments = parser.parse_args()
    if arguments.atheris:
        run_atheris(arguments.kind)
    else:
        print(dict(run(arguments.kind, seconds=arguments.seconds, seed=arguments.seed)))


if __name__ == "__main__":
    main()
