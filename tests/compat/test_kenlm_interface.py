"""`modlm.compat.kenlm` beside the `kenlm` package: the same names, numbers and states; other people's code over it."""

from __future__ import annotations

import copy
import importlib
import inspect
import lzma
import math
import os
import pickle
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.kenlm_files import ALL, FOLDER, SENTENCES, their_model

import modlm
import modlm.compat.kenlm as ours

WORDS = [*{word for sentence in SENTENCES for word in sentence.split()}, "<s>", "</s>", "<unk>", "<UNK>", "", "a b"]
SUMMED = 1e-6  # relative: KenLM adds the words of a sentence in float32


@pytest.fixture(scope="module")
def theirs() -> ModuleType:
    return pytest.importorskip("kenlm", reason="kenlm is not installed (extra: peers)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("model") / "o5"
    modlm.load(FOLDER / "o5.arpa").save(target)
    return target


def pairs(folder: Path) -> Iterator[tuple[ours.Model, Any, float]]:
    """Each file in both, and how far apart words may be: binaries not at all."""
    for name in ALL:
        yield ours.Model(str(FOLDER / name)), their_model(name), 0.0
    for name in ("o2.arpa", "o5.arpa", "o6.arpa"):
        yield ours.Model(str(FOLDER / name)), their_model(name), 1e-5
    yield ours.Model(str(folder)), their_model("o5.arpa"), 1e-5


def test_it_has_every_name_of_the_package(theirs: ModuleType) -> None:
    assert {name for name in dir(theirs) if not name.startswith("_")} - {"os"} <= set(dir(ours))
    for kind in ("Model", "State", "Config", "FullScoreReturn", "LoadMethod", "ARPALoadComplain"):
        names = {name for name in dir(getattr(theirs, kind)) if not name.startswith("__")}
        made = getattr(ours, kind)() if kind == "Config" else getattr(ours, kind)
        assert names <= set(dir(made)), kind
    for kind in ("LoadMethod", "ARPALoadComplain"):
        for name in (name for name in dir(getattr(theirs, kind)) if name.isupper()):
            assert getattr(getattr(ours, kind), name) == getattr(getattr(theirs, kind), name)
    fresh, old = ours.Config(), theirs.Config()
    for name in ("load_method", "show_progress", "arpa_complain"):
        assert getattr(fresh, name) == getattr(old, name)


def test_sentences_score_alike_with_and_without_their_ends(theirs: ModuleType, folder: Path) -> None:
    for mine, other, apart in pairs(folder):
        for sentence in [*SENTENCES, "nila </s>", "<s> nila", "nila <unk> dafe", "nila\u00a0dafe \u3000"]:
            for bos, eos in ((True, True), (True, False), (False, True), (False, False)):
                expected = other.score(sentence, bos=bos, eos=eos)
                assert mine.score(sentence, bos=bos, eos=eos) == pytest.approx(expected, rel=SUMMED if apart else 0)
                assert mine.score(sentence.encode(), bos, eos) == mine.score(sentence, bos, eos)
            assert mine.perplexity(sentence) == pytest.approx(other.perplexity(sentence), rel=1e-5 if apart else 1e-12)


def test_words_score_alike_with_lengths_and_unknowns(theirs: ModuleType, folder: Path) -> None:
    for mine, other, apart in pairs(folder):
        assert mine.order == other.order
        for sentence in SENTENCES:
            for bos, eos in ((True, True), (False, False)):
                found = list(mine.full_scores(sentence, bos=bos, eos=eos))
                expected = list(other.full_scores(sentence, bos=bos, eos=eos))
                assert [row[1:] for row in found] == [row[1:] for row in expected]
                assert [row[0] for row in found] == pytest.approx([row[0] for row in expected], abs=apart, rel=0)
        assert [word in mine for word in WORDS] == [word in other for word in WORDS]


def test_random_states_move_and_compare_alike(theirs: ModuleType, folder: Path) -> None:
    rng = random.Random(3)
    for mine, other, apart in pairs(folder):
        state, their_state = ours.State(), theirs.State()
        seen: list[tuple[ours.State, Any]] = []
        for _ in range(400):
            draw = rng.random()
            if draw < 0.1:
                mine.BeginSentenceWrite(state), other.BeginSentenceWrite(their_state)
            elif draw < 0.15:
                mine.NullContextWrite(state), other.NullContextWrite(their_state)
            word, after, their_after = rng.choice(WORDS), ours.State(), theirs.State()
            full, their_full = (
                mine.BaseFullScore(state, word, after),
                other.BaseFullScore(their_state, word, their_after),
            )
            assert (full.ngram_length, full.oov) == (their_full.ngram_length, their_full.oov)
            assert full.log_prob == pytest.approx(their_full.log_prob, abs=apart, rel=0)
            assert mine.BaseScore(state, word, after) == full.log_prob
            seen.append((after, their_after))
            state, their_state = rng.choice(seen) if draw > 0.9 else (after, their_after)
            state, their_state = copy.copy(state), copy.copy(their_state)
        for (first, their_first), (second, their_second) in zip(seen, rng.sample(seen, len(seen)), strict=True):
            assert (first == second) == (their_first == their_second)
            assert first != second or hash(first) == hash(second)


def test_states_copy_hash_compare_and_pickle() -> None:
    model = ours.Model(str(FOLDER / "o5.trie"))
    state, other = ours.State(), ours.State()
    assert state == other and hash(state) == hash(other) and bool(state)
    model.BeginSentenceWrite(state)
    assert state != other and (state < other) != (other < state)
    for again in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert again == state and again is not state and hash(again) == hash(state) and type(again) is ours.State
    kept = copy.copy(state)
    score = model.BaseScore(state, "nila", state)  # one object for both
    assert score == model.BaseScore(kept, "nila", other) and state == other
    model.NullContextWrite(state)
    assert state == ours.State()


def test_states_of_another_model_do_no_harm() -> None:
    big, small = ours.Model(str(FOLDER / "o6.probing")), ours.Model(str(FOLDER / "o2.trie"))
    table = ours.Model(str(FOLDER / "o5.arpa"))
    state = ours.State(os.urandom(400))
    for model in (big, small, table):
        after = ours.State()
        model.BaseScore(state, "nila", after)
        assert len(after) <= 8 * (model.order - 1)
    with memoryview(state := ours.State(bytes(40))), pytest.raises(BufferError):
        big.BaseScore(ours.State(), "nila", state)


def test_other_types_are_refused() -> None:
    model = ours.Model(str(FOLDER / "o5.probing"))
    for call in (
        lambda: model.score(5), lambda: model.BaseScore(ours.State(), 5, ours.State()),
        lambda: model.BaseScore(None, "a", ours.State()), lambda: model.BaseScore(ours.State(), "a", "b"),
        lambda: model.BaseScore(ours.State(), "a"), lambda: 5 in model, lambda: ours.Model(5),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    with pytest.raises(UnicodeEncodeError):
        model.score("half \ud800 a character")
    with pytest.raises(OSError, match="Cannot read model 'none'"):
        ours.Model("none")


def test_paths_names_and_pickles_are_those_of_the_package(theirs: ModuleType) -> None:
    path = str(FOLDER / "o5.trie")
    mine, other = ours.LanguageModel(path), theirs.LanguageModel(path)
    assert mine.path == other.path and repr(mine) == repr(other)
    assert pickle.loads(pickle.dumps(mine)).score("nila") == other.score("nila")
    assert repr(ours.FullScoreReturn(-1.5, 2, False)) == repr(theirs.FullScoreReturn(-1.5, 2, False))
    assert isinstance(mine, ours.Model) and "BaseScore" in dict(inspect.getmembers(ours.Model))

    class Louder(ours.Model):
        def BaseScore(self, in_state: Any, word: Any, out_state: Any) -> float:
            return 2 * float(super().BaseScore(in_state, word, out_state))

    assert Louder(path).BaseScore(ours.State(), "nila", ours.State()) == 2 * mine.BaseScore(
        ours.State(), "nila", ours.State()
    )


def test_another_kind_of_model_is_refused_with_a_way_out(tmp_path: Path) -> None:
    modlm.NgramLM.fit(["a b", "a c"], 2).as_mixture().save(tmp_path / "mixture")
    with pytest.raises(OSError, match=r"modlm\.load"):
        ours.Model(str(tmp_path / "mixture"))


# ---- code that was written for kenlm ---------------------------------------------------------------------------------


@pytest.fixture
def exchanged() -> Iterator[Any]:
    """Imports a package anew with our module, or the real one, in place of kenlm; afterwards modules are as before."""

    def held(name: str) -> bool:
        return name.split(".")[0] in ("kenlm", "pyctcdecode", "datatrove")

    def leave() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if held(name)}

    before = leave()

    def load(package: str, kenlm: ModuleType) -> Any:
        leave()
        sys.modules["kenlm"] = kenlm
        return pytest.importorskip(package, reason=f"{package} is not installed")

    yield load
    leave()
    sys.modules.update(before)


@pytest.mark.filterwarnings("ignore")
def test_pyctcdecode_decodes_alike(theirs: ModuleType, exchanged: Any, tmp_path: Path) -> None:
    from tests.integrations.spoken import LABELS, MEANT, emissions, word_model

    from modlm.model.ngram.arpa import save_arpa

    save_arpa(word_model(), tmp_path / "lm.arpa")
    labels, decoded = ["" if label == "-" else " " if label == "|" else label for label in LABELS], []
    for module in (ours, theirs):
        package = exchanged("pyctcdecode", module)
        decoder = package.build_ctcdecoder(labels, str(tmp_path / "lm.arpa"), alpha=0.7, beta=0.4)
        beams = decoder.decode_beams(emissions())
        assert isinstance(beams[0][1], module.State)
        decoded.append([(beam[0], beam[-1]) for beam in beams])
        (tmp_path / module.__name__).mkdir()
        decoder.save_to_dir(str(tmp_path / module.__name__))
        again = package.BeamSearchDecoderCTC.load_from_dir(str(tmp_path / module.__name__))
        assert again.decode(emissions()) == beams[0][0]
    mine, other = decoded
    assert mine[0][0] == MEANT and [text for text, _ in mine] == [text for text, _ in other]
    assert [score for _, score in mine] == pytest.approx([score for _, score in other], abs=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_datatrove_finds_the_same_perplexities(theirs: ModuleType, exchanged: Any, monkeypatch: Any) -> None:
    documents = ["\n".join(SENTENCES[i : i + 5]) for i in range(0, 40, 5)]
    found = []
    for module in (ours, theirs):
        exchanged("datatrove", module)
        perplexity = importlib.import_module("datatrove.utils.perplexity")
        monkeypatch.setattr(perplexity, "cached_asset_path_or_download", lambda url: str(FOLDER / "o5.trie-qa"))
        model = perplexity.KenlmModel.from_pretrained("wikipedia", "en")
        model._tokenizer = type("Words", (), {"tokenize": staticmethod(lambda text: text)})()
        found.append([model.get_perplexity(document) for document in documents])
        assert isinstance(model.model, module.Model)
    assert found[0] == found[1] and all(map(math.isfinite, found[0]))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["arpa", "folder"])
def test_all_of_the_penn_treebank_scores_alike(theirs: ModuleType, kind: str, tmp_path: Path) -> None:
    data = Path(os.environ.get("MODLM_DATA", "none")) / "ptb"
    if not data.is_dir():
        pytest.skip("MODLM_DATA has no ptb")
    from modlm.model.ngram.arpa import save_arpa

    lm = modlm.NgramLM.fit(data / "ptb.train.txt.xz", 5)
    save_arpa(lm, tmp_path / "lm.arpa")
    lm.save(tmp_path / "lm")
    mine = ours.Model(str(tmp_path / ("lm.arpa" if kind == "arpa" else "lm")))
    other = theirs.Model(str(tmp_path / "lm.arpa"))
    state, their_state = ours.State(), theirs.State()
    with lzma.open(data / "ptb.test.txt.xz", "rt", encoding="utf-8") as lines:
        for sentence in lines:
            found, expected = list(mine.full_scores(sentence)), list(other.full_scores(sentence))
            assert [row[1:] for row in found] == [row[1:] for row in expected]
            assert [row[0] for row in found] == pytest.approx([row[0] for row in expected], abs=1e-5, rel=0)
            assert mine.score(sentence) == pytest.approx(math.fsum(row[0] for row in expected), abs=1e-5)
            for word in sentence.split()[::3]:  # states that no text leads to
                after, their_after = ours.State(), theirs.State()
                score = mine.BaseScore(state, word, after)
                assert score == pytest.approx(other.BaseScore(their_state, word, their_after), abs=1e-5, rel=0)
                state, their_state = after, their_after
