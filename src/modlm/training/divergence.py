"""A loss or gradient that is no number, or out of all bounds: where it happened, on what, and what to try."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from modlm.errors import ModlmError

if TYPE_CHECKING:
    from modlm.training.trainer import Trainer

LARGEST_NLL = 1e4  # a word: beyond that, logits are so large that sums of them mean nothing any more
SHOWN = 3  # sentences of the batch that are quoted
LENGTH = 80  # characters of each


class DivergedError(ModlmError):
    """Training that led to a loss or gradient which is infinite or no number."""


def diverged(trainer: Trainer, number: int, nll: float) -> DivergedError:
    state = trainer.run_state
    sentences = trainer.train.sentences_of(number)
    quoted = [f"    {int(at) + 1}: {_cut(trainer.texts.sentence(int(at)))}" for at in sentences[:SHOWN]]
    what = f"the loss is {nll:.4g}, summed over the words," if not nll < LARGEST_NLL else "the gradient is not finite"
    return DivergedError(
        f"Training stopped at step {state.step + 1} (epoch {trainer.rules.epochs(state):.2f}): {what} for batch "
        f"{number}, with {len(sentences)} sentences of the training text:\n"
        + "\n".join(quoted)
        + ("\n    ..." if len(sentences) > SHOWN else "")
        + f"\n{_advice(trainer, nll)} Nothing of this step was saved."
    )


def _advice(trainer: Trainer, nll: float) -> str:
    config = trainer.config
    if nll == math.inf and config.kind == "interpolated" and "uniform" not in config.extra:
        return 'A word has probability 0 in every column: add a constant column with extra = ["uniform", "unknown"].'
    rate = trainer.rules.learning_rate(trainer.run_state)
    clip = (
        f"a smaller optimiser.clip (now {config.optimiser.clip:g})" if config.optimiser.clip else "optimiser.clip = 5"
    )
    return (
        f"Try a lower optimiser.learning_rate (now {rate:g}), {clip}, or optimiser.warmup; if it happens at the very "
        f'first steps, look at the texts and at net.features (now "{config.net.features}").'
    )


def _cut(text: str) -> str:
    return text if len(text) <= LENGTH else text[: LENGTH - 3] + "..."
