"""`modlm convert`: ARPA files, model folders, counts folders and count files into one another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from modlm.cli.options import Force, Json, Threads, option
from modlm.errors import ConfigError

SUFFIXES = {".arpa": "arpa", ".lm": "arpa", ".counts": "count-file", ".tsv": "count-file", ".txt": "count-file"}
TARGETS = ("arpa", "model", "counts", "count-file")


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A model folder, ARPA file, counts folder or count file.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A file or folder to write; .gz packs a file.")],
    to: Annotated[
        str | None,
        option(
            "--to arpa|model|counts|count-file",
            "What to write.  [default: by OUT's name: .arpa an ARPA file; .counts, .tsv or .txt a count file; else the "
            "folder that fits]",
        ),
    ] = None,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert models and counts between formats.

    Numbers keep all their digits.

    \b
    modlm convert model model.arpa.gz            model folder to ARPA
    modlm convert other.arpa model               ARPA to model folder
    modlm convert counts all.counts.gz           counts (or a model's counts) to a count file
    modlm convert web.counts counts              count file to counts folder, to train on with modlm ngram
    """  # fmt: skip
    from modlm.cli.outcome import refuse_existing, wrote
    from modlm.cli.printing import print_json
    from modlm.formats.kinds import kind_of

    refuse_existing(target, force=force)
    kind = kind_of(source)
    wanted = to or _wanted(kind, target)
    routes = {
        ("model", "arpa"): model_to_arpa,
        ("arpa", "arpa"): model_to_arpa,
        ("arpa", "model"): model_to_folder,
        ("model", "model"): model_to_folder,
        ("model", "counts"): counts_to_folder,
        ("counts", "counts"): counts_to_folder,
        ("count file", "counts"): counts_to_folder,
        ("model", "count-file"): counts_to_file,
        ("counts", "count-file"): counts_to_file,
        ("count file", "count-file"): counts_to_file,
    }
    route = routes.get((kind, wanted))
    if route is None:
        raise ConfigError(_no_way(source, kind, wanted))
    route(source, target, force)
    wrote(target)
    if json:
        print_json({"input": str(source), "from": kind, "output": str(target), "to": wanted})
        return
    print(f"{source} ({kind}) → {target} ({wanted})")


def _wanted(kind: str, target: Path) -> str:
    name = target.name.removesuffix(".gz")
    if Path(name).suffix in SUFFIXES:
        return SUFFIXES[Path(name).suffix]
    if target.name.endswith(".gz"):
        raise ConfigError(f"{target}: a .gz file could be an ARPA file or a count file. Say which with --to.")
    return "counts" if kind in ("counts", "count file") else "model"


def _no_way(source: Path, kind: str, wanted: str) -> str:
    if wanted not in TARGETS:
        return f"There is no format {wanted!r}. Known: {', '.join(TARGETS)}."
    if kind == "kenlm":
        return (
            f"{source} is a KenLM binary, whose n-grams cannot be listed: it keeps hashes in place of words. Convert "
            f"the ARPA file that it was built from. From Python it can be queried: see modlm.integrations.kenlm."
        )
    if kind in ("counts", "count file", "text", "corpus"):
        return f"{source} is a {kind}, not a model yet. Train one with: modlm ngram {source} -o DIR"
    return f"{source} is an ARPA file, which has probabilities but no counts; it converts to arpa or model."


def model_to_arpa(source: Path, target: Path, force: bool) -> None:
    """Any n-gram model as an ARPA file."""
    from modlm.model.folder import load, save_arpa

    save_arpa(load(source), target, overwrite=force)


def model_to_folder(source: Path, target: Path, force: bool) -> None:
    """Any model as a model folder."""
    from modlm.model.folder import load, save

    model = load(source)
    save(model, target, card=f"# Converted from {source.name}\n\n{len(model.vocabulary):,} words.\n", overwrite=force)


def counts_to_folder(source: Path, target: Path, force: bool) -> None:
    """Counts, from wherever they are, as a counts folder."""
    from modlm.counts import save_counts
    from modlm.model.ngram_training import counts_at

    save_counts(counts_at(source), target, overwrite=force)


def counts_to_file(source: Path, target: Path, force: bool) -> None:
    """Counts, from wherever they are, as lines `w1 … wn<TAB>count`."""
    from modlm.counts import export_counts
    from modlm.model.ngram_training import counts_at

    export_counts(counts_at(source), target, overwrite=force)
