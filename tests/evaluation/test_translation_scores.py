"""Scores of translations, which are sacrebleu's."""

from __future__ import annotations

import pytest

from modlm.errors import InputError
from modlm.evaluation.translation_scores import score_translations

sacrebleu = pytest.importorskip("sacrebleu")
REFERENCE = [f"the dog of house {number} sleeps all day" for number in range(20)]
WORSE = [f"a cat in house {number} sleeps" for number in range(20)]


def test_scores_are_those_of_sacrebleu() -> None:
    (bleu, chrf) = score_translations({"one": WORSE}, REFERENCE)["one"]
    assert bleu.score == sacrebleu.corpus_bleu(WORSE, [REFERENCE], tokenize="none").score
    assert chrf.score == sacrebleu.corpus_chrf(WORSE, [REFERENCE]).score
    assert bleu.p_value is None and "tok:none" in bleu.signature


def test_each_further_set_is_compared_with_the_first() -> None:
    found = score_translations({"worse": WORSE, "same": REFERENCE}, REFERENCE, draws=100)
    assert [own.metric for own in found["same"]] == ["BLEU", "chrF"]
    assert found["same"][0].score == pytest.approx(100)
    assert all(own.p_value is not None and own.p_value < 0.05 for own in found["same"])
    assert all(own.p_value is None for own in found["worse"])


def test_as_many_translations_as_references_are_needed() -> None:
    with pytest.raises(InputError, match="19 translations"):
        score_translations({"short": WORSE[:-1]}, REFERENCE)
