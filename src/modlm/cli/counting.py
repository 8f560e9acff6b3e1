"""Inputs of `modlm ngram` to counts: texts are counted, count files imported, counts opened, and all of it added up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.cli.inputs import kind_of
from modlm.errors import ConfigError

if TYPE_CHECKING:
    from modlm.cli.estimating import Training
    from modlm.counts.counts import Counts
    from modlm.text.corpus import Corpus
    from modlm.text.vocabulary import Vocabulary

READABLE = "texts, count files, counts folders, corpus folders, and model folders that kept their counts"


def counted(training: Training) -> Counts:
    """The counts of all inputs together."""
    from modlm.counts import import_counts, merge
    from modlm.text.corpus import Corpus

    kinds: dict[str, list[Path]] = {}
    for path in training.inputs:
        kinds.setdefault(kind_of(path), []).append(path)
    for kind in ("arpa", "kenlm"):
        if kind in kinds:
            raise ConfigError(f"{kinds[kind][0]} is a model without counts, and one can train on {READABLE}.")
    ready = [*kinds.get("counts", []), *kinds.get("model", [])]
    vocabulary = _vocabulary(training)
    _check_vocabulary_options(training, counts_given=bool(ready) or "count file" in kinds)
    parts = [counts_at(path) for path in ready]
    order, edge = _order_and_edge(training, parts)
    if "count file" in kinds:
        parts.append(import_counts(kinds["count file"], vocabulary=vocabulary, order=order))
        order = parts[0].order
    order = None if training.positions else order
    if "text" in kinds:
        parts.append(count_with(training, kinds["text"], order=order, edge=edge, vocabulary=vocabulary))
    corpora = [Corpus.open(path) for path in kinds.get("corpus", [])]
    parts += [count_with(training, corpus, order=order, edge=edge) for corpus in corpora]
    return merge(parts) if len(parts) > 1 else parts[0]


def _order_and_edge(training: Training, parts: list[Counts]) -> tuple[int | None, str]:
    """Those of the counts, if there are any; what was asked for must be the same."""
    for part in parts:
        if training.order not in (None, part.order):
            raise ConfigError(
                f"--order is {training.order}, but counts of order {part.order} were given. Leave --order out, or "
                f"count the text again."
            )
        if training.edge not in (None, part.edge):
            raise ConfigError(
                f"--edge is {training.edge}, but counts with the edge {part.edge} were given. Leave --edge out, or "
                f"count the text again."
            )
    return (parts[0].order, parts[0].edge) if parts else (training.order, training.edge or "once")


def _vocabulary(training: Training) -> Vocabulary | None:
    """The words or tokens that were given."""
    from modlm.text.tokens import TokenVocabulary
    from modlm.text.vocabulary import Vocabulary

    if training.tokenizer is None:
        return Vocabulary.from_file(training.vocab) if training.vocab else None
    if training.vocab or training.max_words is not None or training.min_count > 1:
        raise ConfigError(
            "--tokenizer brings its own tokens. Leave out --vocab, --max-words and --min-count, which choose words."
        )
    return TokenVocabulary.from_tokenizer(training.tokenizer)


def _check_vocabulary_options(training: Training, *, counts_given: bool) -> None:
    limited = training.max_words is not None or training.min_count > 1
    if counts_given and limited:
        raise ConfigError("--max-words and --min-count choose words of a text, but counts have their words already.")


def counts_at(path: Path) -> Counts:
    """The counts in a counts folder, a count file or a model folder."""
    from modlm.counts import import_counts, open_counts
    from modlm.model.folder import load
    from modlm.model.ngram_lm import NgramLM

    kind = kind_of(path)
    if kind == "counts":
        return open_counts(path, verify="full")  # all of it is about to be read
    if kind == "count file":
        return import_counts(path)
    model = load(path)
    if not isinstance(model, NgramLM) or model.counts is None:
        raise ConfigError(f"The model {path} was pruned or mixed and has no counts. One can train on {READABLE}.")
    return model.counts


def count_with(training: Training, text: list[Path] | Corpus, **known: Any) -> Counts:
    """Texts counted together, or a corpus, which has its own vocabulary."""
    from modlm.counts import count_text

    return count_text(
        text,
        positions=training.positions or None,
        engine=training.engine,
        memory=training.memory,
        max_words=training.max_words,
        min_count=training.min_count,
        encoding_errors=training.encoding_errors,
        **known,
    )
