"""Decimal numbers in bulk: bytes to float64, and float32 to the shortest bytes that read back as the same float32.

Reading is correctly rounded: a mantissa below 2**53 and a power of ten up to 10**22 are both exact in float64, so one
multiplication or division rounds once (Clinger's fast path). What does not fit is left to Python's float().

Writing tries 6 to 9 significant digits and keeps the first that reads back. Layout is that of KenLM's files: plain
decimals from 1e-6 up, `1.5e-7` below.
"""

from __future__ import annotations

import math

import numpy as np

from modlm.ground.arrays import Bytes, kernel

EXACT = 0
"""The value is the correctly rounded one."""
LONG = 1
"""A well-formed decimal outside the fast path; float() reads it."""
NO_NUMBER = 2
"""Not a decimal number; `nan` and `inf` are among these."""

LONGEST_NUMBER = 20
"""Bytes that `write_float32` may need: sign, `0.00000`, 9 digits, and room to spare."""

POWERS = 10.0 ** np.arange(23)
MAX_EXACT = 2**53
MAX_DIGITS = 18  # fits an int64


@kernel
def read_decimal(text: Bytes, start: int, end: int) -> tuple[float, int]:
    """The number spelled by text[start:end] and how well it was read: EXACT, LONG or NO_NUMBER."""
    at = start
    negative = False
    if at < end and (text[at] == 43 or text[at] == 45):  # + -
        negative = text[at] == 45
        at += 1
    mantissa = 0
    digits = 0  # significant ones, leading zeros left out
    exponent = 0
    seen_digit = False
    seen_point = False
    while at < end:
        byte = int(text[at])
        if 48 <= byte <= 57:
            seen_digit = True
            if digits > 0 or byte != 48:
                digits += 1
            if digits <= MAX_DIGITS:
                mantissa = mantissa * 10 + (byte - 48)
                if seen_point:
                    exponent -= 1
        elif byte == 46 and not seen_point:
            seen_point = True
        else:
            break
        at += 1
    if not seen_digit:
        return 0.0, NO_NUMBER
    if at < end:
        if text[at] != 69 and text[at] != 101:  # E e
            return 0.0, NO_NUMBER
        at += 1
        negative_exponent = False
        if at < end and (text[at] == 43 or text[at] == 45):
            negative_exponent = text[at] == 45
            at += 1
        if at >= end:
            return 0.0, NO_NUMBER
        power = 0
        while at < end:
            byte = int(text[at])
            if byte < 48 or byte > 57:
                return 0.0, NO_NUMBER
            power = min(power * 10 + (byte - 48), 100_000)
            at += 1
        exponent += -power if negative_exponent else power
    if digits == 0:
        return 0.0, EXACT
    if digits > MAX_DIGITS or mantissa > MAX_EXACT or exponent > 22 or exponent < -22:
        return 0.0, LONG
    value = float(mantissa) * POWERS[exponent] if exponent >= 0 else float(mantissa) / POWERS[-exponent]
    return (-value if negative else value), EXACT


@kernel
def _reads_back(mantissa: int, scale: int, value: np.float32) -> bool:
    decimal = float(mantissa) / POWERS[scale] if scale >= 0 else float(mantissa) * POWERS[-scale]
    return bool(np.float32(decimal) == value)


@kernel
def shortest_digits(value: np.float32) -> tuple[int, int]:
    """(m, k) with value = m / 10**k to float32 precision, m of the fewest digits; for 1e-13 <= value < 1e9."""
    exact = float(value)
    exponent = 0
    if exact >= 1.0:
        while exact >= POWERS[exponent + 1]:
            exponent += 1
    else:
        while exact * POWERS[-exponent] < 1.0:
            exponent -= 1
    power_of_two = math.frexp(exact)[0] == 0.5
    for digits in range(6, 10):
        scale = digits - 1 - exponent
        scaled = exact * POWERS[scale] if scale >= 0 else exact / POWERS[-scale]
        mantissa = int(np.rint(scaled))
        found = _reads_back(mantissa, scale, value)
        if not found and power_of_two:  # floats lie closer below it than above: the farther neighbour may read back
            mantissa += 1
            found = _reads_back(mantissa, scale, value)
        if found:
            while mantissa % 10 == 0:
                mantissa //= 10
                scale -= 1
            return mantissa, scale
    return 0, 99


@kernel
def write_integer(out: Bytes, at: int, number: int) -> int:
    """Write a number that is not negative at out[at:]; where it ends."""
    length = 1
    rest = number // 10
    while rest > 0:
        length += 1
        rest //= 10
    for position in range(at + length - 1, at - 1, -1):
        out[position] = 48 + number % 10
        number //= 10
    return at + length


@kernel
def write_float32(out: Bytes, at: int, value: np.float32) -> int:
    """Write the shortest decimal of a finite float32 at out[at:]; where it ends, or -1 if it is too large or small."""
    if value == np.float32(0):
        out[at] = 48
        return at + 1
    size = abs(value)
    if not (1e-13 <= size < 1e9):
        return -1
    mantissa, scale = shortest_digits(size)
    if mantissa == 0:
        return -1
    if value < 0:
        out[at] = 45
        at += 1
    if scale <= 0:
        for _ in range(-scale):
            mantissa *= 10
        return write_integer(out, at, mantissa)
    length = 1
    rest = mantissa // 10
    while rest > 0:
        length += 1
        rest //= 10
    exponent = length - 1 - scale
    if exponent < -6:
        return _write_scientific(out, at, mantissa, length, exponent)
    if scale < length:  # digits on both sides of the point
        end = write_integer(out, at, mantissa)
        for position in range(end, end - scale, -1):
            out[position] = out[position - 1]
        out[end - scale] = 46
        return end + 1
    out[at] = 48
    out[at + 1] = 46
    for position in range(at + 2, at + 2 + scale - length):
        out[position] = 48
    return write_integer(out, at + 2 + scale - length, mantissa)


@kernel
def _write_scientific(out: Bytes, at: int, mantissa: int, length: int, exponent: int) -> int:
    end = write_integer(out, at, mantissa)
    if length > 1:
        for position in range(end, at + 1, -1):
            out[position] = out[position - 1]
        out[at + 1] = 46
        end += 1
    out[end] = 101
    out[end + 1] = 45
    return write_integer(out, end + 2, -exponent)
