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
    option,
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
    output: Annotated[Path, option("-o --output DIR", "The counts folder to write.")],
    order: Annotated[
        int | None, option("--order N", "Words in the longest n-gram.  [default: 5]", min=1, max=16)
    ] = None,
    edge: Annotated[
        str, option("--edge once|repeat", "One <s> a sentence (as KenLM), or order - 1 (as the paper).")
    ] = "once",
    vocab: VocabOption = None,
    tokenizer: TokenizerOption = None,
    max_words: MaxWords = None,
    min_count: MinCount = 1,
    positions: Annotated[
        str, option("--positions LIST", "Skip n-grams (in memory only): the context words, farthest first.")
    ] = "",
    continuation: Annotated[
        Path | None, option("--continuation DIR", "Write the counts that Kneser-Ney smooths too.")
    ] = None,
    held_out: Annotated[
        Path | None, option("--held-out DIR", "Write counts without each fold of the text too: DIR/0, DIR/1, ...")
    ] = None,
    folds: Annotated[int, option("--folds N", "Neighbouring parts to cut the text into, for --held-out.", min=2)] = 10,
    counts_of_counts: Annotated[
        bool, option("--counts-of-counts", "Tell how many n-grams of each order occur 1, 2, 3, 4 times.")
    ] = False,
    engine: Annotated[
        str | None,
        option(
            "--engine memory|disk|spark",
            "Where to count; the files are the same.  [default: memory, disk with --memory, spark with --master]",
        ),
    ] = None,
    master: Annotated[
        str | None,
        option(
            "--master URL",
            "The Spark master: spark://HOST:PORT, yarn, local[4], ...  [default: MODLM_MASTER, or what Spark's "
            "own settings say, or local[*]]",
        ),
    ] = None,
    conf: Annotated[
        list[str] | None, option("--conf KEY=VALUE", "A setting of Spark, such as spark.executor.cores=4.")
    ] = None,
    memory: Annotated[
        str | None, option("--memory SIZE", "About this much memory, such as 2GB; with Spark, for each process.")
    ] = None,
    temporary: Annotated[
        str | None,
        option(
            "--temporary DIR",
            "Where files go that are needed for a while; on a cluster, a place that all its machines see.",
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
    from modlm.cli.tallying import Asked, Places, tally

    tally(
        Asked(
            texts=tuple(texts),
            order=order,
            edge=edge,
            vocab=vocab,
            tokenizer=tokenizer,
            max_words=max_words,
            min_count=min_count,
            positions=several(positions, int, option="--positions", example="4,3,2"),
            folds=folds,
            counts_of_counts=counts_of_counts,
            engine=engine,
            master=master,
            conf=tuple(conf or ()),
            memory=memory,
            temporary=temporary,
            encoding_errors=encoding_errors,
        ),
        Places(output, continuation=continuation, held_out=held_out, force=force),
        as_json=json,
    )
