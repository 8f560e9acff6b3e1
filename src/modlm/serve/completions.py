"""What is drawn, a few words at a time: for `/generate`, and for `/v1/completions`, which scores prompts too."""

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from modlm.errors import VocabularyError
from modlm.ground.arrays import AnyFloats, Ids
from modlm.integrations.prompts import Prompt, log_probs, piece, prompt_of, rows_before, written
from modlm.model.sampling import Draw, Sampling, draws, most_probable
from modlm.serve.library import Served
from modlm.serve.limits import Limits
from modlm.serve.openai_shapes import CompletionRequest
from modlm.serve.refusals import bad, too_large
from modlm.serve.scoring import with_text
from modlm.text.tokens import NEAR
from modlm.text.vocabulary import END

PORTION = 0.02  # seconds of drawing after which the words are handed over
IMPOSSIBLE = -9999.0  # the logarithm of 0, for which JSON has no number; OpenAI's own


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
            found.append(with_text(self.served.model, self.before, record))
            self.before = np.append(self.before[1 - NEAR :], np.uint32(draw.word))
            if self.words == self.sampling.max_words:
                break
            if time.monotonic() > until:
                return found
        self.reason = "max_words"
        return found


def read_prompts(served: Served, asked: CompletionRequest, limits: Limits) -> list[Prompt]:
    """The prompts, if they and what is to be written are within the limits."""
    written_most = asked.max_tokens * asked.n * len(asked.prompts)
    if asked.max_tokens > limits.max_new_words or written_most > limits.max_words:
        raise too_large(
            "too_many_words",
            f"{asked.max_tokens:,} tokens for each of {asked.n * len(asked.prompts):,} completions, but at most "
            f"{limits.max_new_words:,} each and {limits.max_words:,} together are written at once. Ask for fewer.",
        )
    if asked.n * len(asked.prompts) > limits.max_sentences:
        raise too_large("too_many_sentences", f"More than {limits.max_sentences:,} completions at once. Ask for fewer.")
    try:
        prompts = [prompt_of(served.model, given) for given in asked.prompts]
    except VocabularyError as error:
        raise bad("unknown_token", str(error)) from None
    tokens = sum(len(prompt.ids) for prompt in prompts) * (asked.n if asked.echo else 1)
    if tokens > limits.max_words:
        raise too_large(
            "too_many_words", f"{tokens:,} tokens, but at most {limits.max_words:,} are taken at once. Send fewer."
        )
    return prompts


class Choice:
    """One completion while it is written; `portion` runs in a thread until there is a `reason`."""

    def __init__(self, served: Served, asked: CompletionRequest, prompt: Prompt, index: int) -> None:
        self.served, self.model, self.asked, self.prompt, self.index = served, served.model, asked, prompt, index
        self.text, self.reason, self.words = "", "", 0
        self.tokens: list[tuple[str, int, float | None, dict[str, float] | None]] = []
        """Name, place in the text, log-probability, and the most probable ones."""
        self.echoed = len(prompt.text) if asked.echo else 0
        self.told = (0, 0)
        """Characters and tokens that were handed over."""
        self.source = self._source()

    def _source(self) -> Iterator[tuple[Draw, Ids, str]]:
        if not self.asked.max_tokens:
            return iter(())
        seed, number = self.asked.seed, self.index % self.asked.n
        rng = np.random.default_rng([seed, number] if seed is not None and number else seed)
        sampling = Sampling(
            temperature=self.asked.temperature, top_k=self.asked.top_k, top_p=self.asked.top_p,
            max_words=self.asked.max_tokens,
        )  # fmt: skip
        return written(self.model, self.prompt, sampling, rng)

    def portion(self, seconds: float = PORTION) -> None:
        """Write on for this long; the prompt's own tokens come first."""
        until = time.monotonic() + seconds
        if self.asked.echo and not self.text:
            self._echo()
        for draw, before, added in self.source:
            self.words += 1
            if self.asked.logprobs is not None:
                self._tell(added, len(self.text), draw.probability, draw.word, before, draw.row_J)
            self.text += added
            if found := [at for stop in self.asked.stops if (at := self.text.find(stop, self.echoed)) >= 0]:
                self.text, self.reason = self.text[: min(found)], "stop"
                self.tokens = [token for token in self.tokens if token[1] < len(self.text) or token[1] < self.echoed]
            if found or time.monotonic() > until:
                return
        self.reason = "length"

    def _echo(self) -> None:
        prompt, place, top = self.prompt, 0, self.asked.logprobs
        if top is not None:
            ids, places = prompt.ids, prompt.places
            scored = places[ids[places] != self.model.vocabulary.start]
            rows = rows_before(self.model, ids, scored) if top else iter(())
            probs = np.exp(log_probs(self.model, ids))
            begins = np.cumsum([0, *map(len, prompt.pieces)])
            lines = np.maximum.accumulate(np.where(ids == self.model.vocabulary.start, np.arange(len(ids)), 0))
            if len(scored) < len(places):
                self.tokens.append(("<s>", 0, None, None))
            for place in scored.tolist():
                row_J = next(rows, None)
                prob = float(probs[place] if row_J is None else row_J[ids[place]])
                before = ids[lines[place] + 1 : place]
                self._tell(prompt.pieces[place], int(begins[place]), prob, int(ids[place]), before, row_J)
        self.text = prompt.text

    def _tell(self, name: str, place: int, prob: float, word: int, before: Ids, row_J: AnyFloats | None) -> None:
        top: dict[str, float] | None = None
        if self.asked.logprobs and row_J is not None:
            top = {}
            for other in [*most_probable(row_J, self.asked.logprobs).tolist(), word]:
                # What it adds to the text; its own name where that is nothing yet, as with half a character.
                vocabulary = self.model.vocabulary
                key = name if other == word else piece(vocabulary, before, other) or vocabulary.word(other)
                top[key] = max(top.get(key, IMPOSSIBLE), log_of(float(row_J[other])))
        self.tokens.append((name, place, log_of(prob), top))

    def taken(self) -> dict[str, Any]:
        """What has come since the last time and cannot be the beginning of a stop, as OpenAI's choice."""
        held = (
            0 if self.reason else max((overlap(self.text[self.echoed :], stop) for stop in self.asked.stops), default=0)
        )
        characters, number = self.told
        end = len(self.text) - held
        tokens = [token for token in self.tokens[number:] if not held or token[1] < end]
        self.told = end, number + len(tokens)
        reason = "length" if self.reason in ("timeout", "shutdown") else self.reason or None
        choice = {"index": self.index, "text": self.text[characters:end], "finish_reason": reason}
        if (top := self.asked.logprobs) is None:
            return {**choice, "logprobs": None}
        names, places, logs, tops = ([token[part] for token in tokens] for part in range(4))
        told = {"tokens": names, "token_logprobs": logs, "top_logprobs": tops if top else None, "text_offset": places}
        return {**choice, "logprobs": told}


def log_of(prob: float) -> float:
    """A natural logarithm that JSON can hold."""
    return math.log(prob) if prob > 0 else IMPOSSIBLE


def overlap(text: str, stop: str) -> int:
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
