"""Numbers are read correctly rounded and written as the shortest decimals that give the same float32."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.formats.number_kernels import (
    EXACT,
    LONG,
    LONGEST_NUMBER,
    NO_NUMBER,
    read_decimal,
    write_float32,
    write_integer,
)


def read(text: str) -> tuple[float, int]:
    data = np.frombuffer(b"?" + text.encode() + b"9", np.uint8)  # what stands around must not matter
    return read_decimal(data, 1, len(data) - 1)


def written(number: float) -> str | None:
    out = np.full(LONGEST_NUMBER, ord("?"), np.uint8)
    end = write_float32(out, 0, np.float32(number))
    return None if end < 0 else out[:end].tobytes().decode()


@pytest.mark.parametrize(
    "text",
    "0 -0 1 -1.5 +2e3 1e22 1E-22 0.1 -5.3312373 .5 5. 00012.50 0e99999 9007199254740992".split(),
)
def test_plain_decimals_are_exact(text: str) -> None:
    assert read(text) == (float(text), EXACT)


@pytest.mark.parametrize(
    "text", ["1e23", "1e-300", "0.12345678901234567", "1" * 30, "1e99999999999", "0." + "0" * 40 + "1"]
)
def test_what_does_not_fit_is_left_to_python(text: str) -> None:
    assert read(text)[1] == LONG


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", *"- + . -. e5 1e 1e+ nan inf -inf 0x1p3 1_0 1.2.3 1,5 1e5.0 --1 ٣".split()],
)
def test_other_text_is_no_number(text: str) -> None:
    assert read(text)[1] == NO_NUMBER


@given(st.from_regex(r"\A[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?\Z"))
def test_every_decimal_is_read_as_python_reads_it_or_left_to_python(text: str) -> None:
    value, how = read(text)
    assert how == LONG or (how == EXACT and value == float(text))


@given(st.floats(allow_nan=False, allow_infinity=False).map(str) | st.text(max_size=12))
def test_no_text_is_misread(text: str) -> None:
    value, how = read(text)
    if how == EXACT:
        assert value == float(text)


def digits_of(text: str) -> str:
    return text.partition("e")[0].replace(".", "").strip("-0")


@given(st.integers(0, 2**32 - 1).map(lambda bits: struct.unpack("f", struct.pack("I", bits))[0]))
def test_float32_is_written_in_its_shortest_digits(number: float) -> None:
    if not np.isfinite(number):
        return
    text = written(number)
    if text is None:
        assert not 1e-13 <= abs(number) < 1e9
        return
    assert np.float32(text) == np.float32(number)
    assert digits_of(text) == digits_of(np.format_float_scientific(np.float32(number), unique=True))


@given(st.floats(-20, 0, width=32))
def test_log_probabilities_survive(number: float) -> None:
    text = written(number)
    assert text is None or np.float32(text) == np.float32(number)


@pytest.mark.parametrize("power", range(-43, 30))
def test_powers_of_two_are_shortest_although_floats_lie_closer_below(power: int) -> None:
    text = written(2.0**power)
    assert text is not None and np.float32(text) == 2.0**power
    assert digits_of(text) == digits_of(np.format_float_scientific(np.float32(2.0**power), unique=True))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (-99, "-99"), (1, "1"), (-1.5, "-1.5"), (100, "100"), (-0.30103, "-0.30103"),
        (1e-6, "0.000001"), (-1.8120181e-7, "-1.8120181e-7"), (5e-7, "5e-7"), (-1.2345678e-6, "-0.0000012345678"),
        (123456792, "123456790"), (1e9, None), (1e-14, None),
    ],
)  # fmt: skip
def test_layout_is_that_of_kenlm(number: float, text: str | None) -> None:
    assert written(number) == text


@pytest.mark.parametrize("number", [0, 7, 10, 99, 2**63 - 1])
def test_integers_are_written_in_full(number: int) -> None:
    out = np.zeros(LONGEST_NUMBER, np.uint8)
    assert out[: write_integer(out, 0, number)].tobytes().decode() == str(number)
