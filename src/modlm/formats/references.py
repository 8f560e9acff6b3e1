"""References for n-best lists: JSON lines, `utterance words` lines, or one line for each utterance in its order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from modlm.errors import InputError
from modlm.formats.lines import quoted, text_lines
from modlm.formats.nbest import NBest
from modlm.formats.nbest_json import references_in
from modlm.text.vocabulary import END_NAME, START_NAME, split_words


def references_of(nbest: NBest, path: Path | None = None) -> tuple[str, ...]:
    """A reference for each utterance, from a file or from the lists' own; empty if there are none at all."""
    given = nbest.references if path is None else read_references(path, nbest.utterances)
    source = nbest.path if path is None else path
    if not given:
        return ()
    missing = [name for name in nbest.utterances if name not in given]
    if missing:
        more = f" (and for {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        raise InputError(f"there is no reference for utterance {quoted(missing[0])}{more}.", path=source)
    references = tuple(" ".join(split_words(given[name])) for name in nbest.utterances)
    for name, reference in zip(nbest.utterances, references, strict=True):
        if {START_NAME, END_NAME} & set(reference.split(" ")):
            raise InputError(f"the reference of {quoted(name)} holds <s> or </s>. Leave them out.", path=source)
    return references


def read_references(path: Path, utterances: Sequence[str]) -> dict[str, str]:
    """References by utterance.

    A text is taken for `utterance words` lines when at least half of the utterances are found so; otherwise it needs
    exactly one line for each utterance (an empty one is a reference without words).
    """
    every = list(text_lines(path, blank=True))
    lines = [(number, text) for number, text in every if split_words(text)]
    if not lines:
        raise InputError("there are no references: the file is empty.", path=path)
    if lines[0][1].lstrip().startswith("{"):
        return references_in(path, lines)
    named: dict[str, tuple[int, str]] = {}
    twice: tuple[int, str] | None = None
    for number, text in lines:
        name, *words = split_words(text)
        if name in named:
            twice = twice or (number, name)
        named[name] = (number, " ".join(words))
    if 2 * sum(name in named for name in utterances) >= len(utterances):
        if twice:
            raise InputError(f"utterance {quoted(twice[1])} has a second reference.", path=path, line=twice[0])
        return {name: words for name, (_, words) in named.items()}
    if len(every) != len(utterances):
        raise InputError(
            f"there are {len(every):,} lines for {len(utterances):,} utterances, and they do not begin with names "
            f"such as {quoted(utterances[0])}. Write `utterance words`, or one line for each utterance in its order.",
            path=path,
        )
    return {name: text for name, (_, text) in zip(utterances, every, strict=True)}
