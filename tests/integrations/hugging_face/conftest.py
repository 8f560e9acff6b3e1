"""A tiny causal language model with random weights and a tokenizer made on the spot; nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
UNUSED = 4  # ids of the model that no token has, as many models have them


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from small_tokenizers import byte_level

    folder = tmp_path_factory.mktemp("hf") / "tiny"
    config = LlamaConfig(
        vocab_size=300 + UNUSED, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0, pad_token_id=0,
        initializer_range=0.5,
    )  # fmt: skip
    torch.manual_seed(1)
    LlamaForCausalLM(config).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(byte_level())
    return folder


@pytest.fixture(scope="session")
def live(model_folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(model_folder, local_files_only=True).eval()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("MODLM_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from small_tokenizers import SENTENCES

    place = tmp_path_factory.mktemp("texts")
    lines = {"train": [*SENTENCES * 6], "valid": [*SENTENCES[::-1]] * 3, "test": [SENTENCES[1], SENTENCES[3], "rose"]}
    for name, sentences in lines.items():
        (place / f"{name}.txt").write_text("\n".join(sentences) + "\n")
    return {name: place / f"{name}.txt" for name in lines}
