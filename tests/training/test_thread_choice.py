"""How many threads a run takes: whichever is faster, told once, and without a trace in what it learns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from modlm.training import thread_choice
from modlm.training.distributed import Processes
from modlm.training.run import train
from modlm.training.thread_choice import AHEAD, ENOUGH, EVERY, PASSES, SPARE, ThreadChoice
from modlm.training.trainer import Trainer
from tiny_runs import contents, tiny_config

MOST = 2


class Machine:
    """A clock that passes work moves on, by as much as one takes with the number of threads in use."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.seconds, self.time, self.threads = seconds, 1000.0, MOST
        self.passes: list[tuple[int, int]] = []
        self.choice = ThreadChoice(MOST, clock=lambda: self.time, use=self.use)

    def use(self, count: int) -> None:
        self.threads = count

    def rehearse(self, number: int) -> None:
        self.passes.append((self.threads, number))
        self.time += self.seconds[self.threads]

    def chosen(self, *, after: float = 0.0) -> str:
        """What a look some time later says."""
        self.passes.clear()
        self.time += after
        return self.choice.choose(self.rehearse)


def test_one_thread_is_taken_where_it_is_faster_and_that_is_said_once() -> None:
    busy = Machine({1: 0.1, MOST: 0.9})
    assert busy.chosen() == "1 thread from here on: 9.0 times as fast as 2 just now; --threads N fixes the number"
    assert (busy.choice.now, busy.threads) == (1, 1)
    assert busy.chosen(after=3600) == "" and busy.passes
    assert busy.threads == 1


def test_all_threads_are_taken_where_they_are_faster_without_a_word() -> None:
    idle = Machine({1: 0.1, MOST: 0.06})
    assert idle.chosen() == ""
    assert idle.threads == MOST
    assert idle.passes == [(count, number) for number in range(PASSES) for count in (1, MOST)]


def test_the_number_changes_when_the_machine_does_in_both_directions() -> None:
    machine = Machine({1: 0.1, MOST: 0.06})
    machine.chosen()
    machine.seconds[MOST] = 0.3
    assert machine.chosen(after=3600).startswith("1 thread from here on: 3.0 times")
    machine.seconds[MOST] = 0.05
    assert machine.chosen(after=3600).startswith("2 threads from here on: 2.0 times as fast as 1")
    assert machine.threads == MOST


@pytest.mark.parametrize("first", [1, MOST])
def test_a_small_difference_changes_nothing(first: int) -> None:
    machine = Machine({1: 0.1, MOST: 0.1})
    machine.choice.keep(first)
    machine.seconds[first] *= (1 + AHEAD) / 2
    assert machine.chosen(after=3600) == "" and machine.passes
    assert machine.threads == first


def test_one_slow_pass_of_many_changes_nothing() -> None:
    machine = Machine({1: 0.1, MOST: 0.06})

    def rehearse(number: int) -> None:
        machine.rehearse(number)
        machine.time += 0.4 if (machine.threads, number) == (MOST, 1) else 0.0

    assert machine.choice.choose(rehearse) == ""


def test_trials_are_some_time_apart_and_take_a_small_part_of_it() -> None:
    quick, slow = Machine({1: 0.001, MOST: 0.001}), Machine({1: 5.0, MOST: 40.0})
    for machine, apart in ((quick, EVERY), (slow, SPARE * 45.0)):
        machine.chosen()
        machine.chosen(after=0.99 * apart)
        assert not machine.passes
        machine.chosen(after=0.02 * apart)
        assert machine.passes
    assert len(slow.passes) == 2  # one each was enough
    assert ENOUGH < 45.0


def test_a_number_that_this_machine_has_is_kept() -> None:
    machine = Machine({1: 0.1, MOST: 0.01})
    machine.choice.keep(1)
    assert machine.threads == 1
    machine.chosen(after=0.9 * EVERY)
    assert not machine.passes
    machine.choice.keep(16)  # of a larger one
    machine.choice.keep(0)  # of a run that had none to choose
    assert machine.choice.now == 1


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if there were two cores, whatever there is."""
    before = torch.get_num_threads()
    monkeypatch.delenv("MODLM_THREADS", raising=False)
    torch.set_num_threads(MOST)
    yield
    torch.set_num_threads(before)


def test_there_is_a_choice_only_for_one_process_on_a_cpu_with_several_threads(
    two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = torch.device("cpu")
    found = ThreadChoice.left_open(Processes(cpu))
    assert found is not None and found.most == MOST
    assert ThreadChoice.left_open(Processes(cpu, rank=0, world=2)) is None
    assert ThreadChoice.left_open(Processes(torch.device("cuda"))) is None
    with monkeypatch.context() as settled:
        settled.setenv("MODLM_THREADS", "2")
        assert ThreadChoice.left_open(Processes(cpu)) is None
    torch.set_num_threads(1)
    assert ThreadChoice.left_open(Processes(cpu)) is None


def decided(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float]) -> None:
    """Trials before every update, all with the same outcome, after passes that really happen."""
    real = ThreadChoice._tried

    def tried(self: ThreadChoice, *arguments: object) -> dict[int, float]:
        real(self, *arguments)  # type: ignore[arg-type]
        return seconds

    monkeypatch.setattr(ThreadChoice, "_tried", tried)
    for name, value in {"EVERY": -1.0, "SPARE": 0, "PASSES": 2}.items():
        monkeypatch.setattr(thread_choice, name, value)


@pytest.mark.parametrize("context", ["sentence", "document"])
@pytest.mark.parametrize("faster", [1, MOST])
def test_trials_leave_no_trace(
    texts: Path, two_threads: None, context: str, faster: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(texts, kind="hybrid", net__context=context, optimiser__average=200)
    with monkeypatch.context() as settled:
        settled.setenv("MODLM_THREADS", str(faster))
        train(config, texts / "whole", device="cpu")
    decided(monkeypatch, {1: 1.0, MOST: 1.0} | {faster: 0.1})
    train(config, texts / "run", device="cpu")
    assert contents(texts / "run") == contents(texts / "whole")
    timings = [json.loads(line) for line in (texts / "run" / "timings.jsonl").read_text().splitlines()]
    assert {line["threads"] for line in timings} == {faster}
    assert torch.get_num_threads() == MOST  # as it was before


def test_a_run_goes_on_with_the_threads_that_it_had(
    texts: Path, two_threads: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tiny_config(texts, schedule__epochs=1)
    with monkeypatch.context() as busy:
        decided(busy, {1: 0.1, MOST: 1.0})
        train(config, texts / "run", device="cpu")
    assert capsys.readouterr().err.count("1 thread from here on") == 1
    seen: list[int] = []
    step = Trainer.step

    def stepping(self: Trainer) -> tuple[bool, bool, bool]:
        seen.append(torch.get_num_threads())
        return step(self)

    monkeypatch.setattr(Trainer, "step", stepping)
    monkeypatch.setattr(ThreadChoice, "_tried", lambda self, *arguments: {1: 1.0, MOST: 0.1})  # if it were tried
    train(tiny_config(texts, schedule__epochs=2), texts / "run", device="cpu", resume=True)
    assert set(seen) == {1}


def test_a_number_that_was_asked_for_is_never_tried(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert os.environ["MODLM_THREADS"] == "1"
    monkeypatch.setattr(ThreadChoice, "choose", None)
    train(tiny_config(texts, schedule__epochs=1), texts / "run", device="cpu")
