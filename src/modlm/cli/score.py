"""`modlm score`: the log-probability of every sentence, or of every word."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from modlm.cli.options import EncodingErrors, ForeignTokenizer, Json, ModelArgument, Threads, argument, option
from modlm.cli.printing import finite
from modlm.errors import InputError

if TYPE_CHECKING:
    from modlm.ground.arrays import Ids
    from modlm.model.language_model import LanguageModel

BLOCK_BYTES = 1 << 18  # of text that is scored at a time


def score(
    model: ModelArgument,
    text: Annotated[Path, argument("TEXT", "One sentence per line; - for standard input.")] = Path("-"),
    words: Annotated[bool, option("--words", "Also print a line for each word and sentence end.")] = False,
    tokenizer: ForeignTokenizer = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Natural log-probability of each sentence.

    The end of the sentence is included. Prints, with tabs between: log-probability, perplexity, unknown words,
    sentence. With --words, before each of these a line for each of its words: log-probability, word, and <unk> if the
    model does not know it.

    \b
    modlm score model test.txt
    echo "the company said" | modlm score model --words
    """  # fmt: skip
    from modlm.model.folder import load

    records = scored(load(model, tokenizer=tokenizer), text, with_words=words, encoding_errors=encoding_errors)
    if json:
        _print_array(records)
        return
    for record in records:
        for word in record.get("scores", ()):
            known = "" if word["known"] else "\t<unk>"
            print(f"{word['log_prob']:.6f}\t{word['word']}{known}")
        print(f"{record['log_prob']:.6f}\t{record['perplexity']:.4g}\t{record['unknown']}\t{record['sentence']}")


def scored(
    lm: LanguageModel, text: Path, *, with_words: bool, encoding_errors: str = "strict"
) -> Iterator[dict[str, Any]]:
    """A record for each sentence, in order; a few thousand are in memory at a time."""
    from modlm.model.scored_text import names_of, scored_along

    for part, sentences in scored_along(lm, _read(lm, text, encoding_errors)):
        records = part.sentence_records(names_of(lm.vocabulary, sentences) if with_words else None)
        for sentence, record in zip(sentences, records, strict=True):
            yield {"sentence": sentence, **record}


def _read(lm: LanguageModel, text: Path, encoding_errors: str) -> Iterator[tuple[Ids, list[str]]]:
    """The text block by block, as ids and as lines."""
    from modlm.text.encoding import encode_sentences
    from modlm.text.options import TextOptions
    from modlm.text.sources import Files

    errors, before = TextOptions(encoding_errors=encoding_errors).encoding_errors, 0
    for block in Files([text]).blocks(BLOCK_BYTES):
        data = bytes(block.data[: block.size])
        try:
            lines = [line.removesuffix("\r") for line in data.decode(errors=errors).split("\n")[:-1]]
            yield encode_sentences(lines, lm.vocabulary), lines
        except UnicodeDecodeError as error:
            column, line = error.start - data.rfind(b"\n", 0, error.start), data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"byte {column} of the line is not valid UTF-8. Convert the text to UTF-8, or have such bytes replaced "
                f"with --encoding-errors replace.",
                path=text,
                line=before + line,
            ) from None
        except InputError as error:  # its line counts from the start of the block
            raise InputError(str(error).partition(": ")[2], path=text, line=before + error.line) from None
        before += len(lines)
    if before == 0:
        raise InputError("there are no sentences: the text is empty.", path=text)


def _print_array(records: Iterator[dict[str, Any]]) -> None:
    """One JSON array, written as it comes."""
    separator = "["
    for record in records:
        sys.stdout.write(f"{separator}\n{json_module.dumps(finite(record), ensure_ascii=False, allow_nan=False)}")
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")
