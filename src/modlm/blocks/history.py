"""The text read so far, shared by all who go on from it: logs of words that only grow, and short branches off them.

A memory is a place: so far in a log, and from there along a branch. Nothing that a memory refers to is ever changed, so
hypotheses share it, and going on by a word costs a node of a branch. Who is at the end of a log and reads much makes
the log longer; who is not takes a copy. A log holds half of what is remembered: when it is full the next begins, and
the one before the last is forgotten, so at least half of `words` and at most all of them are known.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modlm.blocks import online_kernels
from modlm.errors import ConfigError
from modlm.ground.arrays import AnyFloats, Floats, Ids

LEAST_ROOM = 1 << 10  # places of a new log
BRANCH = 512  # words of a branch before the older half of them goes into a log
MOST_ORDERS = 32
NO_ROWS: Floats = np.zeros((0, 0))


class Shared:
    """What several memories refer to, one of which may make it longer at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=threading.RLock())


class Log(Shared):
    """Words, and the counts of all n-grams among them; see `online_kernels`."""

    def __init__(self, order: int, room: int, lead: Ids, base: int) -> None:
        """`lead` are the words before its first, `base` is what its places must be added to, counted from the first."""
        super().__init__()
        self.order, self.room, self.lead, self.base = order, room + len(lead), len(lead), base
        self.length = len(lead)
        self.words_T: Ids = lead
        self.links_TN4, self.sums_TN2 = np.zeros((len(lead), order, 4), np.int32), np.zeros((len(lead), order, 2))
        self._take_room(min(self.room, LEAST_ROOM + len(lead)))

    def _take_room(self, room: int) -> None:
        """Larger arrays with what stands in those before, and empty tables."""
        kept = slice(0, self.length)
        words, links, sums = self.words_T[kept], self.links_TN4[kept], self.sums_TN2[kept]
        self.words_T = np.zeros(room, np.uint32)
        self.links_TN4 = np.zeros((room, self.order, 4), np.int32)
        self.sums_TN2 = np.zeros((room, self.order, 2))
        self.words_T[kept], self.links_TN4[kept], self.sums_TN2[kept] = words, links, sums
        self.heads_SM = np.full((2 * self.order, 1 << (2 * (room - self.lead) - 1).bit_length()), -1, np.int32)

    @property
    def arrays(self) -> tuple[Ids, NDArray[np.int32], NDArray[np.int32], Floats]:
        """As kernels take them."""
        return self.words_T, self.heads_SM, self.links_TN4, self.sums_TN2

    def grow(self, start: int, vocab_size: int, *, least: int = 0) -> None:
        """Twice the room, or as much as is needed."""
        self._take_room(min(self.room, max(2 * len(self.words_T), least)))
        online_kernels.hash_again(
            self.words_T, self.heads_SM, self.order, self.lead, self.length, start, vocab_size
        )  # fmt: skip

    def copy(self, length: int, start: int, vocab_size: int) -> Log:
        """The log as it was when it had this length."""
        other = Log(self.order, self.room - self.lead, self.words_T[: self.lead], self.base)
        other.words_T, other.links_TN4, other.sums_TN2 = self.words_T, self.links_TN4, self.sums_TN2
        other.length = length
        other.grow(start, vocab_size, least=length)
        return other


class Branch(Shared):
    """A tree of words behind a place of a log; a node for each, which knows the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.words_A: Ids = np.zeros(16, np.uint32)
        self.parents_A, self.fresh_A = np.zeros(16, np.int32), np.zeros(16, np.int64)
        self.settled: dict[int, Memory] = {}
        """Where logs have taken over, by node."""

    def add(self, node: int, words: Ids, fresh: NDArray[np.int64]) -> int:
        """Words one behind the other after a node; the last one's node."""
        with self.lock:
            begin, end = self.length, self.length + len(words)
            if end > len(self.words_A):
                room = 2 * end
                self.words_A, self.parents_A, self.fresh_A = (
                    np.concatenate((array, np.zeros(room - len(array), array.dtype)))
                    for array in (self.words_A, self.parents_A, self.fresh_A)
                )
            self.words_A[begin:end], self.fresh_A[begin:end] = words, fresh
            self.parents_A[begin:end] = np.arange(begin - 1, end - 1)
            self.parents_A[begin] = node
            self.length = end
        return end - 1


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A place in what was read."""

    old: Log
    """The full log before."""
    log: Log
    length: int
    """So much of the log was read,"""
    branch: Branch | None = None
    node: int = -1
    behind: int = 0
    """and so many words of the branch, up to this node."""

    @property
    def read(self) -> int:
        """Places read since the beginning."""
        return self.log.base + self.length + self.behind


class History:
    """What is kept of texts, for one kind of block: which n-grams, how long, and fading how fast."""

    def __init__(
        self, start: int, vocab_size: int, *, order: int, words: int, decay: float = 1.0, across: bool = False
    ) -> None:
        """`across`: contexts go on from sentence to sentence, as if there were no `<s>`."""
        if not 0 <= order <= MOST_ORDERS or words < 2 or not 0 < decay <= 1:
            raise ConfigError(
                f"What is remembered are at least 2 words, in n-grams of up to {MOST_ORDERS}, with a decay above 0 and "
                f"at most 1, but these are words = {words}, order = {order} and decay = {decay}."
            )
        self.start, self.vocab_size, self.order, self.half = start, vocab_size, order, words - words // 2
        self.decay, self.across = decay, across
        self.nothing = Memory(self._log(None), self._log(None), 0)

    def _log(self, before: Log | None) -> Log:
        """An empty log behind another."""
        if before is None:
            return Log(self.order, self.half, np.zeros(0, np.uint32), 0)
        lead = before.words_T[max(0, before.length - max(self.order - 1, 0)) : before.length]
        return Log(self.order, self.half, lead, before.base + before.length - len(lead))

    def read(
        self, memory: Memory | None, ids: Ids, probs_TK: Floats = NO_ROWS, features_TF: Floats = NO_ROWS
    ) -> Memory:
        """The memory after a text; on the way its rows, if there is room for them."""
        memory = memory or Memory(self.nothing.old, self._log(None), 0)  # in a log of one's own
        left = memory.log.room - memory.length - memory.behind
        if memory.behind + len(ids) <= BRANCH and len(ids) < left:
            return self._branched(memory, ids, probs_TK, features_TF)
        memory = self._settled(memory, memory.behind)
        if len(ids) == 1 and len(ids) < memory.log.room - memory.length:
            return self._branched(memory, ids, probs_TK, features_TF)
        return self._logged(memory, ids, probs_TK, features_TF)

    def _logged(self, memory: Memory, ids: Ids, probs_TK: Floats, features_TF: Floats) -> Memory:
        """The memory after a text that goes into logs."""
        old, log, length, at = memory.old, memory.log, memory.length, 0
        while at < len(ids):
            with log.lock:
                if log.length != length:  # somebody else has gone on from here
                    log = log.copy(length, self.start, self.vocab_size)
                if length == len(log.words_T):
                    log.grow(self.start, self.vocab_size)
                length, read = online_kernels.read_words(
                    ids[at:], self.start, self.vocab_size, self.across, self.decay, *old.arrays, old.base, *log.arrays,
                    log.base, length, probs_TK[at:], features_TF[at:],
                )  # fmt: skip
                log.length = length
            at += read
            if length == log.room:
                old, log = log, self._log(log)
                length = log.length
        return Memory(old, log, length)

    def _branched(self, memory: Memory, ids: Ids, probs_TK: Floats, features_TF: Floats) -> Memory:
        """The memory after a few words, on a branch."""
        if not len(probs_TK):
            probs_TK, features_TF = np.empty((len(ids), self.order)), np.empty((len(ids), 4 * self.order))
        flat, fresh, first, at = self.laid_out(memory, room=len(ids))
        end = self._walked(memory, ids, flat, fresh, first, probs_TK, features_TF)
        if end == at:
            return memory
        branch = memory.branch or Branch()
        node = branch.add(memory.node, flat[at:end], fresh[at:end])
        return Memory(memory.old, memory.log, memory.length, branch, node, memory.behind + end - at)

    def _walked(
        self, memory: Memory, ids: Ids, flat: Ids, fresh: Any, first: int, probs_TK: Floats, features_TF: Floats
    ) -> int:
        old, log = memory.old, memory.log
        with log.lock:
            return online_kernels.read_branch(
                ids, self.start, self.vocab_size, self.across, self.decay, *old.arrays, old.base, *log.arrays, log.base,
                memory.length, flat, fresh, first, first + memory.behind, probs_TK, features_TF,
            )  # fmt: skip

    def laid_out(self, memory: Memory, *, room: int = 0, lead: int = -1) -> tuple[Ids, NDArray[np.int64], int, int]:
        """The words of a branch behind `lead` words of the log (as many as contexts have), where they begin and end."""
        lead = max(self.order - 1, 0) if lead < 0 else lead
        words_T = memory.log.words_T
        first = min(lead, memory.length)
        flat = np.empty(first + memory.behind + room, np.uint32)
        flat[:first] = words_T[memory.length - first : memory.length]
        fresh = np.zeros(len(flat), np.int64)
        if (branch := memory.branch) is not None:
            with branch.lock:
                online_kernels.follow_path(
                    branch.words_A, branch.parents_A, branch.fresh_A, memory.node, first, memory.behind, flat, fresh
                )
        return flat, fresh, first, first + memory.behind

    def _settled(self, memory: Memory, count: int) -> Memory:
        """The same place with words of the branch in the log: all, or where the branch is long its older half.

        Hypotheses whose older halves are the same share what becomes of it.
        """
        if memory.branch is None:
            return memory
        flat, _, first, at = self.laid_out(memory)
        kept = BRANCH // 2 if count == BRANCH and memory.length + count < memory.log.room else 0
        node = memory.node
        for _ in range(kept):
            node = int(memory.branch.parents_A[node])
        with memory.branch.lock:
            if node not in memory.branch.settled:
                bare = Memory(memory.old, memory.log, memory.length)
                memory.branch.settled[node] = self._logged(bare, flat[first : at - kept], NO_ROWS, NO_ROWS)
            base = memory.branch.settled[node]
        return self._branched(base, flat[at - kept :], NO_ROWS, NO_ROWS) if kept else base

    def row(self, memory: Memory | None, word: int, probs_1K: Floats, features_1F: Floats) -> None:
        """The row of a word, without reading it."""
        memory = memory or self.nothing
        flat, fresh, first, _ = self.laid_out(memory, room=1)
        self._walked(memory, np.array([word], np.uint32), flat, fresh, first, probs_1K, features_1F)

    def add(self, memory: Memory | None, weights_K: Floats, out_J: AnyFloats) -> None:
        """Add the columns under weights to a distribution."""
        memory = memory or self.nothing
        flat, _, first, at = self.laid_out(memory)
        old, log = memory.old, memory.log
        with log.lock:
            online_kernels.add_columns(
                self.start, self.vocab_size, self.decay, *old.arrays, old.base, *log.arrays, log.base, memory.length,
                flat, first, at, weights_K, out_J,
            )  # fmt: skip
