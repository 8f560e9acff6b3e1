"""A causal language model is certified as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from modlm.evaluation.certificate import HOLDS, certify
from modlm.integrations.certified import any_subject
from modlm.integrations.hugging_face.adapt import AdaptConfig, adapt
from modlm.integrations.hugging_face.causal_lm import Reading
from modlm.integrations.hugging_face.mixer_training import mixer_run
from small_tokenizers import SENTENCES


def test_a_folder_of_transformers_is_certified(model_folder: Path) -> None:
    found = certify(any_subject(str(model_folder)), SENTENCES[:3], positions=5, tokens=40)
    assert {one.status for one in found.verdicts} == {HOLDS}, found.verdicts
    assert len(found.fingerprints["model"]) == 64
    assert {"torch", "transformers"} <= found.versions.keys()


@pytest.mark.parametrize("columns", [{}, {"online": 2}, {"online": 2, "cache": 20, "mixer": "static"}], ids=str)
def test_an_adapted_model_is_certified(
    model_folder: Path, texts: dict[str, Path], tmp_path: Path, columns: dict[str, Any]
) -> None:
    config = AdaptConfig(
        hf=model_folder, text=(texts["train"],), valid=texts["valid"], order=3, reading=Reading(window=60),
        training=mixer_run(hidden=8, epochs=2), **columns,
    )  # fmt: skip
    adapt(config).model.save(tmp_path / "adapted")
    found = certify(any_subject(str(tmp_path / "adapted")), SENTENCES[:3], positions=4, tokens=30)
    assert {one.status for one in found.verdicts} == {HOLDS}, found.verdicts
