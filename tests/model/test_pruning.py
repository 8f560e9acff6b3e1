"""Pruned models: what goes, that nothing else changes, and that what is left is proper."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from modlm.errors import ConfigError, ModelFolderError
from modlm.ground.arrays import Bools
from modlm.model.ngram.arpa import to_arpa
from modlm.model.ngram.compiled import Compiled, compile_estimates
from modlm.model.ngram.pruning import (
    check_thresholds,
    keep_nodes,
    prune_by_count,
    prune_by_entropy,
    with_new_backoffs,
    worth_keeping,
)
from modlm.model.ngram_lm import NgramLM
from modlm.smoothing import SMOOTHERS, estimate
from oracle import Oracle
from small_texts import EDGES, all_probs, counts_of, flat_ids, model_of

RANDOM = random.Random(5)
TEXT = [" ".join(RANDOM.choices("abcdef", [9, 6, 4, 2, 1, 1], k=RANDOM.randint(0, 8))) for _ in range(50)]
OTHER = [" ".join(RANDOM.choices("abcdefz", k=RANDOM.randint(0, 9))) for _ in range(30)]

Gram = tuple[int, ...]
Entries = dict[Gram, tuple[float, float]]


def entries_of(compiled: Compiled) -> Entries:
    """Probability and backoff of every n-gram."""
    entries: Entries = {}
    probs = all_probs(compiled).tolist()
    for order in range(1, compiled.trie.order + 1):
        nodes = range(compiled.trie.levels[order], compiled.trie.levels[order + 1])
        for node, gram in zip(nodes, compiled.trie.ngrams(order).tolist(), strict=True):
            backoff = float(compiled.nodes["backoff"][node]) if node < compiled.trie.contexts else 1.0
            entries[tuple(gram)] = probs[node], backoff
    return entries


def query(entries: Entries, gram: Gram) -> float:
    """P of the last word after the others, by backing off."""
    if gram in entries:
        return entries[gram][0]
    return entries.get(gram[:-1], (1.0, 1.0))[1] * query(entries, gram[1:])


def assert_proper(compiled: Compiled, tolerance: float = 1e-9) -> None:
    sums = compiled.distributions(np.arange(compiled.trie.contexts)).sum(axis=1, dtype=np.float64)
    assert np.abs(sums - 1).max() < tolerance


# By entropy


def marginal(entries: Entries, context: Gram, start: int) -> float:
    """P of the words of a context, one after the other; `<s>` is as likely as `</s>`, a second one is certain."""
    p = 1.0
    for i, word in enumerate(context):
        if word != start:
            p *= query(entries, context[: i + 1])
        elif i == 0:
            p *= entries[1,][0]
    return p


def without(entries: Entries, gram: Gram, words: range) -> list[float]:
    """The distribution after the n-gram's context when the n-gram is gone and the context's backoff makes up for it."""
    context = gram[:-1]
    explicit = {w for w in words if (*context, w) in entries} - {gram[-1]}
    left = 1 - sum(entries[(*context, w)][0] for w in explicit)
    backoff = left / (1 - sum(query(entries, (*context[1:], w)) for w in explicit))
    return [entries[(*context, w)][0] if w in explicit else backoff * query(entries, (*context[1:], w)) for w in words]


def kept_by_definition(model: NgramLM, threshold: float) -> set[Gram]:
    """All n-grams whose removal costs too much, by the whole distributions before and after, and their contexts."""
    entries, words, start = entries_of(model.compiled), range(len(model.vocabulary)), len(model.vocabulary)
    kept = {gram for gram in entries if len(gram) == 1 or gram[-1] == start}
    for gram in sorted(entries, key=len, reverse=True):
        if gram in kept:
            continue
        before = [query(entries, (*gram[:-1], w)) for w in words]
        after = without(entries, gram, words)
        divergence = sum(p * math.log(p / q) for p, q in zip(before, after, strict=True))
        rise = math.exp(marginal(entries, gram[:-1], start) * divergence) - 1
        if rise >= threshold or any(other[:-1] == gram for other in kept):
            kept.add(gram)
    return kept


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("threshold", [1e-5, 1e-4, 1e-3, 1e-2])
def test_what_goes_is_what_the_definition_says(edge: str, threshold: float) -> None:
    model = model_of(TEXT, order=4, edge=edge)
    assert entries_of(prune_by_entropy(model.compiled, threshold)).keys() == kept_by_definition(model, threshold)


@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "witten-bell", "good-turing"])
@pytest.mark.parametrize("edge", EDGES)
def test_an_entropy_pruned_model_is_proper_and_keeps_its_probabilities(smoothing: str, edge: str) -> None:
    model = model_of(TEXT, order=5, edge=edge, smoothing=smoothing)
    before = entries_of(model.compiled)
    for threshold in (1e-5, 1e-3, 1e-2):
        pruned = prune_by_entropy(model.compiled, threshold)
        assert_proper(pruned)
        after = entries_of(pruned)
        assert len(after) < len(before)
        assert all(before[gram][0] == p for gram, (p, _) in after.items())


def test_scores_of_a_pruned_model_follow_from_its_ngrams() -> None:
    model = model_of(TEXT, order=4)
    pruned = prune_by_entropy(model.compiled, 1e-3)
    entries, ids = entries_of(pruned), flat_ids(model, OTHER)
    start, expected = len(model.vocabulary), []
    for i, word in enumerate(ids.tolist()):
        begin = max(j for j in range(i + 1) if ids[j] == start)
        expected.append(1.0 if word == start else query(entries, tuple(ids[max(begin, i - 3) : i + 1].tolist())))
    assert pruned.score(ids) == pytest.approx(expected, rel=1e-12)


def test_the_higher_the_threshold_the_fewer_ngrams() -> None:
    compiled = model_of(TEXT, order=4).compiled
    kept = [entries_of(prune_by_entropy(compiled, threshold)).keys() for threshold in (1e-6, 1e-5, 1e-4, 1e-3, 1e-1)]
    assert all(fewer <= more for more, fewer in itertools.pairwise(kept))
    assert len(kept[0]) > len(kept[-1])


def test_when_all_goes_the_unigrams_stay_and_answer() -> None:
    compiled = model_of(TEXT, order=4).compiled
    pruned = prune_by_entropy(compiled, 1e6)
    assert [pruned.trie.size(order) for order in range(1, 5)] == [compiled.vocab_size + 1, 0, 0, 0]
    assert pruned.distributions(np.array([0, pruned.start]))[1] == pytest.approx(
        compiled.distributions(np.array([0]))[0]
    )


def test_a_model_in_single_precision_is_pruned_alike_and_stays_so() -> None:
    single, double = (model_of(TEXT, order=4, dtype=dtype).compiled for dtype in (np.float32, np.float64))
    pruned = prune_by_entropy(single, 3e-4)
    assert (all_probs(pruned).dtype, pruned.nodes["backoff"].dtype) == (np.float32, np.float32)
    assert entries_of(pruned).keys() == entries_of(prune_by_entropy(double, 3e-4)).keys()
    assert_proper(pruned, 1e-5)


def test_a_context_that_every_word_follows_is_left_alone() -> None:
    model = model_of(["a a", "a b", "a <unk>", "b"], order=2, smoothing="witten-bell")
    pruned = prune_by_entropy(model.compiled, 1e6)
    a = model.vocabulary.id("a")
    assert {gram for gram in entries_of(pruned) if len(gram) == 2} == {(a, word) for word in range(4)}
    assert_proper(pruned)


def test_a_context_that_nearly_every_word_follows_stays_proper() -> None:
    letters = [" ".join(RANDOM.choices("abcd", k=40)) for _ in range(3000)]
    for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 1e-6)):
        model = model_of(letters, order=4, smoothing="absolute", discounts=[[0.01]], dtype=dtype)
        assert all_probs(model.compiled)[1] < 1e-7  # <unk>, often all that is left to back off to
        for threshold in (1e-6, 1e-4, 1e-2):
            assert_proper(prune_by_entropy(model.compiled, threshold), tolerance)


@pytest.mark.parametrize("threshold", [0.0, -1e-8, math.inf, math.nan])
def test_a_threshold_is_above_zero(threshold: float) -> None:
    with pytest.raises(ConfigError, match="above 0"):
        prune_by_entropy(model_of(TEXT).compiled, threshold)


def test_texts_of_next_to_nothing_can_be_pruned() -> None:
    for text, order in itertools.product(([""], ["a"], ["a a a a"], ["a b"] * 5), (1, 2, 5)):
        assert_proper(prune_by_entropy(model_of(text, order=order).compiled, 1e-3))


# By count


def count_pruned(text: list[str], thresholds: tuple[int, ...], *, order: int, edge: str, smoothing: str) -> NgramLM:
    counts = counts_of(text, order=order, edge=edge)
    return NgramLM.from_counts(counts, smoothing=smoothing, prune=thresholds, dtype=np.float64)


@pytest.mark.parametrize("smoothing", ["modified-kneser-ney", "kneser-ney", "witten-bell", "absolute"])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("thresholds", [(0, 1), (0, 0, 1), (0, 1, 2), (0, 0, 100)])
def test_count_pruned_models_are_the_oracle_s(smoothing: str, edge: str, thresholds: tuple[int, ...]) -> None:
    model = count_pruned(TEXT, thresholds, order=3, edge=edge, smoothing=smoothing)
    oracle = Oracle(map(str.split, TEXT), order=3, edge=edge, smoothing=smoothing, prune=thresholds)
    assert_proper(model.compiled)
    expected = [float(oracle.probability(w, c, start=False)) for c, w in oracle.predictions(map(str.split, OTHER))]
    ids = flat_ids(model, OTHER)
    assert model.compiled.score(ids)[ids != len(model.vocabulary)] == pytest.approx(expected, rel=1e-10)


def test_only_rare_ngrams_go() -> None:
    model = count_pruned(TEXT, (0, 1, 3), order=3, edge="once", smoothing="modified-kneser-ney")
    raw = counts_of(TEXT, order=3)
    left = {
        tuple(gram)
        for order, threshold in ((2, 1), (3, 3))
        for gram, count in zip(raw.trie.ngrams(order).tolist(), raw.frequencies[raw.trie.nodes(order)], strict=True)
        if count > threshold
    }
    assert {gram for gram in entries_of(model.compiled) if len(gram) > 1} == left


def test_a_context_rarer_than_what_follows_it_stays() -> None:
    # Imported counts may be like that; "a b" is made rarer here than "a b c" is.
    counts = counts_of(["a b c"] * 3 + ["a c", "b"], order=3)
    odd = counts.frequencies.copy()
    odd[counts.node(counts.vocabulary.encode("a b").tolist())] = 1
    counts = counts.with_frequencies(odd)
    uniform = np.full(len(counts.vocabulary), 1 / len(counts.vocabulary))
    whole = compile_estimates(
        estimate(SMOOTHERS["absolute"](), counts), counts, lowest=uniform, prune=(0, 1, 2), dtype=np.float64
    )
    pruned = prune_by_count(whole, counts, (0, 1, 2))
    assert tuple(counts.vocabulary.encode("a b").tolist()) in entries_of(pruned)
    ids = flat_ids(counts, ["a b c", "b a b a", "c c"])
    assert pruned.score(ids) == pytest.approx(whole.score(ids), rel=1e-12)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ((1, 1, 1), "min_count"),
        ((0, 2, 1), "must not fall.*0,2,1"),
        ((0, -1), "must not fall"),
        ((), "1 to 3 thresholds"),
        ((0, 0, 0, 1), "1 to 3 thresholds.*has 4"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(thresholds: tuple[int, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_thresholds(thresholds, 3)


def test_the_last_threshold_holds_for_the_longer_orders() -> None:
    assert check_thresholds((0, 0, 1), 5) == (0, 0, 1, 1, 1)


# Taking nodes out


@pytest.mark.parametrize("seed", range(6))
def test_links_that_a_damaged_file_made_wild_neither_crash_nor_hang(seed: int) -> None:
    compiled, rng = model_of(TEXT, order=4).compiled, np.random.default_rng(seed)
    nodes, leaves = np.array(compiled.nodes), np.array(compiled.leaves)
    for records in (nodes, leaves):
        wild = rng.random(len(records)) < 0.3
        records["suffix"][wild] = rng.integers(0, 2**32, np.count_nonzero(wild), np.uint32)
    nodes["first"][-20:] = rng.integers(0, 2**32, 20, np.uint32)
    damaged = Compiled(compiled.words, nodes, leaves, compiled.levels, compiled.start)
    assert len(worth_keeping(damaged, 1e-3)) == len(compiled.words)
    assert len(with_new_backoffs(damaged).nodes) == len(nodes)


def mask_of(compiled: Compiled, wanted: Callable[[Gram], bool]) -> Bools:
    """The root, all unigrams, and the longer n-grams that are wanted."""
    grams = [tuple(gram) for n in range(2, compiled.trie.order + 1) for gram in compiled.trie.ngrams(n).tolist()]
    return np.array([True] * compiled.trie.levels[2] + [wanted(gram) for gram in grams])


def test_suffixes_lead_to_the_longest_ngram_that_is_left() -> None:
    compiled = model_of(["a b c d", "b c d"], order=4).compiled
    start = compiled.vocab_size
    smaller = keep_nodes(compiled, mask_of(compiled, lambda gram: gram[0] == start or len(gram) == 2)).trie
    for order in (3, 4):  # <s> a b, <s> a b c and so on: their suffixes of 2 words are there, those of 3 are not
        for node, gram in zip(range(*smaller.levels[order : order + 2]), smaller.ngrams(order).tolist(), strict=True):
            suffix = int(smaller.suffix[node])
            assert smaller.levels[2] <= suffix < smaller.levels[3]
            assert smaller.ngrams(2)[suffix - smaller.levels[2]].tolist() == gram[-2:]


def test_a_kept_ngram_without_its_context_is_our_own_mistake() -> None:
    compiled = model_of(TEXT, order=3).compiled
    with pytest.raises(AssertionError, match="context"):
        keep_nodes(compiled, mask_of(compiled, lambda gram: len(gram) == 3))


def test_keeping_everything_changes_nothing() -> None:
    compiled = model_of(TEXT, order=4).compiled
    same = keep_nodes(compiled, np.ones(len(compiled.trie), bool))
    assert (same.trie.levels, same.start) == (compiled.trie.levels, compiled.start)
    for one, other in zip(same.arrays, compiled.arrays, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("field", "value"), [("first", 0), ("first", 2**32 - 1), ("suffix", 2**32 - 1)])
def test_a_damaged_model_is_refused_before_it_is_pruned_or_exported(field: str, value: int, tmp_path: Path) -> None:
    sound = model_of(["a b c", "a b b", "c a b"], order=3)
    words, nodes, leaves = (np.array(array) for array in sound.compiled.arrays)
    nodes[field][3] = value
    model = NgramLM(sound.vocabulary, Compiled(words, nodes, leaves, sound.compiled.levels, sound.compiled.start))
    with pytest.raises(ModelFolderError, match="do not fit together"):
        model.pruned(1e-3)
    with pytest.raises(ModelFolderError, match="do not fit together"):
        to_arpa(model.compiled, model.vocabulary, tmp_path / "out.arpa")
    assert list(tmp_path.iterdir()) == []
