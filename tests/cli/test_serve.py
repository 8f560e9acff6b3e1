"""`modlm serve` before it serves: what is missing, and what it says about who can ask it."""

from __future__ import annotations

import sys

import pytest
from tests.cli.conftest import Modlm

from modlm.cli.serve import access_note


def test_a_missing_package_is_told_with_the_extra_to_install(modlm: Modlm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    outcome = modlm("serve", "model")
    assert outcome.code == 1
    assert outcome.err == (
        "modlm: modlm serve needs the package 'fastapi', which is not installed. "
        "It comes with the extra 'serve': in a clone of modlm, pip install '.[serve]'\n"
    )


def test_without_a_model_the_usage_is_shown(modlm: Modlm) -> None:
    outcome = modlm("serve")
    assert outcome.code == 2 and "MODEL" in outcome.err


@pytest.mark.parametrize(
    ("local", "token", "warns"), [(True, False, False), (False, True, False), (False, False, True)]
)
def test_only_an_open_server_warns(local: bool, token: bool, warns: bool) -> None:
    assert bool(access_note(local, token)) is warns
