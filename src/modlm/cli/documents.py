"""What `modlm score --documents` and `modlm filter` share: options, and how a killed run is known again."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import modlm
from modlm.cli.options import option
from modlm.cli.outcome import as_typed, refuse_existing, resumable
from modlm.errors import ConfigError

if TYPE_CHECKING:
    from modlm.evaluation.document_files import DocumentOptions
    from modlm.evaluation.ranking import Ranking

Field = Annotated[str, option("--field NAME", "The field of a JSON or Parquet record that holds the text.")]
Form = Annotated[
    str, option("--format auto|jsonl|parquet|text", "Format of the files; in plain text, blank lines part documents.")
]
OnError = Annotated[str, option("--on-error stop|skip", "If a record is broken: stop, or skip it and say so.")]
Workers = Annotated[int | None, option("--workers N", "Batches scored at a time.  [default: all cores]", min=1)]
Normalize = Annotated[
    str,
    option(
        "--normalize ccnet|words",
        "ccnet: case, accents, digits and punctuation as CCNet has them; words: also spaces around signs.",
    ),
]
SplitSentences = Annotated[bool, option("--split-sentences", "Split lines into sentences; else a line is one.")]


def prepared(normalize: str, split_sentences: bool) -> Any:
    from modlm.text.web import Preparation

    return Preparation(normalize=normalize, split=split_sentences) if normalize or split_sentences else None


def run(
    model: Path, files: list[Path], output: Path | None, options: "DocumentOptions", *, command: str, force: bool,
    tokenizer: Path | None, spark: dict[str, Any] | None = None, **about: Any,
) -> "Ranking":  # fmt: skip
    """Score the files, with settings of Spark there; a run that was killed is known again by its files and settings."""
    from modlm.evaluation.document_files import check_output, score_files

    tokens = str(tokenizer) if tokenizer else None
    if spark is not None:
        from modlm.evaluation.documents_on_spark import score_on_spark

        if output is None:
            raise ConfigError("On a cluster records go to the files of a folder. Name it with --output.")
        refuse_existing(output, force=force)
        return score_on_spark(str(model), files, output, options, tokenizer=tokens, overwrite=force, **spark)
    check_output(output, files)
    refuse_existing(output, force=force)
    if output is not None:
        resumable(as_typed(command), when=output.with_name(f"{output.name}.unfinished.json"))
    inputs = [[str(path), path.stat().st_size if path.is_file() else None] for path in files]
    apart = ("against", "prepare", "workers", "on_error")  # told by `about`, or may be others when a run goes on
    about |= {"model": str(model), "files": inputs, "tokenizer": str(tokenizer)}
    about |= {name: value for name, value in vars(options).items() if name not in apart}
    about = {name: repr(value) for name, value in about.items()}
    lm = modlm.load(model, tokenizer=tokens)
    return score_files(lm, files, output, options, about=about, overwrite=force)


def summary(ranking: "Ranking") -> dict[str, Any]:
    return {
        "documents": ranking.documents, "without_words": ranking.empty, "broken": ranking.broken,
        "words": ranking.words, "unknown": ranking.unknown,
    }  # fmt: skip


def share(text: str, name: str) -> float:
    with suppress(ValueError):
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if 0 < found <= 1:
            return found
    raise ConfigError(f"{name} takes a share above 0 and up to 100%, such as 30% or 0.3, not {text}.")
