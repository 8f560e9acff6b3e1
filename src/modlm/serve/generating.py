"""`/generate`: words drawn one after the other, a few at a time so that they can be sent as they come."""

import time
from typing import Any

import numpy as np

from modlm.model.sampling import Sampling, draws
from modlm.serve.library import Served
from modlm.serve.scoring import written
from modlm.text.tokens import NEAR
from modlm.text.vocabulary import END

PORTION = 0.02  # seconds of drawing after which the words are handed over


class Generation:
    """A sentence that is being drawn; `portion` runs in a thread until there is a `reason`."""

    def __init__(self, served: Served, sampling: Sampling, *, context: str, seed: int | None) -> None:
        self.served, self.sampling, self.words, self.reason = served, sampling, 0, ""
        self.drawn = draws(served.model, sampling, context=context, rng=np.random.default_rng(seed))
        self.before = served.model.vocabulary.encode(context)[-NEAR:]

    def portion(self, seconds: float = PORTION) -> list[dict[str, Any]]:
        """The next words, as many as are drawn in this time, at least one if there is one."""
        until, found = time.monotonic() + seconds, list[dict[str, Any]]()
        for draw in self.drawn:
            if draw.word == END:
                self.reason = "end"
                return found
            self.words += 1
            record = {"word": self.served.model.vocabulary.word(draw.word), "probability": draw.probability}
            found.append(written(self.served.model, self.before, record))
            self.before = np.append(self.before[1 - NEAR :], np.uint32(draw.word))
            if self.words == self.sampling.max_words:
                break
            if time.monotonic() > until:
                return found
        self.reason = "max_words"
        return found
