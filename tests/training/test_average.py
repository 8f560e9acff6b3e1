"""Averages of parameters: what they are, and that the net is left as it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from modlm.training.optimiser import EVERY, Average


def moved(average: Average, parameter: nn.Parameter, steps: int, *, words: int = 10) -> None:
    """The parameter is as large as the number of updates it has had."""
    for step in range(1, steps + 1):
        parameter.data.fill_(step)
        average.take_in(step, words)


def test_the_first_of_a_long_average_is_a_plain_mean() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    average = Average(10**9, [parameter])
    moved(average, parameter, 4 * EVERY)
    looked_at = [EVERY * (1 + look) for look in range(4)]
    assert average.means[0].tolist() == pytest.approx([sum(looked_at) / 4] * 2)


def test_what_lies_a_half_life_back_counts_half() -> None:
    parameter = nn.Parameter(torch.zeros(1))
    average = Average(EVERY * 10, [parameter])  # one look
    moved(average, parameter, 3 * EVERY)
    first = float(EVERY)
    expected = (((first + 2 * EVERY) / 2) + 3 * EVERY) / 2
    assert average.means[0].item() == pytest.approx(expected)


def test_the_net_has_the_averages_for_a_while_only() -> None:
    parameter = nn.Parameter(torch.zeros(1))
    average = Average(1000, [parameter])
    moved(average, parameter, 2 * EVERY)
    with pytest.raises(KeyboardInterrupt), average.in_place():
        assert parameter.item() == average.means[0].item() != 2 * EVERY
        raise KeyboardInterrupt
    assert parameter.item() == 2 * EVERY


def test_without_a_half_life_there_is_no_average() -> None:
    parameter = nn.Parameter(torch.ones(1))
    average = Average(0, [parameter])
    moved(average, parameter, EVERY)
    with average.in_place():
        assert parameter.item() == EVERY
    assert not average.tensors()
