"""Model folders: what is written is what is read, and what does not fit together is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import modlm
from modlm.blocks import NgramBlock, UniformBlock
from modlm.blocks.block import Block
from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError, ModelFolderError, ModlmError, OutputError
from modlm.families import MODELS
from modlm.mixers import StaticMixer
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.ngram.compiled import leaf_type, node_type
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS, estimate
from modlm.store.npy import dtype_name
from small_texts import EDGES, TEXTS, counts_of, model_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c", "", "z a b", "a a a a a a", "h g f e d c b a"]


def static_mixture(**blocks: Block) -> Mixture:
    """Two whole models, two orders and the uniform column."""
    counts = counts_of(TEXT, order=2)
    all_blocks: dict[str, Block] = {
        "far": ModelBlock(model_of(["a b q", "q a"], order=4), counts.vocabulary),
        "near": ModelBlock(model_of(TEXT, order=3, smoothing="absolute").as_mixture(), counts.vocabulary),
        "ngram": NgramBlock(estimate(SMOOTHERS["modified-kneser-ney"](), counts)),
        "uniform": UniformBlock(counts.vocabulary),
        **blocks,
    }
    columns = sum(len(block.columns) for block in all_blocks.values())
    return Mixture(counts.vocabulary, all_blocks, StaticMixer(np.full(columns, 1 / columns)))


def same_answers(ours: LanguageModel, theirs: LanguageModel) -> None:
    assert theirs.vocabulary == ours.vocabulary
    assert theirs.context_length == ours.context_length
    assert np.array_equal(theirs.score_batch(SENTENCES), ours.score_batch(SENTENCES))
    for context in ("", "a", "a b", "z"):
        assert np.array_equal(theirs.next_distribution(context), ours.next_distribution(context))
    assert theirs.explain("a b z") == ours.explain("a b z")
    assert theirs.next_words("a b", k=3) == ours.next_words("a b", k=3)


# There and back


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ngram_models_come_back_as_they_were(smoothing: str, edge: str, dtype: type, tmp_path: Path) -> None:
    model = model_of(TEXT, smoothing=smoothing, edge=edge, extra=("uniform", "unknown"), dtype=dtype)
    modlm.save(model, tmp_path / "model")
    again = modlm.load(tmp_path / "model", verify="full")
    assert isinstance(again, NgramLM)
    assert again.settings == model.settings
    assert again.notes == model.notes
    assert again.compiled.dtype == dtype
    assert (again.compiled.levels, again.compiled.start) == (model.compiled.levels, model.compiled.start)
    for ours, theirs in zip(model.compiled.arrays, again.compiled.arrays, strict=True):
        assert np.array_equal(ours, theirs)
    assert again.counts is not None and model.counts is not None
    assert (again.counts.edge, again.counts.sentences) == (edge, len(TEXT))
    assert np.array_equal(again.counts.frequencies, model.counts.frequencies)
    same_answers(model, again)
    same_answers(model.as_mixture(), again.as_mixture())


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("order", [1, 2, 5])
def test_models_of_awkward_texts_come_back(name: str, order: int, tmp_path: Path) -> None:
    model = model_of(TEXTS[name], order=order)
    modlm.save(model, tmp_path / "model")
    same_answers(model, modlm.load(tmp_path / "model"))


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_heuristic_mixtures_come_back_as_they_were(smoothing: str, tmp_path: Path) -> None:
    mixture = model_of(TEXT, smoothing=smoothing, edge="repeat", extra=("unknown", "uniform")).as_mixture()
    modlm.save(mixture, tmp_path / "model")
    again = modlm.load(tmp_path / "model", verify="full")
    assert isinstance(again, Mixture)
    assert again.layout.names == mixture.layout.names
    same_answers(mixture, again)


def test_mixtures_of_models_come_back_as_they_were(tmp_path: Path) -> None:
    inner = static_mixture()
    mixture = static_mixture(other=ModelBlock(inner, inner.vocabulary))
    modlm.save(mixture, tmp_path / "model")
    again = modlm.load(tmp_path / "model", verify="full")
    assert isinstance(again, Mixture)
    assert again.layout.names == mixture.layout.names
    same_answers(mixture, again)


def test_models_without_counts_come_back(tmp_path: Path) -> None:
    whole = model_of(TEXT)
    model = NgramLM(whole.vocabulary, whole.compiled, notes=("read from an ARPA file",))
    modlm.save(model, tmp_path / "model")
    again = modlm.load(tmp_path / "model")
    assert isinstance(again, NgramLM)
    assert again.counts is None and again.settings is None
    assert again.notes == model.notes
    same_answers(model, again)


def test_every_kind_of_model_is_tested_here() -> None:
    assert set(MODELS) == {
        "ngram",
        "compact-ngram",
        "mixture",
        "neural-mixture",
        "kenlm",
    }  # compact-ngram in test_compact_lm.py, neural-mixture in nets, kenlm in test_kenlm_model.py


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        modlm.save(model_of(TEXT), tmp_path / name)
    for path in sorted((tmp_path / "one").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_a_folder_is_readable_without_us(tmp_path: Path) -> None:
    model_of(["a b"], order=2).save(tmp_path / "model", card="# Two words\n")
    assert (tmp_path / "model" / "vocabulary.txt").read_text() == "<unk>\n</s>\na\nb\n"
    assert (tmp_path / "model" / "card.md").read_text() == "# Two words\n"
    assert np.load(tmp_path / "model" / "columns" / "ngram" / "words.npy", allow_pickle=False).dtype == np.uint32
    manifest = json.loads((tmp_path / "model" / "model.json").read_text())
    files = {str(path.relative_to(tmp_path / "model")) for path in (tmp_path / "model").rglob("*.*")}
    assert set(manifest["files"]) == files - {"model.json"}


def test_arrays_are_mapped_and_cannot_be_written(tmp_path: Path) -> None:
    modlm.save(model_of(TEXT), tmp_path / "model")
    model = modlm.load(tmp_path / "model")
    assert isinstance(model, NgramLM)
    assert not any(array.flags.writeable or array.flags.owndata for array in model.compiled.arrays)


def test_a_run_folder_leads_to_its_model(tmp_path: Path) -> None:
    modlm.save(model_of(TEXT), tmp_path / "run" / "model")
    assert modlm.load(tmp_path / "run").score("a b") == modlm.load(tmp_path / "run" / "model").score("a b")


def test_a_folder_is_overwritten_only_when_asked(tmp_path: Path) -> None:
    modlm.save(model_of(TEXT), tmp_path / "model")
    with pytest.raises(OutputError, match="already exists"):
        modlm.save(model_of(["a"]), tmp_path / "model")
    modlm.save(model_of(["a"]), tmp_path / "model", overwrite=True)
    assert len(modlm.load(tmp_path / "model").vocabulary) == 3


def test_a_model_of_an_unknown_kind_has_no_form_on_disk(tmp_path: Path) -> None:
    class Foreign(NgramLM.__base__):  # type: ignore[misc, name-defined]
        """Not ours."""

        word_probs = start = advance = distributions = state_after = None

    with pytest.raises(ModlmError, match="A Foreign has no form on disk"):
        modlm.save(Foreign(), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["my model", "../outside", "", "a\nb", ".hidden"])
def test_a_block_whose_name_is_no_file_name_is_refused(name: str, tmp_path: Path) -> None:
    model = model_of(TEXT)
    mixture = Mixture(model.vocabulary, {name: ModelBlock(model, model.vocabulary)}, StaticMixer(np.ones(1)))
    with pytest.raises(ConfigError, match="cannot be saved"):
        modlm.save(mixture, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# Damage


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Sound folders of each kind."""
    place = tmp_path_factory.mktemp("sound")
    model = model_of(TEXT, order=4, dtype=np.float32)
    modlm.save(model, place / "ngram")
    modlm.save(model.as_mixture(), place / "heuristic")
    modlm.save(static_mixture(), place / "static")
    return {path.name: path for path in place.iterdir()}


@pytest.fixture
def folder(sound: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of an n-gram model's folder, to be damaged."""
    return Path(shutil.copytree(sound["ngram"], tmp_path / "model"))


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest."""
    manifest = json.loads((folder / "model.json").read_text())
    change(manifest)
    (folder / "model.json").write_text(json.dumps(manifest))


def test_a_place_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="There is no model at"):
        modlm.load(tmp_path / "nowhere")
    with pytest.raises(ModelFolderError, match=r"has no model\.json"):
        modlm.load(tmp_path)


@pytest.mark.parametrize("kind", ["ngram", "heuristic", "static"])
def test_a_missing_file_is_named(sound: dict[str, Path], kind: str, tmp_path: Path) -> None:
    files = sorted(path.relative_to(sound[kind]) for path in sound[kind].rglob("*") if path.is_file())
    for i, name in enumerate(files):
        folder = Path(shutil.copytree(sound[kind], tmp_path / str(i)))
        (folder / name).unlink()
        with pytest.raises(ModelFolderError, match=name.name):
            modlm.load(folder)


@pytest.mark.parametrize("kind", ["ngram", "heuristic", "static"])
def test_a_truncated_file_is_named(sound: dict[str, Path], kind: str, tmp_path: Path) -> None:
    files = sorted(path.relative_to(sound[kind]) for path in sound[kind].rglob("*") if path.is_file())
    for i, name in enumerate(files):
        folder = Path(shutil.copytree(sound[kind], tmp_path / str(i)))
        (folder / name).write_bytes((folder / name).read_bytes()[:-3])
        with pytest.raises(ModelFolderError, match=name.name):
            modlm.load(folder)


@pytest.mark.parametrize("kind", ["ngram", "heuristic", "static"])
def test_one_changed_byte_is_found_by_the_full_check(sound: dict[str, Path], kind: str, tmp_path: Path) -> None:
    files = sorted(path.relative_to(sound[kind]) for path in sound[kind].rglob("*") if path.is_file())
    for i, name in enumerate(files):
        if name.name == "model.json":
            continue
        folder = Path(shutil.copytree(sound[kind], tmp_path / str(i)))
        data = bytearray((folder / name).read_bytes())
        data[-2] ^= 1
        (folder / name).write_bytes(data)
        with pytest.raises(ModelFolderError, match=name.name):
            modlm.load(folder, verify="full")


def test_a_swapped_vocabulary_is_noticed_without_the_full_check(folder: Path) -> None:
    path = folder / "vocabulary.txt"
    words = path.read_text().split("\n")
    words[2], words[3] = words[3], words[2]
    path.write_text("\n".join(words))
    with pytest.raises(ModelFolderError, match="not the vocabulary that the model was made with"):
        modlm.load(folder)


def test_arrays_that_changed_places_are_noticed(folder: Path) -> None:
    columns = folder / "columns" / "ngram"
    (columns / "words.npy").rename(columns / "kept.npy")
    (columns / "frequencies.npy").rename(columns / "words.npy")
    (columns / "kept.npy").rename(columns / "frequencies.npy")
    with pytest.raises(ModelFolderError, match="contents have changed"):
        modlm.load(folder, verify="full")


def test_another_model_s_arrays_are_noticed(folder: Path, tmp_path: Path) -> None:
    modlm.save(model_of(TEXT[:30], order=4), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "columns" / "ngram" / "leaves.npy", folder / "columns" / "ngram" / "leaves.npy")
    with pytest.raises(ModelFolderError, match=r"leaves\.npy"):
        modlm.load(folder)


def test_verify_is_fast_or_full(folder: Path) -> None:
    with pytest.raises(ConfigError, match="verify must be"):
        modlm.load(folder, verify="some")  # type: ignore[arg-type]


def rewritten(name: str, array: np.ndarray) -> Callable[[Path], None]:
    """An array file of ours with other numbers in it, listed as such."""

    def change(folder: Path) -> None:
        path = folder / "columns" / "ngram" / f"{name}.npy"
        np.save(path, array)
        record = {"dtype": dtype_name(array), "shape": list(array.shape), "bytes": path.stat().st_size}
        edit(folder, lambda manifest: manifest["files"][f"columns/ngram/{name}.npy"].update(record))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rewritten("words", np.zeros(5, np.uint32)), "has 5 entries"),
        (rewritten("words", np.zeros(5, np.int64)), "not a row of uint32"),
        (rewritten("words", np.zeros((5, 5), np.uint32)), "not a row of uint32"),
        (rewritten("nodes", np.zeros(0, node_type(np.float32))), "has 0 entries"),
        (rewritten("nodes", np.zeros(5, node_type(np.float64))), "not a row of"),
        (rewritten("nodes", np.zeros(5, np.uint32)), "not a row of"),
        (rewritten("leaves", np.zeros(5, leaf_type(np.float32))), "has 5 entries"),
        (rewritten("leaves", np.zeros(5, leaf_type(np.float64))), "has 5 entries"),
        (rewritten("leaves", np.zeros(5, np.float32)), "not a row of"),
        (rewritten("frequencies", np.zeros(5, np.uint64)), "has 5 entries"),
        (rewritten("frequencies", np.zeros(5, np.float32)), "not a row of uint32"),
    ],
)
def test_arrays_of_another_type_or_length_are_refused(
    folder: Path, change: Callable[[Path], None], message: str
) -> None:
    change(folder)
    with pytest.raises(ModelFolderError, match=message):
        modlm.load(folder)


def setting(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    """A setting of the manifest changed."""

    def change(manifest: dict[str, Any]) -> None:
        at: Any = manifest
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting("version", to=2), "made by a newer modlm"),
        (setting("version", to=0), "no proper version"),
        (setting("format", to="modlm counts"), "does not describe modlm model"),
        (setting("about", "kind", to="neural"), "kind is 'neural', which this version does not know"),
        (setting("about", "kind", to=7), "kind is 7"),
        (setting("about", "vocabulary", to="0" * 64), "not the vocabulary"),
        (setting("about", "start", to=10**9), "start 1000000000 is not a context"),
        (setting("about", "start", to=-1), "start must be a whole number from 0 up"),
        (setting("about", "start", to=True), "start must be a whole number from 0 up"),
        (setting("about", "levels", to=[0, 1]), "levels do not fit its vocabulary"),
        (setting("about", "levels", to=[0, 1, 12, 13, 10**12, 10**13]), "entries, but the rest of the folder asks for"),
        (setting("about", "levels", 3, to=13), "levels do not fit its followers"),
        (setting("about", "levels", 3, to=12.5), "levels must be a whole number"),
        (setting("about", "notes", to=3), "notes must be a list"),
        (setting("about", "settings", "smoothing", to="magic"), "smoothing is 'magic'"),
        (setting("about", "settings", "discounts", 0, 0, to=1.5), "discount of a count of 1"),
        (setting("about", "settings", "discounts", 0, 0, to=10**400), "discounts must be a number"),
        (setting("about", "settings", "discounts", 0, to=[]), "discounts must not be empty"),
        (setting("about", "settings", "discounts", to=[[0.5]]), "discounts must hold 4 lists"),
        (setting("about", "settings", "extra", to=[]), "extra must be a list of uniform, unknown"),
        (setting("about", "settings", "extra", to=["uniform", "uniform"]), "extra must be a list"),
        (setting("about", "settings", "prune_entropy", to="much"), "prune_entropy must be a number"),
        (setting("about", "settings", "prune", to=[-1]), "prune must be a whole number"),
        (setting("about", "counts", "edge", to="twice"), "edge is 'twice'"),
        (setting("about", "counts", "sentences", to=1.5), "sentences must be a whole number"),
        (setting("about", "counts", to=[]), "not a list of settings"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    folder: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    edit(folder, change)
    with pytest.raises(ModelFolderError, match=message):
        modlm.load(folder)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("static", setting("about", "mixer", "weights", to=[1.0]), "1 weights for 5 columns"),
        ("static", setting("about", "mixer", "weights", 0, to=10**400), "weights must be a number"),
        ("static", setting("about", "mixer", "weights", 0, to=0.9), "must sum to 1"),
        ("static", setting("about", "mixer", "kind", to="psychic"), "kind is 'psychic'"),
        ("static", setting("about", "blocks", to={}), "weights for 0 columns"),
        ("static", setting("about", "blocks", "uniform", "kind", to="gamma"), "kind is 'gamma'"),
        ("static", setting("about", "blocks", "far", "model", to=None), "not a list of settings"),
        ("heuristic", setting("about", "mixer", "block", to="uniform"), "not the features"),
        ("heuristic", setting("about", "mixer", "block", to=5), "block named '5'"),
        ("heuristic", setting("about", "mixer", "smoothing", to=None), "smoothing is None"),
        ("heuristic", setting("about", "blocks", "ngram", "levels", 3, to=13), "do not fit"),
        ("heuristic", setting("about", "blocks", "ngram", "discounts", 1, to=[2.0]), "discount of a count of 1"),
    ],
)
def test_mixtures_that_cannot_be_are_refused(
    sound: dict[str, Path], kind: str, change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(sound[kind], tmp_path / "model"))
    edit(folder, change)
    with pytest.raises(ModlmError, match=message):
        modlm.load(folder)
