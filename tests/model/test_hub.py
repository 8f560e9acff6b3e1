"""Models to the Hub and back, against a stand-in on localhost, in a process of its own as people run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub", reason="needs modlm[hub]")
pytest.importorskip("yaml", reason="comes with huggingface_hub")

import yaml

import modlm
from model.hub_stand_in import StandIn, hub_stand_in
from modlm import NgramLM

ROOT = Path(__file__).parents[2]
SENTENCES = ["the cat sat on the mat", "the dog sat on the log", "a cat ate"]
CARD = "# Cats\n\n- Trained on: cats.txt (3 sentences)\n- Perplexity of cats-valid.txt: 12.34 (0 unknown)\n"


@pytest.fixture
def hub() -> Iterator[StandIn]:
    with hub_stand_in() as found:
        yield found


@pytest.fixture
def model(tmp_path: Path) -> NgramLM:
    NgramLM.fit(SENTENCES, order=3).save(tmp_path / "cats", card=CARD)
    found = modlm.load(tmp_path / "cats")
    assert isinstance(found, NgramLM)
    return found


def python(hub: StandIn, tmp_path: Path, code: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A script whose Hub is the stand-in (the package reads its settings once, when it is imported)."""
    environment = {
        **os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": "hf_test",
        "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_OFFLINE": "0", "NO_PROXY": "*",
        "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": str(ROOT / "src"), **more,
    }  # fmt: skip
    script = (
        f"import modlm\ntry:\n    {code}\nexcept modlm.ModlmError as error:\n    print(type(error).__name__, error)"
    )
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )


def test_a_model_goes_to_the_hub_and_comes_back(hub: StandIn, model: NgramLM, tmp_path: Path) -> None:
    pushed = python(
        hub, tmp_path, 'print(modlm.load("cats").push_to_hub("somebody/cats", licence="cc0-1.0", language=["en"], '
        'datasets=["somebody/cat-texts"], perplexities={"cats test": 10.5}))',
    )  # fmt: skip
    assert pushed.returncode == 0 and pushed.stdout.startswith(f"{hub.address}/somebody/cats"), pushed.stderr
    files = hub.files("somebody/cats")
    folder = {
        path.relative_to(tmp_path / "cats").as_posix() for path in (tmp_path / "cats").rglob("*") if path.is_file()
    }
    assert set(files) == folder | {"README.md"}
    for name in folder:
        assert files[name] == (tmp_path / "cats" / name).read_bytes(), "a repository holds the folder as it is"

    hub.commit("somebody/cats", {"other.pickle": b"never looked at"})
    hub.asked.clear()
    code = 'lm = modlm.load("hf://somebody/cats"); print(repr(lm.score("the cat sat")), lm.folder)'
    loaded = python(hub, tmp_path, code)
    assert loaded.returncode == 0, loaded.stderr
    score, _, place = loaded.stdout.partition(" ")
    assert float(score) == model.score("the cat sat")
    assert Path(place.strip()).is_relative_to(tmp_path / "hf")
    assert not any("pickle" in line for line in hub.asked if "resolve" in line), "only what the manifest lists"
    assert python(hub, tmp_path, code, HF_HUB_OFFLINE="1").stdout == loaded.stdout, "from the cache, without a Hub"
    command = [sys.executable, "-m", "modlm", "next", "hf://somebody/cats", "the cat", "--json"]
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": hub.address}
    environment["PYTHONPATH"] = str(ROOT / "src")
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0 and json.loads(told.stdout), told.stderr


def test_the_card_has_a_header_that_the_hub_reads(hub: StandIn, model: NgramLM, tmp_path: Path) -> None:
    code = 'modlm.load("cats").push_to_hub("somebody/cats", licence="mit", perplexities={"cats test": 10.5})'
    assert python(hub, tmp_path, code).returncode == 0
    _, head, body = hub.files("somebody/cats")["README.md"].decode().split("---\n", 2)
    assert body.strip() == CARD.strip()
    about = yaml.safe_load(head)
    assert about["library_name"] == "modlm" and about["license"] == "mit" and about["metrics"] == ["perplexity"]
    assert {"modlm", "language-model"} <= set(about["tags"]) and about["pipeline_tag"] == "text-generation"
    assert "language" not in about and "datasets" not in about, "what is not known is not said"
    (index,) = about["model-index"]
    assert index["name"] == "cats"
    values = {one["dataset"]["name"]: one["metrics"][0]["value"] for one in index["results"]}
    assert values == {"cats-valid.txt": 12.34, "cats test": 10.5}
    from huggingface_hub import ModelCard

    (first, *_) = ModelCard(hub.files("somebody/cats")["README.md"].decode()).data.eval_results
    assert (first.metric_type, first.metric_value) == ("perplexity", 12.34), "the Hub's own reader agrees"


def test_a_revision_is_another_model(hub: StandIn, model: NgramLM, tmp_path: Path) -> None:
    assert python(hub, tmp_path, 'modlm.load("cats").push_to_hub("somebody/cats")').returncode == 0
    first = hub.branches["somebody/cats"]["main"]
    assert python(hub, tmp_path, 'modlm.NgramLM.fit(["a b"], order=2).push_to_hub("somebody/cats")').returncode == 0
    code = 'print(len(modlm.load("hf://somebody/cats{}").vocabulary))'
    assert python(hub, tmp_path, code.format("")).stdout.strip() == "4"
    assert python(hub, tmp_path, code.format(f"@{first}")).stdout.strip() == str(len(model.vocabulary))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("hf://somebody/dogs", "There is no hf://somebody/dogs on the Hub"),
        ("hf://somebody/cats@v9", "no such revision"),
        ("hf://some body/cats!", "is no name on the Hub"),
        ("hf://somebody/other", "holds no model of modlm"),
    ],
)
def test_what_is_not_there_gets_one_message(
    hub: StandIn, model: NgramLM, tmp_path: Path, address: str, told: str
) -> None:
    hub.make("somebody/cats")
    hub.make("somebody/other")
    found = python(hub, tmp_path, f'modlm.load("{address}")')
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("ModelFolderError") and told in found.stdout and found.stdout.count("\n") == 1


def test_a_damaged_download_is_noticed(hub: StandIn, model: NgramLM, tmp_path: Path) -> None:
    assert python(hub, tmp_path, 'modlm.load("cats").push_to_hub("somebody/cats")').returncode == 0
    files = hub.files("somebody/cats")
    name = max((name for name in files if name.endswith(".npy")), key=lambda name: len(files[name]))
    hub.commit("somebody/cats", {name: files[name][:-1] + bytes([files[name][-1] ^ 1])})
    found = python(hub, tmp_path, 'modlm.load("hf://somebody/cats")')
    assert "sha256" in found.stdout and name in found.stdout, found.stdout + found.stderr


def test_a_hub_that_is_away_gets_one_message(model: NgramLM, tmp_path: Path) -> None:
    nowhere = StandIn()
    nowhere.address = "http://127.0.0.1:9"
    found = python(nowhere, tmp_path, 'modlm.load("hf://somebody/cats")')
    assert found.stdout.startswith("ModelFolderError") and found.stdout.count("\n") == 1, found.stderr[-500:]
    assert "retr" not in found.stderr.lower(), "it is asked once"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(modlm.ModlmError, match=r"'\.\[hub\]'"):
        modlm.load("hf://somebody/cats")
