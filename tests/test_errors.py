"""Errors name the place, the extra to install and the nearest known name."""

from __future__ import annotations

import inspect
import json

import pytest

from modlm import errors
from modlm.errors import InputError, MissingPackageError, ModlmError, nearest, require


def test_all_errors_stand_in_one_tree_and_in_its_drawing() -> None:
    found = [item for _, item in inspect.getmembers(errors, inspect.isclass) if issubclass(item, Exception)]
    assert len(found) > 1
    for error in found:
        assert issubclass(error, ModlmError)
        assert error.__name__ in (errors.__doc__ or ""), f"{error.__name__} is missing in the drawing"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"path": "a.arpa", "line": 7}, "a.arpa, line 7: too short"),
        ({"path": "a.arpa"}, "a.arpa: too short"),
        ({}, "too short"),
    ],
)
def test_an_input_error_begins_with_its_place(place: dict[str, str | int], expected: str) -> None:
    error = InputError("too short", **place)  # type: ignore[arg-type]
    assert str(error) == expected
    assert (error.path, error.line) == (place.get("path", ""), place.get("line", 0))


def test_require_gives_the_package() -> None:
    assert require("json", extra="scale", purpose="Reading") is json


def test_a_missing_package_names_the_extra_to_install() -> None:
    with pytest.raises(MissingPackageError) as caught:
        require("no_such_package_1.sub", extra="scale", purpose="Counting on disk")
    message = str(caught.value)
    assert "Counting on disk needs" in message
    assert "'no_such_package_1'" in message
    assert "pip install '.[scale]'" in message


def test_the_nearest_known_name_is_offered_and_nothing_else() -> None:
    known = ["kneser-ney", "witten-bell"]
    assert nearest("knesser-ney", known) == " Did you mean 'kneser-ney'?"
    assert nearest("xyz", known) == ""
    assert nearest("xyz", []) == ""
