"""`modlm ngram`: text or counts to an n-gram model."""

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

Inputs = Annotated[
    list[Path],
    typer.Argument(
        metavar="TEXT",
        help="Texts (one sentence a line; gz, bz2, xz, zst; - for standard input), count files, counts folders, or "
        "model folders that kept their counts. Several are added up.",
    ),
]


def ngram(
    inputs: Inputs,
    output: Annotated[Path, option("-o --output DIR", "The model folder to write.")],
    order: Annotated[
        int | None,
        option("--order N", "Words in the longest n-gram.  [default: 5, or that of the counts]", min=1, max=16),
    ] = None,
    smoothing: Annotated[
        str,
        option(
            "--smoothing NAME",
            "maximum-likelihood, witten-bell, good-turing, absolute, modified-absolute, kneser-ney or "
            "modified-kneser-ney.",
        ),
    ] = "modified-kneser-ney",
    edge: Annotated[
        str | None,
        option(
            "--edge once|repeat",
            "One <s> a sentence (as KenLM), or order - 1 (as the paper).  [default: once, or that of the counts]",
        ),
    ] = None,
    vocab: VocabOption = None,
    tokenizer: TokenizerOption = None,
    max_words: MaxWords = None,
    min_count: MinCount = 1,
    positions: Annotated[
        str,
        option(
            "--positions LIST",
            "Skip n-grams: the context words to look at, farthest first; 1 is the previous "
            "word. 4,3,2 leaves it out. Saved as a mixture; --order does not count.",
        ),
    ] = "",
    discounts: Annotated[
        str,
        option(
            "--discounts LIST",
            "What counts of 1, 2, ... lose instead of estimates, e.g. 0.5,1,1.5; for each order apart with / between.",
        ),
    ] = "",
    extra: Annotated[
        str, option("--extra LIST", "What unigrams fall back to: uniform or uniform,unknown.")
    ] = "uniform",
    prune: Annotated[str, option("--prune LIST", "Drop n-grams with counts up to this, for each order: 0,0,1.")] = "",
    prune_entropy: Annotated[
        float, option("--prune-entropy X", "Drop n-grams that change perplexity by less, e.g. 1e-8.", min=0.0)
    ] = 0.0,
    valid: Annotated[Path | None, option("--valid TEXT", "Report the perplexity of this text.")] = None,
    arpa: Annotated[Path | None, option("--arpa FILE", "Write an ARPA file too (.gz packs it).")] = None,
    counts: Annotated[Path | None, option("--counts DIR", "Write the raw counts too, to add text to later.")] = None,
    engine: Annotated[
        str | None, option("--engine memory|disk|spark", "Where to count.  [default: memory, or disk with --memory]")
    ] = None,
    memory: Annotated[
        str | None, option("--memory SIZE", "Count on disk, in about this much memory, such as 2GB.")
    ] = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train an n-gram model on text or counts.

    \b
    modlm ngram train.txt -o model
    modlm ngram train.txt.gz -o model --order 3 --valid valid.txt --arpa model.arpa
    modlm ngram big.txt -o model --memory 4GB --prune 0,0,1
    modlm ngram counts-2023 new.txt -o model --counts counts-2024
    modlm ngram train.txt -o model --tokenizer tokenizer.json
    """  # fmt: skip
    from modlm.cli.estimating import Targets, Training, train

    train(
        Training(
            inputs=tuple(inputs),
            order=order,
            smoothing=smoothing,
            edge=edge,
            vocab=vocab,
            tokenizer=tokenizer,
            max_words=max_words,
            min_count=min_count,
            positions=several(positions, int, option="--positions", example="4,3,2"),
            discounts=tuple(
                several(row, float, option="--discounts", example="0.5,1,1.5") for row in discounts.split("/") if row
            ),
            extra=several(extra, str, option="--extra", example="uniform,unknown"),
            prune=several(prune, int, option="--prune", example="0,0,1"),
            prune_entropy=prune_entropy,
            engine=engine,
            memory=memory,
            encoding_errors=encoding_errors,
        ),
        Targets(output, arpa=arpa, counts=counts, force=force),
        valid=valid,
        as_json=json,
    )
