"""Documents scored on a Spark cluster: the records of one machine, in a folder of files that Spark writes.

Workers need modlm, and must see the model where the driver does. Each takes whole batches of rows to the same work as
one machine's threads, so the numbers are the same; a task that is lost is done again by another worker.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from modlm.counts.engine import CountOptions
from modlm.counts.spark.session import pyspark_sql, spark_session
from modlm.counts.spark.store import has_scheme
from modlm.counts.spark.text import as_spark_reads
from modlm.counts.spark.watching import watched
from modlm.errors import ConfigError
from modlm.evaluation.document_files import DocumentOptions, scored_batch, warn_of_sums
from modlm.evaluation.ranking import Ranking
from modlm.ground.files import new_folder
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.text.documents import Batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUMS = ("documents", "empty", "broken", "words", "unknown", "strange")
SCHEMA = ", ".join(["record string", *(f"{name} long" for name in SUMS)])
ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def score_on_spark(
    model: str,
    paths: Sequence[str | Path],
    output: Path,
    options: DocumentOptions,
    *,
    tokenizer: str | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Ranking:
    """Score documents at any paths that Spark reads, JSON lines or Parquet; records go to files in a folder."""
    lm = _loaded(model, tokenizer)  # what is wrong with it is told before a cluster is asked
    if options.two_passes:
        raise ConfigError("Terciles are known when all documents are, and a cluster does one pass. Give perplexities.")
    if not (options.id or options.keep):
        raise ConfigError("Lines have no numbers on a cluster. Name the documents with --id, or --keep the records.")
    own = {ROWS: "500", "spark.app.name": "modlm score", **(conf or {})}
    python = own.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = python  # which Spark reads; its own setting is for spark-submit
    sources, target = [as_spark_reads(with_scheme(path)) for path in paths], with_scheme(output)
    place_of = nullcontext(target) if has_scheme(target) else new_folder(output, overwrite=overwrite)
    with spark_session(CountOptions(master=master, conf=own)) as session, place_of as place:
        url = f"file://{place}" if isinstance(place, Path) else place
        sums = _written(session, partial(_loaded, model, tokenizer), sources, url, options)
    ranking = Ranking()
    for name, value in sums.items():
        setattr(ranking, name, value or 0)
    warn_of_sums(lm, ranking)
    return ranking


def _written(
    session: SparkSession, model: Callable[[], LanguageModel], paths: list[str], place: str, options: DocumentOptions
) -> dict[str, int | None]:
    """Do the work; the sums over all documents, each task counted once."""
    functions, observation = pyspark_sql().functions, pyspark_sql().Observation()
    with watched(session, "Documents"):
        frame, form = _frame(session, paths, options.form)
        work = partial(_records, model, options, form, ", ".join(paths))
        with warnings.catch_warnings(action="ignore"):  # about versions of pandas, which is not used
            found = frame.mapInArrow(work, SCHEMA)
        told = found.observe(observation, *(functions.sum(name).alias(name) for name in SUMS))
        told.where("record is not null").select("record").write.mode("append").text(place)
    return dict(observation.get)


def _frame(session: SparkSession, paths: list[str], form: str) -> tuple[DataFrame, str]:
    if form == "text":
        raise ConfigError(
            "On a cluster documents come as JSON lines or Parquet: plain text is cut where blank lines are."
        )
    if form == "parquet" or (form == "auto" and all(".parquet" in path for path in paths)):
        return session.read.parquet(*paths), "parquet"
    return session.read.schema("value string").option("lineSep", "\n").text(paths), "jsonl"


def _records(
    model: Callable[[], LanguageModel], options: DocumentOptions, form: str, source: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """What a worker does: rows in, records out, and in the first row of each batch its sums."""
    import pyarrow

    lm = model()
    for rows in batches:
        data: Any = rows.to_pylist()
        if form == "jsonl":
            data = "\n".join(row["value"] for row in data).encode()
        scored = scored_batch(lm, options, Batch(form, data, source, 1, 0))
        texts, kept = len(scored.documents.texts), scored.lines.decode().split("\n")[:-1]
        empty = texts - int(np.isfinite(scored.values).sum())
        sums = [texts, empty, len(scored.documents.broken), scored.words, scored.unknown, scored.strange]
        columns = [[*kept, None], *([*([0] * len(kept)), one] for one in sums)]
        types = [pyarrow.string(), *[pyarrow.int64()] * len(sums)]
        arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        yield pyarrow.RecordBatch.from_arrays(arrays, ["record", *SUMS])


@cache
def _loaded(model: str, tokenizer: str | None) -> LanguageModel:
    """Once a process."""
    return load(model, tokenizer=tokenizer)


def with_scheme(path: str | Path) -> str:
    """The path as it was typed: a `Path` has lost a slash of `hdfs://`."""
    scheme, colon, rest = str(path).partition(":/")
    return f"{scheme}://{rest.lstrip('/')}" if colon and has_scheme(f"{scheme}://") else str(path)
