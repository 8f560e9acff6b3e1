"""From text to counts in one call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from modlm.counts.counts import Counts
from modlm.counts.engine import CountOptions
from modlm.counts.spark import spark_tally
from modlm.counts.spark.store import has_scheme
from modlm.counts.tally import LocalTally, Tally
from modlm.errors import VocabularyError
from modlm.families import ENGINES
from modlm.ground.files import scratch_folder
from modlm.text.corpus import Corpus
from modlm.text.options import TextOptions
from modlm.text.sources import Files, Text, source_of
from modlm.text.vocabulary import Vocabulary

COUNTING, READING = CountOptions(), TextOptions()


def count_text(text: Text | Corpus, **options: Any) -> Counts:
    """Counts of a text: files, sentences or a corpus, up to an order (5).

    The options are those of `CountOptions` and `TextOptions`. `positions` instead of an order gives skip n-grams, as
    `counts.skip` says. The engine is `memory`, unless there is a `memory` limit ("2GB"): then it is `disk`, with its
    files in `temporary`; `spark` counts where `master` says.
    """
    reading, counting = options_of(options)
    with tally_text(text, CountOptions.asked(**counting), reading) as tally:
        return tally.counts


def options_of(options: dict[str, Any]) -> tuple[TextOptions, dict[str, Any]]:
    """How to read a text, and the settings of counting; the number of workers is for both."""
    reading = {name: options[name] for name in TextOptions.__slots__ if name in options}
    return TextOptions(**reading), {
        name: value for name, value in options.items() if name not in reading or name == "workers"
    }


@contextmanager
def tally_text(
    text: Text | Corpus, counting: CountOptions = COUNTING, reading: TextOptions = READING
) -> Iterator[Tally]:
    """The same with what goes beside counts; the tally is good inside the block, counts it gave stay good."""
    count = ENGINES.choose(counting.engine)
    if counting.engine == "spark":
        with _spark_tally(text, counting, reading) as tally:
            yield tally
        return
    with _as_corpus(text, reading, counting.temporary, on_disk=counting.engine == "disk") as corpus:
        yield LocalTally(corpus, count(corpus, counting))


@contextmanager
def _spark_tally(text: Text | Corpus, counting: CountOptions, reading: TextOptions) -> Iterator[Tally]:
    """Files go to Spark as they are; sentences, corpora and tokens are made into ids here."""
    words = reading.vocabulary is None or reading.vocabulary.units == Vocabulary.units
    source = source_of(text) if words and not isinstance(text, Corpus) else None
    if isinstance(source, Files):
        paths = [text] if isinstance(text, str) else [str(path) for path in source.paths]
        with spark_tally(paths, counting, reading) as tally:
            yield tally
        return
    place = counting.temporary
    local = None if place is not None and has_scheme(os.fspath(place)) else place
    again = cast("Text", source.items) if source is not None else text
    with _as_corpus(again, reading, local, on_disk=True) as corpus, spark_tally(corpus, counting, reading) as tally:
        yield tally


@contextmanager
def _as_corpus(
    text: Text | Corpus, reading: TextOptions, temporary: str | os.PathLike[str] | None, *, on_disk: bool
) -> Iterator[Corpus]:
    """The text as ids: in memory, or in a folder that goes away again."""
    if isinstance(text, Corpus):
        if reading.vocabulary is not None and reading.vocabulary != text.vocabulary:
            raise VocabularyError("The corpus has a vocabulary already, and another was given. Leave that out.")
        yield text
    elif on_disk:
        with scratch_folder(temporary) as place:
            yield Corpus.read(text, reading, place / "corpus")
    else:
        yield Corpus.read(text, reading)
