"""`modlm inspect`: what a path is, and what is in it."""

import json as json_module
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import modlm
from modlm.cli.options import EncodingErrors, Json, Threads, argument, option
from modlm.cli.printing import print_json, print_orders, print_table, size
from modlm.errors import InputError
from modlm.ground.files import folder_bytes
from modlm.store.manifest import Verify, is_folder

About = dict[str, Any]


def inspect(
    path: Annotated[
        Path, argument("PATH", "A model, counts or corpus folder, ARPA file, KenLM binary, count file or text.")
    ],
    verify: Annotated[bool, option("--verify", "Check every byte, and that the contents fit together.")] = False,
    encoding_errors: EncodingErrors = "strict",
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
    from modlm.formats.kinds import is_binary, kind_of

    if not path.exists():
        raise InputError("there is no such file or folder.", path=path)
    kind = kind_of(path)
    if kind == "text" and is_binary(path):
        raise InputError("this is binary data, but no KenLM binary or any other kind that is known here.", path=path)
    place = path / "model" if kind == "model" and not is_folder(path, kind=kind) else path
    about: About = {"path": str(path), "kind": kind}
    about["bytes"] = folder_bytes(place) if place.is_dir() else place.stat().st_size
    more = {"encoding_errors": encoding_errors} if kind == "text" else {}
    about |= DESCRIBERS[kind](place, "full" if verify else "fast", **more)
    if verify:
        about["verified"] = True
    print_json(about) if json else _print_about(about)


def describe_model(path: Path, verify: Verify) -> About:
    model = modlm.load(path, verify=verify)
    about = _vocabulary(model.vocabulary)
    manifest = json_module.loads((path / "model.json").read_bytes())  # which `load` has checked
    counts = manifest["about"].get("counts")  # a model would read all of its counts to tell
    if isinstance(counts, dict):
        about |= {name: counts[name] for name in ("edge", "sentences")}
    return about | model.described() | {"files": _files(manifest)}


def describe_counts(path: Path, verify: Verify) -> About:
    """A counts folder, or a count file, which is read as a whole."""
    from modlm.counts import import_counts, open_counts

    counts = open_counts(path, verify=verify) if path.is_dir() else import_counts(path)
    about: About = {"order": counts.order, "ngrams": [counts.types(n) for n in range(1, counts.order + 1)]}
    about |= {"edge": counts.edge, "sentences": counts.sentences, "cut_off": list(counts.cut_off)}
    if positions := getattr(counts, "positions", None):
        about["positions"] = list(positions)
    about |= _vocabulary(counts.vocabulary)
    if path.is_dir():
        about["files"] = _files(json_module.loads((path / "counts.json").read_bytes()))
    return about


def describe_text(path: Path, verify: Verify, encoding_errors: str = "strict") -> About:
    """A corpus folder, or a text, which is read as a whole."""
    if path.is_dir():
        corpus = modlm.Corpus.open(path, verify=verify)
    else:
        corpus = modlm.Corpus.from_text(path, encoding_errors=encoding_errors)
    about: About = {"sentences": corpus.sentences, "text_words": corpus.words, "unknown": corpus.unknown}
    return about | (_vocabulary(corpus.vocabulary) if path.is_dir() else {"words": len(corpus.vocabulary)})


def describe_arpa(path: Path, verify: Verify) -> About:
    """An ARPA file: what its header announces, or with `verify` what is in it."""
    from modlm.formats.arpa.header import read_announced
    from modlm.formats.lines import open_lines
    from modlm.model.ngram.arpa import normalisation_error, read_model

    checked: About = {}
    if verify == "full":
        model = read_model(path)
        checked = {"normalisation_error": normalisation_error(model.compiled), **_vocabulary(model.vocabulary)}
    with open_lines(path) as lines:
        counts = read_announced(lines)
    return {"order": len(counts), "ngrams": counts, **checked}


def describe_kenlm(path: Path, verify: Verify) -> About:
    """A KenLM binary; with `verify` a trie's n-grams are gone through."""
    from modlm.model.kenlm import read_model
    from modlm.model.ngram.arpa import normalisation_error

    model, checked = read_model(path), About()
    if verify == "full" and model.binary.is_trie and model.binary.has_words:
        checked = {"normalisation_error": normalisation_error(model.as_ngram().compiled)}
    return model.described() | _vocabulary(model.vocabulary) | checked


DESCRIBERS: dict[str, Callable[..., About]] = {
    "model": describe_model, "counts": describe_counts, "count file": describe_counts, "corpus": describe_text,
    "text": describe_text, "arpa": describe_arpa, "kenlm": describe_kenlm,
}  # fmt: skip


def _vocabulary(vocabulary: "modlm.Vocabulary") -> About:
    units = {"units": vocabulary.units} if vocabulary.units != "words" else {}
    return {"words": len(vocabulary), **units, **vocabulary.fingerprints()}


def _files(manifest: About) -> About:
    return {name: {"bytes": record["bytes"], "sha256": record["sha256"]} for name, record in manifest["files"].items()}


def _print_about(about: About) -> None:
    tables = ("ngrams", "discounts", "files", "notes", "blocks", "weights")
    for name, value in about.items():
        if name not in tables and value not in (None, [], "", 0.0):
            print(f"{name.replace('_', ' '):<14} {size(value) if name == 'bytes' else _shown(value)}")
    if "ngrams" in about:
        print_orders(about["ngrams"], about.get("discounts") or [[] for _ in about["ngrams"]])
    if "blocks" in about:
        rows = [[block["name"], block["kind"], str(block["columns"])] for block in about["blocks"]]
        print_table(["block", "kind", "columns"], rows, left=2)
    if "weights" in about:
        print_table(["column", "weight"], [[name, f"{weight:.4f}"] for name, weight in about["weights"].items()])
    for note in about.get("notes", []):
        print(f"note: {note}")
    if "files" in about:
        rows = [[name, size(file["bytes"]), file["sha256"][:16]] for name, file in about["files"].items()]
        print_table(["file", "size", "sha256 begins"], rows)


def _shown(value: Any) -> str:
    """A value for people: thousands apart, lists with commas, settings as `name value`."""
    if isinstance(value, dict):
        listed = {name: own if isinstance(own, tuple | list) else (own,) for name, own in value.items()}
        return ", ".join(f"{name} {'+'.join(map(str, own))}" for name, own in listed.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
