"""Online columns say what counting the text again before every word says, however the text is read and branched."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.blocks.block import Beside, one_each
from modlm.blocks.history import BRANCH, LEAST_ROOM, Memory
from modlm.blocks.online import OnlineBlock
from modlm.errors import ConfigError, ModlmError
from modlm.mixers import StaticMixer
from modlm.model.folder import load
from modlm.model.mixture import Mixture
from modlm.store.folder import Folder
from modlm.text.vocabulary import Vocabulary

WORDS = Vocabulary.from_words(list("abcde"))
START, SIZE = WORDS.start, len(WORDS)
WINDOW = np.zeros((1, 1), np.uint32)


def text_of(length: int, *, seed: int = 1, ends: float = 0.15) -> np.ndarray:
    """Ids of random sentences, some of them empty."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(2, SIZE, length)
    found = [START]
    for word, over in zip(drawn.tolist(), (rng.random(length) < ends).tolist(), strict=True):
        found += [1, START] if over else [word]
    return np.array([*found, 1], np.uint32)


def counted_again(ids: np.ndarray, order: int, words: int, decay: float, across: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and features by the definition: all places before, counted anew for every word."""
    half, before = words - words // 2, list[int]()
    probs_TK, features_TF = np.ones((len(ids), order)), np.zeros((len(ids), 4 * order))
    for t, word in enumerate(ids.tolist()):
        known_from = max(0, half * (len(before) // half - 1))
        context = list[int]()
        while len(context) < order - 1 and len(context) < len(before) and START not in context:
            context.append(before[-1 - len(context)])
        for k in range(order) if word < SIZE else ():
            probs_TK[t, k] = 1 / SIZE
            places = [
                place
                for place in range(known_from, len(before))
                if k <= len(context)
                and before[place] < SIZE
                and place >= k
                and before[place - k : place] == context[:k][::-1]
            ]
            if places:
                left = decay ** (places[-1] - np.array(places))
                own = np.array([before[place] for place in places])
                probs_TK[t, k] = left[own == word].sum() / left.sum()
                logs = np.log([left.sum(), len(set(own.tolist())), len(before) - places[-1]])
                features_TF[t, 4 * k : 4 * k + 4] = 1.0, *logs
        if word < SIZE or not across:
            before.append(word)
    return probs_TK, features_TF


@pytest.mark.parametrize(
    ("order", "words", "decay", "across"),
    [(1, 10**6, 1.0, False), (3, 10**6, 1.0, False), (4, 90, 1.0, False), (3, 101, 0.9, True), (2, 2, 0.5, False)],
)
def test_rows_are_what_counting_again_says(order: int, words: int, decay: float, across: bool) -> None:
    ids = text_of(250)
    block = OnlineBlock(WORDS, order=order, words=words, decay=decay, across=across)
    expected = counted_again(ids, order, words, decay, across)
    rows = block.rows(ids)
    assert np.allclose(rows.probs_TK, expected[0], atol=1e-12) and np.allclose(rows.features_TF, expected[1])
    memory_1 = one_each(None, 1)
    for t in range(len(ids)):  # and word by word
        row = block.rows_after(WINDOW, ids[t : t + 1], Beside(memory=memory_1))
        assert np.allclose(row.probs_TK, expected[0][t], atol=1e-12)
        assert ids[t] >= SIZE or np.allclose(row.features_TF, expected[1][t])
        memory_1 = block.remember(memory_1, ids[t : t + 1])


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 3000), max_size=6), words=st.sampled_from([40, 700, 10**6]), seed=st.integers(0, 9))
def test_however_it_is_cut_a_text_is_the_same(cuts: list[int], words: int, seed: int) -> None:
    """Pieces go onto branches or into logs, logs grow, fill up and are left behind."""
    ids = text_of(3000, seed=seed)
    assert len(ids) > 2 * LEAST_ROOM and len(ids) > BRANCH
    block, memory, found = OnlineBlock(WORDS, order=3, words=words), None, []
    whole = block.rows(ids)
    for piece in np.split(ids, sorted(cuts)):
        rows = block.rows(piece, Beside(memory=memory))
        memory = rows.memory
        found.append(np.concatenate((rows.probs_TK, rows.features_TF), axis=1))
    expected = np.concatenate((whole.probs_TK, whole.features_TF), axis=1)
    assert np.allclose(np.concatenate(found), expected, atol=1e-12)


def test_branches_do_not_know_of_each_other_and_the_trunk_stays() -> None:
    block, ids = OnlineBlock(WORDS, order=3), text_of(600)
    trunk = block.rows(ids).memory
    assert isinstance(trunk, Memory)
    before = block.after(WINDOW, Beside(memory=one_each(trunk, 1)))[0]
    tails = [text_of(length, seed=length) for length in (3, 40, 700, 900)]  # branches, and logs that must be copied
    after = [block.rows(tail, Beside(memory=trunk)) for tail in tails]
    for tail, rows in zip(tails, after, strict=True):
        alone = OnlineBlock(WORDS, order=3).rows(np.concatenate((ids, tail)))
        assert np.allclose(rows.probs_TK, alone.probs_TK[len(ids) :], atol=1e-12)
        assert np.allclose(rows.features_TF, alone.features_TF[len(ids) :])
    assert np.array_equal(block.after(WINDOW, Beside(memory=one_each(trunk, 1)))[0], before)


def test_hypotheses_share_what_they_have_read() -> None:
    """Going on by a word makes a node; long branches that agree in their older words share the log these go into."""
    block, ids = OnlineBlock(WORDS, order=3), text_of(3 * BRANCH, ends=0.01)
    memory_2 = one_each(block.rows(text_of(2000)).memory, 2)
    logs = set[int]()
    for t in range(1, 2 * BRANCH):
        words_2 = ids[t : t + 1].repeat(2)
        if t % BRANCH > BRANCH - 20:  # the last words differ
            words_2[1] = 2 + (words_2[0] - 1) % (SIZE - 2)
        memory_2 = block.remember(memory_2, words_2)
        logs |= {id(one.log) for one in memory_2} if t < BRANCH else set()
        if t == BRANCH - 1:
            memory_2[1] = block.remember(memory_2[:1], ids[t : t + 1])[0]
    assert len(logs) == 1
    assert all(one.behind <= BRANCH for one in memory_2)


def test_memory_stays_within_its_bound() -> None:
    block, ids = OnlineBlock(WORDS, order=3, words=4000), text_of(5000)
    memory, sizes = None, []
    for _ in range(10):
        memory = block.rows(ids, Beside(memory=memory)).memory
        logs = [memory.old, memory.log]
        assert all(log.length <= log.room == 2000 + log.lead and log.lead <= 2 for log in logs)
        sizes.append(sum(array.nbytes for log in logs for array in log.arrays))
    assert memory.read > 50_000
    assert max(sizes) <= sum(array.nbytes for array in memory.old.arrays) * 2
    assert len({*sizes[3:]}) <= 2  # a log is new or full, and nothing else grows


def test_a_large_vocabulary_and_faded_counts_are_proper() -> None:
    large = Vocabulary.from_words([f"w{n}" for n in range(49_152)])
    block = OnlineBlock(large, order=3, decay=0.9)
    ids = np.random.default_rng(1).integers(0, 300, 5000).astype(np.uint32) ** 2 % len(large)
    memory = block.rows(ids.astype(np.uint32)).memory
    columns_1JK, _ = block.after(WINDOW, Beside(memory=one_each(memory, 1)))
    assert np.allclose(columns_1JK.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_memories_can_be_sent_to_another_process() -> None:
    block, ids = OnlineBlock(WORDS, order=3), text_of(700)
    memory = block.rows(ids[:100], Beside(memory=block.rows(ids).memory)).memory
    again = pickle.loads(pickle.dumps(memory))
    here, there = (block.rows(ids, Beside(memory=own)).probs_TK for own in (memory, again))
    assert np.array_equal(here, there)


def test_settings_that_make_no_sense_are_refused(tmp_path: str) -> None:
    for wrong in ({"order": 0}, {"order": 33}, {"words": 1}, {"decay": 0.0}, {"decay": 1.5}):
        with pytest.raises(ConfigError):
            OnlineBlock(WORDS, **wrong)
    block = OnlineBlock(WORDS, order=2, words=50, decay=0.5, across=True)
    Mixture(WORDS, {"so-far": block}, StaticMixer(np.array([0.5, 0.5]))).save(f"{tmp_path}/model")
    again = load(f"{tmp_path}/model").blocks["so-far"]
    assert again.settings == block.settings == {"order": 2, "words": 50, "decay": 0.5, "across": True}
    told = {"order": 2, "words": "many", "decay": 1.0, "across": False}

    for wrong, said in (({**told}, "must be numbers"), ({"order": 2, "depth": 3}, "not those of such a block")):
        with pytest.raises(ModlmError, match=said):
            OnlineBlock.from_parts(Folder(Path("here"), "model", {"kind": "online", **wrong}, {}, ()), WORDS)
