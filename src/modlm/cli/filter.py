"""`modlm filter`: the documents of a collection that a model finds likely enough."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from modlm.cli import documents
from modlm.cli.documents import share, summary
from modlm.cli.options import Force, Json, ModelArgument, Threads, argument, option, several
from modlm.cli.outcome import refuse_existing, wrote
from modlm.cli.printing import print_json, print_table
from modlm.errors import ConfigError
from modlm.ground.files import new_file
from modlm.ground.progress import percent

if TYPE_CHECKING:
    from modlm.evaluation.ranking import Ranking


def filter_documents(
    model: ModelArgument,
    files: Annotated[
        list[Path], argument("FILES...", "JSON lines, Parquet or plain text, packed or not; - for stdin.")
    ],
    output: Annotated[
        Path, option("-o --output FILE", "The documents that stay, as JSON lines (.gz, .zst ... pack it).")
    ],
    max_perplexity: Annotated[float | None, option("--max-perplexity X", "Keep those up to X.", min=1.0)] = None,
    keep_best: Annotated[str, option("--keep-best SHARE", "Keep this share of all, such as 30%.")] = "",
    between: Annotated[str, option("--between A,B", "Keep those from A to B.")] = "",
    against: Annotated[
        Path | None,
        option("--against MODEL", "A general model: rank by bits a byte of MODEL minus its own (Moore and Lewis)."),
    ] = None,
    histogram: Annotated[
        Path | None, option("--histogram FILE", "Draw what was kept, as svg, png or pdf.  [default: OUTPUT.svg]")
    ] = None,
    field: documents.Field = "text",
    form: documents.Form = "auto",
    on_error: documents.OnError = "stop",
    normalize: documents.Normalize = "",
    split_sentences: documents.SplitSentences = False,
    workers: documents.Workers = None,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Keep the documents that a model finds likely.

    Each that stays is written as it was, with perplexity, bits_per_byte, words, unknown and sentences added. Shows the
    ten best, middle and worst, and draws how all rank. A run that was killed goes on with the same command. A model
    that was trained with --spelling puts gibberish last; without that, unknown words are all alike.

    \b
    modlm filter wiki web.jsonl.gz -o good.jsonl.gz --keep-best 30%
    modlm filter wiki web.parquet -o good.jsonl --max-perplexity 800 --field content
    modlm filter medical web.jsonl -o medical.jsonl --against general --keep-best 5%
    """  # fmt: skip
    from modlm.evaluation.document_files import DocumentOptions
    from modlm.model.folder import load

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
    picture = histogram or output.with_name(f"{output.name}.svg")
    refuse_existing(output, picture, force=force)
    options = DocumentOptions(
        field=field, form=form, keep=True, on_error=on_error, workers=workers, examples=True,
        prepare=documents.prepared(normalize, split_sentences), against=load(against) if against else None,
        low=bounds[0], high=bounds[1] if max_perplexity is None else math.log(max_perplexity),
        best=share(keep_best, "--keep-best") if keep_best else 1.0,
    )  # fmt: skip
    settings = {"against": str(against), "normalize": normalize, "split_sentences": split_sentences}
    ranking = documents.run(model, files, output, options, command="filter", force=force, **settings)
    kept = int(ranking.kept.sum())
    title = f"{kept:,} of {ranking.documents:,} documents kept ({percent(kept / max(1, ranking.documents))})"
    with new_file(picture) as aside:
        drawn = aside.with_suffix(picture.suffix or ".svg")
        ranking.picture(drawn, title=title, log=against is None)
        drawn.replace(aside)
    wrote(picture)
    if json:
        report = {**summary(ranking), "kept": kept, "output": str(output), "histogram": str(picture)}
        print_json(report | {name: _examples(ranking, name) for name in ("best", "middle", "worst")})
        return
    for name in ("best", "middle", "worst"):
        rows = [[f"{value:.4g}", text, place] for value, place, text in _shown(ranking, name, log=against is None)]
        print_table([name, "document", "where"], rows, left=3)
        print()
    print(f"{title}; {ranking.broken:,} broken, {ranking.empty:,} without words")
    print(f"{output}\n{picture}: how all of them rank")


def _shown(ranking: Ranking, name: str, *, log: bool) -> list[tuple[float, str, str]]:
    examples = ranking.middle() if name == "middle" else getattr(ranking, name)
    return [(math.exp(value) if log else value, place, text[:80]) for value, place, text in examples]


def _examples(ranking: Ranking, name: str) -> list[dict[str, object]]:
    found = ranking.middle() if name == "middle" else getattr(ranking, name)
    return [{"ranked_by": value, "place": place, "text": text} for value, place, text in found]
