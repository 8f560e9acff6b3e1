"""What a run says while it goes: one live line when somebody watches, a plain line for each evaluation otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from modlm.ground.progress import short, span, watched
from modlm.model.scored_text import perplexity_of
from modlm.training.journal import Line
from modlm.training.run_state import Rules, RunState
from modlm.training.tracking import TEXTS

EVERY = 0.5  # seconds between changes of the live line
SMOOTH = 0.9  # share of the old rate in the one shown


class Live:
    """Lines on standard error; silent in all processes but the first."""

    def __init__(
        self,
        rules: Rules,
        *,
        leads: bool,
        stream: TextIO | None = None,
        shown: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules, self.leads, self.clock = rules, leads, clock
        self.stream = stream if stream is not None else sys.stderr
        self.shown = (watched() if shown is None else shown) and leads
        self.valid = ""
        self._last: tuple[float, int] | None = None
        self._rate = 0.0
        self._width = 0

    def stepped(self, state: RunState) -> None:
        """After every step; costs a look at the clock."""
        if not self.shown:
            return
        now = self.clock()
        if self._last is None:
            self._last = (now, state.words)
        then, words = self._last
        if now - then < EVERY:
            return
        rate = (state.words - words) / (now - then)
        self._rate = rate if self._rate == 0 else SMOOTH * self._rate + (1 - SMOOTH) * rate
        self._last = (now, state.words)
        self._overwrite(self.line(state))

    def line(self, state: RunState) -> str:
        """Epoch and words, words/s, perplexities, dense mass and the time to the end, without evaluations."""
        count, limit = max(1, state.train_words), 60 * self.rules.config.schedule.minutes
        left = (self.rules.total_words - state.words) / max(1.0, self._rate)
        left = min(left, max(0.0, limit - state.seconds)) if limit else left
        parts = [
            f"epoch {self.rules.epochs(state):.2f}/{self.rules.config.schedule.epochs:g}",
            f"{short(state.words)} words",
            f"{short(self._rate)}/s",
            f"train {perplexity_of(-state.train_nll, count):.1f}",
            f"valid {self.valid or '-'}",
            f"dense {state.train_mass / count:.2f}",
            f"ETA {span(left)}",
        ]
        return "  ".join(parts)

    def evaluated(self, line: Line) -> None:
        """After an evaluation: its line stays on the screen."""
        self.valid = _number(line.get("valid_perplexity"))
        self._last = None
        if not self.leads:
            return
        parts = [f"epoch {line['epoch']:.2f}", f"{short(float(line['words'] or 0))} words"]
        parts += [f"{text} {_number(line[f'{text}_perplexity'])}" for text in TEXTS if f"{text}_perplexity" in line]
        parts += [f"dense {line['valid_dense_mass']:.3f}"] + (["best"] if line["best"] else [])
        self.note("  ".join(parts))

    def note(self, text: str) -> None:
        """A line that stays."""
        if self.leads:
            self._overwrite("")
            print(text, file=self.stream, flush=True)

    def _overwrite(self, text: str) -> None:
        if not self.shown:
            return
        self.stream.write("\r" + text.ljust(self._width) + ("\r" if not text else ""))
        self.stream.flush()
        self._width = len(text)

    def close(self) -> None:
        self._overwrite("")


def _number(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "inf"
