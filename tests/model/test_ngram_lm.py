"""N-gram models from Python: training, their columns, and use from several processes and threads."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import modlm
from modlm.errors import ConfigError, InputError, ModlmError
from modlm.model.compact_lm import CompactLM
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from modlm.text import Corpus, Vocabulary
from small_texts import EDGES, TEXTS, all_probs, counts_of, flat_ids, model_of, oracle_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c", "", "z a b", "a a a a a a", "h g f e d c b a"]


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
def test_training_on_sentences_gives_the_oracles_model(smoothing: str, edge: str) -> None:
    model = NgramLM.fit(TEXT, order=4, smoothing=smoothing, edge=edge, extra=("uniform", "unknown"))
    oracle = oracle_of(TEXT, order=4, smoothing=smoothing, edge=edge, extra=("uniform", "unknown"))
    assert model.order == 4
    assert model.context_length == 3
    for context in ("", "a", "b a", "c b a", "z", "d c b a"):
        expected = oracle.distribution(context.split())
        row = model.next_distribution(context)
        assert row == pytest.approx([float(expected[word]) for word in model.vocabulary.words], rel=1e-6)


def test_text_may_be_a_file_several_files_or_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a b\na b\n")
    (tmp_path / "two.txt").write_text("a c\n")
    expected = NgramLM.fit(["a b", "a b", "a c"], order=2)
    for text in ([tmp_path / "one.txt", tmp_path / "two.txt"], Corpus.from_text(["a b", "a b", "a c"])):
        model = NgramLM.fit(text, order=2)
        assert model.vocabulary == expected.vocabulary
        assert np.array_equal(all_probs(model.compiled), all_probs(expected.compiled))


def test_the_vocabulary_may_be_given_or_limited() -> None:
    given = NgramLM.fit(["a b c"], order=2, vocabulary=Vocabulary.from_words(["a", "q"]))
    assert given.vocabulary.words == ("<unk>", "</s>", "a", "q")
    limited = NgramLM.fit(["a b c", "a b", "a"], order=2, max_words=2)
    assert limited.vocabulary.words == ("<unk>", "</s>", "a", "b")
    frequent = NgramLM.fit(["a b c", "a b", "a"], order=2, min_count=3)
    assert frequent.vocabulary.words == ("<unk>", "</s>", "a")


def test_it_is_modified_kneser_ney_of_order_five_at_the_once_edge_unless_asked_otherwise() -> None:
    model = modlm.NgramLM.fit(TEXT)
    assert model.order == 5
    assert model.settings is not None
    assert model.settings.smoothing == "modified-kneser-ney"
    assert model.counts is not None
    assert model.counts.edge == "once"
    assert model.compiled.dtype == np.float32
    assert model.as_mixture().layout.names == ("1-gram", "2-gram", "3-gram", "4-gram", "5-gram", "uniform")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"order": 0}, "order must be between 1 and 16, but is 0"),
        ({"order": 17}, "order must be between 1 and 16, but is 17"),
        ({"edge": "twice"}, "edge must be one of once, repeat, but is 'twice'"),
        ({"smoothing": "kneserney"}, "Did you mean 'kneser-ney'"),
        ({"extra": ("unknown",)}, "extra columns must be"),
        ({"extra": ("uniform", "cache")}, "extra columns must be"),
        ({"extra": ()}, "extra columns must be"),
        ({"engine": "abacus"}, "abacus"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        NgramLM.fit(TEXT, **setting)  # type: ignore[arg-type]


def test_a_text_without_sentences_is_an_error() -> None:
    with pytest.raises(InputError, match="no sentences"):
        NgramLM.fit([])


@pytest.mark.parametrize("order", [1, 2, 8, 16])
def test_any_order_up_to_sixteen_can_be_trained(order: int) -> None:
    model, oracle = model_of(TEXT[:20], order=order), oracle_of(TEXT[:20], order=order)
    for context in ("", "a", "a b a"):
        expected = oracle.distribution(context.split())
        assert model.next_distribution(context) == pytest.approx(
            [float(expected[word]) for word in model.vocabulary.words], rel=1e-12
        )


def test_a_model_without_counts_says_why_it_has_no_columns() -> None:
    model = model_of(TEXT)
    bare = NgramLM(model.vocabulary, model.compiled)
    with pytest.raises(ModlmError, match="Train it without pruning"):
        bare.as_mixture()
    assert bare.score("a b") == model.score("a b")


def test_columns_follow_the_settings_and_not_new_estimates() -> None:
    model = model_of(TEXT, smoothing="absolute", discounts=[[0.9], [0.1], [0.5]])
    assert model.as_mixture().next_distribution("a b") == pytest.approx(model.next_distribution("a b"), rel=1e-12)


# Copies, processes and threads


def same_answers(ours: NgramLM, theirs: NgramLM) -> None:
    assert theirs.vocabulary == ours.vocabulary
    assert theirs.settings == ours.settings
    assert theirs.notes == ours.notes
    assert np.array_equal(theirs.score_batch(SENTENCES), ours.score_batch(SENTENCES))
    assert np.array_equal(theirs.next_distribution("a"), ours.next_distribution("a"))
    assert theirs.explain("a b") == ours.explain("a b")


@pytest.mark.parametrize("smoothing", SMOOTHERS)
def test_models_in_memory_survive_pickling_and_copying(smoothing: str) -> None:
    model = model_of(TEXT, smoothing=smoothing)
    model.score("a"), model.next_words("a")  # what is made on first use must not stand in the way
    same_answers(model, pickle.loads(pickle.dumps(model)))
    same_answers(model, copy.deepcopy(model))
    same_answers(model, pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model)))))


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array is a view of a file."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base  # type: ignore[assignment]
    return isinstance(array, np.memmap)


def test_models_on_disk_are_pickled_by_their_place(tmp_path: Path) -> None:
    modlm.save(model_of(TEXT), tmp_path / "model")
    model = modlm.load(tmp_path / "model")
    assert isinstance(model, NgramLM)
    pickled = pickle.dumps(model)
    assert len(pickled) < 500
    same_answers(model, pickle.loads(pickled))
    assert all(is_mapped(array) for array in pickle.loads(pickled).compiled.arrays)  # so that processes share it


PROCESSES = """
import json, multiprocessing, sys
import modlm

if __name__ == "__main__":
    method, path, sentences = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    model = modlm.load(path)
    model.score("a")
    with multiprocessing.get_context(method).Pool(2) as pool:
        scores = pool.map(model.score, sentences)
        rows = pool.map(model.next_distribution, sentences)
    print(json.dumps([scores, [row.tolist() for row in rows]]))
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_several_processes_give_the_same_scores(method: str, tmp_path: Path) -> None:
    if method == "fork" and sys.platform == "win32":
        pytest.skip("this system has no fork")
    model = model_of(TEXT, dtype=np.float32)
    modlm.save(model, tmp_path / "model")
    (tmp_path / "ask.py").write_text(PROCESSES)
    command = [sys.executable, str(tmp_path / "ask.py"), method, str(tmp_path / "model"), json.dumps(SENTENCES)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    scores, rows = json.loads(answer.stdout)
    assert scores == [model.score(sentence) for sentence in SENTENCES]
    assert rows == [model.next_distribution(sentence).tolist() for sentence in SENTENCES]


@pytest.mark.parametrize("kind", ["n-gram", "mixture"])
def test_threads_that_score_at_once_give_the_same_scores(kind: str) -> None:
    own = model_of(TEXT, order=4)
    model = own if kind == "n-gram" else own.as_mixture()
    texts = [flat_ids(own, TEXT[i : i + 20] * 10) for i in range(0, 40, 5)]
    expected = [model.word_probs(ids) for ids in texts]
    fresh = model_of(TEXT, order=4)
    asked = fresh if kind == "n-gram" else fresh.as_mixture()  # nothing computed yet: the first use is shared, too
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            for ours, theirs in zip(pool.map(asked.word_probs, texts), expected, strict=True):
                assert np.array_equal(ours, theirs)
        scores = list(pool.map(asked.score, SENTENCES * 20))
    assert scores == [model.score(sentence) for sentence in SENTENCES] * 20


def test_counts_stay_with_the_model_and_give_other_models() -> None:
    counts = counts_of(TEXT, order=3)
    model = NgramLM.from_counts(counts)
    assert model.counts is counts
    other = NgramLM.from_counts(model.counts, smoothing="witten-bell", dtype=np.float64)
    expected = oracle_of(TEXT, order=3, smoothing="witten-bell").distribution(["a"])
    assert other.next_distribution("a") == pytest.approx([float(expected[word]) for word in other.vocabulary.words])


def test_counts_set_aside_make_the_same_model_in_files_without_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counts_of(TEXTS["random sentences"], order=4)
    assert counts.aside(tmp_path) is counts, "small ones stay"
    monkeypatch.setattr("modlm.counts.counts.LARGE", 0)
    aside = counts.aside(tmp_path / "new")
    one, other = NgramLM.from_counts(counts), NgramLM.from_counts(aside)
    made = (aside.trie.words, aside.frequencies, aside.continuation().frequencies, *other.compiled.arrays[1:])
    assert all(map(is_mapped, made)) and not list((tmp_path / "new").iterdir())
    for ours, theirs in zip(other.compiled.arrays, one.compiled.arrays, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert np.array_equal(CompactLM.from_counts(aside).form.data, CompactLM.from_counts(counts).form.data)
