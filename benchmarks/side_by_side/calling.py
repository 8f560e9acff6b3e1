"""Calls from Python: sentences in bulk and one by one, and whole next-word distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from modlm import Corpus, NgramLM
from modlm.ground.arrays import Ids
from side_by_side.findings import duration, rate
from side_by_side.limits import row_copy_seconds
from side_by_side.scoring import on_cores
from side_by_side.texts import WIDE_WORDS
from side_by_side.timing import WORD_TOLERANCE, Sample, clocked, in_turns, must_agree, ratio
from side_by_side.workshop import THREADS, TRAINING, Workshop

TESTS = {"ptb": "ptb.test", "newswire": "newswire.last", "wide": "wide.test"}
SENTENCES = 4_000
CONTEXTS = {"ptb": 256, "wide": 64}
THEIR_CONTEXTS = 8  # for the loop over the vocabulary, which is slow
ROUNDS = 20  # passes over the contexts in one repetition


# ---- sentences -------------------------------------------------------------------------------------------------------


def python(shop: Workshop) -> None:
    """`score_batch` and `score` beside the kenlm package's `score` in a loop."""
    for name in shop.models("ptb", "newswire"):
        if shop.texts.has(TESTS[name]):
            _sentences(shop, name)


def _sentences(shop: Workshop, name: str) -> None:
    lm, other = shop.load(name), shop.their_model(name)
    sentences, resident = shop.texts.sentences(TESTS[name], SENTENCES), lm.resident()
    batch = resident.score_batch(sentences)
    must_agree(f"{name}: score and score_batch", [lm.score(sentence) for sentence in sentences], batch)
    functions: dict[str, Callable[[], float]] = {
        f"score_batch, {THREADS} cores": on_cores(THREADS, clocked(lambda: lm.score_batch(sentences))),
        f"score_batch, resident, {THREADS} cores": on_cores(THREADS, clocked(lambda: resident.score_batch(sentences))),
        "score_batch, 1 core": on_cores(1, clocked(lambda: lm.score_batch(sentences))),
        "score, one by one": _loop(lm.score, sentences),
    }
    if other is not None:
        must_agree(
            f"{name}: scores of sentences", batch / math.log(10), [other.score(sentence) for sentence in sentences]
        )
        functions["kenlm score, one by one"] = _loop(other.score, sentences)
    samples = in_turns(shop.repetitions(15), functions)
    shop.findings.times(f"python {name}", samples, work=len(sentences), unit="sentences")
    _judge_sentences(shop, name, samples, len(sentences))
    ids = Corpus.from_text(sentences, lm.vocabulary).ids
    walked = min(clocked(lambda: lm.compiled.score(ids, workers=1))() for _ in range(5))
    shop.findings.limit(
        f"python {name}", "one sentence", ours=samples["score, one by one"].median / len(sentences) * 1e6,
        limit=walked / len(sentences) * 1e6, unit="µs", meaning="our kernel alone, all sentences as ids in one call",
    )  # fmt: skip


def _loop(function: Callable[[str], Any], sentences: list[str]) -> Callable[[], float]:
    return clocked(lambda: [function(sentence) for sentence in sentences])


def _judge_sentences(shop: Workshop, name: str, samples: dict[str, Sample], count: int) -> None:
    other = samples.pop("kenlm score, one by one", None)
    for (who, sample), bar in zip(samples.items(), (None, 3, None, 0.7), strict=True):
        faster = ratio(other, sample)
        shop.findings.judge(
            "python", f"{name}: {who}", faster.value, best=faster.best, at_least=bar,
            ours=rate(count, sample.median), theirs=rate(count, other.median) if other else "–",
        )  # fmt: skip


# ---- distributions ---------------------------------------------------------------------------------------------------


def distribution(shop: Workshop) -> None:
    """`distributions` beside a loop over the vocabulary with the kenlm package's `BaseScore`."""
    for name in shop.models("ptb", "wide"):
        if shop.texts.has(TESTS[name]):
            _distributions(shop, name)


def _distributions(shop: Workshop, name: str) -> None:
    lm, other = shop.load(name), shop.their_model(name)
    contexts = real_contexts(shop.texts.sentences(TESTS[name]), CONTEXTS[name])
    states = lm.state_after(np.concatenate([window(lm, context) for context in contexts]))
    out_BJ = np.empty((len(states), len(lm.vocabulary)), np.float32)
    lm.distributions(states, out_BJ)
    single = [states[i : i + 1] for i in range(len(states))]
    rounds = 1 if shop.quick else ROUNDS
    functions = {
        "distributions": clocked(lambda: [lm.distributions(states, out_BJ) for _ in range(rounds)]),
        "one context a call": clocked(lambda: [lm.distributions(state, out_BJ[:1]) for state in single]),
    }  # fmt: skip
    work = {"distributions": rounds * len(states), "one context a call": len(states)}
    if other is not None:
        loop, few = vocabulary_loop(shop, lm, other, contexts), min(THEIR_CONTEXTS, len(contexts))
        must_agree(f"{name}: distributions", np.log10(out_BJ[:2]), [loop(0), loop(1)], tolerance=WORD_TOLERANCE)
        functions["kenlm BaseScore loop"] = clocked(lambda: [loop(i) for i in range(few)])
        work["kenlm BaseScore loop"] = few
    samples = in_turns(shop.repetitions(7), functions)
    lm.distributions(states, out_BJ)  # "one context a call" wrote over the first row
    for who, sample in samples.items():
        shop.findings.times(f"distribution {name}", {who: sample}, work=work[who], unit="contexts")
    each = {who: sample.median / work[who] for who, sample in samples.items()}
    _judge_distribution(shop, name, len(lm.vocabulary), each)
    shop.findings.limit(
        f"distribution {name}", "one context", ours=each["distributions"] * 1e6, unit="µs",
        limit=row_copy_seconds(*out_BJ.shape) * 1e6,
        meaning=f"copying one ready row of {len(lm.vocabulary):,} float32 to each row of the same array",
    )  # fmt: skip


def real_contexts(sentences: list[str], count: int) -> list[list[str]]:
    """Beginnings of real sentences, spread over the text: the first of one word, the next of two, and so on."""
    chosen = sentences[:: max(1, len(sentences) // count)][:count]
    split = [sentence.split() for sentence in chosen]
    return [words[: i % (len(words) + 1)] for i, words in enumerate(split, start=1)]


def window(lm: NgramLM, context: list[str]) -> Ids:
    """A context as one window of equal length: filled up at the left with nothing."""
    from modlm.blocks.block import NOTHING

    words_1C = lm.window(context)
    missing = lm.window_length - words_1C.shape[1]
    return np.concatenate((np.full((1, missing), NOTHING, np.uint32), words_1C), axis=1)


def vocabulary_loop(shop: Workshop, lm: NgramLM, other: Any, contexts: list[list[str]]) -> Callable[[int], list[float]]:
    """log10 P of every word after the i-th context, asked of the kenlm package one by one."""
    words, State = lm.vocabulary.words, shop.module.State
    states = []
    for context in contexts:
        state = State()
        other.BeginSentenceWrite(state)
        for word in context:
            after = State()
            other.BaseScore(state, word, after)
            state = after
        states.append(state)
    score, ignored = other.BaseScore, State()

    def loop(i: int) -> list[float]:
        state = states[i]
        return [score(state, word, ignored) for word in words]

    return loop


def _judge_distribution(shop: Workshop, name: str, vocab_size: int, each: dict[str, float]) -> None:
    theirs = each.get("kenlm BaseScore loop")
    label, large_enough = f"J = {vocab_size:,}", name != "wide" or vocab_size >= WIDE_WORDS
    if name == "ptb":
        shop.findings.judge(
            "distribution", f"{label}: a context", each["distributions"] * 1e6, unit="µs", at_most=10,
            ours=duration(each["distributions"]),
        )  # fmt: skip
    for who, judged in (("distributions", large_enough), ("one context a call", False)):
        shop.findings.judge(
            "distribution", f"{label}: {who} beside a loop over the vocabulary", theirs / each[who] if theirs else None,
            at_least=300 if judged else None, ours=duration(each[who]), theirs=duration(theirs) if theirs else "–",
        )  # fmt: skip
    if not large_enough:
        shop.findings.remark(f"{TRAINING[name]} has {vocab_size:,} words, too few to judge J = {WIDE_WORDS:,}.")
