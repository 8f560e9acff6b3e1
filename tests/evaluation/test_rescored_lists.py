"""Error rates before and after, worked out by hand on four utterances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from modlm.errors import ConfigError, InputError
from modlm.evaluation.rescored_lists import Prepared, measured, prepare, refuse_shared, rescore
from modlm.evaluation.rescoring import LM, Weights
from modlm.formats.nbest import read_nbest
from small_texts import model_of

LISTS = """\
{"utt": "s1#0", "ref": "a b c", "nbest": [{"hyp": "a b", "score": -1}, {"hyp": "a b c", "score": -3}]}
{"utt": "s1#1", "ref": "a", "nbest": [{"hyp": "d", "score": -2}, {"hyp": "a", "score": -1}]}
{"utt": "s2#0", "ref": "b b", "nbest": [{"hyp": "c d", "score": -1}]}
{"utt": "s3#0", "ref": "c c", "nbest": [{"hyp": "c c", "score": -1}, {"hyp": "a b", "score": -2}]}
"""
MODEL = model_of(["a b c", "a b c", "a", "b b", "d"])


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    (tmp_path / "lists").write_text(LISTS)
    return prepare(MODEL, read_nbest(tmp_path / "lists"))


def test_every_hypothesis_is_scored_and_its_errors_counted(prepared: Prepared) -> None:
    hypotheses = ["a b", "a b c", "d", "a", "c d", "c c", "a b"]
    assert prepared.lists.features_HF[:, LM] == pytest.approx([MODEL.score(text) for text in hypotheses])
    assert prepared.errors["words"].distances.tolist() == [1, 0, 1, 0, 2, 0, 2]
    assert prepared.errors["characters"].distances.tolist() == [2, 0, 1, 0, 2, 0, 2]
    assert prepared.sessions_U.tolist() == [0, 0, 1, 2]
    assert (prepared.scores, prepared.floor, prepared.unknown, prepared.impossible) == ("log", 0.0, 0.0, 0)


def test_rates_of_all_systems(prepared: Prepared) -> None:
    everything = np.ones(4, dtype=bool)
    found = measured(prepared, everything, Weights(0.0, 3.0), rng=np.random.default_rng(1), draws=500)
    errors = {system: rate.errors for system, rate in found.rates["words"].items()}
    # first hypotheses: 1 + 1 + 2 + 0; best scores: 1 + 0 + 2 + 0; with 3 a word "a b c" wins; the best possible: 2
    assert errors == {"first pass": 4, "best score": 3, "rescored": 2, "oracle": 2}
    assert found.rates["words"]["rescored"].rate == pytest.approx(2 / 8)
    assert found.rates["characters"]["first pass"].length == len("a b c") + len("a") + len("b b") + len("c c")
    assert (found.utterances, found.sessions, found.changed) == (4, 3, 2)
    change = found.changes["words"]
    assert change.difference == pytest.approx(-2 / 8)
    assert change.low <= change.difference <= change.high <= 0
    assert 0.5 < change.better <= 1


def test_a_part_is_measured_alone(prepared: Prepared) -> None:
    part = np.array([False, False, True, True])
    found = measured(prepared, part, Weights(0.0), rng=np.random.default_rng(1), draws=10)
    assert (found.utterances, found.rates["words"]["first pass"].errors) == (2, 2)


def test_the_same_seed_gives_the_same_intervals(prepared: Prepared) -> None:
    part = np.ones(4, dtype=bool)
    one, other = (
        measured(prepared, part, Weights(), rng=np.random.default_rng(4), draws=50).as_dict() for _ in range(2)
    )
    assert one == other


def test_references_without_words_have_no_rate(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text('{"utt": "u", "ref": "", "nbest": [{"hyp": "a", "score": 1}]}\n')
    prepared = prepare(MODEL, read_nbest(tmp_path / "lists"))
    with pytest.raises(InputError, match="no words"):
        measured(prepared, np.array([True]), Weights(), rng=np.random.default_rng(1), draws=10)


def test_what_cannot_be_tuned_is_refused_or_left(prepared: Prepared, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="words or characters"):
        rescore(prepared, unit="phones")
    (tmp_path / "bare").write_text("u-1 -1 a\nu-2 -2 b\n")
    found = rescore(prepare(MODEL, read_nbest(tmp_path / "bare")))
    assert (found.weights, found.tuned, found.measured) == (Weights(), [], {})


def test_parts_must_not_share_utterances(prepared: Prepared) -> None:
    with pytest.raises(InputError, match="'s1#0' is in"):
        refuse_shared(prepared.nbest, prepared.nbest)
