"""When to evaluate, when to stop and how fast to learn, from where a run stands; and what is said about it."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

from modlm.errors import ConfigError
from modlm.ground.progress import span
from modlm.training.config import OptimiserConfig
from modlm.training.distributed import available_devices, choose_device
from modlm.training.journal import Journal
from modlm.training.live import Live
from modlm.training.run_state import Rules, RunState
from tiny_runs import tiny_config

HERE = Path()


def test_evaluations_come_at_multiples_and_at_the_end() -> None:
    rules = Rules(tiny_config(HERE, schedule__evaluate_every=100, schedule__epochs=1.3), 200)
    due = [words for words in range(20, 280, 20) if rules.evaluation_due(RunState(words=words, evaluated=words - 20))]
    assert due == [100, 200, 260]
    assert not rules.evaluation_due(RunState(words=100, evaluated=100))
    assert [rules.finished(RunState(words=words)) for words in (259, 260)] == ["", "epochs"]


def test_patience_counts_evaluations_since_the_best() -> None:
    rules = Rules(tiny_config(HERE, schedule__patience=2), 100)
    state = RunState()
    judged = [state.judged(valid, OptimiserConfig()) for valid in (3.0, 2.0, 2.5)]
    assert judged == [True, True, False]
    assert rules.finished(state) == ""
    assert not state.judged(math.nan, OptimiserConfig())
    assert rules.finished(state) == "patience"
    assert state.best_valid == 2.0


@pytest.mark.parametrize(
    ("wait", "expected"), [(1, [1, 1, 0.5, 0.25, 0.25, 0.125, 0.0625]), (2, [1, 1, 1, 0.5, 0.5, 0.5, 0.25])]
)
def test_a_plateau_slows_learning_when_validation_gets_no_better(wait: int, expected: list[float]) -> None:
    plateau = {"optimiser__schedule": "plateau", "optimiser__decay": 0.5, "optimiser__wait": wait}
    config = tiny_config(HERE, **plateau)
    rules, state = Rules(config, 100), RunState()
    rates = []
    for valid in (3.0, 2.0, 2.5, 2.4, 1.9, 1.9, 2.6):  # better than all before: the first two and the fifth
        state.judged(valid, config.optimiser)
        rates.append(rules.learning_rate(state) / config.optimiser.learning_rate)
    assert rates == expected


def test_cosine_and_warm_up() -> None:
    config = tiny_config(HERE, optimiser__schedule="cosine", optimiser__learning_rate=1.0, schedule__epochs=2)
    rules = Rules(config, 100)
    assert [rules.learning_rate(RunState(words=words)) for words in (0, 100, 200)] == pytest.approx([1, 0.5, 0])
    warm = Rules(tiny_config(HERE, optimiser__warmup=9, optimiser__learning_rate=1.0), 100)
    assert [warm.learning_rate(RunState(words=words)) for words in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1])


def test_the_rate_of_block_dropout_decays_by_epoch() -> None:
    rules = Rules(tiny_config(HERE, kind="hybrid"), 100)
    assert [rules.block_dropout_rate(RunState(epoch=epoch)) for epoch in (0, 2)] == pytest.approx([0.5, 0.5 * 0.81])


def test_an_epoch_ends_with_its_last_batch() -> None:
    state = RunState()
    for _ in range(5):
        state.moved(10, 2)
    assert (state.epoch, state.index, state.step, state.words) == (2, 1, 5, 50)


def test_a_journal_grows_by_lines_and_is_cut_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    assert journal.lines() == []
    length = journal.add({"words": 1, "valid_mean_nll": 0.1 + 0.2})
    journal.add({"words": 2, "valid_mean_nll": math.inf})
    assert journal.lines() == [{"words": 1, "valid_mean_nll": 0.1 + 0.2}, {"words": 2, "valid_mean_nll": None}]
    journal.cut(length)
    assert [line["words"] for line in journal.lines()] == [1]


def test_the_live_line_tells_where_a_run_is() -> None:
    clock = iter(float(second) for second in range(9))
    stream = io.StringIO()
    live = Live(Rules(tiny_config(HERE), 1000), leads=True, stream=stream, shown=True, clock=lambda: next(clock))
    for words in (100, 200):
        live.stepped(RunState(words=words, train_words=100, train_nll=100 * math.log(50), train_mass=25.0))
    shown = stream.getvalue()
    for part in ("epoch 0.20/3", "200 words", "100/s", "train 50.0", "dense 0.25", "ETA 28s"):
        assert part in shown
    live.note("done")
    assert stream.getvalue().endswith("\rdone\n")


def test_only_the_first_process_talks() -> None:
    stream = io.StringIO()
    live = Live(Rules(tiny_config(HERE), 1000), leads=False, stream=stream, shown=True)
    live.stepped(RunState())
    live.note("hello")
    live.close()
    assert stream.getvalue() == ""


def test_times_for_people() -> None:
    assert [span(seconds) for seconds in (45.2, 720, 3 * 3600 + 300)] == ["45s", "12m", "3h05m"]


def test_a_device_that_is_not_here_is_named_with_those_that_are() -> None:
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type == available_devices()[0]
    with pytest.raises(ConfigError, match=r"'tpu' is not here\. Found: .*cpu"):
        choose_device("tpu")
