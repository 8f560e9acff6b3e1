"""A decoder with random but repeatable opinions: what it expects depends on all tokens before."""

from __future__ import annotations

import numpy as np

END = 1


class FakeDecoder:
    """Log-probabilities over `size` tokens; likelier to end the longer it gets."""

    def __init__(self, size: int, *, seed: int = 0) -> None:
        self.size, self.seed = size, seed
        self.paths: list[tuple[int, ...]] = []

    def after(self, path: tuple[int, ...]) -> np.ndarray:
        """What it expects after some tokens."""
        logits = 2 * np.random.default_rng([self.seed, *path]).normal(size=self.size)
        logits[END] += len(path) - 4
        return (logits - np.log(np.exp(logits).sum())).astype(np.float32)

    def start(self) -> np.ndarray:
        """See `Decoder`."""
        self.paths = [()]
        return self.after(())[None]

    def step(self, parents_B: np.ndarray, tokens_B: np.ndarray) -> np.ndarray:
        """See `Decoder`."""
        pairs = zip(parents_B.tolist(), tokens_B.tolist(), strict=True)
        self.paths = [(*self.paths[parent], token) for parent, token in pairs]
        return np.stack([self.after(path) for path in self.paths])

    def along(self, tokens: list[int]) -> np.ndarray:
        """(T, J): what it expected at each token."""
        return np.stack([self.after(tuple(tokens[:place])) for place in range(len(tokens))])
