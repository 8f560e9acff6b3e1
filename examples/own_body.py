"""A body of one's own behind λ: any module built and called as those of `modlm.nets.bodies` are.

    python examples/own_body.py TRAIN VALID TEST

This one is an Elman net that looks at its input twice: once as it is, once squared.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

import modlm
import modlm.testing
from modlm.nets.bodies import Rnn


class Squared(Rnn):
    """inputs (T, B, I) and a state (S, B, H) -> hidden vectors (T, B, H) and the state after the last step."""

    def layer(self, weights: list[Tensor], values_TBX: Tensor, state_SBH: Tensor) -> tuple[Tensor, Tensor]:
        """As in an Elman net, over the input and its square."""
        return super().layer(weights, values_TBX + torch.square(values_TBX), state_SBH)


def main(train: str, valid: str, test: str) -> None:
    """Check the laws of a body, then train."""
    modlm.testing.check_body(Squared)
    lm = modlm.train(train, valid, mixer=Squared, net={"hidden": 30}, epochs=2)
    print(lm)
    print(f"perplexity {float(lm.perplexity(test)):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
