"""The whole net: every kind normalises, kinds are special cases of one another, and nothing global is touched."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from modlm.errors import ConfigError
from modlm.families import BODIES
from modlm.model.mixture import Mixture
from modlm.nets.config import NetConfig
from modlm.nets.dropout import Dropout
from modlm.nets.features import FeatureScaling
from modlm.nets.mixer_net import MixerNet
from small_texts import TEXTS, model_of

WORDS, FEATURES, DENSE = 6, 4, 3
STEPS, SENTENCES = 4, 2


def net_of(
    *, delta: bool = True, dense: int = DENSE, features: int = FEATURES, seed: int = 1, **settings: object
) -> MixerNet:
    config = NetConfig(**({"hidden": 5, "word_size": 5} | settings))  # type: ignore[arg-type]
    return MixerNet(config, vocab_size=WORDS, features=features, dense=dense, delta=delta, seed=seed).double()


def batch_of(*, seed: int = 2, words: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    contexts_TBW = torch.randint(0, WORDS + 1, (STEPS, SENTENCES, words), generator=generator)
    return contexts_TBW, torch.randn(STEPS, SENTENCES, FEATURES, generator=generator, dtype=torch.float64)


def distributions_of(positions: int, dense: int = DENSE, *, seed: int = 3) -> Tensor:
    """Columns of D after each position, each with a word it gives nothing."""
    generator = torch.Generator().manual_seed(seed)
    raw_PJD = torch.rand(positions, WORDS, dense, generator=generator, dtype=torch.float64)
    raw_PJD[:, 0] = 0
    return raw_PJD / raw_PJD.sum(1, keepdim=True)


KINDS = st.sampled_from([("neural", True, 0), ("interpolated", False, 3), ("hybrid", True, 3), ("hybrid", True, 1)])


@given(
    KINDS, st.sampled_from([name for name in BODIES if name != "attention"]),
    st.integers(1, 2), st.integers(1, 3), st.booleans(), st.booleans(),
    st.booleans(), st.sampled_from([("counts",), ("word",), ("counts", "word")]), st.integers(0, 1000),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_kind_gives_distributions(
    kind: tuple[str, bool, int], body: str, layers: int, words: int, tied: bool, projected: bool, off: bool,
    inputs: tuple[str, ...], seed: int,
) -> None:  # fmt: skip
    _, delta, dense = kind
    tied = tied and delta
    net = net_of(
        delta=delta, dense=dense, body=body, layers=layers, words=words, tied=tied, projected=projected and tied,
        inputs=inputs, seed=seed,
    )  # fmt: skip
    hidden_PH = net.hidden(*batch_of(words=words, seed=seed))[0].flatten(0, 1)
    distributions_PJD = distributions_of(len(hidden_PH), dense)
    off_PD = torch.rand(len(hidden_PH), dense, generator=torch.Generator().manual_seed(seed)) < 0.5
    off_PD[:, -1:] &= delta
    total_P = torch.zeros(len(hidden_PH), dtype=torch.float64)
    for word in range(WORDS):
        words_P = torch.full((len(hidden_PH),), word)
        cases = [(1.0, off_PD if off else None)]
        total_P += (-net.nll(hidden_PH, distributions_PJD[:, word].log(), words_P, cases)[0]).exp()
    torch.testing.assert_close(total_P, torch.ones_like(total_P))
    log_weights_PK = net.log_weights(hidden_PH)
    assert log_weights_PK.shape == (len(hidden_PH), dense + WORDS * delta)
    torch.testing.assert_close(log_weights_PK.exp().sum(1), torch.ones_like(total_P))


def losses(net: MixerNet, *, columns: slice = slice(None)) -> Tensor:
    """-log p of words 0, 1, 2, … in a fixed batch; -inf stands where D is 0."""
    hidden_PH = net.hidden(*batch_of())[0].flatten(0, 1)
    words_P = torch.arange(len(hidden_PH)) % WORDS
    log_probs_PD = distributions_of(len(hidden_PH))[torch.arange(len(hidden_PH)), words_P].log()
    return net.nll(hidden_PH, log_probs_PD[:, columns], words_P)[0]


def test_a_hybrid_that_gives_dense_columns_nothing_is_a_neural_model() -> None:
    hybrid, neural = net_of(), net_of(dense=0)
    hybrid.output.bias_K.data[:DENSE] = -math.inf
    neural.load_state_dict(hybrid.state_dict() | _output(hybrid, slice(DENSE, None)))
    torch.testing.assert_close(losses(hybrid), losses(neural, columns=slice(0)))


def test_a_hybrid_that_gives_deltas_nothing_is_an_interpolated_model() -> None:
    hybrid, interpolated = net_of(), net_of(delta=False)
    hybrid.output.bias_K.data[DENSE:] = -math.inf
    interpolated.load_state_dict(hybrid.state_dict() | _output(hybrid, slice(DENSE)))
    assert losses(hybrid).isinf().any()  # the word that no column gives a probability
    torch.testing.assert_close(losses(hybrid), losses(interpolated))


def _output(net: MixerNet, columns: slice) -> dict[str, Tensor]:
    return {"output.weight_KH": net.output.weight_KH[columns], "output.bias_K": net.output.bias_K[columns]}


@pytest.mark.parametrize("smoothing", ["witten-bell", "modified-kneser-ney"])
def test_a_feedforward_net_with_the_heuristics_weights_is_the_heuristic(smoothing: str) -> None:
    """With as many units as there are different features, output vectors exist that give exactly log lambda."""
    mixture = model_of(TEXTS["random sentences"], smoothing=smoothing, extra=("uniform", "unknown")).as_mixture()
    assert isinstance(mixture, Mixture)
    ids = mixture.vocabulary.encode(TEXTS["random sentences"][:12]).astype(np.uint32)
    predicted = ids < len(mixture.vocabulary)
    rows = mixture.rows(ids)
    features_PF = rows.features_TF[predicted]
    distinct = np.unique(features_PF, axis=0)
    config = NetConfig(body="feedforward", hidden=2 * len(distinct), inputs=("counts",))
    net = MixerNet(
        config, vocab_size=len(mixture.vocabulary), features=features_PF.shape[1], dense=rows.probs_TK.shape[1],
        delta=False, scaling=FeatureScaling.fit(features_PF, "centred"),
    ).double()  # fmt: skip
    with torch.no_grad(), np.errstate(divide="ignore"):
        hidden_XH = net.hidden(torch.zeros(len(distinct), 1, 1), torch.tensor(distinct)[:, None])[0][:, 0]
        wanted_XK = np.maximum(np.log(mixture.mixer.weights(distinct)), -50)
        net.output.weight_KH.copy_(torch.linalg.lstsq(hidden_XH, torch.tensor(wanted_XK), driver="gelsd").solution.t())
        hidden_PH = net.hidden(torch.zeros(len(features_PF), 1, 1), torch.tensor(features_PF)[:, None])[0][:, 0]
        log_probs_PD = torch.tensor(np.log(rows.probs_TK[predicted]))
        nll_P, mass_P = net.nll(hidden_PH, log_probs_PD, torch.tensor(ids[predicted].astype(np.int64)))
    assert (-nll_P).exp().numpy() == pytest.approx(mixture.word_probs(ids)[predicted], rel=1e-5)
    assert mass_P.numpy() == pytest.approx(np.ones(len(mass_P)))


def test_tied_delta_vectors_are_the_word_vectors() -> None:
    net = net_of(tied=True)
    hidden_PH = torch.eye(5, dtype=torch.float64)
    differences = net.log_weights(hidden_PH)[:, DENSE:] - (hidden_PH @ net.inputs.word_vectors[:WORDS].t())
    torch.testing.assert_close(differences, differences[:, :1].expand(-1, WORDS))
    losses(net).nan_to_num(posinf=0).sum().backward()
    assert net.inputs.word_vectors.grad is not None and net.inputs.word_vectors.grad.isfinite().all()


def test_a_projected_net_is_the_tied_one_with_hidden_vectors_multiplied_and_begins_as_it() -> None:
    tied, projected = net_of(tied=True), net_of(tied=True, projected=True)
    torch.testing.assert_close(losses(projected), losses(tied))
    assert projected.output.projection_HH is not None
    torch.nn.init.normal_(projected.output.projection_HH, generator=torch.Generator().manual_seed(4))
    hidden_PH = projected.hidden(*batch_of())[0].flatten(0, 1)
    multiplied_PH = hidden_PH @ projected.output.projection_HH
    torch.testing.assert_close(projected.log_weights(hidden_PH), tied.log_weights(multiplied_PH))
    words_P = torch.arange(len(hidden_PH)) % WORDS
    log_probs_PD = distributions_of(len(hidden_PH))[torch.arange(len(hidden_PH)), words_P].log()
    torch.testing.assert_close(
        projected.nll(hidden_PH, log_probs_PD, words_P), tied.nll(multiplied_PH, log_probs_PD, words_P)
    )
    losses(projected).nan_to_num(posinf=0).sum().backward()
    assert projected.output.projection_HH.grad is not None and projected.output.projection_HH.grad.any()


def test_the_nearest_words_are_taken_when_contexts_hold_more() -> None:
    net = net_of(words=2)
    contexts_TBW, features_TBF = batch_of(words=4)
    hidden_TBH, _ = net.hidden(contexts_TBW, features_TBF)
    torch.testing.assert_close(hidden_TBH, net.hidden(contexts_TBW[..., 2:], features_TBF)[0])
    assert not torch.equal(hidden_TBH, net.hidden(contexts_TBW[..., :2], features_TBF)[0])


def test_parameters_come_from_the_seed_alone() -> None:
    before = torch.random.get_rng_state()
    first, second, other = net_of(seed=1), net_of(seed=1), net_of(seed=2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert not torch.equal(first.output.weight_KH, other.output.weight_KH)


@pytest.mark.parametrize("body", ["feedforward", "rnn", "gru", "lstm"])
def test_parameters_begin_within_glorots_range_and_output_biases_at_zero(body: str) -> None:
    net = MixerNet(NetConfig(body=body, hidden=50), vocab_size=100, features=8, dense=3, delta=True)
    largest = net.body.input_weights[0].abs().max().item()
    assert largest == pytest.approx(math.sqrt(6 / (58 + 50 * net.body.gates)), rel=0.01)
    assert net.inputs.word_vectors.shape == (101, 50)
    assert net.inputs.word_vectors.abs().max().item() == pytest.approx(math.sqrt(3 / 50), rel=0.01)
    assert not net.output.bias_K.any()


def test_scaling_is_saved_with_the_net() -> None:
    features_TF = np.random.default_rng(1).normal(size=(50, FEATURES)).astype(np.float32)
    scaling = FeatureScaling.fit(features_TF, "whitened")
    first, second = (
        MixerNet(NetConfig(hidden=5), vocab_size=WORDS, features=FEATURES, dense=3, delta=True, scaling=scaling, seed=s)
        for s in (1, 2)
    )
    second.load_state_dict(first.state_dict())
    contexts_TBW, features_TBF = batch_of()
    ours, theirs = (net.hidden(contexts_TBW, features_TBF.float())[0] for net in (first, second))
    assert torch.equal(ours, theirs)


def test_nets_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="neither dense nor delta"):
        net_of(delta=False, dense=0)
    with pytest.raises(ConfigError, match="tied needs delta"):
        net_of(delta=False, tied=True)
    with pytest.raises(ConfigError, match="projected lies between"):
        net_of(projected=True)
    with pytest.raises(ConfigError, match="see nothing"):
        net_of(features=0, inputs=("counts",))
    with pytest.raises(ConfigError, match="has 2"):
        MixerNet(NetConfig(), vocab_size=5, features=3, dense=1, delta=True, scaling=FeatureScaling.raw(2))


def test_a_net_of_one_sentence_at_a_time_gives_what_batches_give() -> None:
    net = net_of(layers=2)
    contexts_TBW, features_TBF = batch_of()
    whole_TBH, _ = net.hidden(contexts_TBW, features_TBF)
    state_SBH = None
    for t in range(STEPS):
        hidden_1BH, state_SBH = net.hidden(contexts_TBW[t : t + 1], features_TBF[t : t + 1], state_SBH)
        torch.testing.assert_close(hidden_1BH[0], whole_TBH[t])
    assert state_SBH is not None and state_SBH.shape == (4, SENTENCES, 5) and net.state_shape == (4, 5)


def test_a_few_steps_learn_a_small_batch_by_heart() -> None:
    net = net_of(dropout=0.2).float()
    contexts_TBW, features_TBF = batch_of()
    words_P = torch.arange(STEPS * SENTENCES) % WORDS
    log_probs_PD = distributions_of(len(words_P))[torch.arange(len(words_P)), words_P].log().float()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(1)
    history = []
    for _ in range(60):
        dropout = Dropout(net.config.dropout, generator)
        hidden_TBH, _ = net.hidden(contexts_TBW, features_TBF.float(), dropout=dropout)
        total = net.nll(hidden_TBH.flatten(0, 1), log_probs_PD, words_P)[0].sum()
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        history.append(total.item())
    assert history[-1] < 0.5 * history[0]
