"""`modlm score`: the log-probability of every sentence, of every word, or of every document."""

import json as json_module
import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import modlm
from modlm.cli import documents
from modlm.cli.options import (
    Conf,
    EncodingErrors,
    Force,
    ForeignTokenizer,
    Json,
    Master,
    ModelArgument,
    Source,
    Threads,
    argument,
    option,
    several,
    spark_settings,
)
from modlm.cli.printing import finite, print_json
from modlm.errors import ConfigError, InputError

BLOCK_BYTES = 1 << 18  # of text that is scored at a time


def score(
    model: ModelArgument,
    texts: Annotated[list[Path] | None, argument("TEXT...", "One sentence per line; - for standard input.")] = None,
    words: Annotated[bool, option("--words", "Also print a line for each word and sentence end.")] = False,
    source: Source = None,
    by_document: Annotated[
        bool, option("--documents", "TEXT holds documents: JSON lines, Parquet, or plain text.")
    ] = False,
    output: Annotated[Path | None, option("-o --output FILE", "With --documents: where records go.")] = None,
    field: documents.Field = "text",
    id_field: Annotated[str, option("--id NAME", "The field that names a document.  [default: its line does]")] = "",
    keep: Annotated[bool, option("--keep", "Write the whole records, with the numbers added.")] = False,
    buckets: Annotated[
        str, option("--buckets LIST", "Perplexities that divide the buckets, such as 30,60; or terciles.")
    ] = "",
    form: documents.Form = "auto",
    on_error: documents.OnError = "stop",
    normalize: documents.Normalize = "",
    split_sentences: documents.SplitSentences = False,
    workers: documents.Workers = None,
    engine: Annotated[
        str, option("--engine threads|spark", "Threads here, or a cluster, which writes a folder.  [default: threads]")
    ] = "",
    master: Master = None,
    conf: Conf = None,
    force: Force = False,
    tokenizer: ForeignTokenizer = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Natural log-probability of each sentence.

    The end of the sentence is included. Prints, with tabs between: log-probability, perplexity, unknown words,
    sentence. With --words, before each of these a line for each of its words: log-probability, word, and <unk> if the
    model does not know it.

    With --documents a line of JSON for each document: perplexity, bits_per_byte, words, unknown, sentences (its lines
    that are not blank), and its bucket, as soon as they are known. With --output, give the command again to go on
    with a run that was killed.

    \b
    modlm score model test.txt
    echo "the company said" | modlm score model --words
    modlm score runs/ja-en test.en --source test.ja
    modlm score model web.jsonl.zst --documents --field content --id url -o scores.jsonl
    modlm score model web.parquet --documents --keep --buckets terciles -o bucketed.jsonl.gz --on-error skip
    modlm score model 'hdfs://data/web/*.parquet' --documents --id url -o hdfs://data/scores --master spark://host:7077
    zcat web.gz | modlm score model --documents --normalize words --split-sentences | head
    """  # fmt: skip
    if source is not None and (by_document or len(texts or ()) != 1 or texts == [Path("-")]):
        raise ConfigError("--source has the source of each line of a text. Name one text, a file, without --documents.")
    if by_document:
        if words:
            raise ConfigError("--words is about sentences, --documents about documents. Leave one of them out.")
        from modlm.evaluation.document_files import DocumentOptions

        limits = buckets if buckets == "terciles" else several(buckets, float, option="--buckets", example="30,60")
        options = DocumentOptions(
            field=field, id=id_field, form=form, keep=keep, buckets=limits, on_error=on_error, workers=workers,
            encoding_errors=encoding_errors, prepare=documents.prepared(normalize, split_sentences),
        )  # fmt: skip
        files = texts or [Path("-")]
        engine = engine or ("spark" if master or conf else "threads")
        if engine not in ("threads", "spark"):
            raise ConfigError(f"--engine takes threads or spark, not {engine!r}.")
        if engine == "threads" and (master or conf):
            raise ConfigError("--master and --conf are for the engine spark, but --engine is threads.")
        ranking = documents.run(
            model, files, output, options, command="score", force=force, tokenizer=tokenizer, normalize=normalize,
            split_sentences=split_sentences,
            spark={"master": master, "conf": spark_settings(conf)} if engine == "spark" else None,
        )  # fmt: skip
        if output is not None:
            numbers = documents.summary(ranking) | {"output": str(output)}
            print_json(numbers) if json else print("  ".join(f"{name} {value}" for name, value in numbers.items()))
        return
    if output is not None or keep or buckets or id_field or engine or master or conf:
        raise ConfigError("--output, --keep, --buckets, --id and --engine are about documents. Add --documents.")
    if sys.stdout.isatty():
        os.environ["MODLM_PROGRESS"] = "0"  # a bar would stand between the lines
    lm = modlm.load(model, tokenizer=tokenizer)
    each = [
        scored(lm, text, source=source, with_words=words, encoding_errors=encoding_errors)
        for text in texts or [Path("-")]
    ]
    records = chain.from_iterable(each)
    if json:
        separator = "["
        for record in records:  # one array, written as it comes
            sys.stdout.write(f"{separator}\n{json_module.dumps(finite(record), ensure_ascii=False, allow_nan=False)}")
            separator = ","
        sys.stdout.write("[]\n" if separator == "[" else "\n]\n")
        return
    for record in records:
        for word in record.get("scores", ()):
            known = "" if word["known"] else "\t<unk>"
            print(f"{word['log_prob']:.6f}\t{word['word']}{known}")
        print(f"{record['log_prob']:.6f}\t{record['perplexity']:.4g}\t{record['unknown']}\t{record['sentence']}")


def scored(
    lm: "modlm.LanguageModel", text: Path, *, source: Path | None, with_words: bool, encoding_errors: str
) -> Iterator[dict[str, Any]]:
    """A record for each sentence, in order, as soon as it is read; a few thousand are in memory at a time."""
    from modlm.blocks.block import ALONE, Beside
    from modlm.model.scored_text import names_of, scored_along, with_source
    from modlm.text.encoding import encoded
    from modlm.text.options import TextOptions
    from modlm.text.sources import Files

    beside, empty, lines_of = ALONE, True, Files([text], eager=True)
    if source is not None:
        beside = Beside(with_source(lm, text, source, encoding_errors=encoding_errors).sources)
    options = TextOptions(encoding_errors=encoding_errors, block_bytes=BLOCK_BYTES)
    for part, block in scored_along(lm, encoded(lines_of, lm.vocabulary.encoders(1), options), beside):
        empty = False
        lines = bytes(block.text[: block.bytes]).decode().split("\n")[:-1]
        sentences = [line.removesuffix("\r") for line in lines]
        records = part.sentence_records(names_of(lm.vocabulary, sentences) if with_words else None)
        for sentence, record in zip(sentences, records, strict=True):
            yield {"sentence": sentence, **record}
    if empty:
        raise InputError("there are no sentences: the text is empty.", path=lines_of)
