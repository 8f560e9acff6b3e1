"""`/score`, `/rescore` and `/compare`: what the models themselves say, as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from modlm.evaluation.rescoring import IMPOSSIBLE
from modlm.model.language_model import LanguageModel
from modlm.serve.answers import CompareAnswer, RescoreAnswer, ScoreAnswer

Ask = Callable[..., Any]
SENTENCES = ["a b c", "", "z a b", "a a a a a a a a", "h g  f\te"]


def test_a_sentence_has_the_models_own_score(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    answer = ask("/score", model=name, sentences=SENTENCES)
    ScoreAnswer.model_validate(answer)
    assert answer["model"] == name
    for sentence, record in zip(SENTENCES, answer["sentences"], strict=True):
        expected = models[name].score(sentence)
        if math.isinf(expected):
            assert (record["log_prob"], record["perplexity"]) == (None, None)
            continue
        predictions = len(sentence.split()) + 1
        assert record["log_prob"] == pytest.approx(expected, rel=1e-5)
        assert record["perplexity"] == pytest.approx(math.exp(-expected / predictions), rel=1e-5)
        assert record["words"] == predictions - 1
        assert record["unknown"] == sum(word not in models[name].vocabulary for word in sentence.split())


def test_a_text_is_the_sentences_on_its_lines(ask: Ask) -> None:
    as_text = ask("/score", text="a b c\r\n\nz a b\n")
    assert as_text == ask("/score", sentences=["a b c", "", "z a b"])


def test_the_sums_are_those_that_modlm_eval_prints(ask: Ask, models: dict[str, LanguageModel]) -> None:
    answer, expected = ask("/score", sentences=SENTENCES), models["ngram"].perplexity(SENTENCES)
    for key in ("perplexity", "perplexity_without_unknown", "predictions", "unknown", "impossible"):
        assert answer[key] == pytest.approx(expected.as_dict()[key]), key
    assert answer["log_prob"] == pytest.approx(expected.log_likelihood)


def test_words_are_scored_one_by_one_on_request(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    for record, sentence in zip(
        ask("/score", model=name, sentences=SENTENCES, words=True)["sentences"], SENTENCES, strict=True
    ):
        scores = record["scores"]
        assert [score["word"] for score in scores] == [*sentence.split(), "</s>"]
        assert [score["known"] for score in scores] == [word["word"] != "z" for word in scores]
        if record["log_prob"] is not None:
            assert sum(score["log_prob"] for score in scores) == pytest.approx(record["log_prob"])


def test_a_sentence_with_probability_zero_is_null_and_counted(ask: Ask) -> None:
    answer = ask("/score", model="unseen", sentences=["x", "a"], words=True)  # maximum likelihood, and x never seen
    first = answer["sentences"][0]
    assert (first["log_prob"], first["perplexity"], first["impossible"]) == (None, None, 1)
    assert first["scores"][0] == {"word": "x", "log_prob": None, "known": True}
    assert answer["log_prob"] is None and answer["perplexity"] is None and answer["impossible"] >= 1


def test_sentences_of_a_document_model_do_not_depend_on_their_neighbours(ask: Ask) -> None:
    alone = ask("/score", model="document", sentences=["a b"])["sentences"][0]
    among = ask("/score", model="document", sentences=["c d e", "a b"])["sentences"][1]
    assert among["log_prob"] == pytest.approx(alone["log_prob"], rel=1e-6)


def test_names_of_files_are_sentences_like_any_other(ask: Ask) -> None:
    assert ask("/score", sentences=[__file__])["sentences"][0]["unknown"] == 1


@pytest.mark.parametrize("odd", ["\ufeffa b", "a\0b", "a\u2028b", "a\u00a0b", "\x1ca", "\U0001f600 a", "a\rb", "\v"])
def test_odd_characters_are_words_or_white_space_as_in_files(ask: Ask, odd: str) -> None:
    answer = ask("/score", sentences=[odd, "a"], words=True)
    assert [len(record["scores"]) - 1 for record in answer["sentences"]] == [r["words"] for r in answer["sentences"]]


# ---- /rescore --------------------------------------------------------------------------------------------------------


def test_lists_are_ordered_by_score_and_weighted_log_probability(ask: Ask, models: dict[str, LanguageModel]) -> None:
    hyps = [{"text": "h h h", "score": 1.0}, {"text": "a b"}, {"text": "a", "score": -0.5}]
    answer = ask(
        "/rescore", nbest=[{"hyps": hyps}, {"hyps": hyps[:1]}], lm_weight=0.5, word_penalty=0.25, rank_weight=-2
    )
    RescoreAnswer.model_validate(answer)
    expected = [
        float(hyp.get("score", 0.0))
        + 0.5 * models["ngram"].score(str(hyp["text"]))
        + 0.25 * len(str(hyp["text"]).split())
        - 2 * math.log(place)
        for place, hyp in enumerate(hyps, start=1)
    ]
    first, second = answer["lists"]
    assert [hyp["score"] for hyp in first["hyps"]] == pytest.approx(expected)
    assert first["order"] == sorted(range(3), key=lambda place: -expected[place])
    assert first["text"] == hyps[first["best"]]["text"] and first["best"] == first["order"][0]
    assert second["order"] == [0]


def test_equal_hypotheses_keep_their_order_and_impossible_ones_come_last(ask: Ask) -> None:
    hyps = [{"text": "x"}, {"text": "a"}, {"text": "a"}]
    answer = ask("/rescore", model="unseen", nbest=[{"hyps": hyps}])["lists"][0]
    assert answer["order"] == [1, 2, 0]
    assert answer["hyps"][0] == {"log_prob": None, "score": IMPOSSIBLE, "words": 1}
    weightless = ask("/rescore", model="unseen", nbest=[{"hyps": hyps}], lm_weight=0.0)["lists"][0]
    assert weightless["order"] == [0, 1, 2]  # no weight, no opinion


# ---- /compare --------------------------------------------------------------------------------------------------------


def test_words_are_compared_side_by_side(ask: Ask, models: dict[str, LanguageModel]) -> None:
    names = ["ngram", "hybrid", "arpa"]
    answer = ask("/compare", models=names, text="a b z\nc")
    CompareAnswer.model_validate(answer)
    assert [model["model"] for model in answer["models"]] == names
    for column, name in enumerate(names):
        for record, sentence in zip(answer["sentences"], ["a b z", "c"], strict=True):
            total = sum(word["log_probs"][column] for word in record["words"])
            assert total == pytest.approx(models[name].score(sentence), rel=1e-5)
            assert record["models"][column]["log_prob"] == pytest.approx(total)
    assert [word["known"] for word in answer["sentences"][0]["words"]] == [
        [True] * 3,
        [True] * 3,
        [False] * 3,
        [True] * 3,
    ]


def test_gains_of_the_second_model_are_in_bits_over_all_occurrences(ask: Ask) -> None:
    answer = ask("/compare", models=["ngram", "hybrid"], text="a b a\nc a")
    words = [word for record in answer["sentences"] for word in record["words"]]
    for change in (*answer["gained"], *answer["lost"]):
        own = [word["log_probs"] for word in words if word["word"] == change["word"]]
        assert change["occurrences"] == len(own)
        assert change["bits"] == pytest.approx(sum(second - first for first, second in own) / math.log(2))
    assert all(change["bits"] > 0 for change in answer["gained"])
    assert all(change["bits"] < 0 for change in answer["lost"])
    assert len(answer["gained"]) + len(answer["lost"]) == len({word["word"] for word in words})


def test_a_word_without_probability_is_null_and_no_gain(ask: Ask) -> None:
    answer = ask("/compare", models=["ngram", "unseen"], text="x")
    assert answer["sentences"][0]["words"][0]["log_probs"][1] is None
    assert all(change["word"] != "x" for change in (*answer["gained"], *answer["lost"]))


def test_one_model_can_be_compared_with_nothing(ask: Ask) -> None:
    answer = ask("/compare", models=["ngram"], text="a")
    assert (answer["gained"], answer["lost"]) == ([], [])
