"""Files of documents scored or filtered: batches on threads, records as JSON lines in the order of the documents.

One pass; what depends on all documents (terciles, the best 30 %) is put in by a second pass over what was written. With
a file as output a killed process can go on: the same command takes up where the last whole part ended.
"""

import io
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from modlm.errors import ConfigError, InputError, OutputError
from modlm.evaluation.ranking import BINS, Ranking, bins_of
from modlm.formats.output import text_output
from modlm.ground.arrays import Bools, Floats, alone, threads
from modlm.ground.progress import progress, short
from modlm.ground.resumable import ResumableFile
from modlm.model.language_model import LanguageModel
from modlm.model.scored_documents import Prepare, score_texts, sums_of
from modlm.model.scored_text import warn_of_unknown
from modlm.text.documents import DUMPS, LOADS, Batch, Documents, document_batches
from modlm.text.encoding import in_order
from modlm.text.options import TextOptions
from modlm.text.packing import PACKINGS, Packing
from modlm.text.sources import Files

TERCILES = "terciles"
BUCKETS = ("head", "middle", "tail")  # as CCNet calls them
TOLD = 10  # broken records that are told of one by one
COMMIT_SECONDS = 2.0
LARGE = 1 << 26  # bytes of text from which it pays to take a model into memory


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """How documents are read, what is written of them, and which are kept."""

    field: str = "text"
    id: str = ""
    """The field that names a document; without one its line does."""
    form: str = "auto"
    keep: bool = False
    """Add the numbers to the records instead of writing them alone."""
    plain: bool = False
    """Write the texts alone, with blank lines between."""
    buckets: Sequence[float] | str = ()
    """Perplexities between buckets 0, 1, …; or `terciles`."""
    on_error: str = "stop"
    encoding_errors: str = "strict"
    prepare: Prepare | None = None
    against: LanguageModel | None = None
    """Rank by the difference in bits a byte from this general model."""
    low: float = -np.inf
    high: float = np.inf
    """What is ranked must lie between these: the logarithm of a perplexity, or a difference."""
    best: float = 1.0
    """Keep this share of all documents, the best ones."""
    examples: bool = False
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ConfigError(f"on_error= takes stop or skip, not {self.on_error!r}.")
        TextOptions(encoding_errors=self.encoding_errors)
        if isinstance(self.buckets, str) and self.buckets != TERCILES:
            raise ConfigError(f"buckets are perplexities such as 30,60, or {TERCILES}, but not {self.buckets!r}.")
        if not isinstance(self.buckets, str) and list(self.buckets) != sorted(set(self.buckets)):
            raise ConfigError(
                f"The perplexities between buckets must rise, but are {', '.join(map(str, self.buckets))}."
            )
        if not 0 < self.best <= 1:
            raise ConfigError(f"The share of documents to keep must lie above 0 and up to 1, but is {self.best}.")

    @property
    def two_passes(self) -> bool:
        """Whether what is written depends on all documents."""
        return self.best < 1 or self.buckets == TERCILES


@dataclass(slots=True)
class Scored:
    """A batch after the work: what is written of it and what is ranked."""

    batch: Batch
    documents: Documents
    lines: bytes
    values: Floats
    kept: Bools
    words: int = 0
    unknown: int = 0
    strange: int = 0
    """Documents that are mostly unknown words."""
    places: list[str] = field(default_factory=list)


def scored_batch(model: LanguageModel, options: DocumentOptions, batch: Batch, *, named: bool = False) -> Scored:
    """All work on a batch; `named`: records say which file they are of."""
    needs = "" if options.keep else options.id
    documents = batch.documents(options.field, needs=needs, errors=options.encoding_errors)
    if documents.broken and options.on_error == "stop":
        raise InputError(f'{documents.broken[0]} Broken records can be left out with on_error="skip".')
    records, values = scored_records(model, options, documents.texts)
    kept = np.isfinite(values) & (values >= options.low) & (values <= options.high)
    places = [f"{batch.source}, line {line}" for line in documents.lines] if options.examples else []
    lines, filters = [], options.best < 1 or np.isfinite((options.low, options.high)).any()
    for place, record in enumerate(records):
        if filters and not kept[place]:
            continue
        own, line = documents.records[place], documents.lines[place]
        name: dict[str, Any]
        if options.keep:
            name = {} if own else {options.field: documents.texts[place]}
        elif options.id:
            own, name = {}, {"id": own[options.id]}
        else:
            own, name = {}, {"file": batch.source, "line": line} if named else {"line": line}
        lines.append(_written({**own, **name, **record}, options, last=not options.two_passes))
    words, unknown, _, strange = sums_of(records)
    return Scored(batch, documents, b"".join(lines), values, kept, words, unknown, strange, places)


def _written(record: dict[str, Any], options: DocumentOptions, *, last: bool) -> bytes:
    """A line of JSON, or in the last pass the text, if that was asked for."""
    if not (options.plain and last):
        return DUMPS(record) + b"\n"
    lines = (line for line in record[options.field].split("\n") if line.strip())
    return "\n".join([*lines, "", ""]).encode(errors="replace")


def scored_records(
    model: LanguageModel, options: DocumentOptions, texts: list[str]
) -> tuple[list[dict[str, Any]], Floats]:
    """A record for each text, and what it is ranked by."""
    if options.prepare is not None:
        texts = options.prepare(texts)
    scores = score_texts(model, texts)
    records = scores.records()
    with np.errstate(divide="ignore"):
        values = np.log(scores.perplexity)
    if not isinstance(options.buckets, str) and options.buckets:
        buckets = np.searchsorted(np.log(np.array(options.buckets)), values, side="left").tolist()
        for record, bucket in zip(records, buckets, strict=True):
            record["bucket"] = bucket if record["words"] else None
    if options.against is not None:
        values = scores.bits_per_byte - score_texts(options.against, texts).bits_per_byte
        for record, value in zip(records, values.tolist(), strict=True):
            record["difference"] = value if np.isfinite(value) else None
    return records, values


def score_files(
    model: LanguageModel,
    paths: Sequence[str | Path],
    output: Path | None,
    options: DocumentOptions,
    *,
    about: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> Ranking:
    """Score all documents; records go to the output, or to standard output. How they rank comes back."""
    if options.against is not None and _spells(model) != _spells(options.against):
        raise ConfigError(
            "One of the two models has a spelling model and the other has none, so their bits per byte do not compare: "
            "unknown words cost letters in one alone. Train both with spelling=True, or neither."
        )
    check_output(output, paths)
    if output is not None and output.is_dir():
        raise OutputError(f"{output} is a folder, but records go to a file. Choose another name.")
    streamed = output is None or (output.exists() and not output.is_file())
    if options.two_passes and streamed:
        raise ConfigError("Terciles and the best share are known when all documents are, so give a file with --output.")
    if (Files(paths).size() or LARGE) >= LARGE:
        model = model.resident()
    if output is None or streamed:
        ranking = Ranking(examples=options.examples)
        with nullcontext(sys.stdout.buffer) if output is None else output.open("wb") as stream:
            for lines, _ in _scored(model, paths, options, ranking, eager=True):
                stream.write(lines)
                stream.flush()
        return ranking
    with ResumableFile(output, about or {}, restart=overwrite) as file:
        state, told = file.state or {"batches": 0, "ranking": None}, time.monotonic()
        ranking = Ranking.of(state["ranking"], examples=options.examples)
        if done := state["batches"]:
            logging.getLogger("modlm").warning(f"going on after {ranking.documents:,} documents that are done")
        packing = next((one for one in PACKINGS if one.ending == output.suffix), None)
        for lines, done in _scored(model, paths, options, ranking, state["batches"]):
            file.write(lines if packing is None or not lines else _packed(lines, packing))
            if time.monotonic() - told > COMMIT_SECONDS:
                file.commit({"batches": done, "ranking": ranking.state()})
                told = time.monotonic()
        file.commit({"batches": done, "ranking": ranking.state()})
        if options.two_passes:
            _second_pass(file.unfinished, output, options, ranking, overwrite=overwrite)
            file.discard()
        else:
            file.finish()
    return ranking


def check_output(output: Path | None, paths: Sequence[str | Path]) -> None:
    """Nothing is written over what is read."""
    if output is not None and output.is_file() and any(Path(path).exists() and output.samefile(path) for path in paths):
        raise OutputError(f"{output} is among the files that are read. Choose another name for the output.")


def _spells(model: LanguageModel) -> bool:
    """Whether every word costs its letters, as it does in models of tokens too."""
    return model.spelling is not None or model.vocabulary.units != "words"


def _packed(lines: bytes, packing: Packing) -> bytes:
    """A batch by itself: packed files may stand one behind the other."""
    packed = io.BytesIO()
    with packing.writer(packed) as stream:
        stream.write(lines)
    return packed.getvalue()


def _scored(
    model: LanguageModel, paths: Sequence[str | Path], options: DocumentOptions, ranking: Ranking, done: int = 0,
    *, eager: bool = False,
) -> Iterator[tuple[bytes, int]]:  # fmt: skip
    """What is written of each batch behind those that are done, and how many are done then; `ranking` grows.

    A killed run goes on by the number of batches, which depends on when pipes give what if they are read eagerly.
    """
    batches = islice(document_batches(paths, form=options.form, eager=eager), done, None)
    work = partial(scored_batch, model, options, named=len(paths) > 1)
    with progress("Documents", total=Files(paths).size(), unit="bytes") as bar:
        for scored in in_order(alone(work), batches, workers=threads(options.workers)):
            for error in scored.documents.broken[: max(0, TOLD - ranking.broken)]:
                logging.getLogger("modlm").warning(f"left out: {error}")
            ranking.broken += len(scored.documents.broken)
            ranking.add(scored.values, scored.kept, scored.documents.texts, scored.places, done)
            for name in ("words", "unknown", "strange"):
                setattr(ranking, name, getattr(ranking, name) + getattr(scored, name))
            done += 1
            yield scored.lines, done
            rate = ranking.documents / max(1e-9, time.monotonic() - bar.started)
            bar.advance(scored.batch.consumed, note=f"{short(rate)} documents/s")
    if not ranking.documents and not ranking.broken:
        raise InputError("there are no documents.", path=Files(paths))
    warn_of_sums(model, ranking)


def warn_of_sums(model: LanguageModel, ranking: Ranking) -> None:
    warn_of_unknown(model, ranking.words, ranking.unknown, ranking.documents, ranking.strange)
    if ranking.broken:
        records = "record was" if ranking.broken == 1 else "records were"
        logging.getLogger("modlm").warning(f"{ranking.broken:,} broken {records} left out")


def _second_pass(source: Path, target: Path, options: DocumentOptions, ranking: Ranking, *, overwrite: bool) -> None:
    """What depends on all documents: which are kept, and in which tercile each is."""
    cut, more = ranking.cut(options.best)
    cuts = [ranking.cut(1 / 3)[0], ranking.cut(2 / 3)[0]]
    with text_output(target, overwrite=overwrite) as stream:
        for block in Files([source]).blocks():
            records = [LOADS(line) for line in bytes(memoryview(block.data)[: block.size]).split(b"\n")[:-1]]
            name = "perplexity" if options.against is None else "difference"
            found = np.array([one[name] for one in records], np.float64)  # NaN for null
            with np.errstate(divide="ignore"):
                values = found if options.against is not None else np.log(found)
            bins = np.where(np.isnan(values), BINS, bins_of(np.nan_to_num(values)))
            if options.buckets == TERCILES:
                for one, place, bin_ in zip(records, np.searchsorted(cuts, bins, side="right"), bins, strict=True):
                    one["bucket"] = None if bin_ == BINS else BUCKETS[place]
            tied = bins == cut
            kept = (bins < cut) | (tied & (np.cumsum(tied) <= more)) if options.best < 1 else bins >= 0
            more -= int(np.count_nonzero(tied))
            staying = (one for one, stays in zip(records, kept, strict=True) if stays)
            stream.write(b"".join(_written(one, options, last=True) for one in staying))
    if options.best < 1:
        ranking.keep_best(options.best)
