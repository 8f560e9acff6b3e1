"""`modlm score`: the log-probability of every sentence, or of every word."""

from __future__ import annotations

import json as json_module
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modlm.cli.options import EncodingErrors, ForeignTokenizer, Json, ModelArgument, Threads
from modlm.cli.printing import finite
from modlm.errors import InputError

if TYPE_CHECKING:
    from modlm.arrays import Ids
    from modlm.model.language_model import LanguageModel


def score(
    model: ModelArgument,
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="One sentence a line; - for standard input.")] = Path(
        "-"
    ),
    words: Annotated[bool, typer.Option("--words", help="A line for each word and sentence end too.")] = False,
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
    from modlm.cli.inputs import load_model

    records = scored(load_model(model, tokenizer), text, with_words=words, encoding_errors=encoding_errors)
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
    """A record for each sentence, in order; a few thousand sentences are in memory at a time."""
    from modlm.model.scored_text import names_of, predictions_of

    read = deque[list[str]]()  # at most the batch that is being scored
    for ids, log_probs in lm.along(_texts(lm, text, encoding_errors, read)):
        sentences = read.popleft()
        records = predictions_of(lm, ids, log_probs).sentence_records(
            names_of(lm.vocabulary, sentences) if with_words else None
        )
        for sentence, record in zip(sentences, records, strict=True):
            yield {"sentence": sentence, **record}


def _texts(lm: LanguageModel, text: Path, encoding_errors: str, read: deque[list[str]]) -> Iterator[Ids]:
    """The text as ids, batch by batch; the lines of each batch are also put into `read`."""
    from modlm.cli.inputs import batches_of_lines
    from modlm.text.corpus import Corpus

    for first, lines in batches_of_lines(text, encoding_errors=encoding_errors):
        try:
            corpus = Corpus.from_text(lines, lm.vocabulary)
        except InputError as error:  # its line counts from the start of the batch
            message = str(error).partition(": ")[2]
            raise InputError(message, path=text, line=first + error.line - 1) from None
        read.append(lines)
        yield corpus.ids


def _print_array(records: Iterator[dict[str, Any]]) -> None:
    """One JSON array, written as it comes."""
    separator = "["
    for record in records:
        sys.stdout.write(f"{separator}\n{json_module.dumps(finite(record), ensure_ascii=False, allow_nan=False)}")
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")
