"""What a certificate is about: models of ours, and functions of anybody's, as far as they can be asked.

Texts are streams of what is predicted, with a line end as a token of its own; what stands before the first word of a
line (our `<s>`) is no part of them.
"""

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from modlm.blocks.block import Beside
from modlm.errors import ConfigError, InputError
from modlm.ground.arrays import Floats, Ids
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.model.scored_text import read_parts, with_source
from modlm.text.sources import source_of
from modlm.text.vocabulary import END, END_NAME

Tokens = tuple[Any, ...]
Scores = Callable[[Tokens], Floats]
KEPT = 512  # answers that are kept rather than asked for again
NO_SOURCE = "Only models of ours are asked beside a source. Leave the source out."
GIVES = ("probabilities", "log-probabilities")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What can be asked of a model; None where it cannot."""

    name: str
    kind: str
    read: Callable[[Any, int], Tokens]
    """The first so many tokens of a text."""
    log_probs: Scores | None = None
    """log P of every token of a text."""
    again: Scores | None = None
    """The same without remembering answers."""
    stepwise: Scores | None = None
    """The same, word by word."""
    streamed: Scores | None = None
    """The same in pieces that go on from one another, or on their own where lines do not depend on each other."""
    lines: Callable[[Tokens], tuple[Floats, Floats]] | None = None
    """log P of each line of a text: asked for one by one, and for all of them in one go."""
    distribution: Callable[[Tokens], Floats] | None = None
    """P of everything that may follow."""
    index: Callable[[Any], int] = int
    """Where a token stands in a distribution; -1: nowhere, its probability is 0."""
    fingerprints: dict[str, str] = field(default_factory=dict)


def subject_of(model: Any, *, name: str = "", gives: str = GIVES[0], ids: bool = False, source: Any = None) -> Subject:
    """What can be asked of a model of ours, of a function, or of an object with `probabilities` and `log_probs`.

    `source` has the source of each line of the text, for a model of ours that reads them.
    """
    if gives not in GIVES:
        raise ConfigError(f"A function gives {' or '.join(GIVES)}, not {gives!r}.")
    if isinstance(model, LanguageModel):
        return of_model(model, name or model.folder or repr(model), source)
    if source is not None:
        raise ConfigError(NO_SOURCE)
    probabilities, log_probs = (getattr(model, way, None) for way in ("probabilities", "log_probs"))
    if not callable(model) and probabilities is None and log_probs is None:
        raise ConfigError(f"A {type(model).__name__} is no model, no function, and has no `probabilities`.")
    if probabilities is None and log_probs is None:
        probabilities, log_probs = (model, None) if gives == GIVES[0] else (None, model)
    name = name or getattr(model, "__name__", type(model).__name__)
    return of_functions(probabilities, log_probs, name=name, ids=ids)


# ---- models of ours --------------------------------------------------------------------------------------------------


def of_model(model: LanguageModel, name: str, source: Any = None) -> Subject:
    """All that a model of ours answers: texts in one go, in pieces, by states, and whole distributions after words.

    With a source, line n of whatever is asked stands beside the source of line n of the text that was read.
    """
    vocabulary, sources = model.vocabulary, list[Ids]()
    carries = model.reads.document or model.reads.learns

    def flat(tokens: Tokens, *, closed: bool = True) -> Ids:
        """`<s> w … </s> <s> …`, with an end at the end if texts are to be whole."""
        out = [vocabulary.start]
        for at, token in enumerate(tokens):
            out.append(token)
            if token == END and (not closed or at + 1 < len(tokens)):
                out.append(vocabulary.start)
        return np.array([*out, END] if closed and (not tokens or tokens[-1] != END) else out, np.uint32)

    def beside(ids: Ids) -> Beside:
        lines = int(np.count_nonzero(ids == vocabulary.start)) if sources else 0
        return Beside([sources[line % len(sources)] for line in range(lines)])

    def given(tokens: Tokens) -> LanguageModel:
        """The model beside the source of the line that goes on after the tokens."""
        if not sources:
            return model
        own = copy(model)
        own.source = sources[tokens.count(END) % len(sources)]
        return own

    def scored(ids: Ids, scores: Floats, count: int) -> Floats:
        own: Floats = np.asarray(scores)[ids != vocabulary.start][:count]
        return own

    def batched(tokens: Tokens) -> Floats:
        ids = flat(tokens)
        scores = cast(Mixture, model).log_probs(ids, beside(ids)) if sources else model.log_probs(ids)
        return scored(ids, scores, len(tokens))

    def streamed(tokens: Tokens) -> Floats:
        ids = flat(tokens)
        cuts = [*np.flatnonzero(ids == vocabulary.start).tolist(), len(ids)]
        pieces = [out for _, out in model.along((ids[low:high] for low, high in pairwise(cuts)), beside(ids))]
        return scored(ids, np.concatenate(pieces), len(tokens))

    def stepwise(tokens: Tokens) -> Floats:
        states, found = given(()).start(1), []
        for at, token in enumerate(tokens):
            states, log_prob = model.advance(states, np.array([token], np.uint32))
            found.append(float(log_prob[0]))
            if token == END and at + 1 < len(tokens):
                start = np.array([vocabulary.start], np.uint32)
                own = given(tokens[: at + 1])
                states = model.advance(states, start)[0] if carries else own.start(1)
                if sources:
                    states["source"][0] = own.source
        return np.array(found)

    def lines(tokens: Tokens) -> tuple[Floats, Floats]:
        ids, own = flat(tokens), given(())
        split = np.split(ids[ids != vocabulary.start], np.flatnonzero(ids[ids != vocabulary.start] == END) + 1)[:-1]
        texts = [vocabulary.join(vocabulary.decode(line[:-1])) for line in split]
        alone = [own.log_probs(own.sentence_ids(text)).sum() for text in texts]
        if model.spelling is not None:
            alone = [own.score(text) for text in texts]
        return np.array(alone), own.score_batch(texts)

    def distribution(tokens: Tokens) -> Floats:
        ids = flat(tokens, closed=False)
        window = ids if carries else ids[np.flatnonzero(ids == vocabulary.start)[-1] :]
        states = given(tokens).state_after(window[None, -model.window_length :])
        row_J: Floats = np.asarray(model.distributions(states)[0])
        return row_J

    def read(text: Any, count: int) -> Tokens:
        found: list[int] = []
        if source is not None:
            pairs = with_source(model, text, source)
            text, prints["source"] = pairs.target, pairs.source.fingerprint
            sources[:] = pairs.sources
        for part in read_parts(text, vocabulary):
            found += part.ids[part.ids != vocabulary.start][: count - len(found)].tolist()
            if len(found) >= count:
                break
        return tuple(found)

    # columns that read the lines before are given those of a piece alone, so pieces are scored otherwise than the whole
    whole_lines = isinstance(model, Mixture) and any(block.reads.document for block in model.dense.values())
    prints = vocabulary.fingerprints() | fingerprints_of(model.folder)
    return Subject(
        name=name, kind=type(model).__name__, read=read, log_probs=lru_cache(KEPT)(batched), again=batched,
        stepwise=stepwise, streamed=None if whole_lines else streamed, lines=lines, distribution=distribution,
        fingerprints=prints,
    )  # fmt: skip


def fingerprints_of(folder: str | None) -> dict[str, str]:
    """The sum of a model folder's manifest, in which that of every file stands, or of a model file."""
    path = Path(folder or "")
    path = path / "model.json" if path.is_dir() else path
    return {"model": hashlib.sha256(path.read_bytes()).hexdigest()} if folder and path.is_file() else {}


# ---- anybody's functions ---------------------------------------------------------------------------------------------


def of_functions(
    probabilities: Callable[..., Any] | None, log_probs: Callable[..., Any] | None, *, name: str, ids: bool
) -> Subject:
    """Functions of the words before, or of a text; both take a list of words, or with `ids` of whole numbers."""
    places: dict[Any, int] = {}

    def asked(function: Any, tokens: Tokens) -> Any:
        try:
            return function(list(tokens))
        except Exception as error:  # whatever somebody else's function does
            raise InputError(
                f"{name} failed on {len(tokens)} words, the last of them {' '.join(map(str, tokens[-3:]))!r}: "
                f"{type(error).__name__}: {error}. It is given a list of {'ids' if ids else 'words'}."
            ) from error

    def distribution(tokens: Tokens) -> Floats:
        found = asked(probabilities, tokens)
        if not isinstance(found, Mapping):
            return np.asarray(found, np.float64).ravel()
        row_J = np.zeros(len(places) + sum(word not in places for word in found))
        for word, value in found.items():
            row_J[places.setdefault(word, len(places))] = value
        return row_J

    def scores(tokens: Tokens) -> Floats:
        found: Floats = np.asarray(asked(log_probs, tokens), np.float64).ravel()
        if len(found) != len(tokens):
            raise InputError(f"{name} gives {len(found)} log-probabilities for {len(tokens)} words. Give one for each.")
        return found

    def index(token: Any) -> int:
        return int(token) if ids else places.get(token, -1)

    def read(text: Any, count: int) -> Tokens:
        end = () if ids else (END_NAME,)
        words = islice((word for line in lines_of(text) for word in (*line.split(), *end)), count)
        try:
            return tuple(int(word) if ids else word for word in words)
        except ValueError as error:
            raise InputError(f"ids are whole numbers with spaces between, but: {error}") from error

    return Subject(
        name=name, kind="function", read=read, index=index, log_probs=lru_cache(KEPT)(scores) if log_probs else None,
        again=scores if log_probs else None, distribution=distribution if probabilities else None,
    )  # fmt: skip


def lines_of(text: Any) -> Iterator[str]:
    """The lines of a text, which is a path or a list of sentences."""
    for block in source_of(text).blocks():
        yield from bytes(block.data[: block.size]).decode("utf-8", "replace").split("\n")[:-1]


def named_function(target: str) -> Any:
    """What `module:function` names; modules of the current folder are found as well."""
    module, _, attribute = target.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"there is no function {target!r} to certify: {error}.") from error
    finally:
        sys.path.remove(here)
