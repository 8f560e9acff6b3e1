"""`modlm families`."""

from __future__ import annotations

from tests.cli.conftest import Modlm

from modlm.families import FAMILIES


def test_every_member_is_listed_with_where_it_comes_from(modlm: Modlm) -> None:
    listed = modlm("families", "--json").json
    assert {(one["family"], one["name"]) for one in listed} == {(f, name) for f in FAMILIES for name in FAMILIES[f]}
    function = next(one for one in listed if one["name"] == "function")
    assert function["settings"] == ["function", "columns", "context_length"] and function["from"] == "modlm"


def test_one_family_is_listed_alone_and_an_unknown_one_is_answered(modlm: Modlm) -> None:
    table = modlm("families", "smoothers").out
    assert "witten-bell" in table and "uniform" not in table
    failed = modlm("families", "smother")
    assert failed.code == 1 and "Did you mean 'smoothers'" in failed.err
