"""Neural mixtures as language models: along texts, step by step, as whole distributions, in documents."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from modlm.blocks import CONSTANT_BLOCKS, NOTHING
from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError
from modlm.evaluation import compare_models, perplexity_by_frequency, word_frequencies
from modlm.mixers import StaticMixer
from modlm.model.interpolation import interpolate
from modlm.model.language_model import LONGEST
from modlm.model.mixture import Mixture
from modlm.nets.net_mixer import NetMixer
from modlm.text import Corpus
from nets.small_mixtures import SENTENCES, SETTINGS, TEXT, ids_of, mixture_of
from small_texts import contexts_of, counts_of, model_of, windows_of


@pytest.fixture(params=SETTINGS)
def model(request: pytest.FixtureRequest) -> Mixture:
    return mixture_of(**SETTINGS[request.param])


def word(word_id: int) -> np.ndarray:
    return np.array([word_id], dtype=np.uint32)


# ---- probabilities ---------------------------------------------------------------------------------------------------


def test_scoring_a_text_is_advancing_through_it(model: Mixture) -> None:
    ids = ids_of(model, SENTENCES)
    log_probs = model.log_probs(ids)
    states = model.start()
    for t in range(1, len(ids)):
        expected = 1.0 if ids[t] == model.vocabulary.start else model.distributions(states)[0, ids[t]]
        states, step = model.advance(states, ids[t : t + 1])
        assert step[0] == pytest.approx(np.log(expected), abs=1e-5)
        assert log_probs[t] == pytest.approx(step[0], abs=1e-5)
    assert log_probs[0] == 0
    assert np.allclose(model.word_probs(ids), np.exp(log_probs))


def test_distributions_are_positive_and_sum_to_one_after_any_window(model: Mixture) -> None:
    windows_BC = windows_of(model.vocabulary, list(contexts_of(TEXT[:8])), length=9)
    probs_BJ = model.distributions(model.state_after(windows_BC))
    assert probs_BJ.shape == (len(windows_BC), len(model.vocabulary))
    assert np.all(probs_BJ > 0)
    assert np.allclose(probs_BJ.sum(axis=1), 1.0, atol=1e-6)


def test_columns_times_weights_are_the_probability(model: Mixture) -> None:
    windows_BC = windows_of(model.vocabulary, list(contexts_of(TEXT[:8])), length=9)
    words = (np.arange(len(windows_BC)) % len(model.vocabulary)).astype(np.uint32)
    names, probs_BK, weights_BK = model.shares(windows_BC, words)
    assert len(names) == probs_BK.shape[1] == weights_BK.shape[1] == len(model.layout.names)
    whole = model.distributions(model.state_after(windows_BC))[np.arange(len(words)), words]
    assert np.allclose((probs_BK * weights_BK).sum(axis=1), whole, rtol=1e-5)


def test_whole_columns_times_weights_are_the_next_word_distribution(model: Mixture) -> None:
    for context in ("", "a b c", "z a a a a"):
        columns_JK, weights_K = model.columns_after(model.window(context))
        assert columns_JK.shape == (len(model.vocabulary), len(model.column_names))
        assert np.allclose(columns_JK.sum(axis=0), 1.0) and weights_K.sum() == pytest.approx(1, abs=1e-6)
        assert np.allclose(columns_JK @ weights_K, model.next_distribution(context), atol=1e-7)


def test_weights_are_the_same_however_many_are_in_memory_at_once(
    model: Mixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ids_of(model, ["a b c d z z c b a a b"])
    _, _, whole_TK = model.shares_along(ids)
    monkeypatch.setattr("modlm.nets.net_mixer.CELLS", 1)
    assert np.allclose(model.shares_along(ids)[2], whole_TK, rtol=1e-5)


def test_every_word_of_a_sentence_is_explained_by_the_whole_sentence_before(model: Mixture) -> None:
    sentence = "a b z c a b"
    parts = model.explain(sentence)
    expected = model.log_probs(model.sentence_ids(sentence))[1:]
    assert np.allclose([np.log(part.probability) for part in parts], expected, atol=1e-5)
    assert [part.known for part in parts] == [True, True, False, True, True, True, True]
    for part in parts:
        assert sum(part.shares.values()) == pytest.approx(1)
        assert part.probability == pytest.approx(sum(part.columns[k] * part.weights[k] for k in part.columns))
        assert ("delta" in part.columns) == (model.layout.deltas > 0)


def test_the_next_words_are_those_of_the_distribution(model: Mixture) -> None:
    row = model.next_distribution("a b")
    best = model.next_words("a b", k=3)
    assert [p.probability for p in best] == pytest.approx(sorted(row.tolist(), reverse=True)[:3])
    assert all(sum(p.shares.values()) == pytest.approx(1) for p in best)


# ---- states ----------------------------------------------------------------------------------------------------------


def test_states_advance_side_by_side_as_they_do_alone(model: Mixture) -> None:
    windows_BC = windows_of(model.vocabulary, list(contexts_of(TEXT[:5])), length=7)
    words = (np.arange(len(windows_BC)) % (len(model.vocabulary) + 1)).astype(np.uint32)
    together, log_probs = model.advance(model.state_after(windows_BC), words)
    for i in range(len(windows_BC)):
        alone, own = model.advance(model.state_after(windows_BC[i : i + 1]), words[i : i + 1])
        assert own == pytest.approx(log_probs[i], abs=1e-5)
        assert np.array_equal(alone["words"], together["words"][i : i + 1])
        if model.mixer.state_size:
            assert np.allclose(alone["state"], together["state"][i : i + 1], atol=1e-5)


def test_equal_states_have_equal_futures(model: Mixture) -> None:
    first, second = (model.state_after(model.window("h g a b")) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert np.array_equal(first, second)
    assert np.array_equal(model.distributions(first), model.distributions(second))


def test_a_recurrent_model_looks_back_to_the_start_of_the_sentence(model: Mixture) -> None:
    far, near = (model.next_distribution(f"{first} c c c c c c") for first in "ab")
    assert np.array_equal(far, near) != (model.mixer.state_size > 0)
    assert (model.context_length > 1000) == (model.mixer.state_size > 0)


def test_a_new_sentence_forgets_what_was_before_unless_in_a_document(model: Mixture) -> None:
    states = model.state_after(model.window("a b c"))
    states, log_probs = model.advance(states, word(model.vocabulary.start))
    assert log_probs == 0
    assert np.array_equal(states, model.start()) != model.mixer.reads.document
    assert np.array_equal(states["words"], model.start()["words"])


def test_nothing_empties_the_context(model: Mixture) -> None:
    states, log_probs = model.advance(model.state_after(model.window("a b c")), word(NOTHING))
    assert log_probs == 0
    assert np.allclose(model.distributions(states)[0], model.next_distribution("", start=False), rtol=1e-6)


def test_bare_words_are_a_context_too(model: Mixture) -> None:
    empty = model.state_after(model.window("", start=False))
    one, _ = model.advance(empty, model.vocabulary.encode("a"))
    assert np.array_equal(one, model.state_after(model.window("a", start=False)))


def test_windows_of_any_length_mean_the_same(model: Mixture) -> None:
    contexts = list(contexts_of(TEXT[:5]))
    rows = [model.distributions(model.state_after(windows_of(model.vocabulary, contexts, length=n))) for n in (11, 15)]
    assert np.allclose(rows[0], rows[1], rtol=1e-5)


def test_no_states_and_no_text_give_empty_answers(model: Mixture) -> None:
    none = np.zeros(0, dtype=np.uint32)
    states, log_probs = model.advance(model.start(0), none)
    assert len(states) == len(log_probs) == len(model.word_probs(none)) == len(model.score_batch([])) == 0
    assert model.distributions(states).shape == (0, len(model.vocabulary))


# ---- pieces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 30])
def test_how_a_text_is_cut_up_does_not_matter(model: Mixture, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ids_of(model, SENTENCES * 3)
    expected = model.log_probs(ids)
    monkeypatch.setattr("modlm.model.mixture.CHUNK", size)
    monkeypatch.setattr("modlm.nets.net_mixer.POSITIONS", size)
    monkeypatch.setattr("modlm.nets.net_mixer.STRETCH", size)
    monkeypatch.setattr("modlm.model.mixture.WINDOWS", size)
    assert np.allclose(model.log_probs(ids), expected, atol=1e-5)
    cut = int(np.flatnonzero(ids == model.vocabulary.start)[4])
    pieces = [log_probs for _, log_probs in model.along([ids[:cut], ids[cut:]])]
    assert np.allclose(np.concatenate(pieces), expected, atol=1e-5)
    states = model.state_after(windows_of(model.vocabulary, list(contexts_of(TEXT[:2])), length=5))
    assert np.allclose(model.distributions(states).sum(axis=1), 1, atol=1e-6)


def test_sentences_are_scored_on_their_own_except_along_a_document(model: Mixture) -> None:
    alone = [model.score(sentence) for sentence in SENTENCES]
    assert np.allclose(model.score_batch(SENTENCES), alone, atol=1e-5)
    along = np.add.reduceat(model.log_probs(ids_of(model, SENTENCES)), Corpus.from_text(SENTENCES).starts[:-1])
    assert along[0] == pytest.approx(alone[0], abs=1e-5)
    assert np.allclose(along, alone, atol=1e-4) != model.mixer.reads.document


def test_the_perplexity_of_a_document_is_that_of_one_text() -> None:
    model = mixture_of(**SETTINGS["lstm over documents"])
    expected = model.log_probs(ids_of(model, SENTENCES)).sum()
    for text in (SENTENCES, Corpus.from_text(SENTENCES, model.vocabulary)):
        assert model.perplexity(text).log_likelihood == pytest.approx(expected, rel=1e-6)


def test_it_survives_pickling(model: Mixture) -> None:
    ids = ids_of(model, SENTENCES)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).log_probs(ids), model.log_probs(ids))


# ---- among others ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", ["feedforward hybrid, 3 words", "lstm hybrid"])
@pytest.mark.parametrize("words", [TEXT, ["a b c q", "q q"]], ids=["same words", "other words"])
def test_it_is_a_column_like_any_model(settings: str, words: list[str]) -> None:
    own = mixture_of(**SETTINGS[settings])
    vocabulary = counts_of(words).vocabulary
    blocks = {"net": ModelBlock(own, vocabulary), "uniform": CONSTANT_BLOCKS["uniform"](vocabulary)}
    mixture = Mixture(vocabulary, blocks, StaticMixer(np.array([0.75, 0.25])))
    assert mixture.window_length <= LONGEST
    ids = Corpus.from_text(SENTENCES, vocabulary).ids
    probs, states = mixture.word_probs(ids), mixture.start()
    for t in range(1, len(ids)):
        assert mixture.distributions(states).sum() == pytest.approx(1, abs=1e-6)
        states, log_probs = mixture.advance(states, ids[t : t + 1])
        assert np.exp(log_probs[0]) == pytest.approx(probs[t], rel=1e-5)
    parts = mixture.explain("a b c")
    assert np.allclose([p.probability for p in parts], mixture.word_probs(mixture.sentence_ids("a b c"))[1:], rtol=1e-5)


def test_it_is_a_column_of_another_neural_mixture() -> None:
    inner, outer = mixture_of(body="gru"), mixture_of(body="lstm", order=0)
    blocks = {"net": ModelBlock(inner, inner.vocabulary), **outer.blocks}
    from modlm.nets.mixer_net import MixerNet

    net = MixerNet(outer.mixer.net.config, vocab_size=len(inner.vocabulary), features=0, dense=3, delta=True, seed=1)
    model = Mixture(inner.vocabulary, blocks, NetMixer(net))
    ids = ids_of(model, SENTENCES)
    log_probs, states = model.log_probs(ids), model.start()
    for t in range(1, len(ids)):
        states, step = model.advance(states, ids[t : t + 1])
        assert step[0] == pytest.approx(log_probs[t], abs=1e-5)


def test_it_is_tuned_and_compared_with_other_models() -> None:
    net, ngram = mixture_of(), model_of(TEXT, order=2)
    result = interpolate({"net": net, "ngram": ngram}, SENTENCES)
    assert sum(result.weights.values()) == pytest.approx(1)
    assert result.history[-1] <= min(result.alone.values()) + 1e-9
    orders = interpolate({"net": net}, SENTENCES, over="orders", extra=["uniform"])
    assert set(orders.weights) == {"1-gram", "2-gram", "3-gram", "uniform"}
    comparison = compare_models([ngram, net], SENTENCES, rng=np.random.default_rng(0), draws=10)
    assert comparison.scores[1].perplexity == pytest.approx(net.perplexity(SENTENCES).perplexity, rel=1e-6)
    bands = perplexity_by_frequency(net, SENTENCES, word_frequencies(net, TEXT))
    assert bands[-1].perplexity == pytest.approx(net.perplexity(SENTENCES).perplexity, rel=1e-6)


def test_it_draws_sentences() -> None:
    model = mixture_of()
    words = list(model.generate(rng=np.random.default_rng(3)))
    assert words == list(model.generate(rng=np.random.default_rng(3)))
    assert all(word in model.vocabulary for word in words)


# ---- what does not fit -----------------------------------------------------------------------------------------------


def test_the_net_must_be_that_of_the_words_and_columns() -> None:
    model = mixture_of()
    with pytest.raises(ConfigError, match="made for 10 words, but the mixture has 4"):
        Mixture(counts_of(["a b"]).vocabulary, model.blocks, model.mixer)
    with pytest.raises(ConfigError, match=r"5 dense columns with 12 features, with .* \(ngram\) have 3"):
        Mixture(model.vocabulary, {"ngram": model.blocks["ngram"]}, model.mixer)
    other = {"uniform": CONSTANT_BLOCKS["uniform"](counts_of(["a b"]).vocabulary)}
    with pytest.raises(ConfigError, match="made for 10 words, but there are 4"):
        Mixture(counts_of(["a b"]).vocabulary, other, model.mixer)


def test_it_says_what_it_is_made_of() -> None:
    assert [mixture_of(**SETTINGS[name]).described()["model"] for name in SETTINGS][:5] == [
        "interpolated", "hybrid", "interpolated", "hybrid", "neural",
    ]  # fmt: skip
