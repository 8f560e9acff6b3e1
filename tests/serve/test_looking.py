"""`/explain`, `/why` and `/next`: columns, weights and shares are those of the models, and counts those of the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx2", reason="httpx2, which asks the server, is not installed")

from modlm.model.language_model import LanguageModel
from modlm.serve.answers import ExplainAnswer, NextAnswer, WhyAnswer
from serve.small_models import TEXT

Ask = Callable[..., Any]


def nearly(value: float | None) -> Any:
    """The same up to rounding, or nothing at all."""
    return None if value is None else pytest.approx(value, rel=1e-5)


# ---- /explain --------------------------------------------------------------------------------------------------------


def test_explanations_are_those_of_the_model(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    answer = ask("/explain", model=name, text="a b z\nc")
    ExplainAnswer.model_validate(answer)
    assert tuple(answer["columns"]) == models[name].column_names
    for record, sentence in zip(answer["sentences"], ["a b z", "c"], strict=True):
        for word, expected in zip(record["words"], models[name].explain(sentence), strict=True):
            assert (word["word"], word["known"]) == (expected.word, expected.known)
            assert word["probability"] == pytest.approx(expected.probability)
            assert word["columns"] == pytest.approx(list(expected.columns.values()))
            assert word["weights"] == pytest.approx(list(expected.weights.values()))
            assert word["shares"] == pytest.approx(list(expected.shares.values()))


def test_explained_texts_have_the_perplexities_of_scored_ones(ask: Ask, name: str) -> None:
    explained, scored = ask("/explain", model=name, text="a b z\nc"), ask("/score", model=name, text="a b z\nc")
    for key in ("log_prob", "perplexity", "perplexity_without_unknown", "predictions", "unknown", "impossible"):
        assert explained[key] == nearly(scored[key]), key
    for ours, theirs in zip(explained["sentences"], scored["sentences"], strict=True):
        assert ours["perplexity"] == nearly(theirs["perplexity"])


def test_five_thousand_words_are_explained(ask: Ask, models: dict[str, LanguageModel]) -> None:
    text = "\n".join(" ".join(TEXT[n % len(TEXT)].split() or ["a"]) for n in range(1500))
    words = len(text.split())
    assert words > 5000
    answer = ask("/explain", text=text)
    assert answer["predictions"] == words + 1500
    assert answer["perplexity"] == pytest.approx(float(models["ngram"].perplexity(text.split("\n"))))


# ---- /next -----------------------------------------------------------------------------------------------------------


def test_next_words_are_those_of_the_model(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    answer = ask("/next", model=name, context="a b", k=4)
    NextAnswer.model_validate(answer)
    assert "columns" not in answer
    for word, expected in zip(answer["words"], models[name].next_words("a b", 4), strict=True):
        assert word == {"word": expected.word, "probability": expected.probability, "shares": expected.shares}


def test_each_columns_own_words_come_with_its_weight(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    model = models[name]
    answer = ask("/next", model=name, context="a b", k=3, by_column=True)
    NextAnswer.model_validate(answer)
    columns_JK, weights_K = model.columns_after(model.window("a b"))
    assert list(answer["columns"]) == list(model.column_names)
    for column, (label, own) in enumerate(answer["columns"].items()):
        assert own["weight"] == pytest.approx(weights_K[column]), label
        best = np.sort(columns_JK[:, column])[::-1][:3]
        assert [word["probability"] for word in own["words"]] == pytest.approx(best[best > 0].tolist())


def test_rows_of_d_times_the_weights_are_the_probabilities(
    ask: Ask, models: dict[str, LanguageModel], name: str
) -> None:
    model = models[name]
    answer = ask("/next", model=name, context="a b", k=4, by_column=True)
    weights_K = [own["weight"] for own in answer["columns"].values()]
    row_J = model.next_distribution("a b")
    products = {row["word"]: np.dot(row["columns"], weights_K) for row in answer["rows"]}
    for word, product in products.items():
        assert product == pytest.approx(row_J[model.vocabulary.id(word)], rel=1e-5), word
    assert list(products.values()) == sorted(products.values(), reverse=True)
    own = [word["word"] for column in answer["columns"].values() for word in column["words"][:1]]
    assert {*own, *(word["word"] for word in answer["words"])} <= set(products)
    assert "rows" not in ask("/next", model=name, context="a b")


def test_more_words_than_there_are_give_all_of_them(ask: Ask, models: dict[str, LanguageModel]) -> None:
    answer = ask("/next", k=1000)
    assert len(answer["words"]) == len(models["ngram"].vocabulary)
    assert sum(word["probability"] for word in answer["words"]) == pytest.approx(1)


def test_a_context_from_the_middle_of_a_sentence_has_no_start(ask: Ask, models: dict[str, LanguageModel]) -> None:
    answer = ask("/next", context="a", k=2, start=False)
    assert answer["words"][0]["probability"] == models["ngram"].next_words("a", 1, start=False)[0].probability


# ---- /why ------------------------------------------------------------------------------------------------------------


def columns_in(answer: Any) -> list[Any]:
    return [column for block in answer["blocks"] for column in block["columns"]]


def test_why_adds_up_to_the_probability(ask: Ask, models: dict[str, LanguageModel], name: str) -> None:
    for context, word in (("a b", "c"), ("", "a"), ("z z", "</s>"), ("a", "z"), ("h h h", "h")):
        answer = ask("/why", model=name, context=context, word=word)
        WhyAnswer.model_validate(answer)
        row = models[name].next_distribution(context)
        assert answer["probability"] == pytest.approx(row[models[name].vocabulary.id(word)], rel=1e-5)
        columns = columns_in(answer)
        assert [column["column"] for column in columns] == list(models[name].column_names)
        assert sum(c["weight"] * c["probability"] for c in columns) == pytest.approx(answer["probability"])
        assert answer["known"] == (word != "z")
        better = sorted(row, reverse=True).index(row[models[name].vocabulary.id(word)])
        assert (answer["rank"], answer["vocab_size"]) == (better + 1, len(row))


def test_the_counts_of_an_ngram_are_those_of_the_text(ask: Ask) -> None:
    answer = ask("/why", context="b a", word="b")
    ngram, uniform = answer["blocks"]
    assert (ngram["kind"], ngram["smoothing"], uniform["kind"]) == ("ngram", "modified-kneser-ney", "uniform")
    assert answer["context"] == ["b", "a"] and [c["order"] for c in ngram["columns"]] == [1, 2, 3]
    sentences = [["<s>", *line.split(), "</s>"] for line in TEXT]
    for column in ngram["columns"]:
        gram = [*column["context"], "b"]
        found = sum(s[i : i + len(gram)] == gram for s in sentences for i in range(len(s)))
        assert column["occurrences"] == found, gram
    three = ngram["columns"][2]
    after = [s[i + 2] for s in sentences for i in range(len(s) - 2) if s[i : i + 2] == ["b", "a"]]
    assert (three["context"], three["total"], three["followers"]) == (["b", "a"], len(after), len(set(after)))
    assert (three["counted"], ngram["columns"][1]["counted"]) == ("occurrences", "continuations")


def test_a_share_from_an_index_comes_with_its_sentences(ask: Ask) -> None:
    long = ask("/why", model="infinite", context="b a", word="b")["blocks"][1]
    assert long["kind"] == "infinite"
    for column in long["columns"]:
        words = " ".join([*column["context"], "b"]).removeprefix("<s> ")
        assert column["count"] >= len(column["sources"]) > 0
        for source in column["sources"]:
            assert source["words"] == words and words in TEXT[source["line"] - 1]


def test_fallbacks_and_weights_follow_from_each_other(ask: Ask) -> None:
    columns = columns_in(ask("/why", context="b a", word="b"))
    left = 1.0
    for column in reversed(columns[:3]):
        assert column["weight"] == pytest.approx(left * (1 - column["fallback"]))
        left *= column["fallback"]
    assert columns[3]["weight"] == pytest.approx(left)


@pytest.mark.parametrize("name", ["arpa", "pruned"])
def test_a_model_without_counts_says_so_and_tells_what_it_has(ask: Ask, name: str) -> None:
    block = ask("/why", model=name, context="b a", word="b")["blocks"][0]
    assert "counts are not known" in block["note"]
    assert all(column["total"] is None for column in block["columns"])
    assert block["columns"][1]["seen"] and block["columns"][1]["followers"] > 0


def test_a_net_tells_how_much_it_trusts_the_other_columns(ask: Ask) -> None:
    answer = ask("/why", model="hybrid", context="a", word="b")
    delta = answer["blocks"][-1]
    assert delta["kind"] == "delta" and delta["columns"][0]["probability"] == 1
    assert answer["dense_mass"] == pytest.approx(sum(block["weight"] for block in answer["blocks"][:-1]))
    assert 0 < answer["dense_mass"] < 1
    assert answer["blocks"][0]["columns"][1]["total"] > 0
    assert ask("/why", model="ngram", word="b")["dense_mass"] is None


def test_a_model_inside_a_mixture_is_asked_in_its_turn(ask: Ask) -> None:
    answer = ask("/why", model="mixture", context="a", word="b")
    other = next(block for block in answer["blocks"] if block["name"] == "other")
    assert other["kind"] == "model"
    assert other["inside"]["blocks"][0]["columns"][1]["occurrences"] == 1  # "a b" in "a b q"
    assert other["inside"]["probability"] == pytest.approx(other["columns"][0]["probability"])
