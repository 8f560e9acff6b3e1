"""Which columns are switched off, how often, and for whom."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from modlm.blocks.block import Span
from modlm.errors import ConfigError
from modlm.nets.block_dropout import BlockDropout
from modlm.nets.config import BlockDropoutConfig

SPANS = {
    "ngram": Span("ngram", slice(0, 3), slice(0, 12)),
    "news": Span("news", slice(3, 5), slice(12, 20)),
    "uniform": Span("uniform", slice(5, 6), slice(20, 20)),
    "unknown": Span("unknown", slice(6, 7), slice(20, 20)),
}


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_by_default_all_count_blocks_go_together_and_constants_stay() -> None:
    dropout = BlockDropout(BlockDropoutConfig(rate=0.5), SPANS, delta=True)
    off_TBD = dropout.off(100, 50, rate=0.5, generator=seeded())
    assert off_TBD is not None and off_TBD.shape == (100, 50, 7)
    rows = {tuple(row) for row in off_TBD.flatten(0, 1).tolist()}
    assert rows == {(True,) * 5 + (False,) * 2, (False,) * 7}
    assert off_TBD[..., 0].float().mean().item() == pytest.approx(0.5, abs=0.03)
    assert off_TBD[0, :, 0].float().std() > 0 and off_TBD[:, 0, 0].float().std() > 0


def test_one_of_several_groups_is_drawn_each_as_often() -> None:
    config = BlockDropoutConfig(rate=0.6, groups=(("ngram",), ("news", "uniform")))
    off_TBD = BlockDropout(config, SPANS, delta=True).off(100, 100, rate=0.6, generator=seeded())
    assert off_TBD is not None
    assert off_TBD.float().mean((0, 1)).tolist() == pytest.approx([0.3] * 6 + [0], abs=0.03)
    assert not (off_TBD[..., 0] & off_TBD[..., 3]).any()


def test_per_step_all_sentences_share_the_draw() -> None:
    config = BlockDropoutConfig(rate=0.5, per="step")
    off_TBD = BlockDropout(config, SPANS, delta=True).off(40, 6, rate=0.5, generator=seeded())
    assert off_TBD is not None
    assert (off_TBD == off_TBD[:, :1]).all() and 0 < off_TBD[:, 0, 0].float().mean() < 1


@pytest.mark.parametrize("per", ["example", "step"])
def test_processes_that_share_a_batch_see_the_draws_of_one(per: str) -> None:
    dropout = BlockDropout(BlockDropoutConfig(rate=0.5, per=per), SPANS, delta=True)
    whole_TBD = dropout.off(9, 5, rate=0.5, generator=seeded())
    part_TBD = dropout.off(9, 5, rate=0.5, generator=seeded(), shard=slice(1, None, 2))
    assert whole_TBD is not None and part_TBD is not None and torch.equal(whole_TBD[:, 1::2], part_TBD)


def test_a_rate_of_one_switches_off_everywhere_and_of_zero_nowhere() -> None:
    dropout = BlockDropout(BlockDropoutConfig(rate=1.0), SPANS, delta=True)
    off_TBD = dropout.off(9, 5, rate=1.0, generator=seeded())
    assert off_TBD is not None and off_TBD[..., :5].all()
    assert dropout.off(9, 5, rate=0.0, generator=seeded()) is None
    assert BlockDropout(BlockDropoutConfig(rate=1.0), {}, delta=True).off(9, 5, rate=1.0, generator=seeded()) is None


def test_exact_dropout_draws_nothing_and_gives_every_group_its_share() -> None:
    config = BlockDropoutConfig(rate=0.6, groups=(("ngram",), ("news", "uniform")), per="exact")
    batch = SimpleNamespace(words_P=torch.zeros(3), whole=(3, 1))
    generator = seeded()
    cases = BlockDropout(config, SPANS, delta=True).cases(batch, rate=0.6, generator=generator)
    assert [share for share, _ in cases] == pytest.approx([0.4, 0.3, 0.3]) and cases[0][1] is None
    offs = [off.int().tolist() for _, off in cases[1:] if off is not None]
    assert offs == [[[1, 1, 1, 0, 0, 0, 0]], [[0, 0, 0, 1, 1, 1, 0]]]
    assert torch.equal(generator.get_state(), seeded().get_state())


def test_something_must_stay_on() -> None:
    counts = {name: SPANS[name] for name in ("ngram", "news")}
    with pytest.raises(ConfigError, match="all columns: ngram, news"):
        BlockDropout(BlockDropoutConfig(rate=0.5), counts, delta=False)
    BlockDropout(BlockDropoutConfig(rate=0.0), counts, delta=False)
    BlockDropout(BlockDropoutConfig(rate=0.5), counts, delta=True)
    BlockDropout(BlockDropoutConfig(rate=0.5), SPANS, delta=False)


def test_groups_name_blocks_of_the_model() -> None:
    with pytest.raises(ConfigError, match=r"'ngrams'.*Did you mean 'ngram'"):
        BlockDropout(BlockDropoutConfig(rate=0.5, groups=(("ngrams",),)), SPANS, delta=True)
