"""Shallow fusion: rows of log-probabilities, states that follow and recombine, and a beam search that uses them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.integrations.spoken import TEXT, word_model

from modlm.errors import ConfigError
from modlm.integrations.fusion import ShallowFusion, decoder_tokens
from modlm.integrations.steps import LOWEST
from modlm.model.language_model import LanguageModel
from modlm.text.tokens import TokenVocabulary
from modlm.text.vocabulary import END
from small_texts import model_of
from small_tokenizers import byte_level

MODEL = word_model()
TOKENS = ["<pad>", "the", "cat", "dog", "zebra", "sat", "<eos>"]


def fusion_of(model: LanguageModel = MODEL, *, weight: float = 0.5) -> ShallowFusion:
    return ShallowFusion(model, TOKENS, weight=weight, end="<eos>", silent=["<pad>"], unknown_offset=-2.0)


def states_after(fusion: ShallowFusion, *sentences: str) -> np.ndarray:
    rows = []
    for sentence in sentences:
        state = fusion.start()
        for word in sentence.split():
            state = fusion.follow(state, np.array([TOKENS.index(word)]))
        rows.append(state)
    return np.concatenate(rows)


def test_rows_are_weighted_log_probabilities_of_the_decoders_tokens() -> None:
    fusion = fusion_of()
    rows_BJ, _ = fusion.advance(states_after(fusion, "the cat", "the", ""))
    assert rows_BJ.shape == (3, len(TOKENS))
    for row, context in zip(rows_BJ, ["the cat", "the", ""], strict=True):
        logs = np.log(MODEL.next_distribution(context))
        known = [MODEL.vocabulary.id(word) for word in ("the", "cat", "dog", "sat")]
        assert row[[1, 2, 3, 5]] == pytest.approx(0.5 * logs[known])
        assert row[4] == pytest.approx(0.5 * (logs[0] - 2.0))  # <unk>, and the offset
        assert row[6] == pytest.approx(0.5 * logs[1])  # </s>
        assert row[0] == 0.0


def test_the_models_own_words_are_the_default() -> None:
    fusion = ShallowFusion(MODEL)
    assert np.exp(fusion.advance(fusion.start(2))[0]).sum(axis=1) == pytest.approx(1.0)
    assert fusion.tokens == MODEL.vocabulary.words


def test_silent_tokens_leave_the_state() -> None:
    fusion = fusion_of()
    states = states_after(fusion, "the cat", "the dog")
    moved = fusion.follow(states, np.array([TOKENS.index("<pad>"), TOKENS.index("sat")]))
    assert (moved[0] == states[0]).all() and (moved[1] != states[1]).any()


def test_the_start_of_a_sentence_must_be_silent() -> None:
    with pytest.raises(ConfigError, match="<s> is no word"):
        ShallowFusion(MODEL, ["<s>", "the"])
    fusion = ShallowFusion(MODEL, ["<s>", "the"], silent=["<s>"])
    assert fusion.advance(fusion.start())[0][0, 0] == 0.0


def test_impossible_tokens_stay_finite() -> None:
    fusion = fusion_of(model_of(TEXT, smoothing="maximum-likelihood", vocabulary=["the", "cat", "zebra"]), weight=0.5)
    assert fusion.advance(fusion.start())[0].min() >= 0.5 * (LOWEST - 2.0)


def test_equal_states_are_recombined_to_the_best() -> None:
    fusion = fusion_of()
    states = states_after(fusion, "dog the cat", "the cat", "zebra the cat", "the dog")
    scores = np.array([-3.0, -9.0, -1.0, -5.0])
    assert fusion.recombine(states, scores).tolist() == [2, 3]  # two words of context: the first three are one
    assert fusion.recombine(states, scores, keys_B=np.array([7, 7, 8, 8])).tolist() == [0, 2, 3]


def models() -> list[LanguageModel]:
    found: list[LanguageModel] = [MODEL]
    try:
        import torch  # noqa: F401
    except ImportError:
        return found
    from nets.small_mixtures import mixture_of

    return [*found, mixture_of(TEXT), mixture_of(TEXT, body="feedforward", inputs=("counts",), delta=False)]


@pytest.mark.parametrize("model", models(), ids=["n-gram", "hybrid", "interpolated"][: len(models())])
def test_a_beam_search_finds_what_all_sentences_show(model: LanguageModel) -> None:
    """With a beam as wide as the space, the search must agree with scoring every sentence as a whole."""
    words, weight, length = ["the", "cat", "dog", "sat"], 0.8, 3
    decoder_TJ = np.log(np.random.default_rng(4).dirichlet(np.ones(len(words)), size=length))
    fusion = ShallowFusion(model, [*words, "</s>"], weight=weight)
    states, scores, paths = fusion.start(1), np.zeros(1), [()]
    for frame in decoder_TJ:
        total_BJ = scores[:, None] + frame + fusion.advance(states)[0][:, : len(words)]
        parents, chosen = np.divmod(np.arange(total_BJ.size), len(words))
        states, scores = fusion.follow(states[parents], chosen), total_BJ.ravel()
        paths = [(*paths[parent], words[token]) for parent, token in zip(parents, chosen, strict=True)]
    scores = scores + fusion.advance(states)[0][:, -1]
    for path, score in zip(paths, scores, strict=True):
        heard = sum(frame[words.index(word)] for frame, word in zip(decoder_TJ, path, strict=True))
        assert score == pytest.approx(heard + weight * model.score(list(path)), abs=1e-4)
    best = max(product(words, repeat=length), key=lambda path: _total(model, decoder_TJ, words, path, weight))
    assert paths[int(np.argmax(scores))] == best


def _total(
    model: LanguageModel, decoder_TJ: np.ndarray, words: list[str], path: tuple[str, ...], weight: float
) -> float:
    heard = sum(frame[words.index(word)] for frame, word in zip(decoder_TJ, path, strict=True))
    return float(heard + weight * model.score(list(path)))


def test_recombination_loses_nothing() -> None:
    """The best sentence of a search that keeps one hypothesis a state is the best of all."""
    words, length = ["the", "cat", "dog", "sat"], 4
    decoder_TJ = np.log(np.random.default_rng(9).dirichlet(np.ones(len(words)), size=length))
    fusion = ShallowFusion(MODEL, [*words, "</s>"])
    states, scores, paths = fusion.start(1), np.zeros(1), [()]
    for frame in decoder_TJ:
        total_BJ = scores[:, None] + frame + fusion.advance(states)[0][:, : len(words)]
        parents, chosen = np.divmod(np.arange(total_BJ.size), len(words))
        states, scores = fusion.follow(states[parents], chosen), total_BJ.ravel()
        kept = fusion.recombine(states, scores)
        paths = [(*paths[parents[place]], words[chosen[place]]) for place in kept]
        states, scores = states[kept], scores[kept]
    assert len(paths) < len(words) ** length / 4
    scores = scores + fusion.advance(states)[0][:, -1]
    best = max(product(words, repeat=length), key=lambda path: _total(MODEL, decoder_TJ, words, path, 1.0))
    assert paths[int(np.argmax(scores))] == best


def test_states_after_every_token_are_those_that_follow() -> None:
    fusion = fusion_of()
    states = states_after(fusion, "the cat", "the", "")
    _, after = fusion.advance(states)
    parents, tokens = np.array([2, 0, 0, 1]), np.array([1, 5, 2, 0])
    assert np.array_equal(after[parents, tokens], fusion.follow(states[parents], tokens))


def test_batched_is_one_by_one() -> None:
    fusion = fusion_of()
    states = states_after(fusion, "the cat", "the", "", "zebra", "the dog sat")
    rows_BJ, after = fusion.advance(states)
    for place in range(len(states)):
        row_1J, alone = fusion.advance(states[place : place + 1])
        assert np.array_equal(row_1J[0], rows_BJ[place])
        assert np.array_equal(alone[[0], [2]], after[[place], [2]])


def test_a_second_model_is_subtracted() -> None:
    other = model_of(["a zebra saw a dog", "the zebra sat"], order=2)
    both = ShallowFusion(MODEL, TOKENS, weight=0.5, end="<eos>", silent=["<pad>"], minus=(other, 0.2))
    plus, less = (
        ShallowFusion(model, TOKENS, weight=weight, end="<eos>", silent=["<pad>"])
        for model, weight in ((MODEL, 0.5), (other, 0.2))
    )
    sentence = np.array([1, 2, 5])
    states, first, second = both.start(2), plus.start(2), less.start(2)
    for token in sentence.repeat(2).reshape(-1, 2):
        expected_BJ = plus.advance(first)[0] - less.advance(second)[0]
        assert both.advance(states)[0] == pytest.approx(expected_BJ, abs=1e-5)
        states, first, second = (f.follow(s, token) for f, s in ((both, states), (plus, first), (less, second)))
    heard_BJ = np.log(np.random.default_rng(1).dirichlet(np.ones(len(TOKENS)), size=2)).astype(np.float32)
    assert both.fused(states, heard_BJ) == pytest.approx(heard_BJ + both.advance(states)[0])


def test_the_decoders_end_changes_places_with_the_token_that_a_vocabulary_took_for_it() -> None:
    vocabulary = TokenVocabulary.from_tokenizer(byte_level())
    end = vocabulary.special[0]
    taken = int(vocabulary.theirs[END])
    assert taken != end
    names = decoder_tokens(vocabulary, end)
    assert names[end] == "</s>" and names[taken] == vocabulary.word(int(vocabulary.ours[end]))
    assert sorted(names) == sorted(vocabulary.words)
