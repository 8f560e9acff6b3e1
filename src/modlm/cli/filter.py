"""`modlm filter`: the documents of a collection that a model finds likely enough."""

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from modlm.cli import documents
from modlm.cli.documents import share, summary
from modlm.cli.options import (
    EncodingErrors,
    Force,
    ForeignTokenizer,
    Json,
    ModelArgument,
    Threads,
    argument,
    option,
    several,
)
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import print_json, print_table
from modlm.errors import ConfigError, require
from modlm.ground.files import new_file
from modlm.ground.progress import percent


def filter_documents(
    model: ModelArgument,
    files: Annotated[
        list[Path], argument("FILES...", "JSON lines, Parquet or plain text, compressed or not; - for stdin.")
    ],
    output: Annotated[
        Path, option("-o --output FILE", "Those that stay: JSON lines, or text if it ends in .txt (.gz ... compress).")
    ],
    max_perplexity: Annotated[
        float | None, option("--max-perplexity X", "Keep documents up to this perplexity.", min=1.0)
    ] = None,
    keep_best: Annotated[str, option("--keep-best SHARE", "Keep this share of all, such as 30%.")] = "",
    between: Annotated[str, option("--between A,B", "Keep documents with perplexities from A to B.")] = "",
    against: Annotated[
        Path | None,
        option("--against MODEL", "A general model: rank by bits per byte of MODEL minus its own (Moore and Lewis)."),
    ] = None,
    histogram: Annotated[
        Path | None,
        option("--histogram FILE", "Draw what was kept, as svg, png or pdf.  [default: OUTPUT.svg]"),
    ] = None,
    field: documents.Field = "text",
    form: documents.Form = "auto",
    on_error: documents.OnError = "stop",
    normalize: documents.Normalize = "",
    split_sentences: documents.SplitSentences = False,
    workers: documents.Workers = None,
    tokenizer: ForeignTokenizer = None,
    encoding_errors: EncodingErrors = "strict",
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Keep the documents that a model finds likely.

    Each that stays is a line of JSON: as it was, with perplexity, bits_per_byte, words, unknown and sentences added. In
    a file named .txt it is its text alone, with a blank line behind it. Shows the ten best, middle and worst, and draws
    how all rank. If a run was killed, the same command goes on with it. A model that was trained with --spelling puts
    gibberish last; without that, unknown words are all alike.

    \b
    modlm filter wiki web.jsonl.gz -o good.jsonl.gz --keep-best 30%
    modlm filter wiki web.parquet -o good.jsonl --max-perplexity 800 --field content
    modlm filter medical web.jsonl -o medical.jsonl --against general --keep-best 5%
    """  # fmt: skip
    from modlm.evaluation.document_files import DocumentOptions
    from modlm.model.folder import load
    from modlm.text.packing import PACKINGS

    if (max_perplexity is not None) + bool(keep_best) + bool(between) != 1:
        raise ConfigError("Say with one of --max-perplexity, --keep-best and --between which documents to keep.")
    if max_perplexity is not None and math.isnan(max_perplexity):
        raise ConfigError("--max-perplexity takes a number, such as 800, not nan.")
    if against is not None and max_perplexity is not None:
        raise ConfigError("With --against differences are ranked, not perplexities. Use --keep-best or --between.")
    bounds = several(between, float, option="--between", example="20,300") or (-math.inf, math.inf)
    if len(bounds) != 2 or not bounds[0] < bounds[1]:
        raise ConfigError(f"--between takes a lower and an upper bound, such as 20,300, not {between!r}.")
    if against is None and between:
        bounds = tuple(math.log(bound) if bound > 0 else -math.inf for bound in bounds)
    picture = histogram or (output.with_name(f"{output.name}.svg") if find_spec("matplotlib") else None)
    if histogram is not None:
        require("matplotlib", extra="figures", purpose="A picture of what was kept")
        if histogram.suffix not in (".svg", ".png", ".pdf") or not histogram.absolute().parent.is_dir():
            raise ConfigError(f"--histogram takes a file in a folder that is there, svg, png or pdf, not {histogram}.")
    refuse_existing(picture, force=force)
    packed = output.suffix in [packing.ending for packing in PACKINGS]
    plain = (output.with_suffix("") if packed else output).suffix == ".txt"
    options = DocumentOptions(
        field=field, form=form, keep=True, plain=plain, on_error=on_error, workers=workers, examples=True,
        prepare=documents.prepared(normalize, split_sentences), encoding_errors=encoding_errors,
        against=load(against, tokenizer=tokenizer) if against else None,
        low=bounds[0], high=bounds[1] if max_perplexity is None else math.log(max_perplexity),
        best=share(keep_best, "--keep-best") if keep_best else 1.0,
    )  # fmt: skip
    ranking = documents.run(
        model, files, output, options, command="filter", force=force, tokenizer=tokenizer,
        against=str(against), normalize=normalize, split_sentences=split_sentences,
    )  # fmt: skip
    kept = int(ranking.kept.sum())
    title = f"{kept:,} of {ranking.documents:,} documents kept ({percent(kept / max(1, ranking.documents))})"
    if picture is not None:
        from modlm.experiments.reproduce.figures import save_histogram

        with new_file(picture) as aside:
            drawn, label = aside.with_suffix(picture.suffix), "in-domain minus general, bits per byte"
            save_histogram(drawn, *ranking.bars(), title, "" if against is None else label)
            drawn.replace(aside)
    shown = {"best": ranking.best, "middle": ranking.middle(), "worst": ranking.worst}
    if json:
        report = {**summary(ranking), "kept": kept, "output": str(output), "histogram": picture and str(picture)}
        keys = ("ranked_by", "place", "text")
        print_json(report | {name: [dict(zip(keys, one, strict=True)) for one in own] for name, own in shown.items()})
        return
    for name, own in shown.items():
        rows = [[f"{math.exp(by) if against is None else by:.4g}", text[:80], place] for by, place, text in own]
        print_table([name, "document", "where"], rows, left=3)
        print()
    print(f"{title}; {ranking.broken:,} broken, {ranking.empty:,} without words")
    print(f"{output}: {'text' if plain else 'JSON lines'}")
    print(f"{picture or 'no picture without matplotlib (extra figures)'}: how all of them rank")
