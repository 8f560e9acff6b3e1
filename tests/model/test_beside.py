"""What stands beside the words goes everywhere: memories of blocks that learn as they read, and source sentences.

The blocks are as small as they can be: the words of the text so far, and the words of a source sentence.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from modlm.blocks import DeltaBlock, UniformBlock
from modlm.blocks.block import Beside, Block, ColumnLayout
from modlm.blocks.log_rows import log_rows
from modlm.blocks.model import ModelBlock
from modlm.errors import ConfigError
from modlm.families import BODIES
from modlm.ground.arrays import Floats, Ids
from modlm.mixers import StaticMixer
from modlm.model import mixture as mixture_module
from modlm.model.interpolation import rows_of
from modlm.model.mixture import Mixture
from modlm.model.ngram_lm import NgramLM
from modlm.nets.batches import Sentences
from modlm.nets.bodies import FeedForward
from modlm.nets.config import NetConfig
from modlm.nets.mixer_net import MixerNet
from modlm.nets.net_mixer import NetMixer
from modlm.text.corpus import Corpus
from modlm.text.vocabulary import Vocabulary
from modlm.training import rows as rows_module
from modlm.training.blocks import RunBlock
from modlm.training.config import OptimiserConfig, RunConfig, ScheduleConfig
from modlm.training.distributed import Processes
from modlm.training.texts import RunTexts
from modlm.training.trainer import Trainer
from small_readers import ATTENTIVE, BySource, Copied, SoFar

TEXT = ["a b a", "b b c", "", "c a b a d", "d d a"]
SOURCES = [np.array(ids, np.uint32) for ids in ([2, 3], [4], [], [2, 2, 5], [3])]


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_text(TEXT, Vocabulary.from_words(["a", "b", "c", "d"]))


def net(layout: ColumnLayout, body: str) -> NetMixer:
    config = NetConfig(body=body, hidden=6, inputs=("word", "counts"))
    return NetMixer(
        MixerNet(config, vocab_size=layout.vocab_size, features=layout.features, dense=layout.dense, delta=True, seed=3)
    )


def mixtures(vocabulary: Vocabulary) -> dict[str, Mixture]:
    learning = {"online": SoFar(vocabulary), "uniform": UniformBlock(vocabulary)}
    both: dict[str, Block] = {"copied": Copied(vocabulary), **learning}
    deltas = {**both, "delta": DeltaBlock(vocabulary)}
    inner = Mixture(vocabulary, both, BySource(3))
    larger = Vocabulary.from_words(["e", *vocabulary.words[2:]])
    return {
        "static": Mixture(vocabulary, learning, StaticMixer(np.array([0.7, 0.3]))),
        "by source": inner,
        "a model as a column": Mixture(vocabulary, {"model": ModelBlock(inner, vocabulary)}, StaticMixer(np.ones(1))),
        "a model with other words": Mixture(larger, {"model": ModelBlock(inner, larger)}, StaticMixer(np.ones(1))),
        "feedforward": Mixture(vocabulary, deltas, net(ColumnLayout(deltas), "feedforward")),
        "lstm": Mixture(vocabulary, deltas, net(ColumnLayout(deltas), "lstm")),
        "attentive": Mixture(vocabulary, deltas, net(ColumnLayout(deltas), ATTENTIVE)),
    }


@pytest.fixture(
    params=[
        "static",
        "by source",
        "a model as a column",
        "a model with other words",
        "feedforward",
        "lstm",
        "attentive",
    ]
)
def mixture(request: pytest.FixtureRequest, corpus: Corpus) -> Mixture:
    BODIES.add(ATTENTIVE, ATTENTIVE)
    return mixtures(corpus.vocabulary)[request.param]


def given(mixture: Mixture, corpus: Corpus) -> tuple[Ids, Beside]:
    ids = np.asarray(corpus.ids)
    if len(mixture.vocabulary) != len(corpus.vocabulary):
        ids = corpus.vocabulary.mapping(mixture.vocabulary)[ids]
    return ids, Beside(SOURCES if mixture.reads.source else ())


def stepwise(mixture: Mixture, ids: Ids, beside: Beside) -> tuple[Floats, Any]:
    """Sentence by sentence with states, and what is remembered at the end."""
    found, memory = np.zeros(len(ids)), beside.memory
    bounds = pairwise([*np.flatnonzero(ids == mixture.vocabulary.start), len(ids)])
    for number, (begin, end) in enumerate(bounds):
        states = mixture.start(1, Beside(beside.sources[number : number + 1], memory))
        for place in range(begin + 1, end):
            whole_1J = mixture.distributions(states)
            assert whole_1J.sum() == pytest.approx(1, abs=1e-6)
            states, (found[place],) = mixture.advance(states, ids[place : place + 1])
            assert found[place] == pytest.approx(np.log(whole_1J[0, ids[place]]), abs=1e-5)
        memory = states["memory"][0] if mixture.learners else None
    return found, memory


def test_along_a_text_is_word_by_word(mixture: Mixture, corpus: Corpus) -> None:
    ids, beside = given(mixture, corpus)
    assert np.allclose(mixture.log_probs(ids, beside), stepwise(mixture, ids, beside)[0], atol=1e-5)


def test_the_words_so_far_are_counted_after_they_are_scored(corpus: Corpus) -> None:
    model = mixtures(corpus.vocabulary)["static"]
    counts, expected = np.ones(len(corpus.vocabulary)), []
    for word in corpus.ids.tolist():
        if word < len(counts):
            expected.append(0.7 * counts[word] / counts.sum() + 0.3 / len(counts))
            counts[word] += 1
    found = model.log_probs(np.asarray(corpus.ids))
    assert np.allclose(np.exp(found[corpus.ids < len(counts)]), expected)


@pytest.mark.parametrize("chunk", [1, 9])
def test_stretches_hand_over_what_was_learned(
    mixture: Mixture, corpus: Corpus, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, beside = given(mixture, corpus)
    whole, rows = mixture.log_probs(ids, beside), mixture.rows(ids, beside)
    monkeypatch.setattr(mixture_module, "CHUNK", chunk)
    assert np.allclose(mixture.log_probs(ids, beside), whole, atol=1e-5)
    parts = [part for _, part in mixture.row_chunks(ids, beside)]
    assert len(parts) > 1
    assert np.array_equal(np.concatenate([part.probs_TK for part in parts]), rows.probs_TK)
    assert np.array_equal(np.concatenate([part.features_TF for part in parts]), rows.features_TF)


def test_parts_of_a_text_hand_over_what_was_learned(mixture: Mixture, corpus: Corpus) -> None:
    ids, beside = given(mixture, corpus)
    cuts = [0, int(corpus.starts[2]), int(corpus.starts[3]), len(ids)]
    parts = [ids[a:b] for a, b in pairwise(cuts)]
    along = np.concatenate([log_probs for _, log_probs in mixture.along(parts, beside)])
    assert np.allclose(along, mixture.log_probs(ids, beside), atol=1e-5)


def test_what_was_read_before_is_given_as_a_memory(mixture: Mixture, corpus: Corpus) -> None:
    ids, beside = given(mixture, corpus)
    cut = int(corpus.starts[3])
    _, _, memory = mixture.read(ids[:cut], Beside(beside.sources[:3]))
    rest = Beside(beside.sources[3:], memory)
    assert np.allclose(mixture.read(ids[cut:], rest)[0], mixture.log_probs(ids, beside)[cut:], atol=1e-5)
    assert np.allclose(stepwise(mixture, ids[cut:], rest)[0], mixture.log_probs(ids, beside)[cut:], atol=1e-5)
    assert (memory is None) == (not mixture.learners)


def test_sentences_on_their_own_learn_nothing_from_each_other(mixture: Mixture, corpus: Corpus) -> None:
    ids, beside = given(mixture, corpus)
    alone = [
        mixture.log_probs(ids[begin:end], Beside(beside.sources[number : number + 1]))
        for number, (begin, end) in enumerate(pairwise(corpus.starts.tolist()))
    ]
    assert np.allclose(mixture.sentence_log_probs(ids, beside), np.concatenate(alone), atol=1e-5)
    if mixture.learners:
        assert not np.allclose(mixture.sentence_log_probs(ids, beside), mixture.log_probs(ids, beside), atol=1e-5)


def test_nothing_later_changes_what_came_before(mixture: Mixture, corpus: Corpus) -> None:
    ids, beside = given(mixture, corpus)
    changed = ids.copy()
    changed[-3] = 2 if ids[-3] != 2 else 3
    before = len(ids) - 3
    assert np.allclose(mixture.log_probs(changed, beside)[:before], mixture.log_probs(ids, beside)[:before], atol=1e-6)


def test_shares_add_up_to_the_probability(mixture: Mixture, corpus: Corpus) -> None:
    ids, beside = given(mixture, corpus)
    sentence, own = ids[corpus.starts[3] : corpus.starts[4]], Beside(beside.sources[3:4])
    names, probs_TK, weights_TK = mixture.shares_along(sentence, own)
    expected = mixture.log_probs(sentence, own)[1:]
    assert len(names) == probs_TK.shape[1]
    assert np.allclose(np.log((probs_TK * weights_TK).sum(axis=1)), expected, atol=1e-5)
    window = sentence[None, :4]
    _, probs_1K, weights_1K = mixture.shares(window, sentence[4:5], own)
    assert np.log((probs_1K * weights_1K).sum()) == pytest.approx(expected[3], abs=1e-5)
    _, probs_BK, weights_BK = mixture.shares_after(window, sentence[4:5], own)
    assert np.log((probs_BK * weights_BK).sum()) == pytest.approx(expected[3], abs=1e-5)
    columns_JK, weights_K = mixture.columns_after(window, own)
    assert np.log(columns_JK @ weights_K)[sentence[4]] == pytest.approx(expected[3], abs=1e-5)


def test_hypotheses_branch_and_share_what_they_have_read(corpus: Corpus) -> None:
    model = mixtures(corpus.vocabulary)["by source"]
    states = model.start(1, Beside(SOURCES[:1]))
    states, _ = model.advance(states, np.array([2], np.uint32))
    before = model.distributions(states)
    both, _ = model.advance(np.repeat(states, 2), np.array([3, 4], np.uint32))
    third, fourth = (memory["online"] for memory in both["memory"])
    assert third.before is fourth.before is states["memory"][0]["online"]
    assert both["source"][0] is both["source"][1] is SOURCES[0]
    assert np.array_equal(model.distributions(states), before)
    apart = [model.distributions(both[place : place + 1])[0] for place in range(2)]
    assert np.array_equal(model.distributions(both), apart)
    assert not np.allclose(apart[0], apart[1])


def test_windows_are_learned_from_or_were_read(corpus: Corpus) -> None:
    model = mixtures(corpus.vocabulary)["static"]
    window = np.array([[model.vocabulary.start, 2, 3, 2]], np.uint32)
    stepped = model.start(1)
    for word in window[0, 1:]:
        stepped, _ = model.advance(stepped, np.array([word], np.uint32))
    alone = model.state_after(window)
    assert np.array_equal(model.distributions(alone), model.distributions(stepped))
    again = model.state_after(window, Beside(memory=stepped["memory"]))
    assert np.array_equal(model.distributions(again), model.distributions(stepped))
    assert model.next_words("a b a", 1)[0].word == "a"


def test_weights_are_fitted_to_what_was_learned_by_then(corpus: Corpus) -> None:
    model = mixtures(corpus.vocabulary)["static"]
    predicted = corpus.ids < len(corpus.vocabulary)
    whole = model.rows(np.asarray(corpus.ids)).probs_TK[predicted]
    assert np.array_equal(rows_of(model, corpus).probs_TK, whole)


def test_a_text_that_lacks_a_source_is_refused(corpus: Corpus) -> None:
    model = mixtures(corpus.vocabulary)["by source"]
    with pytest.raises(ConfigError, match=r"4 source sentences for 5 sentences"):
        model.log_probs(np.asarray(corpus.ids), Beside(SOURCES[:4]))
    with pytest.raises(ConfigError, match="none was given"):
        model.log_probs(np.asarray(corpus.ids))


# ---- training --------------------------------------------------------------------------------------------------------


def run_blocks(vocabulary: Vocabulary) -> dict[str, RunBlock]:
    ngram = NgramLM.fit(TEXT, order=2, vocabulary=vocabulary).as_mixture().blocks["ngram"]
    blocks = {"copied": Copied(vocabulary), "online": SoFar(vocabulary), "ngram": ngram}
    return {name: RunBlock(block) for name, block in blocks.items()}


@pytest.mark.parametrize("piece", [1, 7, 1 << 14])
def test_rows_for_training_are_those_of_the_text_in_its_order(
    corpus: Corpus, piece: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rows_module, "PIECE", piece)
    blocks = run_blocks(corpus.vocabulary)
    plain = {name: own.block for name, own in blocks.items()}
    whole = log_rows(plain, np.asarray(corpus.ids), corpus.vocabulary.start, Beside(SOURCES))
    for folder in (None, tmp_path / "rows"):
        made = rows_module.rows(corpus, blocks, sources=SOURCES, folder=folder)
        assert np.array_equal(made.log_probs_TD, whole.log_probs_TD)
        assert np.array_equal(made.features_TF, whole.features_TF)
        assert made.sources is SOURCES
    kept = np.array([1, 3, 4])
    some = rows_module.rows(corpus, blocks, sources=SOURCES, kept=kept)
    places = rows_module.positions_of(corpus, kept)
    assert np.array_equal(some.log_probs_TD, whole.log_probs_TD[places])
    assert np.array_equal(some.features_TF, whole.features_TF[places])


def test_batches_bring_the_sources_of_their_sentences(corpus: Corpus) -> None:
    made = rows_module.rows(corpus, run_blocks(corpus.vocabulary), sources=SOURCES)
    source = Sentences(made, 1, most=8)
    for number in range(len(source)):
        batch = source.batch(number)
        assert [one is SOURCES[at] for one, at in zip(batch.sources, source.sentences_of(number), strict=True)]
        assert len(batch.sources) == batch.real_TB.shape[1]


def test_a_net_that_reads_sources_is_trained_and_scores_as_it_was_trained(corpus: Corpus, tmp_path: Path) -> None:
    BODIES.add(ATTENTIVE, ATTENTIVE)
    blocks = run_blocks(corpus.vocabulary)
    plain = {name: own.block for name, own in blocks.items()}
    layout = ColumnLayout(plain)
    config = RunConfig(
        kind="interpolated", text=("",), valid="", extra=(), optimiser=OptimiserConfig(learning_rate=0.05),
        net=NetConfig(body=ATTENTIVE, hidden=6, inputs=("word", "counts")),
        schedule=ScheduleConfig(epochs=20, patience=0, batch_words=8),
    )  # fmt: skip
    made = MixerNet(
        config.net, vocab_size=layout.vocab_size, features=layout.features, dense=layout.dense, delta=False, seed=1
    )
    rows = rows_module.rows(corpus, blocks, sources=SOURCES)
    texts = RunTexts(layout.vocab_size, {"train": rows, "valid": rows}, {}, partial(dict, blocks))
    trainer = Trainer(config, texts, made, tmp_path, Processes(torch.device("cpu")))
    before = trainer.score(trainer.evaluated["valid"]).mean_nll
    trainer.run()
    after = trainer.score(trainer.evaluated["valid"]).mean_nll
    assert after < before
    mixture = Mixture(corpus.vocabulary, plain, NetMixer(made))
    ids = np.asarray(corpus.ids)
    found = mixture.log_probs(ids, Beside(SOURCES))
    assert -found.sum() / (ids < len(corpus.vocabulary)).sum() == pytest.approx(after, abs=1e-6)
    others = mixture.log_probs(ids, Beside(SOURCES[::-1]))
    assert not np.allclose(found, others, atol=1e-4)


def test_a_plain_net_over_columns_that_read_sources_takes_any_batches(corpus: Corpus) -> None:
    assert not FeedForward.reads_source
    model = mixtures(corpus.vocabulary)["feedforward"]
    assert model.reads.source and model.reads.learns and not model.mixer.reads.source


def test_a_body_that_reads_sources_is_not_for_documents() -> None:
    BODIES.add(ATTENTIVE, ATTENTIVE)
    config = NetConfig(body=ATTENTIVE, context="document", inputs=("word",))
    with pytest.raises(ConfigError, match="one by one"):
        MixerNet(config, vocab_size=5, features=0, dense=1, delta=True)
