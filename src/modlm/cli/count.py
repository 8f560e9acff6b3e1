"""`modlm count`: texts to counts, on this machine or a cluster."""

import time
from pathlib import Path
from typing import Annotated, Any

from modlm.cli import options
from modlm.cli.options import argument, option, several, text_options
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import print_json, print_table, size
from modlm.errors import ConfigError
from modlm.ground.files import folder_bytes, new_folder

LARGEST = 4  # counts that discounts are estimated from


def count(
    texts: Annotated[
        list[str],
        argument(
            "TEXT",
            "Texts, one sentence per line (gz, bz2, xz, zst; - for standard input), counted together. With --engine "
            "spark any path that Spark reads: files, folders, patterns, hdfs://, s3a:// and others; not xz.",
        ),
    ],
    output: Annotated[Path, option("-o --output DIR", "The counts folder to write.")],
    order: options.Order = None,
    edge: options.Edge = None,
    vocab: options.VocabOption = None,
    tokenizer: options.TokenizerOption = None,
    max_words: options.MaxWords = None,
    min_count: options.MinCount = 1,
    positions: options.Positions = "",
    continuation: Annotated[Path | None, option("--continuation DIR", "Also write continuation counts.")] = None,
    held_out: Annotated[Path | None, option("--held-out DIR", "Also write counts without fold 0, ...")] = None,
    folds: Annotated[int, option("--folds N", "Contiguous parts to cut the text into, for --held-out.", min=2)] = 10,
    counts_of_counts: Annotated[bool, option("--counts-of-counts", "Say how many n-grams occur 1 to 4 times.")] = False,
    engine: options.Engine = None,
    master: options.Master = None,
    conf: options.Conf = None,
    memory: options.Memory = None,
    temporary: Annotated[
        str | None, option("--temporary DIR", "For temporary files; all machines must see this place.")
    ] = None,
    encoding_errors: options.EncodingErrors = "strict",
    threads: options.Threads = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Count the n-grams of texts: in memory, on disk, or on a Spark cluster. The files are the same to the byte.

    \b
    modlm count train.txt -o counts
    modlm count big.txt.zst -o counts --memory 4GB
    modlm count 'hdfs://data/news/*.txt' -o counts --master spark://host:7077 --temporary hdfs://data/tmp
    modlm count train.txt -o counts --held-out folds --folds 10 --continuation kn
    modlm ngram counts -o model
    """  # fmt: skip
    from modlm.counts import CountOptions, tally_text
    from modlm.counts.spark import spark_tally

    places = several(positions, int, option="--positions", example="4,3,2")
    refuse_existing(output, continuation, held_out, force=force)
    engine = engine or ("spark" if master or conf else "memory" if memory is None else "disk")
    if engine != "spark" and (master or conf):
        raise ConfigError(f"--master and --conf are for the engine spark, but --engine is {engine}.")
    if places and (continuation or held_out or counts_of_counts):
        raise ConfigError("Skip n-grams (--positions) are counted alone, without continuation counts and folds.")
    counting = CountOptions.asked(
        order=None if places else order, edge=edge or "once", positions=places or None, engine=engine, memory=memory,
        temporary=temporary, master=master, conf=options.spark_settings(conf),
    )  # fmt: skip
    begun = time.perf_counter()
    reading = text_options(vocab, tokenizer, max_words, min_count=min_count, encoding_errors=encoding_errors)
    remote = engine == "spark" and tokenizer is None
    tally = spark_tally(texts, counting, reading) if remote else tally_text(list(map(Path, texts)), counting, reading)
    with tally as found:
        counts = found.counts
        report: dict[str, Any] = {
            "order": counts.order, "engine": engine, "words": len(counts.vocabulary), "units": counts.vocabulary.units,
            "sentences": counts.sentences, "ngrams": list(counts.trie.sizes),
        }  # fmt: skip
        counts.save(output, overwrite=force)
        report |= {"output": str(output), "bytes": folder_bytes(output)}
        report["seconds"] = round(time.perf_counter() - begun, 3)
        if continuation is not None:
            found.continuation().save(continuation, overwrite=force)
            report["continuation"] = str(continuation)
        if counts_of_counts:
            both = zip(("raw", "continuation"), found.counts_of_counts(LARGEST), strict=True)
            report["counts_of_counts"] = {name: [row.tolist() for row in rows] for name, rows in both}
        if held_out is not None:
            with new_folder(held_out, overwrite=force) as place:
                for number, part in enumerate(found.held_out(folds)):
                    part.save(place / str(number))
                    report["folds"] = number + 1
            report["held_out"] = str(held_out)
    report["seconds_in_all"] = round(time.perf_counter() - begun, 3)
    print_json(report) if json else print_summary(report)


def print_summary(report: dict[str, Any]) -> None:
    print(f"Counts up to order {report['order']}, {report['words']:,} {report['units']}, ", end="")
    print(f"{report['sentences']:,} sentences")
    columns = ["order", "n-grams"]
    rows = [[f"{n}-grams", f"{ngrams:,}"] for n, ngrams in enumerate(report["ngrams"], start=1)]
    for name, orders in report.get("counts_of_counts", {}).items():
        columns.append("occur 1, 2, … times" if name == "raw" else "after 1, 2, … words")
        for row, numbers in zip(rows, orders, strict=True):
            row.append(" ".join(f"{number:,}" for number in numbers))
    print_table(columns, rows)
    print(f"{report['output']}: {size(report['bytes'])}, counted in {report['seconds']:.1f} s ({report['engine']})")
    if "continuation" in report:
        print(f"{report['continuation']}: the counts that Kneser-Ney smooths")
    if "held_out" in report:
        print(f"{report['held_out']}: counts without each of {report['folds']} folds")
