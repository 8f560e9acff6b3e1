"""Where text comes from: files, packed files, standard input, sentences in memory; out come blocks of whole lines.

`-` is standard input. A byte order mark at the start of a file is dropped, and a last line without a line end gets one.
Reading holds one block at a time; a line longer than a block makes the block as long as the line.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from modlm.errors import InputError
from modlm.store.manifest import is_folder
from modlm.text.packing import MAGIC_BYTES, packing_of, unpacked

Text: TypeAlias = "str | os.PathLike[str] | Iterable[os.PathLike[str]] | Iterable[str] | Iterable[Sequence[str]]"
"""A text: one file name or path; several paths; or sentences, each a string or a list of words.

A single string is a file name; strings in a list are sentences. Files in a list are given as `pathlib.Path`.
"""

BLOCK_BYTES = 4 << 20
PADDING = 8  # bytes that can be read behind a block, or a vocabulary's words, since the kernels load eight at a time

STANDARD_INPUT = "-"
MODEL_FIRST = "modlm.load comes first with the model, then its method with the text."
LINE_BYTES = 1 << 30  # a longer line is no line: memory would be full before its end is found
PACKED_LINE_BYTES = 1 << 27  # the same for what may be much smaller on disk
PIECE_BYTES = 1 << 16  # taken from a file at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SENTENCES = 4096  # sentences in memory turned into lines at a time
SOON = 0.05  # seconds after which a pipe that gives nothing more has nothing more to give for now


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of one source: `data[:size]` ends with a line end, and PADDING more bytes can be read."""

    data: bytearray
    size: int
    source: str  # the file's name, as errors give it
    offset: int  # where the block begins in its (unpacked) source
    first: bool  # whether it is the first of its source, so that lines are counted from 1 again
    consumed: int  # bytes of the file as it lies on disk that were read for this block
    dry: bool = False  # whether a pipe had no more to give for now


class Files:
    """Texts in files, read one after the other."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]], *, eager: bool = False) -> None:
        """`eager`: pipes are not waited for."""
        self.paths, self.eager = tuple(Path(path) for path in paths), eager

    def __str__(self) -> str:
        return ", ".join(_name(path) for path in self.paths)

    def size(self) -> int | None:
        """Bytes on disk; None when that cannot be known, as for a pipe."""
        try:
            found = [path.stat() for path in self.paths]
        except OSError:
            return None
        return sum(file.st_size for file in found) if all(stat.S_ISREG(file.st_mode) for file in found) else None

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
        """The text of all files; a block never holds lines of two files."""
        for path in self.paths:
            with _opened(path) as stream:
                before = _state(stream)
                real = isinstance(stream, io.RawIOBase | io.BufferedReader)  # not what a test put there
                pipe = stream if self.eager and before is None and real else None
                yield from _whole_lines(_Pieces(stream, _name(path)), _name(path), block_bytes, pipe)
                if _state(stream) != before:
                    raise InputError(
                        "it was written to while it was read, so what was read of it is neither the old nor the new. "
                        "Wait until it is finished, and begin again.",
                        path=path,
                    )


class Sentences:
    """Sentences in memory: strings or lists of words. Line ends inside a sentence are white space like any other."""

    def __init__(self, items: Iterable[object]) -> None:
        self.items = items

    def __str__(self) -> str:
        return "the sentences"

    def size(self) -> int | None:
        """Unknown: the sentences may come from a generator."""
        return None

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
        """The sentences as lines; their line numbers are their places in the sequence, from 1."""
        items, numbers = iter(self.items), count(step=SENTENCES)
        batches = iter(lambda: list(islice(items, SENTENCES)), [])
        yield from _whole_lines(map(as_lines, batches, numbers), str(self), block_bytes)


def source_of(text: Text) -> Files | Sentences:
    """What the text is: see `Text` for how strings, paths and sentences are told apart."""
    if isinstance(text, str | os.PathLike):
        return Files([text])
    if not isinstance(text, Iterable):
        raise InputError(f"A text is a file, a list of paths, or sentences, but this is a {type(text).__name__}.")
    items: Iterator[object] = iter(text)
    first = next(items, None)
    if first is None:
        return Sentences(())
    if isinstance(first, os.PathLike):
        paths = [first, *items]
        if odd := [item for item in paths if not isinstance(item, os.PathLike)]:
            raise InputError(f"A list of files holds paths only, but one item is {odd[0]!r:.60}. Use pathlib.Path.")
        return Files(cast("list[os.PathLike[str]]", paths))
    if isinstance(text, list | tuple) and all(map(_is_file, text)):  # somebody meant the files
        raise InputError(
            f"Strings in a list are sentences, but {text[0]!r} is the name of a file. "
            f"Give files as paths, [pathlib.Path({text[0]!r})], or a single file as a plain string."
        )
    return Sentences(chain((first,), items))


def _is_file(item: object) -> bool:
    with suppress(OSError, ValueError):  # too long, or with NUL: no file has such a name
        return isinstance(item, str) and Path(item).is_file()
    return False


def _joined(item: object, number: int) -> str:
    if isinstance(item, list | tuple) and all(isinstance(word, str) for word in item):
        return " ".join(item)
    raise InputError(
        f"a sentence is a string or a list of words, but this is {item!r:.60}.", path="the sentences", line=number
    )


def as_lines(batch: Sequence[object], number: int = 0) -> bytes:
    """Sentences as lines, joined in one go where all are strings without line ends; `number` stood before them."""
    text = "\n".join(batch) if all(type(item) is str for item in batch) else None  # type: ignore[arg-type]
    if text is None or text.count("\n") >= len(batch):
        lines = [item if isinstance(item, str) else _joined(item, number + i) for i, item in enumerate(batch, start=1)]
        text = "\n".join(line.replace("\n", " ") for line in lines)
    # Lone surrogates pass here and are found, with their line, where all text is checked.
    return (text + "\n").encode("utf-8", "surrogatepass")


class _Pieces:
    """What a file holds, unpacked, piece by piece; no line of it is longer than `longest`."""

    def __init__(self, stream: BinaryIO, source: str) -> None:
        self.stream, self.longest = stream, LINE_BYTES
        self.consumed = 0
        """Bytes taken from disk."""
        head = b""
        while len(head) < MAGIC_BYTES and (more := stream.read(MAGIC_BYTES - len(head))):
            head += more
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(
                "this is UTF-16, but text must be UTF-8. Convert it with: iconv -f UTF-16 -t UTF-8", path=source
            )
        self._unpacked = self._taken(head)
        if packing := packing_of(head):
            self.longest, self._unpacked = PACKED_LINE_BYTES, unpacked(packing, self._unpacked, source)

    def _taken(self, piece: bytes) -> Iterator[bytes]:
        while piece:
            self.consumed += len(piece)
            yield piece
            piece = getattr(self.stream, "read1", self.stream.read)(PIECE_BYTES)

    def __iter__(self) -> Iterator[bytes]:
        return self._unpacked


def _whole_lines(
    pieces: _Pieces | Iterator[bytes], source: str, block_bytes: int, pipe: BinaryIO | None = None
) -> Iterator[Block]:
    """Blocks of pieces; where a pipe has been dry for a while, of what there is."""
    longest, limit = getattr(pieces, "longest", LINE_BYTES), max(1, block_bytes)
    cut = min(limit, PIECE_BYTES)
    coming = (piece[at : at + cut] for piece in pieces for at in range(0, len(piece), cut))
    rest, offset, taken, first, fresh, ended = bytearray(), 0, 0, True, False, False
    while not ended:
        limit, held, dry = max(limit, 2 * len(rest)), len(rest), False
        data = bytearray(limit + cut + 1 + PADDING)  # one for a line end that is missing
        data[:held] = rest
        while held < limit and not (dry or ended):
            dry = pipe is not None and fresh and not select.select([pipe], [], [], SOON)[0]
            piece = b"" if dry else next(coming, b"")
            fresh, ended = not dry, not piece and not dry
            data[held : held + len(piece)] = piece
            held += len(piece)
        if first and not offset and data.startswith(BYTE_ORDER_MARK):
            offset = len(BYTE_ORDER_MARK)
            del data[:offset]
            held -= offset
        if ended and held and data[held - 1] != ord("\n"):
            data[held] = ord("\n")
            held += 1
        size, limit = data.rfind(b"\n", 0, held) + 1, max(1, block_bytes)
        rest = data[size:held]
        if size:
            consumed = getattr(pieces, "consumed", 0)
            yield Block(data, size, source, offset, first, consumed - taken, dry)
            offset, taken, first = offset + size, consumed, False
        elif held > longest:
            raise InputError(f"a line is longer than {longest >> 20} MiB, so this is not a text.", path=source)


def _state(stream: BinaryIO) -> tuple[int, int] | None:
    """What changes when an ordinary file is written to; None for pipes and the like."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):  # not a file of the system, as when standard input was replaced
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _name(path: Path) -> str:
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The open file; whatever the system says against opening or reading it becomes an InputError."""
    try:
        if str(path) == STANDARD_INPUT:
            yield sys.stdin.buffer
        else:
            with path.open("rb", buffering=0) as stream:
                yield cast(BinaryIO, stream)
    except FileNotFoundError:
        hint = " A sentence is given in a list: [sentence]." if " " in path.name else ""
        raise InputError(f"there is no such file.{hint}", path=path) from None
    except IsADirectoryError:
        if is_folder(path, kind="model"):
            raise InputError(f"this is a model where a text was expected. {MODEL_FIRST}", path=path) from None
        raise InputError("this is a folder. Give the text files in it.", path=path) from None
    except PermissionError:
        raise InputError("permission to read it was denied.", path=path) from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the name
        raise InputError(f"it cannot be read: {getattr(error, 'strerror', None) or error}.", path=path) from error
