"""Damaged files thrown at every reader of files that others write: a result or a ModlmError, and nothing else.

    python -m tests.fuzz.fuzz_readers                           (every reader, 1,000 inputs each)
    python -m tests.fuzz.fuzz_readers arpa --inputs 125000 --keep
    python -m tests.fuzz.fuzz_readers counts --atheris          (guided by coverage, if atheris is installed)

Inputs are edits of known ones: of bytes, of pieces of the format, of lines, and splices of two. An input that gets an
answer which none got before is worth editing further, and `--keep` keeps it in `corpus/`, with which every run begins.
The seed of a failing input is printed; `--seed` makes it again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.formats.arpa_samples import VALID
from tests.formats.nbest_samples import JSON_LINES, JSON_VARIANTS, KALDI_COLUMN, MOSES

from modlm.errors import ModlmError
from modlm.formats import read_arpa, read_counts
from modlm.formats.nbest import read_nbest
from modlm.model.ngram.arpa import from_arpa
from modlm.text.vocabulary import Vocabulary
from modlm.training.config import RunConfig
from modlm.training.config_file import read_config, to_toml

COUNTS = "the\t900\nof\t400\n<S>\t70\n</S>\t70\n<UNK>\t3\nthe of\t12\n<S> the\t9\nof the <UNK>\t2\na b c d\t1\nthe\t5\n"
WORDS = "<unk>\n</s>\nthe\nof\nüber\n日本\na_b\nc-d\n0.5\n"
READERS: dict[str, tuple[Callable[[Path], object], bytes]] = {
    "arpa": (lambda path: from_arpa(read_arpa(path)), VALID.encode()),
    "counts": (read_counts, COUNTS.encode()),
    "nbest-jsonl": (partial(read_nbest, form="jsonl"), JSON_LINES.encode()),
    "nbest-flat": (read_nbest, JSON_VARIANTS["a line for each hypothesis"].encode()),
    "nbest-kaldi": (partial(read_nbest, form="kaldi"), KALDI_COLUMN.encode()),
    "nbest-moses": (partial(read_nbest, form="moses"), MOSES.encode()),
    "config": (read_config, to_toml(RunConfig(text="t", valid="v")).encode()),
    "vocabulary": (lambda path: Vocabulary.from_file(path).words, WORDS.encode()),
    "vocabulary-strict": (lambda path: Vocabulary.from_file(path, strict=True).words, WORDS.encode()),
}
PIECES = [
    b"\\data\\\n", b"\\end\\\n", b"\\1-grams:\n", b"\\4-grams:\n", b"ngram 4=1\n", b"ngram 1=99999999999\n",
    b"ngram 2=-1\n", b"\t", b"\n", b" ", b"\r", b"\0", b"\x0b", b"\xff", b"\xc3", b"\xef\xbb\xbf",
    b"-99", b"nan", b"inf", b"1e999", b"-1e-400", b"0.1234567890123456789", b"9223372036854775807",
    b"9223372036854775808", b"<s>", b"</s>", b"<unk>", b"<S>", b"<UNK>", b"a", b"x" * 70_000, b"a " * 100,
    b'{"utt": "u", "nbest": [', b'"score": NaN', b"[" * 3000, b'"\\ud800"', b" ||| ", b"tensor(-1)", b"u-1 ", b"null",
    b"-1\t" * 100, b"9" * 400, b"\n" * 3000, b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd",
    b"[columns.ngram]\n", b"order = ", b" = 1\n", b'"""', b"true", b"9" * 5000, b"1979-05-27T07:32:00Z", b"a.b.c = 1\n",
    b"{a = 1}", b"[[" * 2000,
]  # fmt: skip
SLOW = 1.0  # seconds of the processor for one small file; compiling happens before the clock starts
LARGE = 1 << 30  # bytes that a process may take that reads such files
CORPUS = Path(__file__).parent / "corpus"
KEPT_BYTES = 2000  # of an input that is kept
KEPT = 60  # inputs for each reader


def damaged(data: bytes, rng: random.Random, others: list[bytes] | None = None) -> bytes:
    """The file after one to six random edits of bytes, pieces and lines, or crossed with another one."""
    if others and rng.random() < 0.1:
        other = rng.choice(others)
        data = data[: _place(data, rng)] + other[_place(other, rng) :]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        data = rng.choice(EDITS)(data, rng)
    if rng.random() < 0.02:
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
    places = [found.span() for found in re.finditer(rb"[0-9]+", data)]
    if not places:
        return data
    begin, end = rng.choice(places)
    new = rng.choice((b"0", b"1", b"7", b"10", b"", b"-", b".", b"e", b"4294967296", b"18446744073709551616", b"1e308"))
    return data[:begin] + new + data[end if rng.random() < 0.5 else begin + 1 :]


def _nonsense(data: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(300)) if rng.random() < 0.1 else data


EDITS = [_flip, _flip, _delete, _delete, _insert, _insert, _copy, _lines, _lines, _number, _number, _nonsense]


def attempt(read: Callable[[Path], object], data: bytes, path: Path) -> str:
    """What came of it: 'read', or the message. Anything but a ModlmError goes through, and so does a slow answer."""
    path.write_bytes(data)
    started = time.perf_counter()
    outcome = _answer(read, path)
    if time.perf_counter() - started > SLOW:  # or the machine was busy: what counts is the processor's time
        started = time.process_time()
        _answer(read, path)
        took = time.process_time() - started
        assert took < SLOW, f"{took:.1f} s for {len(data)} bytes"
    return outcome


def _answer(read: Callable[[Path], object], path: Path) -> str:
    try:
        read(path)
    except ModlmError as error:
        outcome = f"{type(error).__name__}: {error}"
        assert str(error).startswith(str(path)), outcome
        assert "\n" not in outcome and len(outcome) < 1200, outcome
        return outcome
    return "read"


def sort_of(outcome: str, path: Path) -> str:
    """An answer without what is particular to the input."""
    return re.sub(r"'.*'|\".*\"|\(.*\)|0x\w+|\d+", "_", outcome.replace(str(path), ""))


@dataclass
class Corpus:
    """Inputs worth editing, and the answers that they are known by."""

    kind: str
    inputs: list[bytes] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    @property
    def file(self) -> Path:
        return CORPUS / f"{self.kind}.json"

    @classmethod
    def opened(cls, kind: str) -> Corpus:
        corpus = cls(kind, [READERS[kind][1]])
        if corpus.file.exists():
            corpus.inputs += [text.encode("latin-1") for text in json.loads(corpus.file.read_text())]
        return corpus

    def met(self, data: bytes, sort: str) -> None:
        if sort not in self.known:
            self.known.add(sort)
            if len(data) <= KEPT_BYTES and len(self.inputs) < KEPT and data not in self.inputs:
                self.inputs.append(data)

    def keep(self) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps([data.decode("latin-1") for data in self.inputs[1:]], indent=0) + "\n")


def run(
    kind: str, *, seconds: float = sys.maxsize, seed: int = 0, most: int = sys.maxsize, keep: bool = False
) -> Counter[str]:
    """Throw damaged files at a reader for so long or so often, and count what came of them."""
    read, valid = READERS[kind]
    outcomes: Counter[str] = Counter()
    before = highest_memory()
    corpus = Corpus.opened(kind)
    shared = Path("/dev/shm")  # no disk is needed for files that live for a moment
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        path = Path(folder) / "file"
        path.write_bytes(valid)
        read(path)  # compiles
        for data in list(corpus.inputs):
            corpus.known.add(sort_of(attempt(read, data, path), path))
        end = time.monotonic() + seconds
        while time.monotonic() < end and outcomes.total() < most:
            rng = random.Random(f"{kind} {seed}")
            base = valid if rng.random() < 0.5 else rng.choice(corpus.inputs)
            data = damaged(base, rng, corpus.inputs)
            try:
                outcome = attempt(read, data, path)
            except BaseException:
                print(f"{kind}: seed {seed} gives {data!r:.2000}", file=sys.stderr)
                raise
            corpus.met(data, sort_of(outcome, path))
            outcomes[outcome.partition(":")[0]] += 1
            seed += 1
    more = highest_memory() - before
    assert more < LARGE, f"{kind}: the process took {more >> 20} MiB more"
    if keep:
        corpus.keep()
    return outcomes


def highest_memory() -> int:
    """Bytes that this process had at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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
    parser.add_argument("kinds", choices=[*READERS, []], nargs="*")
    parser.add_argument("--inputs", type=int, default=1000, help="for each reader (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep inputs that got new answers in corpus/")
    parser.add_argument("--atheris", action="store_true")
    arguments = parser.parse_args()
    for kind in arguments.kinds or READERS:
        if arguments.atheris:
            run_atheris(kind)
        begun = time.perf_counter()
        outcomes = run(kind, seed=arguments.seed, most=arguments.inputs, keep=arguments.keep)
        rate = outcomes.total() / (time.perf_counter() - begun)
        print(f"{kind}: {outcomes.total():,} inputs, {rate:,.0f} a second: {dict(outcomes)}", flush=True)


if __name__ == "__main__":
    main()
