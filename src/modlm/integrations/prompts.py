"""Prompts and continuations with any language model of ours: texts of several lines, the last of which is open.

Such a text is flat ids, `<s> w … </s> <s> w …`: a line end in it is `</s>` and the `<s>` behind it. What a continuation
adds are the ids behind those of its prompt, as they stand when both are encoded together.

Outside, the same text is tokens: words or what a tokenizer makes, each with the white space before it, and line ends.
Their ids are the model's, or the tokenizer's where it has one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from modlm.errors import VocabularyError
from modlm.ground.arrays import AnyFloats, Floats, Ids, Ints
from modlm.model.language_model import LanguageModel, sliding_windows
from modlm.model.sampling import Draw, Sampling, drawn_lines
from modlm.text.tokens import NEAR, TokenVocabulary
from modlm.text.vocabulary import END, UNKNOWN, Vocabulary

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
    rows, words = rows_before(model, ids, places), ids[places].tolist()
    greedy = all(int(np.argmax(row_J)) == word for row_J, word in zip(rows, words, strict=True))
    return Continuation(float(log_probs(model, ids)[places].sum()), greedy)


def rows_before(model: LanguageModel, ids: Ids, places: Ints) -> Iterator[AnyFloats]:
    """The whole next-word distribution at each place of a text."""
    windows_TC = sliding_windows(ids, min(model.window_length, len(ids)))
    for begin in range(0, len(places), TOGETHER):
        yield from model.distributions(model.state_after(windows_TC[places[begin : begin + TOGETHER]]))


# ---- tokens as others see them ---------------------------------------------------------------------------------------


class Prompt(NamedTuple):
    """A text whose last line is open, and its tokens."""

    text: str
    ids: Ids
    pieces: list[str]
    """What each id adds to the text; together with white space behind the last they are the text. Nothing for `<s>`."""
    places: Ints
    """Where in the ids the tokens stand: everywhere but at `<s>`, unless it was given."""


def prompt_of(model: LanguageModel, given: str | Sequence[int]) -> Prompt:
    """A text, or the ids of its tokens; it begins a line in either case."""
    vocabulary = model.vocabulary
    if isinstance(given, str):
        ids, pieces = text_ids(model, given), [""]
        for line in given.split("\n"):
            done = 0
            for _, end in vocabulary.places(line):
                pieces.append(line[done : max(end, done)])
                done = max(end, done)
            pieces += [line[done:] + "\n", ""]
        return Prompt(given, ids, pieces[: len(ids)], np.flatnonzero(ids != vocabulary.start))
    ids, begun = own_ids(vocabulary, given)
    starts = set(np.flatnonzero(ids == vocabulary.start).tolist())
    lines = np.maximum.accumulate(np.where(ids == vocabulary.start, np.arange(len(ids)), 0)).tolist()
    pieces = [
        "" if place in starts else piece(vocabulary, ids[lines[place] + 1 : place], word)
        for place, word in enumerate(ids.tolist())
    ]
    places = np.flatnonzero(ids != vocabulary.start)
    return Prompt("".join(pieces), ids, pieces, np.append(0, places) if begun else places)


def piece(vocabulary: Vocabulary, before: Ids, word: int) -> str:
    """What a word adds to the text of its line so far."""
    return "\n" if word == END else vocabulary.continuation(before[-NEAR:], word)


def written(
    model: LanguageModel, prompt: Prompt, sampling: Sampling, rng: np.random.Generator
) -> Iterator[tuple[Draw, Ids, str]]:
    """What the model writes behind a prompt: each word, those before it in its line, and what it adds to the text."""
    vocabulary = model.vocabulary
    line = prompt.ids[int(np.flatnonzero(prompt.ids == vocabulary.start)[-1]) + 1 :]
    spaced = len("".join(prompt.pieces)) < len(prompt.text)
    for draw in drawn_lines(model, prompt.ids[None, -model.window_length :], sampling, rng):
        added = piece(vocabulary, line, draw.word)
        yield draw, line, added.removeprefix(" ") if spaced else added
        spaced = False
        line = line[:0] if draw.word == END else np.append(line[-NEAR:], np.uint32(draw.word))


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
    sampling = replace(sampling or Sampling(temperature=0), max_words=most)
    text = ""
    for _, _, added in written(model, prompt_of(model, prompt), sampling, rng or np.random.default_rng()):
        text += added
        stops = [at for stop in until if stop and (at := text.find(stop)) >= 0]
        if stops:
            return text[: min(stops)]
    return text


@lru_cache(maxsize=16)
def id_tables(vocabulary: Vocabulary) -> tuple[Ints, Ids]:
    """For each of our ids, `<s>` too, the token's id outside; and the other way round."""
    if not isinstance(vocabulary, TokenVocabulary):
        same = np.arange(len(vocabulary) + 1)
        return same, same.astype(np.uint32)
    known = len(vocabulary.ours)  # behind them: what the tokenizer has no token for
    outside = np.append(vocabulary.theirs, known + 2)
    outside[:2] = np.where(outside[:2] < 0, [known + UNKNOWN, known + END], outside[:2])
    own = np.append(vocabulary.ours, np.array([UNKNOWN, END, vocabulary.start], np.uint32))
    return np.where(outside < 0, outside[UNKNOWN], outside), own


def own_ids(vocabulary: Vocabulary, given: Sequence[int]) -> tuple[Ids, bool]:
    """The ids of a text from those of its tokens, and whether `<s>` (or a special token) was the first of them."""
    own, ids = id_tables(vocabulary)[1], np.asarray(given, np.int64)
    wrong = ids[(ids < 0) | (ids >= len(own))]
    if len(wrong):
        raise VocabularyError(f"There is no token {wrong[0]}: ids go from 0 to {len(own) - 1} here.")
    special = vocabulary.special if isinstance(vocabulary, TokenVocabulary) else ()
    begun = len(ids) > 0 and (ids[0] in special or own[ids[0]] == vocabulary.start)
    text = own[ids[int(begun) :]]
    if (text == vocabulary.start).any():
        raise VocabularyError("The token <s> stands inside the prompt. It may only be the first: lines end with </s>.")
    text = np.insert(text, np.flatnonzero(text == END) + 1, vocabulary.start)
    return np.append(np.uint32(vocabulary.start), text), bool(begun)
