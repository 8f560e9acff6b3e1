"""Text to ids in bulk: blocks of lines in, blocks of whole sentences `<s> w ... </s>` out, in the order of the text.

Blocks are encoded on threads, each with an encoder of its own: a frozen vocabulary or a table that collects words. What
is wrong with a text (bytes that are not UTF-8, reserved names) is reported for the first place where it occurs.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from modlm.errors import InputError
from modlm.ground.arrays import Bytes, Ids, Ints
from modlm.ground.progress import progress, short
from modlm.text import text_kernels as kernels
from modlm.text.options import TextOptions
from modlm.text.sources import PADDING, Block, Files, Sentences, Text, as_lines, source_of
from modlm.text.word_list import RESERVED, SPACE, UNKNOWN_NAME

if TYPE_CHECKING:
    from modlm.text.vocabulary import Vocabulary

NOT_UTF8 = (
    'is not valid UTF-8. Convert the text to UTF-8, or have such bytes replaced with encoding_errors = "replace".'
)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Encoded:
    """The ids of one block."""

    ids: Ids
    sentences: int
    unknown: int
    words: int  # words between white space, whatever the ids stand for
    bytes: int  # of all lines with a line end each, as UTF-8
    encoder: int = 0  # which of the encoders wrote it
    begins: bool = False  # whether it is the first of its source
    text: bytearray = field(default_factory=bytearray, repr=False)
    """What was encoded, `text[:bytes]`, with PADDING behind it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a block, and in which of its lines, from 1."""

    line: int
    message: str


class Encoder(Protocol):
    """Lines to ids, for one thread at a time."""

    def encode(self, data: bytearray, size: int, *, unknown_name: bool) -> Encoded | Fault:
        """Whole lines of good UTF-8, with PADDING behind them."""


class KernelEncoder:
    """Words looked up by a kernel, `encode_lines` or `collect_lines`, that knows its tables."""

    def __init__(self, kernel: Callable[[Bytes, int, bool, Ids, Ints], int], state: Ints | None = None) -> None:
        self.kernel = kernel
        self.state: Ints = np.zeros(kernels.STATE, np.int64) if state is None else state
        self.out: Ids = np.empty(0, np.uint32)

    def encode(self, data: bytearray, size: int, *, unknown_name: bool) -> Encoded | Fault:
        lines = data.count(b"\n", 0, size)
        room = size // 2 + 2 * lines + 1  # every word has a byte and something behind it; one more for no text at all
        if len(self.out) < room:
            self.out = np.empty(room, np.uint32)
        self.state[[kernels.AT, kernels.WROTE]] = 0
        status = self.kernel(np.frombuffer(data, np.uint8), size, unknown_name, self.out, self.state)
        at, wrote, unknown = self.state[[kernels.AT, kernels.WROTE, kernels.UNKNOWNS]].tolist()
        if status == kernels.DONE:
            return Encoded(self.out[:wrote].copy(), lines, unknown, wrote - 2 * lines, size, text=data)
        name = next(name for name in RESERVED if data.startswith(name.encode(), at))
        return Fault(data.count(b"\n", 0, at) + 1, refused_word(name, "the text"))


def encode_blocks(text: Text, vocabulary: Vocabulary, **options: Any) -> Iterator[Ids]:
    """The ids of a text of any length, whole sentences `<s> w ... </s>` in each array, in order.

    A text without sentences gives nothing. The options are those of `TextOptions`.
    """
    how = TextOptions(vocabulary=vocabulary, **options)
    for block in encoded(source_of(text), vocabulary.encoders(how.workers), how):
        yield block.ids


def encode_sentences(sentences: Sequence[str], vocabulary: Vocabulary) -> Ids:
    """The ids of sentences in memory, `<s> w ... </s>` for each, in one go: for a few, where blocks would cost more."""
    return encode_bytes(as_lines(sentences), vocabulary).ids


def encode_bytes(lines: bytes, vocabulary: Vocabulary) -> Encoded:
    """Whole lines in memory, in one go."""
    block = Block(bytearray(lines + bytes(PADDING)), len(lines), "the sentences", 0, True, len(lines))
    result = _run(vocabulary.encoders(workers=1)[0], block, TextOptions())
    if isinstance(result, Fault):
        raise InputError(result.message, path=block.source, line=result.line)
    return result


def encoded(source: Files | Sentences, encoders: Sequence[Encoder], options: TextOptions) -> Iterator[Encoded]:
    """The blocks of a text as ids, in order, with as many threads as there are encoders."""
    free: SimpleQueue[int] = SimpleQueue()
    for number in range(len(encoders)):
        free.put(number)

    def work(block: Block) -> tuple[Block, Encoded | Fault]:
        number = free.get()
        try:
            result = _run(encoders[number], block, options)
        finally:
            free.put(number)
        return block, result if isinstance(result, Fault) else replace(result, encoder=number, begins=block.first)

    lines, words = 0, 0
    with progress("Reading text", total=source.size(), unit="bytes") as bar:
        for block, result in in_order(work, source.blocks(options.block_bytes), workers=len(encoders)):
            lines = 0 if block.first else lines
            if isinstance(source, Files):
                warn_of_json(block)
            if isinstance(result, Fault):
                raise InputError(result.message, path=block.source, line=lines + result.line)
            lines += result.sentences
            words += result.words
            bar.advance(block.consumed, note=f"{short(words / (time.monotonic() - bar.started))} words/s")
            yield result


def warn_of_json(block: Block) -> None:
    """Say at the beginning of a file that its lines are no sentences."""
    if block.first and bytes(block.data[:2]) == b'{"':
        logging.getLogger("modlm").warning(
            f"{block.source} looks like JSON, and each of its lines is read as one sentence, braces and all. "
            f"For the documents in it use lm.score_documents, with field= for where the text is; to train on them, "
            f"write their texts out first, as with jq -r .text."
        )


def _run(encoder: Encoder, block: Block, options: TextOptions) -> Encoded | Fault:
    """A block's ids; what is not UTF-8 is replaced or reported, after whatever is wrong in the lines before it."""
    encode, data, size = partial(encoder.encode, unknown_name=options.unknown_name), block.data, block.size
    try:
        if not data.isascii():
            with memoryview(data) as view:
                str(view[:size], "utf-8")
        return encode(data, size)
    except UnicodeDecodeError as error:
        at = error.start
    if options.encoding_errors == "replace":
        repaired = data[:size].decode("utf-8", "replace").encode()
        return encode(bytearray(repaired + bytes(PADDING)), len(repaired))
    begin = data.rfind(b"\n", 0, at) + 1
    before = encode(data, begin)
    place = f"byte {at - begin + 1} of the line (0x{data[at]:02x}, byte {block.offset + at + 1} of the text)"
    return before if isinstance(before, Fault) else Fault(data.count(b"\n", 0, at) + 1, f"{place} {NOT_UTF8}")


def in_order(
    work: Callable[[Item], Result], items: Iterator[Item], *, workers: int, ahead: int = 1
) -> Iterator[Result]:
    """The results of the work, in order, done on threads; items are taken only as far ahead as the threads need.

    Where the source of an item was dry behind it, nothing more is asked for before all results are there.
    """
    if workers == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(workers)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            while waiting and (len(waiting) >= workers + ahead or getattr(item, "dry", False)):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_IS_SPACE = np.isin(np.arange(256), np.frombuffer(SPACE.encode(), np.uint8))


def count_words(data: bytes | bytearray, size: int) -> int:
    """Words between ASCII white space in the first `size` bytes."""
    space = _IS_SPACE[np.frombuffer(data, np.uint8, count=size)]
    return int(np.count_nonzero(space[:-1] < space[1:])) + int(size > 0 and not space[-1])


def refused_word(name: str, place: str) -> str:
    """The message about a word that may not stand there."""
    if name == UNKNOWN_NAME:
        return f"{name} stands in {place}, which unknown_name = False forbids. Take it out, or allow it as a word."
    return (
        f"{name} stands in {place}, but it is a reserved name: boundaries are added to every line by themselves. "
        f"Take it out of the text or write it differently."
    )
