"""A causal language model is certified as it is."""

from __future__ import annotations

from pathlib import Path

from modlm.evaluation.certificate import HOLDS, certify
from modlm.integrations.certified import any_subject
from small_tokenizers import SENTENCES


def test_a_folder_of_transformers_is_certified(model_folder: Path) -> None:
    found = certify(any_subject(str(model_folder)), SENTENCES[:3], positions=5, tokens=40)
    assert {one.status for one in found.verdicts} == {HOLDS}, found.verdicts
    assert len(found.fingerprints["model"]) == 64
