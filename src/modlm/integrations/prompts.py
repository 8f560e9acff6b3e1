"""Prompts and continuations with any language model of ours: texts of several lines, the last of which is open.

Such a text is flat ids, `<s> w … </s> <s> w …`: a line end in it is `</s>` and the `<s>` behind it. What a continuation
adds are the ids behind those of its prompt, as they stand when both are encoded together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modlm.arrays import Floats, Ids, Ints
from modlm.blocks.block import NOTHING
from modlm.model.language_model import LanguageModel, sliding_windows
from modlm.model.sampling import Sampling, adjusted
from modlm.text.vocabulary import END, UNKNOWN

TOGETHER = 32  # positions whose whole distributions are in memory at a time


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a model says of a continuation."""

    log_prob: float
    """Natural logarithm of its probability after the prompt."""
    greedy: bool
    """Whether each of its words is the most probable one at its place."""


def text_ids(model: LanguageModel, text: str) -> Ids:
    """The ids of a text whose last line is open."""
    vocabulary = model.vocabulary
    parts: list[Ids] = []
    for line in text.split("\n"):
        ids = vocabulary.encode(line)
        ids = np.where((ids == END) | (ids == vocabulary.start), UNKNOWN, ids)  # reserved names in a text are words
        parts += [np.array([vocabulary.start], np.uint32), ids.astype(np.uint32), np.array([END], np.uint32)]
    return np.concatenate(parts[:-1])


def log_probs(model: LanguageModel, ids: Ids) -> Floats:
    """log P of each id of such a text, 0 at each `<s>`."""
    return model.log_probs(np.append(ids, np.uint32(END)))[:-1]


def continuation(model: LanguageModel, prompt: str, text: str) -> Continuation:
    """A continuation after a prompt; white space between them belongs to the continuation."""
    spaces = len(prompt) - len(prompt.rstrip(" "))
    prompt, text = prompt[: len(prompt) - spaces], prompt[len(prompt) - spaces :] + text
    ids = text_ids(model, prompt + text)
    places = np.arange(min(len(text_ids(model, prompt)), len(ids) - 1), len(ids))
    places = places[ids[places] != model.vocabulary.start]
    return Continuation(float(log_probs(model, ids)[places].sum()), is_greedy(model, ids, places))


def is_greedy(model: LanguageModel, ids: Ids, places: Ints) -> bool:
    """Whether the most probable word stands at each place."""
    windows_TC = sliding_windows(ids, min(model.window_length, len(ids)))
    for begin in range(0, len(places), TOGETHER):
        some = places[begin : begin + TOGETHER]
        best = np.argmax(model.distributions(model.state_after(line_windows(model, windows_TC[some]))), axis=1)
        if (best != ids[some]).any():
            return False
    return True


def line_windows(model: LanguageModel, windows_BC: Ids) -> Ids:
    """Windows without the lines before the last, unless the model looks at these, too."""
    if model.reads_documents:
        return windows_BC
    starts_BC = windows_BC == model.vocabulary.start
    behind_BC = np.cumsum(starts_BC[:, ::-1], axis=1)[:, ::-1]  # line starts from here on
    return np.where((behind_BC == 0) | (starts_BC & (behind_BC == 1)), windows_BC, NOTHING).astype(np.uint32)


def generated(
    model: LanguageModel,
    prompt: str,
    *,
    until: tuple[str, ...] = (),
    most: int = 256,
    sampling: Sampling | None = None,
    rng: np.random.Generator | None = None,
) -> str:
    """What the model writes behind a prompt, up to a stop string (which is left out) or so many words; greedy unless
    told otherwise. Line ends are written like words."""
    sampling, rng = sampling or Sampling(temperature=0), rng or np.random.default_rng()
    ids = text_ids(model, prompt)
    window = line_windows(model, ids[None, -model.window_length :])
    states, line, before = model.state_after(window), open_line(model, ids), ""
    shown = model.vocabulary.join(line)
    for _ in range(most):
        probs = adjusted(model.distributions(states)[0], sampling)
        word = int(np.searchsorted(np.cumsum(probs), rng.random(), side="right"))
        word = min(word, int(np.flatnonzero(probs)[-1]))
        states, _ = model.advance(states, np.array([word], np.uint32))
        if word == END:
            states, _ = model.advance(states, np.array([model.vocabulary.start], np.uint32))
            before, line, shown = before + written(model, line, shown) + "\n", [], ""
        else:
            line.append(model.vocabulary.word(word))
        text = before + written(model, line, shown)
        stops = [at for stop in until if stop and (at := text.find(stop)) >= 0]
        if stops:
            return text[: min(stops)]
    return before + written(model, line, shown)


def open_line(model: LanguageModel, ids: Ids) -> list[str]:
    """The words of the last line."""
    begin = int(np.flatnonzero(ids == model.vocabulary.start)[-1])
    return model.vocabulary.decode(ids[begin + 1 :])


def written(model: LanguageModel, line: list[str], shown: str) -> str:
    """The line without the part that was there already."""
    return model.vocabulary.join(line)[len(shown) :]
