"""Sessions out of the names of utterances, and parts that share none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modlm.errors import ConfigError
from modlm.evaluation.rescored_lists import development_part, sessions_of


def test_a_session_is_the_name_without_its_last_number() -> None:
    names = ["t/a-1#0", "t/a-1#1", "t/a-2#0", "spk_007", "spk_008", "1089-134-0001", "alone", "t"]
    assert sessions_of(names).tolist() == [0, 0, 1, 2, 2, 3, 4, 5]


def test_numbers_alone_are_no_sessions() -> None:
    assert sessions_of(["utt-1", "utt-2", "utt-3"]).tolist() == [0, 1, 2]
    assert sessions_of(["0", "1", "2"]).tolist() == [0, 1, 2]


def test_a_pattern_names_them() -> None:
    names = ["1089-134-0001", "1089-135-0000", "121-1-0000"]
    assert sessions_of(names, "[0-9]+").tolist() == [0, 0, 1]
    assert sessions_of(names, "(1)0?").tolist() == [0, 0, 0]
    assert sessions_of(names, "108").tolist() == [0, 0, 1]
    with pytest.raises(ConfigError, match="not a regular expression"):
        sessions_of(names, "(")


def test_an_utterance_called_like_a_session_is_not_in_it() -> None:
    assert sessions_of(["a-1", "a-2", "a"]).tolist() == [0, 0, 1]


@given(
    sessions=st.lists(st.integers(0, 9), min_size=2, max_size=60).filter(lambda own: len(set(own)) > 1),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 5),
)
def test_no_session_is_in_both_parts_and_neither_is_empty(sessions: list[int], share: float, seed: int) -> None:
    own = np.unique(sessions, return_inverse=True)[1]
    chosen = development_part(own, share, rng=np.random.default_rng(seed))
    assert chosen.any() and not chosen.all()
    assert not set(own[chosen]) & set(own[~chosen])
    assert (chosen == development_part(own, share, rng=np.random.default_rng(seed))).all()


def test_the_share_is_met_within_a_session() -> None:
    sessions = np.repeat(np.arange(100), 7)
    chosen = development_part(sessions, 0.3, rng=np.random.default_rng(1))
    assert 0.3 <= chosen.mean() <= 0.31


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(ConfigError, match="one session"):
        development_part(np.zeros(5, np.int64), 0.5, rng=np.random.default_rng(1))
    with pytest.raises(ConfigError, match=r"between 0 and 1, but is 1\.5"):
        development_part(np.arange(5), 1.5, rng=np.random.default_rng(1))
