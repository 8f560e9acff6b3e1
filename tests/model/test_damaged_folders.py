"""Folders edited by chance or malice: our error or a model that works, never a crash or a hang."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import modlm
from modlm.blocks import NgramBlock, UniformBlock
from modlm.blocks.block import Block
from modlm.blocks.model import ModelBlock
from modlm.errors import ModlmError
from modlm.mixers import StaticMixer
from modlm.model.compact_lm import CompactLM
from modlm.model.mixture import Mixture
from modlm.smoothing import SMOOTHERS, estimate
from small_texts import TEXTS, counts_of, model_of

TEXT = TEXTS["random sentences"]
KINDS = ("ngram", "wide", "compact", "compact-reals", "compact-given", "heuristic", "static")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A sound folder of each kind."""
    place = tmp_path_factory.mktemp("folders")
    model = model_of(TEXT, order=4, dtype=np.float32)
    counts = counts_of(TEXT, order=2)
    blocks: dict[str, Block] = {
        "other": ModelBlock(model_of(["a b q"], order=3), counts.vocabulary),
        "ngram": NgramBlock(estimate(SMOOTHERS["absolute"](), counts)),
        "uniform": UniformBlock(counts.vocabulary),
    }
    models = {
        "ngram": model,
        "wide": model_of(TEXT, order=3, edge="repeat", smoothing="witten-bell"),
        "compact": CompactLM.of(model),
        "compact-reals": CompactLM.of(model_of(TEXT, order=3, edge="repeat", smoothing="witten-bell")),
        "compact-given": CompactLM.of(model.pruned(1e-3), 8),
        "heuristic": model.as_mixture(),
        "static": Mixture(counts.vocabulary, blocks, StaticMixer(np.array([0.4, 0.1, 0.4, 0.1]))),
    }
    for name, saved in models.items():
        modlm.save(saved, place / name)
    return {name: place / name for name in models}


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None, True, False, 0, 1, 2, 3, 7, 12, 13, -1, 2**31, 2**32, 2**63, 10**400, 0.5, -0.5, 1.5, 1e308, float("nan"),
        float("inf"), "", "a", "ngram", "uniform", "once", "mixture", "static", "heuristic", "absolute", "../x",
        "\ud800", [], [0], [1], [0, 1], [0.5], [[0.5]], [[]], ["uniform"], {}, {"kind": "uniform"}, {"a": 1},
        [[[[[[[]]]]]]],
    ]
)  # fmt: skip


def places_in(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of a manifest, the sums of the files left out: nobody looks at them unless asked to."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places_in(item, (*path, key)) if key != "sha256" else []
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += places_in(item, (*path, i))
    return found


def change(manifest: dict[str, Any], path: tuple[str | int, ...], odd: object, how: str) -> None:
    """One place replaced, removed or doubled."""
    at: Any = manifest
    for key in path[:-1]:
        at = at[key]
    if how == "remove":
        del at[path[-1]]
    elif how == "double" and isinstance(at, list):
        at.append(at[int(path[-1])])
    else:
        at[path[-1]] = copy.deepcopy(odd)


def use(model: modlm.LanguageModel) -> None:
    """A little of everything."""
    with np.errstate(all="ignore"):
        model.score("a b z")
        model.perplexity(["a b"])
        model.next_words("a b", k=3)
        model.explain("a c")
        list(model.generate(modlm.Sampling(max_words=3), rng=np.random.default_rng(0)))
        if isinstance(model, modlm.NgramLM) and model.counts is not None:
            model.as_mixture().next_distribution("a")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=120)
@given(data=st.data(), changes=st.integers(1, 3))
def test_an_edited_manifest_gives_our_error_or_a_model_that_works(
    folders: dict[str, Path], kind: str, data: st.DataObject, changes: int
) -> None:
    path = folders[kind] / "model.json"
    sound = path.read_text()
    manifest = json.loads(sound)
    for _ in range(changes):
        place = data.draw(st.sampled_from(places_in(manifest)))
        change(manifest, place, data.draw(ODD), data.draw(st.sampled_from(["replace", "replace", "remove", "double"])))
    try:
        path.write_text(json.dumps(manifest))
        use(modlm.load(folders[kind]))
    except ModlmError as error:
        assert str(error)
    finally:
        path.write_text(sound)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(cut=st.floats(0, 1), odd=st.binary(max_size=6), skip=st.integers(0, 4))
@example(cut=0.0, odd=b"[" * 100_000, skip=0)
@example(cut=0.0, odd=b'{"format": "modlm model", "version": 1, "about": {"kind": ' + b"[" * 5000, skip=0)
def test_a_manifest_with_other_bytes_gives_our_error_or_a_model_that_works(
    folders: dict[str, Path], kind: str, cut: float, odd: bytes, skip: int
) -> None:
    path = folders[kind] / "model.json"
    sound = path.read_bytes()
    sound = b"{\n" + sound[sound.index(b' "format"') :]  # without its sum, which alone would notice
    at = int(cut * len(sound))
    try:
        path.write_bytes(sound[:at] + odd + sound[at + skip :])
        use(modlm.load(folders[kind]))
    except ModlmError as error:
        assert str(error)
    finally:
        path.write_bytes(sound)


def test_models_inside_models_without_end_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folders["static"], tmp_path / "model"))
    manifest = json.loads((folder / "model.json").read_text())
    about, files, inside = manifest["about"], manifest["files"], "columns/other/"
    for _ in range(300):
        (folder / inside).mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy(folders["static"] / "vocabulary.txt", folder / inside / "vocabulary.txt")
        except OSError:  # the path is too long for this system
            break
        files[f"{inside}vocabulary.txt"] = manifest["files"]["vocabulary.txt"]
        about["blocks"] = {"other": {"kind": "model", "model": {**manifest["about"], "blocks": {}}}}
        about = about["blocks"]["other"]["model"]
        inside += "columns/other/"
        if len(inside) > 900:
            break
    (folder / "model.json").write_text(json.dumps(manifest))
    with pytest.raises(ModlmError, match="deep"):
        modlm.load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_arrays_give_our_error_or_an_answer_and_the_full_check_notices(
    folders: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    rounds = 60
    program = Path(__file__).parent / "damage_arrays.py"
    command = [sys.executable, str(program), str(folders[kind]), str(tmp_path), str(rounds)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, f"after {run.stdout.splitlines()[-1:]}: {run.stderr[-2000:]}"
    assert f"noticed: {rounds}" in run.stdout
    assert "not noticed" not in run.stdout
    assert "answered" in run.stdout  # not everything was refused on opening
