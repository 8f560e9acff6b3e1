"""The lines of an ARPA file that are not rows: text before `\\data\\`, the counts, the section marks, `\\end\\`."""

from __future__ import annotations

import re

from modlm.errors import InputError
from modlm.formats.lines import Lines, shown

MAX_ORDER = 64
"""Of ARPA and count files; higher ones are mistakes."""
TOLERANCE = 1e-6
"""Log10 probabilities up to this are taken for rounded zeros."""
MAX_PREAMBLE_BYTES = 1 << 20
"""`\\data\\` must begin within so many bytes; tools write a few lines of description before it at most."""

COUNT_LINE = re.compile(rb"ngram\s+(\d{1,18})\s*=\s*(-?\d{1,18})")
SECTION_MARK = re.compile(rb"\\(\d{1,18})-grams?:")
DATA, END = b"\\data\\", b"\\end\\"

OTHER_KINDS = {
    b"mmap lm http://kheafield.com/code": "This is a KenLM binary file; give the ARPA file that it was built from.",
    b"blmt": "This is an IRSTLM binary file; convert it with: compile-lm --text=yes FILE FILE.arpa",
    b"iARPA": "This is IRSTLM's iARPA format; convert it with: compile-lm --text=yes FILE FILE.arpa",
    b"qARPA": "This is IRSTLM's quantised format; give the ARPA file that it was made from.",
}


def read_announced(lines: Lines) -> list[int]:
    """The announced number of n-grams of each order, from 1 up; the lines are left at the first section mark."""
    _find_data(lines)
    counts: dict[int, int] = {}
    while (line := lines.peek()) is not None:
        if line.startswith(b"\\"):
            return _in_order(lines, counts)
        _read_count(lines, line, counts)
        lines.take_line()
    raise lines.fail(r"the file ends after \data\. Sections such as \1-grams: must follow; is it truncated?")


def _find_data(lines: Lines) -> None:
    skipped = 0
    while skipped <= MAX_PREAMBLE_BYTES:
        line = lines.take_line()
        if line is None:
            break
        for magic, hint in OTHER_KINDS.items():
            if line.startswith(magic) and lines.line == 2:
                raise InputError(f"no ARPA file. {hint}", path=lines.path)
        if line.strip() == DATA:
            return
        skipped += len(line) + 1
    if lines.line == 1:
        raise InputError(r"the file is empty. An ARPA file begins with the line \data\.", path=lines.path)
    raise InputError(
        rf"no line \data\ among the first {lines.line - 1:,} lines, so this is no ARPA file. An ARPA file has \data\, "
        r"'ngram 1=...' counts and \1-grams: sections; lmplz and SRILM's ngram-count write such files.",
        path=lines.path,
    )


def _read_count(lines: Lines, line: bytes, counts: dict[int, int]) -> None:
    match = COUNT_LINE.fullmatch(line)
    if match is None:
        raise lines.fail(
            rf"{shown(line)} is no count. Between \data\ and \1-grams: stand lines such as 'ngram 2=264990', "
            "a whole number for each order."
        )
    order, count = int(match[1]), int(match[2])
    if not 1 <= order <= MAX_ORDER:
        raise lines.fail(f"order {order} is announced. Orders go from 1 to {MAX_ORDER}.")
    if order in counts:
        raise lines.fail(f"order {order} is announced twice. Remove one of the 'ngram {order}=' lines.")
    if count < 0 or (order == 1 and count == 0):
        rule = "There must be unigrams, or there are no words." if count == 0 else "A count cannot be negative."
        raise lines.fail(f"{count} {order}-grams are announced. {rule}")
    counts[order] = count


def _in_order(lines: Lines, counts: dict[int, int]) -> list[int]:
    if not counts:
        raise lines.fail(r"no counts after \data\. Lines such as 'ngram 1=10002' must announce every order.")
    missing = set(range(1, max(counts))) - set(counts)
    if missing:
        raise lines.fail(
            f"the counts announce order {max(counts)} but not order {min(missing)}. Every order from 1 up needs its "
            f"line 'ngram {min(missing)}=...', with 0 if it has no n-grams."
        )
    return [counts[order] for order in sorted(counts)]


def check_size(lines: Lines, counts: list[int], size: int) -> None:
    """Refuse counts that a file of so many bytes cannot hold; then arrays of that length are safe to ask for."""
    # The shortest row: one digit, a one-byte word after each separator, a line feed.
    needed = sum(count * (2 * order + 2) for order, count in enumerate(counts, 1))
    if needed > size:
        raise InputError(
            f"{sum(counts):,} n-grams are announced, which take {needed:,} bytes at the very least, but the file has "
            f"{size:,}. It is truncated, or its 'ngram N=' lines are wrong.",
            path=lines.path,
        )


def expect_mark(lines: Lines, order: int, counts: list[int]) -> None:
    r"""Take the mark of a section, or `\end\` after the last one."""
    line, ends = lines.peek(), order > len(counts)
    if line is None and ends:
        raise lines.fail(r"the file ends without the line \end\. It is truncated; get it again, or add \end\.")
    if line is None:
        raise lines.fail(rf"the file ends where \{order}-grams: should begin. It is truncated.")
    match = SECTION_MARK.fullmatch(line)
    if line != END if ends else match is None or int(match[1]) != order:
        raise lines.fail(_not_expected(line, order, counts))
    lines.take_line()


def _not_expected(line: bytes, order: int, counts: list[int]) -> str:
    expected = rf"\{order}-grams:" if order <= len(counts) else r"\end" + "\\"
    if line.startswith(b"\\"):
        return (
            f"{shown(line)} stands where {expected} should. Sections come in the order "
            "of the counts, each once; the file is incomplete or its 'ngram N=' lines are wrong."
        )
    if order == 1:
        return rf"{shown(line)} stands where {expected} should."
    return (
        rf"more rows in \{order - 1}-grams: than the {counts[order - 2]:,} announced; {shown(line)} stands where "
        f"{expected} should. Correct the line 'ngram {order - 1}={counts[order - 2]}'."
    )
