"""Packed files: gzip, bzip2, xz and zstandard, known by their first bytes and unpacked piece by piece.

The three libraries of the standard kit and `zstandard` agree on what a decompressor looks like, so one loop serves all.
Damaged and cut-off data end in an `InputError`, and so do bombs: data that unpacks to much more than any text does.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from modlm.errors import InputError, require

SLICE = 1 << 12  # packed bytes unpacked at a time, for the sake of bombs: zstandard makes up to 32,768 times as much
FREE = 1 << 23  # bytes that anything may unpack to
RATIO = 100  # times its size that anything larger may unpack to; text does not reach 20
GZIP_LEVEL = 6  # twice as fast as the highest for a few per cent
XZ_MEMORY = 1 << 28  # bytes that unpacking may take; what `xz -9` packs takes a quarter


@dataclass(frozen=True, slots=True)
class Packing:
    """A way to pack files: how their names end, how they begin, and what unpacks and packs them."""

    name: str
    ending: str
    magic: re.Pattern[bytes]
    decoder: Callable[[], Any]
    writer: Callable[[BinaryIO], Any]


def _zstandard() -> Any:
    return require("zstandard", extra="scale", purpose="Packing and unpacking zstandard files")


MAGIC_BYTES = 10
PACKINGS = (
    Packing(
        "gzip", ".gz", re.compile(rb"\x1f\x8b\x08"),
        lambda: zlib.decompressobj(wbits=31), lambda stream: gzip.GzipFile("", "wb", GZIP_LEVEL, stream, mtime=0),
    ),
    Packing(
        "bzip2", ".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
        bz2.BZ2Decompressor, lambda stream: bz2.BZ2File(stream, "wb"),
    ),
    Packing(
        "xz", ".xz", re.compile(rb"\xfd7zXZ\x00"),
        lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY), lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115
    ),
    Packing(
        "zstandard", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
        lambda: _zstandard().ZstdDecompressor().decompressobj(),
        lambda stream: _zstandard().ZstdCompressor().stream_writer(stream, closefd=False),
    ),
)  # fmt: skip


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


def unpacked(packing: Packing, pieces: Iterator[bytes], source: str) -> Iterator[bytes]:
    """The unpacked data; packed files may stand one behind the other with zeros between, as those formats allow."""
    decoder: Any = None
    taken, given = 0, 0
    for piece in pieces:
        packed, taken = piece, taken + len(piece)
        while packed := packed if decoder else packed.lstrip(b"\0"):
            decoder = decoder or packing.decoder()
            try:
                data = decoder.decompress(packed[:SLICE])
            except Exception as error:  # each library has its own
                raise InputError(
                    f"the {packing.name} data is damaged ({error}). Get or pack the file again.", path=source
                ) from error
            given += len(data)
            if given > max(FREE, RATIO * taken):
                raise InputError(
                    f"the {packing.name} data unpacks to more than {RATIO} times its size, which no text does. Unpack "
                    f"the file first if that is what it should be.", path=source,
                )  # fmt: skip
            yield data
            packed = packed[SLICE:]
            if decoder.eof:
                packed, decoder = decoder.unused_data + packed, None
    if decoder is not None:
        raise InputError(
            f"the {packing.name} data ends too early: the file was cut off. Get or pack it again.", path=source
        )
