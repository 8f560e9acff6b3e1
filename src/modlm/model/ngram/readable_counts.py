"""Counts to train on, from whatever holds them: texts are counted, count files read, folders opened, all added up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from modlm.counts import CountOptions, Counts, import_counts, merge, open_counts, tally_text
from modlm.counts.spark.store import has_scheme
from modlm.errors import ConfigError
from modlm.formats.kinds import folder_kind, kind_of
from modlm.model.folder import load
from modlm.text.corpus import Corpus
from modlm.text.options import TextOptions
from modlm.text.sources import Text

READABLE = "texts, count files, counts folders, corpus folders, and model folders that kept their counts"
READING = TextOptions()


def counts_of(
    text: Text | Corpus,
    reading: TextOptions = READING,
    *,
    order: int | None = None,
    edge: str | None = None,
    positions: Sequence[int] = (),
    **counting: Any,
) -> Counts:
    """Counts of sentences, of a corpus, or of all files and folders given, whatever they are: see `READABLE`.

    Order and edge are those of counts among them, else 5 and `once`. `reading` is for texts; further settings are those
    of `CountOptions`.
    """
    paths = paths_of(text)
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        of_texts = counting.get("engine") == "spark" and path.is_dir() and not folder_kind(path)  # Spark reads those
        kinds.setdefault("text" if of_texts else kind_of(path), []).append(path)
    for kind in ("arpa", "kenlm"):
        if kind in kinds:
            raise ConfigError(f"{kinds[kind][0]} is a model without counts, and one can train on {READABLE}.")
    ready = [*kinds.get("counts", []), *kinds.get("model", [])]
    if (ready or "count file" in kinds) and (reading.max_words is not None or reading.min_count > 1):
        raise ConfigError("max_words and min_count choose words of a text, but counts have their words already.")
    parts = [counts_at(path) for path in ready]
    for part, (name, asked) in product(parts, (("order", order), ("edge", edge))):
        if asked not in (None, own := getattr(part, name)):
            raise ConfigError(
                f"The {name} is to be {asked}, but that of the counts given is {own}. Leave the {name} out, or count "
                f"the text again."
            )
    order, edge = (parts[0].order, parts[0].edge) if parts else (order, edge or "once")
    if "count file" in kinds:
        parts.append(import_counts(kinds["count file"], vocabulary=reading.vocabulary, order=order))
        order = parts[0].order
    options = CountOptions.asked(order=None if positions else order, edge=edge, positions=positions or None, **counting)
    texts: list[Any] = [kinds["text"]] if "text" in kinds else [] if paths else [text]
    for own in [*texts, *(Corpus.open(path) for path in kinds.get("corpus", []))]:
        with tally_text(own, options, READING if isinstance(own, Corpus) and paths else reading) as tally:
            parts.append(tally.counts)
    return merge(parts) if len(parts) > 1 else parts[0]


def paths_of(text: Text | Corpus) -> tuple[Path, ...]:
    """The files and folders that a text is given by on this machine; none for sentences, a corpus or a remote place."""
    if isinstance(text, str):
        return () if has_scheme(text) else (Path(text),)
    if isinstance(text, os.PathLike):
        return (Path(text),)
    return tuple(text) if isinstance(text, list | tuple) and text and isinstance(text[0], Path) else ()


def counts_at(path: str | os.PathLike[str]) -> Counts:
    """The counts in a counts folder, a count file or a model folder."""
    place = Path(path)
    kind = kind_of(place)
    if kind == "counts":
        return open_counts(place, verify="full")  # all of it is about to be read
    if kind == "count file":
        return import_counts(place)
    model = load(place)
    if model.counts is None:
        raise ConfigError(f"The model {path} was pruned or mixed and has no counts. One can train on {READABLE}.")
    return model.counts
