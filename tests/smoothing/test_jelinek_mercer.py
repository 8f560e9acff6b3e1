"""Jelinek-Mercer's alphas: given ones are kept, learned ones make held-out words likelier, wrong ones are refused."""

from __future__ import annotations

import pytest

from modlm.errors import ConfigError
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing.jelinek_mercer import JelinekMercer
from small_texts import TEXTS

TEXT, HELD_OUT = TEXTS["random sentences"][::2], TEXTS["random sentences"][1::2]


def test_given_alphas_are_used_as_they_are() -> None:
    family = JelinekMercer(bounds=(1.5,), alphas=((0.1, 0.2), (0.3, 0.4)))
    model = NgramLM.fit(["a b", "a b", "a c"], order=2, smoothing=family)
    # After a: b b c, a mean count of 3 / 2, so the first bucket. Unigrams: a 3, b 2, c 1, </s> 3; their mean is 9 / 4.
    unigram = 0.8 * 2 / 9 + 0.2 / 5
    assert model.next_distribution("a")[model.vocabulary.id("b")] == pytest.approx(0.7 * 2 / 3 + 0.3 * unigram)


def test_learned_alphas_beat_fixed_ones_on_the_words_they_were_learned_from() -> None:
    learned = NgramLM.fit(TEXT, order=3, smoothing="jelinek-mercer", held_out=HELD_OUT)
    one_bucket = NgramLM.fit(TEXT, order=3, smoothing="jelinek-mercer:bounds=[]", held_out=HELD_OUT)
    fixed = NgramLM.fit(TEXT, order=3, smoothing="jelinek-mercer:bounds=[],alphas=[[0.5],[0.5],[0.5]]")
    ladder = [model.perplexity(HELD_OUT).perplexity for model in (learned, one_bucket, fixed)]
    assert ladder == sorted(ladder)
    assert ladder[0] < ladder[2]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"bounds": (2.0, 1.0)}, "bounds must rise"),
        ({"bounds": (1.0,), "alphas": ((0.5,),)}, "alphas must hold 2 numbers"),
        ({"bounds": (), "alphas": ((1.5,),)}, "between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters: dict[str, tuple[float, ...]], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        JelinekMercer(**parameters)  # type: ignore[arg-type]
