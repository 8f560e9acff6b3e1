"""What `modlm score --documents` and `modlm filter` share: options, and how a killed run is known again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from modlm.cli.options import option, spark_settings
from modlm.cli.outcome import as_typed, refuse_existing, resumable, wrote
from modlm.errors import ConfigError

if TYPE_CHECKING:
    from modlm.evaluation.document_files import DocumentOptions
    from modlm.evaluation.ranking import Ranking

Field = Annotated[str, option("--field NAME", "The field of a JSON or Parquet record that holds the text.")]
Form = Annotated[str, option("--format auto|jsonl|parquet|text", "Of the files; plain text has blank lines between.")]
OnError = Annotated[str, option("--on-error stop|skip", "Records that are broken: an error, or told and left out.")]
Workers = Annotated[int | None, option("--workers N", "Batches scored at a time.  [default: all cores]", min=1)]
Normalize = Annotated[
    str,
    option("--normalize ccnet|words", "ccnet: case, accents, digits and punctuation as there; words: signs apart too."),
]
SplitSentences = Annotated[bool, option("--split-sentences", "Where a line holds several; a line is one otherwise.")]


def prepared(normalize: str, split_sentences: bool) -> Any:
    """What is done to texts before, if anything."""
    from modlm.text.web import Preparation

    return Preparation(normalize=normalize, split=split_sentences) if normalize or split_sentences else None


def run(
    model: Path,
    files: list[Path],
    output: Path | None,
    options: DocumentOptions,
    *,
    command: str,
    force: bool,
    **about: Any,
) -> Ranking:
    """Score the files; a run that was killed is known again by its files and settings."""
    from modlm.evaluation.document_files import score_files
    from modlm.model.folder import load

    refuse_existing(output, force=force)
    if output is not None:
        resumable(as_typed(command), when=output.with_name(f"{output.name}.unfinished.json"))
    inputs = [[str(path), path.stat().st_size if path.is_file() else None] for path in files]
    about |= {"model": str(model), "files": inputs, "field": options.field, "id": options.id, "keep": options.keep}
    about |= {"buckets": list(options.buckets), "low": options.low, "high": options.high, "best": options.best}
    about = {name: repr(value) for name, value in about.items()}
    ranking = score_files(load(model), files, output, options, about=about, overwrite=force)
    resumable("")
    if output is not None:
        wrote(output)
    return ranking


def run_on_spark(
    model: Path,
    files: list[Path],
    output: Path | None,
    options: DocumentOptions,
    *,
    master: str | None,
    conf: list[str] | None,
    force: bool,
) -> Ranking:
    """The same on a cluster."""
    from modlm.evaluation.documents_on_spark import score_on_spark

    if output is None:
        raise ConfigError("On a cluster records go to the files of a folder. Name it with --output.")
    refuse_existing(output, force=force)
    settings = spark_settings(conf)
    ranking = score_on_spark(str(model), files, output, options, master=master, conf=settings, overwrite=force)
    wrote(output)
    return ranking


def summary(ranking: Ranking) -> dict[str, Any]:
    """The numbers of a run, for people and programs."""
    return {
        "documents": ranking.documents, "without_words": ranking.empty, "broken": ranking.broken,
        "words": ranking.words, "unknown": ranking.unknown,
    }  # fmt: skip


def share(text: str, name: str) -> float:
    """A share such as 30% or 0.3."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise ConfigError(f"{name} takes a share such as 30% or 0.3, not {text!r}.") from None
