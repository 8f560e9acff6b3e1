"""Neural mixtures on disk: what is opened is what was saved, and folders that were edited are refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import modlm
from modlm.blocks.model import ModelBlock
from modlm.errors import MissingPackageError, ModelFolderError, ModlmError
from modlm.ground.files import sha256
from modlm.mixers import StaticMixer
from modlm.model.mixture import Mixture
from nets.small_mixtures import SENTENCES, SETTINGS, ids_of, mixture_of

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None, True, False, 0, 1, 2, 7, 64, -1, 2**31, 2**62, 10**400, 0.5, float("nan"), "", "lstm", "document", "raw",
        "whitened", "uniform", "mixture", "../x", [], [0], ["word"], ["counts"], ["word", "word"], {},
        {"kind": "uniform"},
    ]
)  # fmt: skip


@pytest.fixture(params=SETTINGS)
def model(request: pytest.FixtureRequest) -> Any:
    return mixture_of(**SETTINGS[request.param])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("neural") / "model"
    mixture_of(features="whitened").save(folder)
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "model"))


def test_what_is_opened_is_what_was_saved(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model", card="# A card\n")
    again = modlm.load(tmp_path / "model", verify="full")
    ids = ids_of(model, SENTENCES)
    assert np.array_equal(again.log_probs(ids), model.log_probs(ids))
    assert again.mixer.net.config == model.mixer.net.config
    assert again.described() == model.described()
    assert (tmp_path / "model" / "card.md").read_text() == "# A card\n"
    again.save(tmp_path / "again", card="# A card\n")
    assert (tmp_path / "again" / "model.json").read_bytes() == (tmp_path / "model" / "model.json").read_bytes()


def test_a_run_folder_opens_as_its_model(sound: Path) -> None:
    assert modlm.load(sound.parent).vocabulary == modlm.load(sound).vocabulary


def test_a_mixture_with_a_net_as_a_column_is_saved_whole(tmp_path: Path) -> None:
    net = mixture_of()
    mixture = Mixture(net.vocabulary, {"net": ModelBlock(net, net.vocabulary)}, StaticMixer(np.ones(1)))
    mixture.save(tmp_path / "mixed")
    ids = ids_of(net, SENTENCES)
    assert np.array_equal(modlm.load(tmp_path / "mixed").word_probs(ids), net.word_probs(ids))
    assert (tmp_path / "mixed" / "columns" / "net" / "weights.safetensors").is_file()


def edit(folder: Path, change: Any) -> None:
    """The weights changed, and the manifest made to agree."""
    path = folder / "weights.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    manifest = json.loads((folder / "model.json").read_text())
    manifest["files"][path.name] |= {"bytes": path.stat().st_size, "sha256": sha256(path)}
    (folder / "model.json").write_text(json.dumps(manifest))


def name_of(tensors: dict[str, torch.Tensor], part: str) -> str:
    return next(name for name in tensors if part in name)


CHANGES: dict[str, Any] = {
    "differ in": lambda t: t.pop(name_of(t, "bias")),
    "differ in odd": lambda t: t.update(odd=torch.zeros(3)),
    "float64": lambda t: t.update({name_of(t, "output"): t[name_of(t, "output")].double()}),
    "are torch.float32": lambda t: t.update({name_of(t, "output"): t[name_of(t, "output")][:-1]}),
    "not all finite": lambda t: t[name_of(t, "output")].view(-1)[:1].fill_(float("nan")),
}


@pytest.mark.parametrize("message", CHANGES)
def test_weights_that_are_not_the_nets_are_refused(folder: Path, message: str) -> None:
    edit(folder, CHANGES[message])
    with pytest.raises(ModelFolderError, match=r"differ in|too small|" + message):
        modlm.load(folder)


def about(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / "model.json").read_text())
    for path, value in changes.items():
        at = manifest["about"]
        *groups, last = path.split("__")
        for group in groups:
            at = at[group]
        at[last] = value
    (folder / "model.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mixer__net__hidden": 10**9}, "too small"),
        ({"mixer__net__layers": 10**12}, "too small"),
        ({"mixer__net__words": 10**6}, "too small"),
        ({"mixer__net__body": "abacus"}, "abacus"),
        ({"mixer__net__hidden": "6"}, "net.hidden must be a whole number, but is .6.\\."),
        ({"mixer__net__hidden": True}, "net.hidden must be a whole number, but is true"),
        ({"mixer__net__odd": 1}, "does not know: odd"),
        ({"blocks__delta": {"kind": "uniform"}}, "torch.float32"),
        ({"blocks": {"uniform": {"kind": "uniform"}}}, "torch.float32|see nothing|differ"),
        ({"kind": "neural"}, "which this version does not know"),
    ],
)
def test_settings_that_are_not_the_nets_are_refused(folder: Path, changes: dict[str, Any], message: str) -> None:
    about(folder, **changes)
    with pytest.raises(ModelFolderError, match=message):
        modlm.load(folder)


def test_a_model_of_a_version_with_fewer_settings_opens_as_it_was(folder: Path) -> None:
    before = modlm.load(folder).score("a b z")
    path = folder / "model.json"
    manifest = json.loads(path.read_text())
    for newer in ("locked", "input_dropout", "word_dropout", "weight_dropout"):
        del manifest["about"]["mixer"]["net"][newer]
    path.write_text(json.dumps(manifest))
    assert modlm.load(folder).score("a b z") == before


def places_in(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return ([path] if path else []) + [found for key, item in items for found in places_in(item, (*path, key))]


@settings(max_examples=120)
@given(data=st.data())
def test_an_edited_manifest_gives_our_error_or_a_model_that_works(sound: Path, data: st.DataObject) -> None:
    path = sound / "model.json"
    text = path.read_text()
    manifest = json.loads(text)
    place = data.draw(st.sampled_from(places_in(manifest["about"])))
    at: Any = manifest["about"]
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = data.draw(ODD)
    try:
        path.write_text(json.dumps(manifest))
        opened = modlm.load(sound)
        opened.score("a b z")
        opened.next_words("a b", k=2)
        opened.explain("a c")
    except ModlmError as error:
        assert str(error)
    finally:
        path.write_text(text)


@settings(max_examples=80)
@given(at=st.floats(0, 1), odd=st.binary(min_size=1, max_size=9))
def test_damaged_weights_give_our_error_or_a_model_that_works(sound: Path, at: float, odd: bytes) -> None:
    path, listed = sound / "weights.safetensors", sound / "model.json"
    data, text = path.read_bytes(), listed.read_text()
    manifest = json.loads(text)
    place = int(at**4 * (len(data) - len(odd)))  # more often in the header
    try:
        path.write_bytes(data[:place] + odd + data[place + len(odd) :])
        manifest["files"][path.name]["sha256"] = sha256(path)  # or that alone would be noticed
        listed.write_text(json.dumps(manifest))
        with np.errstate(all="ignore"):
            modlm.load(sound).score("a b z")
    except ModlmError as error:
        assert str(error)
    finally:
        path.write_bytes(data)
        listed.write_text(text)


def test_a_changed_weight_is_noticed_on_opening(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ModelFolderError, match=r"weights.safetensors: its contents have changed"):
        modlm.load(folder)


def test_without_torch_the_error_names_the_extra(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(MissingPackageError, match=r"'\.\[neural\]'"):
        modlm.load(sound)
