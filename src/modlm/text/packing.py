"""Packed files: gzip, bzip2, xz and zstandard, known by their first bytes and unpacked piece by piece.

The three libraries of the standard kit and `zstandard` almost agree on what a decompressor looks like, so one loop
serves all; they differ in how to keep what comes out at a time small, whatever comes in. Damaged and cut-off data end
in an `InputError`, and so do bombs: data that unpacks to much more than any text does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from modlm.errors import InputError, require


class Decoder(Protocol):
    """What zlib, bz2, lzma and zstandard call a decompressor."""

    @property
    def eof(self) -> bool:
        """Whether the packed data came to its end."""

    @property
    def unused_data(self) -> bytes:
        """What stood behind that end."""


Library: TypeAlias = "tuple[Callable[[], Decoder], type[Exception]]"
"""How a decoder is made, and the error with which it fails."""


AT_ONCE = 1 << 23  # bytes unpacked at a time
SLICE = 1 << 12  # packed bytes at a time where there is no other limit; zstandard makes up to 32,768 times as much
FREE = 1 << 23  # bytes that anything may unpack to
RATIO = 100  # times its size that anything larger may unpack to; text does not reach 20


def _until_fed(decoder: Any, packed: bytes) -> Generator[bytes, None, bytes]:
    """For bzip2 and xz, which keep what they did not come to."""
    yield decoder.decompress(packed, AT_ONCE)
    while not decoder.eof and not decoder.needs_input:
        yield decoder.decompress(b"", AT_ONCE)
    return b""


def _with_tail(decoder: Any, packed: bytes) -> Generator[bytes, None, bytes]:
    """For zlib, which gives it back."""
    yield decoder.decompress(packed, AT_ONCE)
    while not decoder.eof and decoder.unconsumed_tail:
        yield decoder.decompress(decoder.unconsumed_tail, AT_ONCE)
    return b""


def _in_slices(decoder: Any, packed: bytes) -> Generator[bytes, None, bytes]:
    """For zstandard, which has no such limit."""
    for begin in range(0, len(packed), SLICE):
        yield decoder.decompress(packed[begin : begin + SLICE])
        if decoder.eof:
            return packed[begin + SLICE :]
    return b""


@dataclass(frozen=True, slots=True)
class Packing:
    """A way to pack files: how it begins, and how it is unpacked."""

    name: str
    magic: re.Pattern[bytes]
    library: Callable[[], Library]
    feed: Callable[[Any, bytes], Generator[bytes, None, bytes]]
    """What bytes unpack to, piece by piece; in the end those that were not looked at."""


XZ_MEMORY = 1 << 28  # bytes that unpacking may take; what `xz -9` packs takes a quarter


def _gzip() -> Library:
    import zlib

    return lambda: zlib.decompressobj(wbits=31), zlib.error


def _bzip2() -> Library:
    import bz2

    return bz2.BZ2Decompressor, OSError


def _xz() -> Library:
    import lzma

    return lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY), lzma.LZMAError


def _zstandard() -> Library:
    zstandard = require("zstandard", extra="scale", purpose="Reading zstandard files")
    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


MAGIC_BYTES = 10
PACKINGS = (
    Packing("gzip", re.compile(rb"\x1f\x8b\x08"), _gzip, _with_tail),
    Packing("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), _bzip2, _until_fed),
    Packing("xz", re.compile(rb"\xfd7zXZ\x00"), _xz, _until_fed),
    Packing("zstandard", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _zstandard, _in_slices),
)


def packing_of(head: bytes) -> Packing | None:
    """How a file with these first MAGIC_BYTES is packed; None when it is not."""
    return next((packing for packing in PACKINGS if packing.magic.match(head)), None)


def packing_at(path: Path) -> Packing | None:
    """How the file at a path is packed; None when it is not, or cannot be read: the reader will say why."""
    with suppress(OSError):
        if path.is_file():  # not a pipe, which can be read once
            with path.open("rb") as stream:
                return packing_of(stream.read(MAGIC_BYTES))
    return None


def _bomb(packing: Packing, source: str) -> InputError:
    return InputError(
        f"the {packing.name} data unpacks to more than {RATIO} times its size, which no text does. Unpack the file "
        f"first if that is what it should be.",
        path=source,
    )


def unpacked(packing: Packing, pieces: Iterator[bytes], source: str) -> Iterator[bytes]:
    """The unpacked data; packed files may stand one behind the other with zeros between, as those formats allow."""
    new_decoder, library_error = packing.library()
    decoder: Decoder | None = None
    taken, given = 0, 0
    for piece in pieces:
        packed, taken = piece, taken + len(piece)
        while packed := packed if decoder else packed.lstrip(b"\0"):
            decoder = decoder or new_decoder()
            feed, rest = packing.feed(decoder, packed), b""
            try:
                while True:
                    data = next(feed)
                    given += len(data)
                    if given > max(FREE, RATIO * taken):
                        raise _bomb(packing, source)
                    yield data
            except StopIteration as end:
                rest = end.value
            except (library_error, OSError, ValueError, EOFError) as error:
                raise InputError(
                    f"the {packing.name} data is damaged ({error}). Get or pack the file again.", path=source
                ) from error
            if not decoder.eof:
                break
            packed, decoder = decoder.unused_data + rest, None
    if decoder is not None:
        raise InputError(
            f"the {packing.name} data ends too early: the file was cut off. Get or pack it again.", path=source
        )
