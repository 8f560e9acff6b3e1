"""The table of families: every member can be imported, and others can add theirs."""

from __future__ import annotations

import pytest

import modlm
from modlm.errors import ConfigError
from modlm.families import BLOCKS, FAMILIES, Family


@pytest.mark.parametrize("family", FAMILIES)
def test_every_member_can_be_imported(family: str) -> None:
    for name in FAMILIES[family]:
        assert callable(FAMILIES[family][name]), name


@pytest.mark.parametrize("family", ["blocks", "mixers"])
def test_members_are_called_as_they_call_themselves_and_read_back_what_they_write(family: str) -> None:
    for name, kind in FAMILIES[family].items():
        assert kind.kind == name
        assert callable(kind.parts) and callable(kind.from_parts)


def test_others_add_members_under_names_of_their_own() -> None:
    family = Family("blocks", "kind of column", {"ngram": "blocks.ngram:NgramBlock"})
    family.add("mine", "modlm.blocks.constant:DeltaBlock")
    assert family["mine"].kind == "delta" and list(family) == ["ngram", "mine"] and len(family) == 2
    assert family.members["mine"].origin == "modlm" and "other" not in family
    with pytest.raises(ConfigError, match="There is a kind of column 'ngram' already"):
        family.add("ngram", "my_package:Mine")
    with pytest.raises(ConfigError, match="names no class"):
        family.add("other", "my_package")
    with pytest.raises(ConfigError, match=r"There is no kind of column 'nrgam'. Did you mean 'ngram'"):
        family.choose("nrgam")
    with pytest.raises(ConfigError, match=r"There is no family 'block'. Did you mean 'blocks'"):
        modlm.register("block", "mine", "my_package:Mine")


def test_a_member_that_is_registered_is_found_where_all_look() -> None:
    modlm.register("blocks", "test-delta", "modlm.blocks.constant:DeltaBlock")
    assert BLOCKS.choose("test-delta").kind == "delta"
