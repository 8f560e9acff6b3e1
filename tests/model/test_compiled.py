"""The compiled form: one answer whether asked along a text, step by step, or for whole distributions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.blocks import NOTHING
from modlm.errors import ConfigError
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS
from oracle import END, START, UNKNOWN, Oracle
from small_texts import EDGES, TEXT_LISTS, TEXTS, all_probs, flat_ids, model_of, oracle_of

TEXT = TEXTS["random sentences"]
SENTENCES = ["a b c", "", "z a b", "a a a a a a a a", "h g f e d c b a", "b", "a b c d z z c b a a b"]


def step_by_step(model: NgramLM, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P of each word by `advance`, and as an entry of the whole distribution before it."""
    advanced, entries = np.ones(len(ids)), np.ones(len(ids))
    states = model.start()
    for t, word in enumerate(ids):
        if word < model.compiled.vocab_size:
            entries[t] = model.distributions(states)[0, word]
        states, log_probs = model.advance(states, ids[t : t + 1])
        advanced[t] = np.exp(log_probs[0])
    return advanced, entries


@pytest.mark.parametrize("smoothing", SMOOTHERS)
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_scoring_a_text_is_advancing_through_it(smoothing: str, edge: str, order: int) -> None:
    model = model_of(TEXT, order=order, edge=edge, smoothing=smoothing)
    ids = flat_ids(model, SENTENCES)
    probs = model.word_probs(ids)
    assert np.all(probs[ids == model.vocabulary.start] == 1)
    advanced, entries = step_by_step(model, ids)
    assert advanced == pytest.approx(probs, rel=1e-14)
    assert entries == pytest.approx(probs, rel=1e-14)


@settings(max_examples=30)
@given(text=TEXT_LISTS, sentences=TEXT_LISTS, order=st.integers(1, 6), edge=st.sampled_from(EDGES))
def test_scoring_a_random_text_is_advancing_through_it(
    text: list[str], sentences: list[str], order: int, edge: str
) -> None:
    model = model_of(text, order=order, edge=edge)
    ids = flat_ids(model, sentences)
    advanced, entries = step_by_step(model, ids)
    assert advanced == pytest.approx(model.word_probs(ids), rel=1e-14)
    assert entries == pytest.approx(model.word_probs(ids), rel=1e-14)


@settings(max_examples=40)
@given(
    text=TEXT_LISTS,
    sentences=TEXT_LISTS,
    order=st.integers(1, 6),
    edge=st.sampled_from(EDGES),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_a_resident_model_gives_the_same_numbers(
    text: list[str], sentences: list[str], order: int, edge: str, dtype: type[np.floating]
) -> None:
    model = model_of(text, order=order, edge=edge, dtype=dtype)
    resident = model.resident()
    assert resident.compiled.index is not None
    ids = flat_ids(model, sentences)
    assert np.array_equal(resident.word_probs(ids), model.word_probs(ids))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_index_finds_every_ngram_where_it_is_and_nothing_else(dtype: type[np.floating]) -> None:
    """Random numbers for words fill the table unevenly, so that n-grams stand in one another's slots."""
    rng = np.random.default_rng(5)
    model = model_of(
        [" ".join(f"w{n}" for n in rng.zipf(1.2, 12) % 3000) for _ in range(4000)], order=3, dtype=np.float32
    )
    ids = rng.zipf(1.2, 60_000).astype(np.uint32) % (len(model.vocabulary) + 1)
    ids[0] = len(model.vocabulary)
    index = model.resident().compiled.index
    assert index is not None
    table, reals, *_ = index.arrays
    keys = table.reshape(len(reals) // 16, -1)[:, :4]
    assert np.count_nonzero(keys) == sum(model.compiled.sizes[1:])
    full, passed = keys.all(1), np.signbit(reals.reshape(-1, 16)[:, 32 // reals.itemsize])
    assert passed.any() and not (passed & ~full).any() and (full & ~passed).any()
    assert np.array_equal(model.resident().word_probs(ids), model.word_probs(ids))


@pytest.mark.parametrize(("threads", "lanes"), [(1, 1), (1, 3), (2, 1), (3, 5)])
def test_cutting_a_text_for_threads_and_lanes_changes_nothing(
    threads: int, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(TEXT, order=4)
    ids = flat_ids(model, SENTENCES * 5)
    expected = model.word_probs(ids)
    monkeypatch.setattr("modlm.model.ngram.compiled.PART", 1)
    monkeypatch.setattr("modlm.model.ngram.compiled.LANES", lanes)
    assert np.array_equal(model.compiled.score(ids, workers=threads), expected)


def test_a_batch_of_states_is_answered_like_each_alone() -> None:
    model = model_of(TEXT, order=3)
    words = np.arange(len(model.vocabulary), dtype=np.uint32)
    states, log_probs = model.advance(model.start(len(words)), words)
    rows_BJ = model.distributions(states)
    for i in range(len(words)):
        state, log_prob = model.advance(model.start(), words[i : i + 1])
        assert (state[0], log_prob[0]) == (states[i], log_probs[i])
        assert np.array_equal(model.distributions(state)[0], rows_BJ[i])


def followed(oracle: Oracle, history: tuple[str, ...]) -> tuple[str, ...]:
    """The longest end of a history, of less than N words, that some word follows: all of it that matters."""
    for length in range(min(len(history), oracle.order - 1), 0, -1):
        if oracle.after[length + 1].get(history[-length:]):
            return history[-length:]
    return ()


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "witten-bell"])
def test_states_are_equal_exactly_when_the_same_end_of_the_history_matters(order: int, smoothing: str) -> None:
    text = TEXTS["one sentence of each kind"]
    model = model_of(text, order=order, smoothing=smoothing)
    oracle = oracle_of(text, order=order, smoothing=smoothing)
    matters: dict[int, set[tuple[str, ...]]] = {}
    for history in itertools.product(["a", "b", "c", "d", "z"], repeat=3):
        for start in (True, False):
            state = int(model.state_after(model.window(history, start=start))[0])
            window = oracle.window(history, start=start)
            matters.setdefault(state, set()).add(followed(oracle, window))
    assert all(len(ends) == 1 for ends in matters.values())
    ends = [next(iter(ends)) for ends in matters.values()]
    assert len(set(ends)) == len(ends)


@settings(max_examples=30)
@given(
    text=TEXT_LISTS,
    order=st.integers(1, 5),
    edge=st.sampled_from(EDGES),
    histories=st.lists(st.lists(st.sampled_from("abcdez"), max_size=6), min_size=2, max_size=12),
    future=st.lists(st.sampled_from("abcdez"), max_size=5),
)
def test_equal_states_have_equal_futures(
    text: list[str], order: int, edge: str, histories: list[list[str]], future: list[str]
) -> None:
    model, oracle = model_of(text, order=order, edge=edge), oracle_of(text, order=order, edge=edge)
    groups: dict[int, list[list[str]]] = {}
    for history in histories:
        groups.setdefault(int(model.state_after(model.window(history))[0]), []).append(history)
    for same in groups.values():
        for other in same[1:]:
            assert oracle.distribution(other) == oracle.distribution(same[0])
            assert oracle.distribution(other + future) == oracle.distribution(same[0] + future)


def test_the_state_after_a_window_is_the_state_of_its_words() -> None:
    model = model_of(TEXT, order=3)
    words = model.vocabulary.encode("c a b")
    states = model.start()
    for word in words:
        states, _ = model.advance(states, np.array([word]))
    assert states == model.state_after(model.window("c a b"))
    assert states == model.state_after(np.array([[model.vocabulary.start, *words]], dtype=np.uint32))
    assert states == model.state_after(np.array([[NOTHING, NOTHING, *words]], dtype=np.uint32))


def test_a_new_sentence_and_nothing_forget_what_was_before() -> None:
    model = model_of(TEXT, order=3)
    states = model.state_after(model.window("a b"))
    words = np.array([model.vocabulary.start], dtype=np.uint32)
    again, log_probs = model.advance(states, words)
    assert np.array_equal(again, model.start())
    assert log_probs == 0
    empty, log_probs = model.advance(states, np.array([NOTHING], dtype=np.uint32))
    assert empty == 0
    assert log_probs == 0


@pytest.mark.parametrize("edge", EDGES)
def test_the_first_word_is_not_the_word_after_nothing(edge: str) -> None:
    text = ["a b"] * 3 + ["b a"]
    model, oracle = model_of(text, order=2, edge=edge), oracle_of(text, order=2, edge=edge)
    for start in (True, False):
        expected = oracle.distribution([], start=start)
        row = dict(zip(model.vocabulary.words, model.next_distribution("", start=start), strict=True))
        assert row == pytest.approx({word: float(p) for word, p in expected.items()})
    assert oracle.distribution([], start=True) != oracle.distribution([], start=False)


def test_texts_may_begin_without_a_sentence_start_and_hold_nothing() -> None:
    model = model_of(TEXT, order=3)
    a, b, c = model.vocabulary.encode("a b c").tolist()
    probs = model.word_probs(np.array([a, b, NOTHING, c, 1], dtype=np.uint32))
    oracle = oracle_of(TEXT, order=3)
    expected = [([], "a"), (["a"], "b"), None, ([], "c"), (["c"], END)]
    for p, query in zip(probs, expected, strict=True):
        assert p == pytest.approx(1.0 if query is None else float(oracle.probability(query[1], query[0], start=False)))


def test_the_compiled_arrays_hold_the_oracles_probabilities_and_backoffs() -> None:
    model, oracle = model_of(TEXT, order=3), oracle_of(TEXT, order=3)
    trie, vocabulary = model.compiled.trie, model.vocabulary
    for n in (1, 2, 3):
        entries = oracle.compiled(n)
        nodes = range(trie.levels[n], trie.levels[n + 1])
        for node, row in zip(nodes, trie.ngrams(n), strict=True):
            gram = tuple(vocabulary.decode(row))
            probability, backoff = entries.pop(gram)
            if gram != (START,):
                assert all_probs(model.compiled)[node] == pytest.approx(float(probability), rel=1e-12)
            if node < trie.contexts:
                assert model.compiled.nodes["backoff"][node] == pytest.approx(float(backoff), rel=1e-12)
        assert entries == {}
    assert UNKNOWN in vocabulary


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distributions_fill_an_array_that_is_given(dtype: type) -> None:
    model = model_of(TEXT, order=3, dtype=dtype)
    out_BJ: np.ndarray = np.empty((2, len(model.vocabulary)), dtype=dtype)
    states = np.concatenate((model.start(), model.state_after(model.window("a b"))))
    assert model.distributions(states, out_BJ) is out_BJ
    assert np.array_equal(out_BJ, model.distributions(states))


@pytest.mark.parametrize("shape", [(2, 4), (2, 400), (1, 10), (3, 10)])
def test_an_array_of_another_shape_is_refused(shape: tuple[int, int]) -> None:
    model = model_of(TEXT, order=3)  # ten words: a to h, </s> and <unk>
    with pytest.raises(ConfigError, match="2 rows of 10"):
        model.distributions(model.start(2), np.empty(shape))


def test_ids_outside_the_vocabulary_and_states_that_are_none_do_no_harm() -> None:
    model = model_of(TEXT, order=3)
    size = len(model.vocabulary)
    for word in (size + 1, 1 << 20, 0xFFFFFFF0, NOTHING):
        ids = np.array([size, 2, word, 2, 1], dtype=np.uint32)
        probs = model.word_probs(ids)
        assert probs[2] == 1
        assert probs[3] == model.next_distribution("", start=False)[2]
    wild = np.array([-1, 1 << 20, 1 << 40, model.compiled.trie.contexts], dtype=np.int64)
    _, log_probs = model.advance(wild, np.full(len(wild), 2, dtype=np.uint32))
    assert np.all(np.exp(log_probs) == model.next_distribution("", start=False)[2])
    assert np.all(model.distributions(wild) == model.next_distribution("", start=False))


def test_ids_of_any_whole_number_type_are_understood() -> None:
    model = model_of(TEXT, order=3)
    ids = flat_ids(model, SENTENCES)
    assert np.array_equal(model.word_probs(ids.astype(np.int64)), model.word_probs(ids))
    assert np.array_equal(model.word_probs(np.repeat(ids, 2)[::2]), model.word_probs(ids))
    assert len(model.word_probs(ids[:0])) == 0


@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "maximum-likelihood"])
def test_log_distributions_are_the_logarithms_of_distributions(smoothing: str) -> None:
    model = model_of(TEXTS["one sentence of each kind"], smoothing=smoothing)
    states = np.arange(model.compiled.contexts)
    with np.errstate(divide="ignore"):
        expected_BJ = np.log(model.distributions(states).astype(np.float64))
    assert model.log_distributions(states) == pytest.approx(expected_BJ, abs=1e-5)
