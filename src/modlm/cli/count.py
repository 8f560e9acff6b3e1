"""`modlm count`: texts to counts, on this machine or a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from modlm.cli.options import (
    EncodingErrors,
    Force,
    Json,
    MaxWords,
    MinCount,
    Threads,
    TokenizerOption,
    VocabOption,
    several,
)


def count(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="Texts, one sentence a line (gz, bz2, xz, zst; - for standard input), counted together. With --engine "
            "spark any path that Spark reads: files, folders, patterns, hdfs://, s3a:// and others; not xz.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The counts folder to write.")],
    order: Annotated[
        int | None,
        typer.Option("--order", min=1, max=16, metavar="N", help="Words in the longest n-gram.  [default: 5]"),
    ] = None,
    edge: Annotated[
        str,
        typer.Option(
            "--edge", metavar="once|repeat", help="One <s> a sentence (as KenLM), or order - 1 (as the paper)."
        ),
    ] = "once",
    vocab: VocabOption = None,
    tokenizer: TokenizerOption = None,
    max_words: MaxWords = None,
    min_count: MinCount = 1,
    positions: Annotated[
        str,
        typer.Option(
            "--positions", metavar="LIST", help="Skip n-grams (in memory only): the context words, farthest first."
        ),
    ] = "",
    continuation: Annotated[
        Path | None,
        typer.Option("--continuation", metavar="DIR", help="Write the counts that Kneser-Ney smooths too."),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            "--held-out", metavar="DIR", help="Write counts without each fold of the text too: DIR/0, DIR/1, ..."
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option("--folds", min=2, metavar="N", help="Neighbouring parts to cut the text into, for --held-out."),
    ] = 10,
    counts_of_counts: Annotated[
        bool, typer.Option("--counts-of-counts", help="Tell how many n-grams of each order occur 1, 2, 3, 4 times.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="memory|disk|spark",
            help="Where to count; the files are the same.  [default: memory, disk with --memory, spark with --master]",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="The Spark master: spark://HOST:PORT, yarn, local[4], ...  [default: MODLM_MASTER, or what Spark's "
            "own settings say, or local[*]]",
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark, such as spark.executor.cores=4."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="About this much memory, such as 2GB; with Spark, for each process."
        ),
    ] = None,
    temporary: Annotated[
        str | None,
        typer.Option(
            "--temporary",
            metavar="DIR",
            help="Where files go that are needed for a while; on a cluster, a place that all its machines see.",
        ),
    ] = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Count the n-grams of texts: in memory, on disk, or on a Spark cluster. The files are the same to the byte.

    \b
    modlm count train.txt -o counts
    modlm count big.txt.zst -o counts --memory 4GB
    modlm count 'hdfs://data/news/*.txt' -o counts --master spark://host:7077 --temporary hdfs://data/tmp
    modlm count train.txt -o counts --held-out folds --folds 10 --continuation kn
    modlm ngram counts -o model
    """  # fmt: skip
    from modlm.cli.counting import chosen_vocabulary
    from modlm.cli.tallying import Places, check_alone, spark_settings, tally
    from modlm.counts import CountOptions
    from modlm.text.options import TextOptions

    places = Places(output, continuation=continuation, held_out=held_out, folds=folds, force=force)
    places.check()
    farther = several(positions, int, option="--positions", example="4,3,2") or None
    counting = CountOptions.asked(
        order=None if farther else order,
        edge=edge,
        positions=farther,
        engine=engine or ("spark" if master or conf else None),
        memory=memory,
        temporary=temporary,
        master=master,
        conf=spark_settings(conf or (), master, engine),
    )
    if farther:
        check_alone(places, counts_of_counts=counts_of_counts)
    reading = TextOptions(
        vocabulary=chosen_vocabulary(vocab, tokenizer, limited=max_words is not None or min_count > 1),
        max_words=max_words,
        min_count=min_count,
        encoding_errors=encoding_errors,
    )
    tally(texts, counting, reading, places, counts_of_counts=counts_of_counts, as_json=json)
