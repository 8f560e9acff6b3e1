"""Prompts and continuations with any language model of ours: texts of several lines, the last of which is open.

Such a text is flat ids, `<s> w … </s> <s> w …`: a line end in it is `</s>` and the `<s>` behind it. What a continuation
adds are the ids behind those of its prompt, as they stand when both are encoded together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modlm.ground.arrays import Floats, Ids, Ints
from modlm.model.language_model import LanguageModel, sliding_windows
from modlm.model.sampling import Sampling, adjusted
from modlm.text.vocabulary import END, UNKNOWN

TOGETHER = 32  # positions whose whole distributions are in memory at a time


class Continuation(NamedTuple):
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
        best = np.argmax(model.distributions(model.state_after(windows_TC[some])), axis=1)
        if (best != ids[some]).any():
            return False
    return True


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
    vocabulary, ids = model.vocabulary, text_ids(model, prompt)
    states, text = model.state_after(ids[None, -model.window_length :]), ""
    lines = [vocabulary.decode(ids[int(np.flatnonzero(ids == vocabulary.start)[-1]) + 1 :])]
    shown = len(vocabulary.join(lines[0]))  # of the prompt's open line
    for _ in range(most):
        probs = adjusted(model.distributions(states)[0], sampling)
        word = int(np.searchsorted(np.cumsum(probs), rng.random(), side="right"))
        word = min(word, int(np.flatnonzero(probs)[-1]))
        for step in (END, vocabulary.start) if word == END else (word,):
            states, _ = model.advance(states, np.array([step], np.uint32))
        if word == END:
            lines.append([])
        else:
            lines[-1].append(vocabulary.word(word))
        text = "\n".join(map(vocabulary.join, lines))[shown:]
        stops = [at for stop in until if stop and (at := text.find(stop)) >= 0]
        if stops:
            return text[: min(stops)]
    return text
