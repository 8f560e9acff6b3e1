"""`modlm index`, `modlm find` and `modlm overlap`: texts in which any words in a row are found at once."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import modlm
from modlm.cli import options
from modlm.cli.options import Force, Json, argument, option, text_options
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import print_json, print_table, size
from modlm.ground.files import folder_bytes

IndexArgument = Annotated[Path, argument("DIR", "The folder of an index.")]
SHOWN = 160  # characters of the words that were found; all of them are in the JSON
BOLD, FAINT, PLAIN = "\x1b[1;32m", "\x1b[2m", "\x1b[0m"


def index(
    texts: Annotated[list[str], argument("TEXT", "Texts, one sentence per line (gz, bz2, xz, zst; - for stdin).")],
    output: Annotated[Path, option("-o --output DIR", "The index to write.")],
    documents: Annotated[
        bool,
        option(
            "--documents", "Files hold documents: JSON lines, Parquet, or blank lines between.  [default: one each]"
        ),
    ] = False,
    field: Annotated[str, option("--field NAME", "Where the text of a JSON or Parquet document is.")] = "text",
    add: Annotated[bool, option("--add", "Put the texts beside those that the index has.")] = False,
    vocab: options.VocabOption = None,
    tokenizer: options.TokenizerOption = None,
    max_words: options.MaxWords = None,
    min_count: options.MinCount = 1,
    memory: options.Memory = None,
    encoding_errors: options.EncodingErrors = "strict",
    threads: options.Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Index texts: where do these words occur in a row, what followed them, what was copied?

    An index takes 6 to 7 bytes per word. modlm find and modlm overlap ask it, and the block "infinite" makes columns
    of it, which predict from the longest context that was seen. For these give the model's words (--vocab) or
    its tokenizer.

    \b
    modlm index news.txt.xz web.txt -o index --memory 2GB
    modlm index pages.jsonl.gz --documents -o index --add
    modlm find index "words in a row"
    modlm overlap index test.txt
    """  # fmt: skip
    if not add:
        refuse_existing(output, force=force, instead="put the texts beside those it has with --add, ")
    begun = time.perf_counter()
    reading = text_options(vocab, tokenizer, max_words, min_count=min_count, encoding_errors=encoding_errors)
    made = modlm.index_text(
        [Path(text) for text in texts], output, documents=documents, field=field, memory=memory, add=add,
        overwrite=force, **{name: getattr(reading, name) for name in reading.__slots__},
    )  # fmt: skip
    report: dict[str, Any] = {
        "output": str(output), "words": made.words, "units": made.vocabulary.units, "sentences": made.sentences,
        "documents": made.documents_3D.shape[1], "vocabulary": len(made.vocabulary), "shards": len(made.table_SF),
        "bytes": folder_bytes(output), "seconds": round(time.perf_counter() - begun, 3),
    }  # fmt: skip
    if json:
        print_json(report)
        return
    print(f"{report['words']:,} {report['units']}, {report['sentences']:,} sentences, {report['documents']:,} "
          f"documents, {report['shards']} {'shard' if report['shards'] == 1 else 'shards'}")  # fmt: skip
    print(f"{output}: {size(report['bytes'])}, {report['bytes'] / max(1, report['words']):.2f} bytes per word, "
          f"made in {report['seconds']:.1f} s")  # fmt: skip


def find(
    folder: IndexArgument,
    words: Annotated[str, argument("WORDS", "Words in a row, in quotes; lines may end between them.")],
    limit: Annotated[int, option("-k --limit N", "Show at most this many places.", min=0)] = 10,
    context: Annotated[int, option("--context N", "Words to show on each side.", min=0)] = 10,
    json: Json = False,
) -> None:
    """How often some words occur in a row in an index, and where.

    \b
    modlm find index "all rights reserved"
    modlm find index "the quick brown" -k 3 --json
    """  # fmt: skip
    opened = modlm.TextIndex.open(folder)
    begun = time.perf_counter()
    found = opened.find(words, limit=limit, context=context)
    seconds = time.perf_counter() - begun
    hits = [asdict(hit) for hit in found.hits]
    if json:
        print_json({"words": words, "count": found.count, "hits": hits, "seconds": seconds})
        return
    print(f"{found.count:,} times in {opened.words:,} {opened.vocabulary.units}")
    for hit in hits:
        print_hit(**hit)
    if found.count > len(hits) > 0:
        print(f"and {found.count - len(hits):,} more places; show more with --limit")


def print_hit(source: str, line: int, before: str, words: str, after: str, **about: Any) -> None:
    """A place, with the words in colour where that is seen, and the middle of a long stretch left out."""
    bold, faint, plain = (BOLD, FAINT, PLAIN) if sys.stdout.isatty() else ("", "", "")
    words = words if len(words) <= SHOWN else f"{words[: SHOWN // 2]} … {words[-SHOWN // 2 :]}"
    print(f"{faint}{source}:{line}{plain}  {before} {bold}{words}{plain} {after}".rstrip())


def overlap(
    folder: IndexArgument,
    files: Annotated[list[Path], argument("FILE", "Texts to look for, such as test sets.")],
    least: Annotated[int, option("--least N", "Words that a stretch must have.", min=2)] = 8,
    limit: Annotated[int, option("-k --limit N", "Show at most this many stretches.", min=0)] = 20,
    json: Json = False,
) -> None:
    """Which stretches of texts are in an index word for word, whatever the line breaks.

    That is how to tell whether a test text was in the training text, or who copied from whom. Unknown words are
    never copies.

    \b
    modlm overlap index test.txt
    modlm overlap index essay.txt --least 12 --json
    """  # fmt: skip
    from modlm.counts.overlap import overlaps

    opened = modlm.TextIndex.open(folder)
    reports = [overlaps(opened, path, least=least) for path in files]
    if json:
        print_json([report.as_dict() for report in reports])
        return
    rows = [[r.source, f"{r.words:,}", f"{r.covered:,}", f"{r.covered / max(1, r.words):.2%}", f"{len(r.stretches):,}"]
            for r in reports]  # fmt: skip
    print_table(["text", "words", f"in copies of {least}+", "share", "stretches"], rows)
    longest = sorted((one for report in reports for one in report.stretches), key=lambda one: -one.length)
    for one in longest[:limit]:
        print(f"{one.source}:{one.line}, {one.length} words, as in:")
        print_hit(**asdict(one.hit))
