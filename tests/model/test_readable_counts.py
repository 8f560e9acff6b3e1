"""`NgramLM.fit` takes whatever `modlm ngram` takes, and refuses at once what could not work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from modlm.counts import count_text, export_counts
from modlm.errors import ConfigError
from modlm.model.folder import card_of
from modlm.model.ngram.arpa import save_arpa
from modlm.model.ngram.estimation import mixture_from_counts
from modlm.model.ngram.readable_counts import counts_at, counts_of
from modlm.model.ngram_lm import NgramLM
from modlm.text.corpus import Corpus

OLD = ["a b c a", "b c", "c a b"]
NEW = ["a c b", "b b c a"]


@pytest.fixture
def whole() -> NgramLM:
    """The model of both texts."""
    return NgramLM.fit(OLD + NEW, order=3, smoothing="witten-bell")


def same(model: NgramLM, other: NgramLM) -> bool:
    return model.order == other.order and bool(np.allclose(model.score_batch(OLD + NEW), other.score_batch(OLD + NEW)))


@pytest.mark.parametrize("kind", ["counts", "count file", "model", "corpus", "text"])
def test_counts_and_text_are_added_up(kind: str, whole: NgramLM, tmp_path: Path) -> None:
    place, new = tmp_path / "old", tmp_path / "new.txt"
    new.write_text("\n".join(NEW) + "\n", encoding="utf-8")
    counts = count_text(OLD, order=3)
    if kind == "counts":
        counts.save(place)
    elif kind == "count file":
        export_counts(counts, place)
    elif kind == "model":
        NgramLM.from_counts(counts).save(place)
    elif kind == "corpus":
        Corpus.from_text(OLD).save(place)
    else:
        place.write_text("\n".join(OLD) + "\n", encoding="utf-8")
    order = 3 if kind in ("corpus", "text") else None
    assert same(NgramLM.fit([place, new], order, smoothing="witten-bell"), whole)


def test_the_order_is_that_of_the_counts_unless_there_are_none(tmp_path: Path) -> None:
    count_text(OLD, order=2, edge="repeat").save(tmp_path / "counts")
    found = counts_of(tmp_path / "counts")
    assert (found.order, found.edge) == (2, "repeat")
    assert counts_of(OLD).order == NgramLM.fit(OLD, smoothing="witten-bell").order == 5
    for wrong in ({"order": 3}, {"edge": "once"}, {"max_words": 2}):
        with pytest.raises(ConfigError):
            NgramLM.fit(tmp_path / "counts", **wrong)


def test_what_cannot_be_estimated_is_refused_before_counting() -> None:
    def never() -> object:
        raise AssertionError("the text was read")
        yield

    for wrong in ({"smoothing": "none"}, {"prune": (1,)}, {"discounts": [[0.5]] * 4, "order": 3}):
        with pytest.raises(ConfigError):
            NgramLM.fit(never(), **wrong)


def test_bytes_that_are_not_utf8_are_replaced_if_asked(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a \xff b\n")
    model = NgramLM.fit(tmp_path / "text", 1, smoothing="witten-bell", encoding_errors="replace")
    assert "\ufffd" in model.vocabulary


def test_a_mixture_has_no_arpa_form_and_no_counts(whole: NgramLM, tmp_path: Path) -> None:
    whole.as_mixture().save(tmp_path / "mixture")
    with pytest.raises(ConfigError, match="Only n-gram models"):
        save_arpa(whole.as_mixture(), tmp_path / "arpa")
    with pytest.raises(ConfigError, match="has no counts"):
        counts_at(tmp_path / "mixture")


def test_a_card_has_a_title_facts_and_how_it_was_made() -> None:
    lines = card_of("Mine", ["small", "fast"], command="modlm ngram x").splitlines()
    assert lines[:4] == ["# Mine", "", "- small", "- fast"] and lines[-1] == "    modlm ngram x"
    assert card_of("Mine", []).splitlines()[-1].startswith("Made by modlm ")


def test_skip_n_grams_are_a_mixture_of_their_orders() -> None:
    counts = counts_of(OLD, positions=(3, 2))
    model = mixture_from_counts(counts, smoothing="witten-bell", extra=("uniform", "unknown"))
    assert model.column_names[-2:] == ("uniform", "unknown") and len(model.column_names) == 5
    assert model.next_distribution("a b").sum() == pytest.approx(1)
