"""EM against slow oracles: sums over every alignment there is, in dictionaries."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modlm.counts.translation import AlignmentOptions, align, estimate_without
from modlm.errors import ConfigError, InputError
from modlm.text.folds import fold_cuts
from modlm.text.options import TextOptions
from modlm.text.parallel import Parallel

FRENCH = ["le chat", "le chien", "un chat noir", "la maison", "le chat noir dort", "chien", ""]
ENGLISH = ["the cat", "the dog", "a black cat", "the house", "the black cat sleeps", "dog", "nothing"]
SENTENCES = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=4), st.text("xyz", min_size=1, max_size=4)), min_size=1, max_size=5
)
Table = dict[tuple[str, str], float]


def words_of(texts: list[str]) -> list[list[str]]:
    return [text.split() for text in texts]


def oracle(sources: list[list[str]], targets: list[list[str]], steps: int) -> tuple[Table, list[float]]:
    """IBM Model 1 by summing over all alignments of each pair, `None` being the empty word."""
    pairs = [([None, *source], target) for source, target in zip(sources, targets, strict=True) if source and target]
    met = {(f, e) for source, target in pairs for f in source for e in target}
    table, history = dict.fromkeys(met, first_of(targets)), []
    for step in range(steps + 1):
        counts, totals, log_likelihood = defaultdict(float), defaultdict(float), 0.0
        for source, target in pairs:
            chosen = list(itertools.product(source, repeat=len(target)))
            probs = [math.prod(table[f, e] / len(source) for f, e in zip(own, target, strict=True)) for own in chosen]
            log_likelihood += math.log(sum(probs))
            for own, prob in zip(chosen, probs, strict=True):
                for f, e in zip(own, target, strict=True):
                    counts[f, e] += prob / sum(probs)
                    totals[f] += prob / sum(probs)
        history.append(log_likelihood)
        if step < steps:
            table = {(f, e): counts[f, e] / totals[f] for f, e in met}
    return table, history


def first_of(targets: list[list[str]]) -> float:
    """The first probability of every target word, `<unk>` and `</s>` among them."""
    return 1 / (2 + len({word for target in targets for word in target}))


def bayes_oracle(sources: list[list[str]], targets: list[list[str]], steps: int, prior: float) -> Table:
    """The expected counts of the last step of IBM Model 1 by variational Bayes, a target word at a time."""
    pairs = [([None, *source], target) for source, target in zip(sources, targets, strict=True) if source and target]
    met = {(f, e) for source, target in pairs for f in source for e in target}
    sizes = Counter(f for f, _ in met)
    weights = dict.fromkeys(met, first_of(targets))
    for _ in range(steps):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            for e in target:
                for f in source:
                    share = weights[f, e] / sum(weights[g, e] for g in source)
                    counts[f, e] += share
                    totals[f] += share
        weights = {
            (f, e): max(
                1e-30, math.exp(slow_digamma(counts[f, e] + prior) - slow_digamma(totals[f] + prior * sizes[f]))
            )
            for f, e in met
        }
    return counts


def slow_digamma(x: float, terms: int = 20_000) -> float:
    """By its recurrence, up to where log x - 1 / 2x is as good."""
    return math.log(x + terms) - 0.5 / (x + terms) - math.fsum(1 / (x + k) for k in range(terms))


def hmm_oracle(sources: list[list[str]], targets: list[list[str]], table: Table, empty: float) -> tuple[Table, float]:
    """One step of the HMM with equal jumps by summing over all sequences of places; -1 is the empty word.

    The first place is one of S; from a place one goes on to one of S, or the sentence is over.
    """
    counts, totals, log_likelihood = defaultdict(float), defaultdict(float), 0.0
    for source, target in zip(sources, targets, strict=True):
        chosen = list(itertools.product([-1, *range(len(source))], repeat=len(target)))
        probs = []
        for places in chosen:
            prob, ways = 1.0, len(source)
            for j, e in zip(places, target, strict=True):
                f = None if j < 0 else source[j]
                prob *= table[f, e] * (empty if j < 0 else (1 - empty) / ways)
                ways = ways if j < 0 else len(source) + 1
            probs.append(prob if ways == len(source) else prob * (1 - empty) / ways)
        log_likelihood += math.log(sum(probs))
        for places, prob in zip(chosen, probs, strict=True):
            for j, e in zip(places, target, strict=True):
                f = None if j < 0 else source[j]
                counts[f, e] += prob / sum(probs)
                totals[f] += prob / sum(probs)
    return {key: value / totals[key[0]] for key, value in counts.items()}, log_likelihood


def check_against_oracle(french: list[str], english: list[str]) -> None:
    found = align(Parallel.read(french, english), AlignmentOptions(model1=3, hmm=0, prior=0, least=0))
    table, history = oracle(words_of(french), words_of(english), 3)
    assert found.log_likelihoods == pytest.approx(history, rel=1e-12)
    for (f, e), prob in table.items():
        if f is not None:
            assert found.table.row(f).get(e, 0.0) == pytest.approx(prob, rel=1e-10)


def test_model_1_is_the_sum_over_all_alignments() -> None:
    check_against_oracle(FRENCH, ENGLISH)


@settings(max_examples=25, deadline=None)
@given(SENTENCES)
def test_model_1_on_random_pairs(pairs: list[tuple[str, str]]) -> None:
    check_against_oracle(*([" ".join(side) for side in sides] for sides in zip(*pairs, strict=True)))


@settings(max_examples=25, deadline=None)
@given(SENTENCES)
def test_the_first_step_of_the_hmm_is_the_sum_over_all_sequences_of_places(pairs: list[tuple[str, str]]) -> None:
    french, english = ([" ".join(side) for side in sides] for sides in zip(*pairs, strict=True))
    found = align(Parallel.read(french, english), AlignmentOptions(model1=1, hmm=1, prior=0, least=0))
    table, _ = oracle(words_of(french), words_of(english), 1)
    after, log_likelihood = hmm_oracle(words_of(french), words_of(english), table, 0.2)
    assert found.log_likelihoods[1] == pytest.approx(log_likelihood, rel=1e-10)
    for (f, e), prob in after.items():
        if f is not None:
            assert found.table.row(f).get(e, 0.0) == pytest.approx(prob, rel=1e-8, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(SENTENCES)
def test_no_step_makes_the_text_less_likely(pairs: list[tuple[str, str]]) -> None:
    french, english = ([" ".join(side) for side in sides] for sides in zip(*pairs, strict=True))
    found = align(Parallel.read(french, english), AlignmentOptions(model1=4, hmm=6, prior=0))
    model1, hmm = found.log_likelihoods[:4], found.log_likelihoods[4:]
    assert all(np.diff(model1) > -1e-9) and all(np.diff(hmm) > -1e-6)


def test_words_are_linked_to_their_translations() -> None:
    pairs = Parallel.read(FRENCH[:-1] * 3, ENGLISH[:-1] * 3)
    found = align(pairs)
    begin = pairs.target.starts[4] + 1  # the black cat sleeps, for le chat noir dort
    assert found.links[begin : begin + 4].tolist() == [0, 2, 1, 3]
    assert next(iter(found.table.row("chien"))) == "dog"
    assert found.table.row("nobody") == {}


def test_a_table_without_a_fold_is_that_of_a_text_without_it() -> None:
    pairs = Parallel.read(FRENCH, ENGLISH)
    cuts = fold_cuts([len(pairs)], 3)
    tables = estimate_without(pairs, cuts, AlignmentOptions(model1=2, hmm=2))
    options = [TextOptions(vocabulary=corpus.vocabulary) for corpus in (pairs.source, pairs.target)]
    for fold, table in zip(cuts, tables, strict=True):
        kept = [n for n in range(len(pairs)) if not any(first <= n < after for first, after in fold)]
        alone = align(
            Parallel.read([FRENCH[n] for n in kept], [ENGLISH[n] for n in kept], *options),
            AlignmentOptions(model1=2, hmm=2),
        ).table
        for name in ("first", "words", "frequency"):
            assert np.array_equal(getattr(table, name), getattr(alone, name))
        assert np.allclose(table.probs, alone.probs, atol=1e-12)
    lost = tables[1]  # "la maison" is in the second fold, and nowhere else
    assert lost.row("maison") == {} and lost.frequency[pairs.source.vocabulary.id("maison")] == 0


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = Parallel.read(FRENCH * 5, ENGLISH * 5)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setitem(os.environ, "MODLM_THREADS", threads)
        found.append(align(pairs))
    assert found[0].log_likelihoods == found[1].log_likelihoods
    assert np.array_equal(found[0].table.probs, found[1].table.probs)


def test_a_prior_keeps_rare_words_from_translating_everything() -> None:
    french, english = ["le chat", "le chien", "le zut"], ["the cat", "the dog", "the darn drat"]
    plain, held = (align(Parallel.read(french, english), AlignmentOptions(prior=prior)).table for prior in (0.0, 0.01))
    assert held.row("zut").get("the", 0.0) <= plain.row("zut").get("the", 0.0)
    assert sum(held.row("zut").values()) == pytest.approx(1.0)


@pytest.mark.parametrize("steps", range(1, 9))
def test_a_word_that_others_explain_away_stays_explained_away(steps: int) -> None:
    """Its expected counts are next to nothing, and so are its weights, however few words it meets."""
    french, english = ["le chat"] * 9 + ["le chat zut"] + ["le chien"] * 4, ["the cat"] * 10 + ["the dog"] * 4
    counts = bayes_oracle(words_of(french), words_of(english), steps, 0.001)
    found = align(Parallel.read(french, english), AlignmentOptions(model1=steps, hmm=0, least=0)).table
    for word in ("le", "chat", "zut"):
        own = {e: count for (f, e), count in counts.items() if f == word}
        assert found.row(word) == pytest.approx({e: count / sum(own.values()) for e, count in own.items()}, abs=1e-7)


@pytest.mark.parametrize("prior", [0.0, 1e-3])
def test_counts_that_vanish_leave_whole_rows(prior: float) -> None:
    french, english = ["le chat"] * 40 + ["le zut chat pst"], ["the cat"] * 41
    found = align(Parallel.read(french, english), AlignmentOptions(model1=200, hmm=200, prior=prior, least=0))
    assert all(map(math.isfinite, found.log_likelihoods))
    for word in found.table.source.words[3:]:
        assert sum(found.table.row(word).values()) == pytest.approx(1.0), word


def test_long_sentences_do_not_run_out_of_numbers() -> None:
    found = align(Parallel.read(["a b c d " * 250, "a b"], ["x y " * 100, "x y"]), AlignmentOptions(prior=0.001))
    assert all(map(math.isfinite, found.log_likelihoods))
    assert sum(found.table.row("a").values()) == pytest.approx(1.0)


def test_what_cannot_be_aligned_is_refused() -> None:
    with pytest.raises(InputError, match="words on both sides"):
        align(Parallel.read(["", "a"], ["x", ""]))
    with pytest.raises(ConfigError, match="an iteration of Model 1"):
        AlignmentOptions(model1=0)
    with pytest.raises(ConfigError, match="empty must be"):
        AlignmentOptions(empty=1.0)
