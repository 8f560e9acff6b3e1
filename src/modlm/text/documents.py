"""Files of documents in batches: JSON lines, Parquet, or plain text with blank lines between documents.

Files may be packed, and `-` is standard input. A batch is cheap to make; taking it apart is the work of whoever has a
thread for it. The same files give the same batches, so a number of batches is a place to go on from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from modlm.errors import ConfigError, InputError, require
from modlm.text.sources import STANDARD_INPUT, Block, Files

BATCH_BYTES = 1 << 20
ROWS = 512  # of a Parquet file in a batch
FORMS = ("auto", "jsonl", "parquet", "text")
GAP = b"\n\n"
PARQUET = b"PAR1"


def json_tools() -> tuple[Callable[[Any], Any], Callable[[Any], bytes]]:
    """What reads and writes a JSON value: orjson where it is installed, else the standard library."""
    try:
        import orjson
    except ImportError:
        return json.loads, lambda value: json.dumps(value, ensure_ascii=False, default=str).encode()
    return orjson.loads, lambda value: bytes(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS))


LOADS, DUMPS = json_tools()


@dataclass(slots=True)
class Documents:
    """The documents of a batch, and what was wrong with those that are missing."""

    texts: list[str] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    """All that was known of each; `{}` for documents of a plain text."""
    lines: list[int] = field(default_factory=list)  # where each begins in its file, from 1; rows for Parquet
    broken: list[InputError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some documents of one file, as they were read."""

    form: str
    data: Any  # bytes of whole lines, or a record batch of pyarrow
    source: str
    line: int  # the number of its first line or row
    consumed: int  # bytes of the file as it lies on disk
    dry: bool = False  # whether a pipe had no more to give for now

    def documents(self, name: str = "text", *, needs: str = "", errors: str = "strict") -> Documents:
        """Taken apart; `name` is the field that holds the text, `needs` another that must be there.

        `errors`: bytes that are not UTF-8 break a document, or are replaced.
        """
        found = Documents()
        for line, given in self._parts():
            try:
                text, record = self._read(given, name, needs, errors)
            except ValueError as error:
                found.broken.append(InputError(str(error), path=self.source, line=line))
                continue
            found.texts.append(text)
            found.records.append(record)
            found.lines.append(line)
        return found

    def _parts(self) -> Iterator[tuple[int, Any]]:
        if self.form == "text":
            return _paragraphs(self.data, self.line)
        if self.form == "parquet":
            return enumerate(self.data, self.line)
        return (one for one in enumerate(self.data.split(b"\n"), self.line) if one[1] and not one[1].isspace())

    def _read(self, given: Any, name: str, needs: str, errors: str) -> tuple[str, dict[str, Any]]:
        """The text and the record; a ValueError says what is wrong."""
        if self.form == "text":
            try:
                return given.decode("utf-8", errors), {}
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"byte {error.start + 1} of the document is not UTF-8. Have such bytes replaced with "
                    f'encoding_errors="replace".'
                ) from None
        try:
            record = (
                given if self.form == "parquet" else LOADS(given if errors == "strict" else given.decode(errors=errors))
            )
        except ValueError as error:
            raise ValueError(f"this is not JSON ({error}).") from None
        if not isinstance(record, dict):
            raise ValueError(f"this is a JSON {type(record).__name__}, not an object with the fields of a document.")
        if not isinstance(text := record.get(name), str):
            strings = ", ".join(key for key, value in record.items() if isinstance(value, str)) or "none"
            fault = f"is of type {type(text).__name__}, not a string" if name in record else "is not there"
            raise ValueError(f"the field {name!r} {fault}. Say with field= where the text is; strings here: {strings}.")
        if needs and needs not in record:
            raise ValueError(f"there is no field {needs!r} to name it by.")
        return text, record


def document_batches(
    paths: Sequence[str | Path], *, form: str = "auto", batch_bytes: int = BATCH_BYTES, eager: bool = False
) -> Iterator[Batch]:
    """All documents of all files, in order; `eager`: as pipes give them, so that batches differ from time to time."""
    if form not in FORMS:
        raise ConfigError(f"Documents come as {', '.join(FORMS)}, not as {form!r}.")
    for path in map(Path, paths):
        if form == "parquet" or (form == "auto" and _is_parquet(path)):
            yield from _parquet(path)
            continue
        blocks = Files([path], eager=eager).blocks(batch_bytes)
        first = next(blocks, None)
        if first is None:
            continue
        head = bytes(first.data[: min(first.size, 4096)]).lstrip()
        if head.startswith(PARQUET):
            raise InputError(
                "Parquet is read from its end, which a pipe has not. Give the file itself.", path=first.source
            )
        if form == "auto" and head.startswith(b"["):
            raise InputError(
                "this begins as a JSON array, but documents come one JSON object a line. Write it so with: jq -c "
                "'.[]', or say form=\"text\" if it is plain text.", path=first.source,
            )  # fmt: skip
        lines = form == "jsonl" or (form == "auto" and head.startswith(b"{"))
        yield from (_json_lines if lines else _plain)(chain((first,), blocks))


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return str(path) != STANDARD_INPUT and path.is_file() and stream.read(4) == PARQUET
    except OSError:
        return False  # whoever reads it says what is wrong


def _json_lines(blocks: Iterator[Block]) -> Iterator[Batch]:
    line = 1
    for block in blocks:
        data = bytes(memoryview(block.data)[: block.size])
        yield Batch("jsonl", data, block.source, line, block.consumed, block.dry)
        line += data.count(b"\n")


def _plain(blocks: Iterator[Block]) -> Iterator[Batch]:
    """Cut after the last blank line of each block; a document that is longer than a block stays whole."""
    line, source = 1, ""
    pending, consumed = bytearray(), 0
    for block in blocks:
        known, source = max(0, len(pending) - 1), block.source
        pending += memoryview(block.data)[: block.size].tobytes().replace(b"\r\n", b"\n")
        consumed += block.consumed
        cut = pending.rfind(GAP, known) + len(GAP)
        if cut >= len(GAP):
            data = bytes(pending[:cut])
            del pending[:cut]
            yield Batch("text", data, source, line, consumed, block.dry)
            line, consumed = line + data.count(b"\n"), 0
    if pending:
        yield Batch("text", bytes(pending), source, line, consumed)


def _paragraphs(data: bytes, line: int) -> Iterator[tuple[int, bytes]]:
    for part in data.split(GAP):
        bare = part.lstrip(b"\n")
        if bare and not bare.isspace():
            yield line + len(part) - len(bare), bare.rstrip(b"\n")
        line += part.count(b"\n") + len(GAP)


def _parquet(path: Path) -> Iterator[Batch]:
    parquet = require("pyarrow.parquet", extra="documents", purpose="Reading Parquet files")
    try:
        with parquet.ParquetFile(path) as file:
            rows, share = 1, path.stat().st_size / max(1, file.metadata.num_rows)
            for batch in file.iter_batches(batch_size=ROWS):
                yield Batch("parquet", batch.to_pylist(), str(path), rows, int(share * batch.num_rows))
                rows += batch.num_rows
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read as Parquet: {str(error).rstrip('.')}.", path=path) from error
