"""`modlm convert`: ARPA files, KenLM tries, model folders, counts folders and count files into one another."""

from pathlib import Path
from typing import Annotated

from modlm.cli.options import Bits, Force, Form, Json, Threads, argument, option
from modlm.cli.outcome import refuse_existing
from modlm.cli.printing import print_json
from modlm.errors import ConfigError

SUFFIXES = {".arpa": "arpa", ".lm": "arpa", ".counts": "count-file", ".tsv": "count-file", ".txt": "count-file"}
BINARIES = (".binary", ".bin", ".klm", ".kenlm", ".mmap", ".probing", ".trie")
MODELS, COUNTED = ("model", "arpa", "kenlm"), ("model", "counts", "count file")
SOURCES = {"arpa": MODELS, "model": MODELS, "counts": COUNTED, "count-file": COUNTED}


def convert(
    source: Annotated[Path, argument("IN", "A model folder, ARPA file, KenLM trie, counts folder or count file.")],
    target: Annotated[Path, argument("OUT", "A file or folder to write; a name ending in .gz compresses the file.")],
    to: Annotated[
        str | None,
        option(
            "--to arpa|model|counts|count-file",
            "What to write.  [default: by OUT's name: .arpa an ARPA file; .counts, .tsv or .txt a count file; else the "
            "folder that fits]",
        ),
    ] = None,
    arpa_tokens: Annotated[
        str | None,
        option("--arpa-tokens names|nemo", "How tokens are called: as they are, or by id, as NeMo's decoders want it."),
    ] = None,
    form: Form = None,
    bits: Bits = None,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert models and counts between formats.

    Numbers keep all their digits.

    \b
    modlm convert model model.arpa.gz            model folder to ARPA
    modlm convert other.arpa model               ARPA to model folder
    modlm convert model small --form compact     a twelfth of the bytes, exact, a seventh of the speed
    modlm convert other.arpa s --form compact --bits 8   a model without counts, 2 to 3 bytes per n-gram
    modlm convert small model --form fast        and back, bit for bit
    modlm convert kenlm.trie model.arpa          a KenLM binary, if it is a trie: probing ones have no list of n-grams
    modlm convert sub lm.arpa --arpa-tokens nemo model of tokens to NeMo's ARPA
    modlm convert counts all.counts.gz           counts (or a model's counts) to a count file
    modlm convert web.counts counts              count file to counts folder, to train on with modlm ngram
    """  # fmt: skip
    from modlm.counts import export_counts
    from modlm.formats.kinds import kind_of
    from modlm.model.compact_lm import in_form
    from modlm.model.folder import load, save
    from modlm.model.kenlm import KenlmModel
    from modlm.model.ngram.arpa import save_arpa
    from modlm.model.ngram.readable_counts import counts_at

    refuse_existing(target, force=force)
    if not source.exists():
        raise ConfigError(f"There is no {source} to convert.")
    kind = kind_of(source)
    wanted = to or _wanted(kind, target)
    if kind not in SOURCES.get(wanted, ()):
        raise ConfigError(_no_way(source, kind, wanted))
    if arpa_tokens is not None and wanted != "arpa":
        raise ConfigError(f"--arpa-tokens is for ARPA files, but {target} will be a {wanted}. Say --to arpa.")
    if form is not None and wanted != "model":
        raise ConfigError(f"--form is for model folders, but {target} will be a {wanted}. Say --to model.")
    if bits is not None and form != "compact":
        raise ConfigError("--bits is for the compact form of models without counts. Say --form compact.")
    if wanted in ("arpa", "model"):
        read = load(source)
        model = read.as_ngram() if isinstance(read, KenlmModel) else read
        model = model if form is None else in_form(model, form, bits)
    if wanted == "arpa":
        save_arpa(model, target, overwrite=force, tokens=arpa_tokens or "names")
    elif wanted == "model":
        card = f"# Converted from {source.name}\n\n{len(model.vocabulary):,} words.\n"
        save(model, target, card=card, overwrite=force)
    elif wanted == "counts":
        counts_at(source).save(target, overwrite=force)
    else:
        export_counts(counts_at(source), target, overwrite=force)
    done = {"input": str(source), "from": kind, "output": str(target), "to": wanted}
    if bits is not None:
        done["loss"] = model.notes[-1]  # type: ignore[attr-defined]
    told = f": {done['loss']}" if bits is not None else ""
    print_json(done) if json else print(f"{source} ({kind}) → {target} ({wanted}){told}")


def _wanted(kind: str, target: Path) -> str:
    name = target.name.removesuffix(".gz")
    if Path(name).suffix in SUFFIXES:
        return SUFFIXES[Path(name).suffix]
    if target.name.endswith(".gz"):
        raise ConfigError(f"{target}: a .gz file could be an ARPA file or a count file. Say which with --to.")
    if target.suffix.lower() in BINARIES:
        raise ConfigError(
            f"{target}: KenLM's binaries are read here, not written; what is written is model folders, which open as "
            f"fast, ARPA files and counts. For a binary write {target.with_suffix('.arpa')} and run KenLM's "
            f"build_binary on it; for a folder of that name say --to model."
        )
    return "counts" if kind in ("counts", "count file") else "model"


def _no_way(source: Path, kind: str, wanted: str) -> str:
    if wanted not in SOURCES:
        return f"There is no format {wanted!r}. Known: {', '.join(SOURCES)}."
    if kind == "kenlm":
        return f"{source} is a KenLM binary, which has probabilities but no counts; a trie converts to arpa or model."
    if kind in ("counts", "count file", "text", "corpus"):
        return f"{source} is a {kind}, not a model yet. Train one with: modlm ngram {source} -o DIR"
    return f"{source} is an ARPA file, which has probabilities but no counts; it converts to arpa or model."
