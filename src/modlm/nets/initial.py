"""How parameters begin: Glorot's uniform range, drawn from the generator given."""

from __future__ import annotations

import math

import torch
from torch import Tensor

ATTENDED = 8.0  # length of word vectors in nets with attention: of length 1 they learn what to attend to much later
NEVER = -1e5  # a logit whose weight is 0, and whose gradient is a number


def uniform(rows: int, columns: int, limit: float, generator: torch.Generator) -> Tensor:
    """Values between -limit and limit."""
    return torch.empty(rows, columns).uniform_(-limit, limit, generator=generator)


def glorot(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Values up to sqrt(6 / (rows + columns)); the gates of a recurrent layer count as rows of one matrix."""
    return uniform(rows, columns, math.sqrt(6 / max(1, rows + columns)), generator)


def word_vectors(words: int, size: int, generator: torch.Generator, *, length: float = 1.0) -> Tensor:
    """Values up to sqrt(3 / size) times the length that vectors are expected to have."""
    return uniform(words, size, length * math.sqrt(3 / size), generator)
