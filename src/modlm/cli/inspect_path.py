"""`modlm inspect`: what a path is, and what is in it."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modlm.cli.options import Json, Threads, option
from modlm.cli.printing import print_json, print_orders, print_table, size
from modlm.files import folder_bytes

if TYPE_CHECKING:
    from modlm.counts.counts import Counts
    from modlm.text.vocabulary import Vocabulary

About = dict[str, Any]


def inspect(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A model, counts or corpus folder, ARPA file, count file or text.")
    ],
    verify: Annotated[
        bool, option("--verify", "Check every byte against the manifest, and what can be checked beyond.")
    ] = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Say what a file or folder is.

    Kind, order, n-grams, vocabulary, discounts, notes, size and fingerprints.

    \b
    modlm inspect model
    modlm inspect model --verify
    modlm inspect train.txt.gz --json
    """  # fmt: skip
    from modlm.errors import InputError
    from modlm.formats.kinds import kind_of

    if not path.exists():
        raise InputError("there is no such file or folder.", path=path)
    kind = kind_of(path)
    about = {"path": str(path), "kind": kind, **DESCRIBERS[kind](path, verify)}
    if verify:
        about["verified"] = True
    print_json(about) if json else _print_about(about)


def describe_model(path: Path, verify: bool) -> About:
    """A model folder."""
    from modlm.model.folder import load

    place = path if (path / "model.json").is_file() else path / "model"
    model = load(place, verify="full" if verify else "fast")
    about: About = {"bytes": folder_bytes(place), **_vocabulary(model.vocabulary)}
    manifest = _manifest(place / "model.json")
    counts = manifest["about"].get("counts")  # a model would read all of its counts to tell
    if isinstance(counts, dict):
        about |= {name: counts[name] for name in ("edge", "sentences")}
    return about | model.described() | {"files": _files(manifest)}


def describe_counts(path: Path, verify: bool) -> About:
    """A counts folder."""
    from modlm.counts import open_counts

    counts = open_counts(path, verify="full" if verify else "fast")
    return {"bytes": folder_bytes(path), **_counts(counts), "files": _files(_manifest(path / "counts.json"))}


def describe_count_file(path: Path, verify: bool) -> About:
    """A count file, read as a whole."""
    from modlm.counts import import_counts

    return {"bytes": path.stat().st_size, **_counts(import_counts(path))}


def _counts(counts: Counts) -> About:
    about: About = {"order": counts.order, "ngrams": [counts.types(n) for n in range(1, counts.order + 1)]}
    about |= {"edge": counts.edge, "sentences": counts.sentences, "cut_off": list(counts.cut_off)}
    positions = getattr(counts, "positions", None)
    return about | ({"positions": list(positions)} if positions else {}) | _vocabulary(counts.vocabulary)


def describe_corpus(path: Path, verify: bool) -> About:
    """A corpus folder."""
    from modlm.text.corpus import Corpus

    corpus = Corpus.open(path, verify="full" if verify else "fast")
    about = {"bytes": folder_bytes(path), "sentences": corpus.sentences, "text_words": corpus.words}
    return {**about, "unknown": corpus.unknown, **_vocabulary(corpus.vocabulary)}


def describe_text(path: Path, verify: bool) -> About:
    """A text, read as a whole."""
    from modlm.text.corpus import Corpus

    corpus = Corpus.from_text(path)
    about = {"bytes": path.stat().st_size, "sentences": corpus.sentences, "text_words": corpus.words}
    return {**about, "unknown": corpus.unknown, "words": len(corpus.vocabulary)}


def describe_arpa(path: Path, verify: bool) -> About:
    """An ARPA file: what its header announces, or with `verify` what is in it."""
    from modlm.formats.arpa_header import read_announced
    from modlm.formats.lines import open_lines

    if verify:
        from modlm.model.arpa import normalisation_error, read_model

        model = read_model(path)
        error = normalisation_error(model.compiled)
        checked: About = {"normalisation_error": error, **_vocabulary(model.vocabulary)}
    else:
        checked = {}
    with open_lines(path) as lines:
        counts = read_announced(lines)
    return {"bytes": path.stat().st_size, "order": len(counts), "ngrams": counts, **checked}


def describe_kenlm(path: Path, verify: bool) -> About:
    """A KenLM binary: its n-grams are hashed, so there is little to say."""
    return {
        "bytes": path.stat().st_size,
        "notes": ["a KenLM binary, whose n-grams cannot be listed; inspect its ARPA file"],
    }


DESCRIBERS = {
    "model": describe_model,
    "counts": describe_counts,
    "count file": describe_count_file,
    "corpus": describe_corpus,
    "text": describe_text,
    "arpa": describe_arpa,
    "kenlm": describe_kenlm,
}


def _vocabulary(vocabulary: Vocabulary) -> About:
    units = {"units": vocabulary.units} if vocabulary.units != "words" else {}
    return {"words": len(vocabulary), **units, **vocabulary.fingerprints()}


def _manifest(path: Path) -> dict[str, Any]:
    """What `load` has checked already."""
    manifest: dict[str, Any] = json_module.loads(path.read_bytes())
    return manifest


def _files(manifest: dict[str, Any]) -> dict[str, Any]:
    return {name: {"bytes": record["bytes"], "sha256": record["sha256"]} for name, record in manifest["files"].items()}


def _print_about(about: About) -> None:
    tables = ("ngrams", "discounts", "files", "notes", "blocks", "weights")
    for name, value in about.items():
        if name not in tables and value not in (None, [], "", 0.0):
            shown = (
                size(value)
                if name == "bytes"
                else f"{value:,}"
                if isinstance(value, int) and not isinstance(value, bool)
                else value
            )
            shown = ", ".join(map(str, value)) if isinstance(value, list) else shown
            shown = ", ".join(map(_setting, value.items())) if isinstance(value, dict) else shown
            print(f"{name.replace('_', ' '):<14} {shown}")
    if "ngrams" in about:
        discounts = about.get("discounts") or [[] for _ in about["ngrams"]]
        print_orders(about["ngrams"], discounts)
    if "blocks" in about:
        print_table(
            ["block", "kind", "columns"], [[b["name"], b["kind"], str(b["columns"])] for b in about["blocks"]], left=2
        )
    if "weights" in about:
        print_table(["column", "weight"], [[name, f"{weight:.4f}"] for name, weight in about["weights"].items()])
    for note in about.get("notes", []):
        print(f"note: {note}")
    if "files" in about:
        rows = [[name, size(file["bytes"]), file["sha256"][:16]] for name, file in about["files"].items()]
        print_table(["file", "size", "sha256 begins"], rows)


def _setting(item: tuple[str, Any]) -> str:
    name, value = item
    return f"{name} {'+'.join(map(str, value)) if isinstance(value, tuple | list) else value}"
