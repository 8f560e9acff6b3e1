"""Packed files: gzip, bzip2, xz and zstandard, known by their first bytes and unpacked piece by piece.

The three libraries of the standard kit and `zstandard` agree on what a decompressor looks like, so one loop serves all.
Damaged and cut-off data end in an `InputError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from modlm.errors import InputError, require


class Decoder(Protocol):
    """What zlib, bz2, lzma and zstandard call a decompressor."""

    def decompress(self, data: bytes, /) -> bytes:
        """What these bytes unpack to."""

    @property
    def eof(self) -> bool:
        """Whether the packed data came to its end."""

    @property
    def unused_data(self) -> bytes:
        """What stood behind that end."""


Library: TypeAlias = "tuple[Callable[[], Decoder], type[Exception]]"
"""How a decoder is made, and the error with which it fails."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A way to pack files: how it begins, and how it is unpacked."""

    name: str
    magic: re.Pattern[bytes]
    library: Callable[[], Library]


def _gzip() -> Library:
    import zlib

    return lambda: zlib.decompressobj(wbits=31), zlib.error


def _bzip2() -> Library:
    import bz2

    return bz2.BZ2Decompressor, OSError


def _xz() -> Library:
    import lzma

    return lzma.LZMADecompressor, lzma.LZMAError


def _zstandard() -> Library:
    zstandard = require("zstandard", extra="scale", purpose="Reading zstandard files")
    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


MAGIC_BYTES = 10
PACKINGS = (
    Packing("gzip", re.compile(rb"\x1f\x8b\x08"), _gzip),
    Packing("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), _bzip2),
    Packing("xz", re.compile(rb"\xfd7zXZ\x00"), _xz),
    Packing("zstandard", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _zstandard),
)


def packing_of(head: bytes) -> Packing | None:
    """How a file with these first MAGIC_BYTES is packed; None when it is not."""
    return next((packing for packing in PACKINGS if packing.magic.match(head)), None)


def unpacked(packing: Packing, pieces: Iterator[bytes], source: str) -> Iterator[bytes]:
    """The unpacked data; packed files may stand one behind the other with zeros between, as those formats allow."""
    new_decoder, library_error = packing.library()
    decoder: Decoder | None = None
    for piece in pieces:
        packed = piece
        while packed := packed if decoder else packed.lstrip(b"\0"):
            decoder = decoder or new_decoder()
            try:
                data = decoder.decompress(packed)
            except (library_error, OSError, ValueError, EOFError) as error:
                raise InputError(
                    f"the {packing.name} data is damaged ({error}). Get or pack the file again.", path=source
                ) from error
            yield data
            if not decoder.eof:
                break
            packed, decoder = decoder.unused_data, None
    if decoder is not None:
        raise InputError(
            f"the {packing.name} data ends too early: the file was cut off. Get or pack it again.", path=source
        )
