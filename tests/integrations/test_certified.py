"""Certificates of servers, of folders of `transformers`, and of functions that are named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from modlm.blocks.cache import CacheBlock
from modlm.blocks.model import ModelBlock
from modlm.errors import InputError
from modlm.evaluation.certificate import HOLDS, UNTESTED, certify
from modlm.integrations import certified
from modlm.integrations.certified import any_subject
from modlm.mixers import StaticMixer
from modlm.model.mixture import Mixture
from small_texts import model_of

TEXT = ["a b c a b d", "a b", "", "c a b a", "d", "b b q b a c"]
FEW: dict[str, Any] = {"positions": 6, "tokens": 20}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server in this process."""
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from modlm.serve.app import make_app
    from modlm.serve.library import Library

    ngram = model_of(TEXT[:4])
    columns = {"ngram": ModelBlock(ngram, ngram.vocabulary), "cache": CacheBlock(ngram.vocabulary, words=20)}
    learning = Mixture(ngram.vocabulary, columns, StaticMixer(np.array([0.5, 0.5])))
    with TestClient(
        make_app(Library({"kn": ngram, "learning": learning}, {})), base_url="http://localhost:8765"
    ) as client:

        def asked(address: str, body: dict[str, Any] | None = None) -> Any:
            answer = client.get(address) if body is None else client.post(address, content=json.dumps(body))
            assert answer.status_code == 200, answer.text
            return answer.json()

        monkeypatch.setattr(certified, "asked", asked)
        yield "http://localhost:8765"


def test_a_server_is_certified_in_all_its_ways(served: str) -> None:
    found = certify(any_subject(served), TEXT, **FEW)
    assert {one.status for one in found.verdicts} == {HOLDS}, found.verdicts


def test_a_served_model_that_learns_and_text_of_words_that_it_does_not_know(
    served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = [*TEXT, "x y z a x", "a b a b a b"] * 2
    assert certify(any_subject(served, named="learning"), unknown, positions=20, tokens=60).holds
    monkeypatch.setattr(certified, "MOST", 3)  # then sums are of words that were asked for one by one
    assert certify(
        any_subject(served, named="kn"), [" ".join(f"unheard{n}" for n in range(40))], **FEW | {"tokens": 40}
    ).holds


def test_a_vocabulary_beyond_what_a_server_tells_is_untested(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certified, "MOST", 3)
    found = certify(any_subject(served), TEXT, **FEW)
    assert found.holds
    assert found.verdicts[0].status == UNTESTED


def test_a_server_without_the_model_says_which_it_has(served: str) -> None:
    with pytest.raises(InputError, match="kn"):
        any_subject(served, named="other")


def test_nobody_at_an_address() -> None:
    with pytest.raises(InputError, match="Is a server"):
        any_subject("http://127.0.0.1:9")


def test_a_function_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_entry.py").write_text("def half(before):\n    return {'a': 0.5, 'b': 0.25}\n")
    monkeypatch.chdir(tmp_path)
    found = certify(any_subject("my_entry:half"), TEXT, **FEW)
    assert found.verdicts[0].note == "the sum over 2 entries is 0.75"
    with pytest.raises(InputError, match="nothing_here"):
        any_subject("my_entry:nothing_here")
