"""The body with attention: what it makes of sources, and columns over their words."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.small_pairs import conditional, text_of

import modlm
from modlm.blocks.block import Beside
from modlm.errors import ConfigError
from modlm.model.mixture import Mixture
from modlm.model.translation import Beam
from modlm.nets.config import NetConfig
from modlm.nets.mixer_net import MixerNet

SHAPES = [{}, {"encoder": "transformer"}, {"layers": 2}, {"blocks": False}, {"delta": False}]


@pytest.mark.parametrize("shape", SHAPES)
def test_word_by_word_the_model_says_what_it_says_of_a_text(shape: dict[str, object]) -> None:
    model, both = conditional(**shape)  # type: ignore[arg-type]
    ids, sources = text_of(both, 6)
    log_probs = model.log_probs(ids, Beside(sources))
    for number in range(6):
        low, high = both.target.starts[number : number + 2]
        states = model.start(1, Beside([sources[number]]))
        for at in range(low + 1, high):
            whole_J = model.distributions(states)[0]
            assert whole_J.sum() == pytest.approx(1, abs=1e-6)
            states, one = model.advance(states, ids[at : at + 1])
            assert one[0] == pytest.approx(log_probs[at], abs=1e-5)
            assert math.log(whole_J[ids[at]]) == pytest.approx(log_probs[at], abs=1e-5)


@pytest.mark.parametrize("shape", [{}, {"blocks": False}, {"encoder": "transformer"}])
@pytest.mark.parametrize("length", [0, 1, 200])
def test_p_sums_to_one_beside_a_source_of_any_length(length: int, shape: dict[str, object]) -> None:
    model, _ = conditional(**shape)  # type: ignore[arg-type]
    states = model.start(2, model.beside(["f1 " * length, "f2"]))
    for word in (3, 4):
        np.testing.assert_allclose(model.distributions(states).sum(axis=1), 1, atol=1e-6)
        states, _ = model.advance(states, np.array([word, word], np.uint32))


def test_a_source_word_that_was_never_seen_is_a_word_like_any_other() -> None:
    model, _ = conditional()
    beside = model.beside(["neverseen f1"])
    assert model.distributions(model.start(1, beside)).sum() == pytest.approx(1, abs=1e-6)


def test_sentences_of_a_batch_do_not_look_at_each_others_sources() -> None:
    model, both = conditional()
    ids, sources = text_of(both, 6)
    together = model.log_probs(ids, Beside(sources))
    starts = both.target.starts
    alone = [model.log_probs(ids[starts[n] : starts[n + 1]], Beside(sources[n : n + 1])) for n in range(6)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
    other = model.log_probs(ids, Beside(sources[::-1]))
    assert not np.allclose(together, other, atol=1e-3)


def test_weights_along_a_sentence_make_its_probabilities() -> None:
    model, both = conditional()
    ids, sources = text_of(both, 1)
    names, probs_TK, weights_TK = model.shares_along(ids, Beside(sources))
    assert len(names) == probs_TK.shape[1] == 1 + 2 * len(sources[0]) + 1
    np.testing.assert_allclose(weights_TK[:, :-1].sum(axis=1) < 1, True)
    log_probs = model.log_probs(ids, Beside(sources))[1:]
    np.testing.assert_allclose(np.log((probs_TK * weights_TK).sum(axis=1)), log_probs, atol=1e-5)


def test_gradients_reach_the_attention_through_the_folded_columns() -> None:
    model, both = conditional()
    net = model.mixer.net.double()  # type: ignore[attr-defined]
    ids, sources = text_of(both, 1)
    words = torch.tensor(ids[1:].astype(np.int64))
    contexts = torch.tensor(ids[:-1].astype(np.int64))[:, None, None]
    over = np.stack([model.blocks[name].rows(ids, Beside(sources)).probs_TK[1:] for name in ("lexicon", "copy")], 1)
    features = torch.tensor(
        np.concatenate([model.blocks[name].source_features(sources[0]) for name in ("lexicon", "copy")], 1)
    )[None]
    dense = torch.full((len(words), 1), -math.log(len(model.vocabulary)), dtype=torch.float64)
    log_probs_PX = torch.tensor(over).log().flatten(1)

    def hidden() -> torch.Tensor:
        found, _ = net.hidden(contexts, None, sources=sources, source_features_BSF=features)
        return found.flatten(0, 1)

    fused = net.nll(hidden(), dense, words, source_log_probs_PX=log_probs_PX)[0].sum()
    ours = torch.autograd.grad(fused, [net.body.pointers, net.body.source_vectors])
    log_weights = net.log_weights(hidden())
    columns = torch.cat([dense, log_probs_PX], 1)
    own = log_weights.gather(1, (columns.shape[1] + words)[:, None])
    joint = torch.cat([(log_weights[:, : columns.shape[1]] + columns).clamp(min=-1e3), own], 1)
    explicit = -joint.logsumexp(1).sum()
    assert fused.item() == pytest.approx(explicit.item(), abs=1e-9)
    theirs = torch.autograd.grad(explicit, [net.body.pointers, net.body.source_vectors])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-7)


def test_a_folder_keeps_the_net_and_the_words_of_its_sources(tmp_path: Path) -> None:
    model, both = conditional(blocks=False)
    ids, sources = text_of(both, 3)
    model.save(tmp_path / "model")
    again = modlm.load(tmp_path / "model")
    assert again.source_vocabulary == both.source.vocabulary
    np.testing.assert_array_equal(again.log_probs(ids, Beside(sources)), model.log_probs(ids, Beside(sources)))  # type: ignore[call-arg]


def test_columns_over_sources_need_a_body_that_attends() -> None:
    config = NetConfig(body="lstm", inputs=("word",))
    with pytest.raises(ConfigError, match=r"net\.body = attention"):
        MixerNet(config, vocab_size=5, features=0, dense=1, delta=True, over_source=(1, 3))


@pytest.mark.parametrize("encoder", ["lstm", "transformer"])
def test_each_source_is_encoded_once_however_many_words_and_hypotheses_it_gets(
    encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = conditional(encoder=encoder)
    body, read = model.mixer.net.body, list[int]()  # type: ignore[attr-defined]
    monkeypatch.setattr(body.encoder, "forward", counting(body.encoder.forward, read))
    sources = ["f1 f2 f3", "f4", "", "f1 f2 f3"]
    together = [best[0] for best in model.translate(sources, width=3)]
    assert read == [len(sources)]
    assert max(len(one.words) for one in together) > 2, "one step alone would show nothing"
    assert [str(next(model.translate([source], width=3))[0]) for source in sources] == [str(one) for one in together]
    assert read == [len(sources), 1, 1, 1, 1]
    assert not body._kept[1], "what was read is forgotten with its source"


def test_a_text_beside_one_source_reads_it_once_however_many_lines_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = conditional()
    beside, body, read = model.given("f1 f2 f3"), model.mixer.net.body, list[int]()  # type: ignore[attr-defined]
    apart = [model.given("f1 f2 f3").explain(line) for line in ("e1", "e2 e1")]
    monkeypatch.setattr(body.encoder, "forward", counting(body.encoder.forward, read))
    assert [beside.explain(line) for line in ("e1", "e2 e1")] == apart
    assert read == [1]


def counting(forward: Callable[..., torch.Tensor], read: list[int]) -> Callable[..., torch.Tensor]:
    def counted(vectors_SBH: torch.Tensor, *rest: object) -> torch.Tensor:
        read.append(vectors_SBH.shape[1])
        return forward(vectors_SBH, *rest)

    return counted


def test_a_source_is_read_again_when_the_parameters_have_changed() -> None:
    model, _ = conditional()
    state = model.start(1, model.beside(["f1 f2"]))
    before = model.distributions(state)
    with torch.no_grad():
        model.mixer.net.body.source_vectors.add_(1.0)  # type: ignore[attr-defined]
    after = model.distributions(state)
    fresh = model.distributions(model.start(1, model.beside(["f1 f2"])))
    np.testing.assert_array_equal(after, fresh)
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize(("length", "beam"), [(30, {}), (1000, {"longest": 0.1})])
def test_a_long_source_takes_no_more_steps_than_its_length_allows(
    length: int, beam: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = conditional(seed=3)
    steps, ask = list[int](), Mixture.log_distributions
    monkeypatch.setattr(Mixture, "log_distributions", lambda own, states: steps.append(len(states)) or ask(own, states))
    (best,) = next(model.translate([" ".join(f"f{number % 7}" for number in range(length))], width=2, **beam))
    longest = int(Beam(**beam).longest * length) + 10
    assert 1 <= len(best.places) == len(best.words) <= longest < 4 * length  # type: ignore[arg-type]
    assert 1 < len(steps) <= longest and max(steps) == 2
