"""Where the ids of a text gather while it is read: in memory, or in an `.npy` file that outgrows memory.

Both take arrays one after the other and give one array in the end, on the way to which each part may be translated to
its final ids: with a mapping for each part, its ids are looked up there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from modlm.arrays import Ids
from modlm.store.npy import NpyWriter


class MemoryStore:
    """Parts in memory; each is let go as soon as it stands in the final array."""

    def __init__(self) -> None:
        self.parts: list[Ids] = []

    def append(self, ids: Ids) -> None:
        """Take the next part."""
        self.parts.append(ids)

    def finish(self, mappings: Sequence[Ids] | None = None) -> Ids:
        """All parts as one array."""
        parts, self.parts = self.parts[::-1], []
        if len(parts) == 1 and not mappings:
            return parts[0]
        whole = np.empty(sum(map(len, parts)), np.uint32)
        at = 0
        for place in range(len(parts)):
            part = parts.pop()
            target = whole[at : at + len(part)]
            if mappings:
                _translate(part, mappings[place], target)
            else:
                target[:] = part
            at += len(part)
        return whole


class FileStore:
    """Parts in an `.npy` file."""

    def __init__(self, writer: NpyWriter) -> None:
        self.writer, self.bounds = writer, [0]

    def append(self, ids: Ids) -> None:
        """Take the next part."""
        self.writer.append(ids)
        self.bounds.append(self.writer.length)

    def finish(self, mappings: Sequence[Ids] | None = None) -> Ids:
        """All parts as one memory-mapped array, translated in place."""
        whole: Ids = self.writer.finish(mode="r+" if mappings else "r")
        for mapping, start, end in zip(mappings or (), self.bounds, self.bounds[1:], strict=False):
            _translate(whole[start:end], mapping, whole[start:end])
        return whole


def _translate(ids: Ids, mapping: Ids, out: Ids) -> None:
    from modlm.text.text_kernels import translate

    translate(np.asarray(ids), mapping, np.asarray(out))
