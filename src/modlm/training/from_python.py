"""`modlm.train`: what `modlm train` does, as one call: the settings of the TOML file, with live objects."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modlm.blocks.function import FunctionBlock
from modlm.errors import ConfigError, require
from modlm.families import BODIES, MIXERS
from modlm.model.folder import load
from modlm.model.language_model import LanguageModel
from modlm.training.config_file import Table, check_files, located, merged, run_config

if TYPE_CHECKING:
    from torch import nn

Texts = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


# ---- what stands in `columns` ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A block of columns by the settings of its table in TOML, or a constant one, which is there or not."""

    settings: Table = field(default_factory=dict)
    constant: str = ""


def Ngram(text: Texts = (), **settings: Any) -> Column:  # a noun, as all that stands in `columns`
    """N-gram columns: of the training text itself, held out by folds, or of other texts.

    Settings are those of `[columns.NAME]`: `order`, `smoothing`, `edge`, `positions`, `source`, `counts`.
    """
    texts = _paths(text)
    return Column({**settings, **({"text": texts} if texts else {})})


def Model(model: str | os.PathLike[str] | LanguageModel) -> Column:
    """Any other language model as one column: a model folder, a run folder, an ARPA file, or a model that is loaded."""
    if not isinstance(model, LanguageModel):
        return Column({"model": os.fspath(model)})
    if model.folder is None:
        raise ConfigError("A model that is to be a column must be on disk. Save it, and give the folder.")
    return Column({"model": model.folder})


def Kind(kind: str, **settings: Any) -> Column:
    """A block of any kind that can be made from settings, such as one of another package.

    This names a block; the class that blocks are made of is `modlm.blocks.block.Block`.
    """
    return Column({"block": kind, "settings": settings})


def Online(**settings: Any) -> Column:
    """Counts of the text read so far: `order`, `words` remembered, `decay`, contexts `across` sentences."""
    return Kind("online", **settings)


def Cache(**settings: Any) -> Column:
    """The last so many words that were read: `words`, `decay`."""
    return Kind("cache", **settings)


Block = Kind  # the name before


def Uniform() -> Column:
    """The column in which every word is as probable as any other."""
    return Column(constant="uniform")


def Unknown() -> Column:
    """The column of the unknown word."""
    return Column(constant="unknown")


def Delta() -> Column:
    """The delta columns, one for each word: what makes a net predict words itself."""
    return Column(constant="delta")


# ---- what stands in `mixer` --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Net:
    """A net behind lambda, by the settings of `[net]` in TOML."""

    settings: Table = field(default_factory=dict)


def FeedForward(**settings: Any) -> Net:
    """A feed-forward net."""
    return Net({"body": "feedforward", **settings})


def Rnn(**settings: Any) -> Net:
    """A recurrent net with tanh units."""
    return Net({"body": "rnn", **settings})


def Gru(**settings: Any) -> Net:
    """Gated recurrent units."""
    return Net({"body": "gru", **settings})


def Lstm(**settings: Any) -> Net:
    """Long short-term memory."""
    return Net({"body": "lstm", **settings})


def Attention(**settings: Any) -> Net:
    """Long short-term memory that attends to a source; `encoder` reads that: "lstm" or "transformer"."""
    return Net({"body": "attention", **settings})


def Transformer(**settings: Any) -> Net:
    """Causal self-attention over the words before."""
    return Net({"body": "transformer", **settings})


# ---- the call ----------------------------------------------------------------------------------------------------


def train(
    text: Texts,
    valid: str | os.PathLike[str],
    *,
    test: str | os.PathLike[str] | None = None,
    source: Texts | None = None,
    out: str | os.PathLike[str] | None = None,
    columns: Mapping[str, Column | FunctionBlock] | None = None,
    mixer: Net | str | type[nn.Module] | None = None,
    block_dropout: float | Mapping[str, Any] | None = None,
    epochs: float | None = None,
    resume: bool = False,
    device: str = "auto",
    **settings: Any,
) -> LanguageModel:
    """Learn lambda over columns, and give the model.

    `text` is one file or several, each a source of its own. With `source`, as many files that have what each line was
    made from, and `valid_source` and `test_source` among the settings, the model is a conditional one. Without
    `columns`: n-gram orders of the text, the constant columns and, behind a net, the deltas. `mixer` is "heuristic",
    "static" (EM on `valid`) or another that `modlm families mixers` lists, a net (by default `lstm`, with a source
    `attention`), the name of one, or a class that is built as the bodies of
    `modlm.nets.bodies` are. `settings` are all others, by the names of the TOML file: `seed=2`,
    `optimiser={"kind": "adamw"}`. Progress, checkpoints and `resume` are as on the command line;
    without `out` the run is a temporary one.
    """
    table = settings_of(
        text=text, valid=valid, test=test, columns=columns, mixer=mixer, block_dropout=block_dropout, epochs=epochs,
        settings={**({} if source is None else {"source": _paths(source)}), **settings},
    )  # fmt: skip
    config = run_config(table, where="modlm.train")
    check_files(config)
    functions = {name: block.function for name, block in (columns or {}).items() if isinstance(block, FunctionBlock)}
    require("torch", extra="neural", purpose="Training a net")
    from modlm.training.run import train as run

    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="modlm-"), "run")
    run(config, folder, resume=resume and folder.exists(), device=device)
    model = load(folder, functions=functions)
    if out is None:
        weakref.finalize(model, shutil.rmtree, folder.parent, ignore_errors=True)
    return model


def settings_of(
    *,
    text: Texts,
    valid: str | os.PathLike[str],
    test: str | os.PathLike[str] | None = None,
    columns: Mapping[str, Column | FunctionBlock] | None = None,
    mixer: Net | str | type[nn.Module] | None = None,
    block_dropout: float | Mapping[str, Any] | None = None,
    epochs: float | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Table:
    """The table of a run as a TOML file would have it; names of files are relative to the working folder."""
    settings = {name: os.fspath(own) if isinstance(own, os.PathLike) else own for name, own in (settings or {}).items()}
    usual = "attention" if "source" in settings else "lstm"
    table: Table = {"text": _paths(text), "valid": os.fspath(valid), **_net(usual if mixer is None else mixer)}
    if test is not None:
        table["test"] = os.fspath(test)
    if columns is not None:
        table |= _columns(columns, conditional="source" in settings)
    if block_dropout is not None:
        rate = {"rate": float(block_dropout)} if isinstance(block_dropout, int | float) else dict(block_dropout)
        table["block_dropout"] = rate
    if epochs is not None:
        table["schedule"] = {"epochs": float(epochs)}
    return located(merged(table, settings), Path.cwd())


def _paths(text: Texts) -> list[str]:
    return [os.fspath(text)] if isinstance(text, str | os.PathLike) else [os.fspath(path) for path in text]


def _net(mixer: Net | str | type[Any]) -> Table:
    if isinstance(mixer, Net):
        return {"net": dict(mixer.settings)}
    if isinstance(mixer, str):
        fitted = mixer != "net" and mixer in MIXERS  # to the validation text, at once
        return {"mixer": mixer, "kind": "interpolated"} if fitted else {"net": {"body": mixer}}
    if not isinstance(mixer, type):
        raise ConfigError(
            f"mixer must be a name, a net such as modlm.Lstm(hidden=200), or a class of bodies, but is {mixer!r}."
        )
    name = f"{mixer.__module__}:{mixer.__qualname__}"
    BODIES.add(name, name)
    return {"net": {"body": name}}


def _columns(columns: Mapping[str, Column | FunctionBlock], *, conditional: bool = False) -> Table:
    """The kind of a run, its constant columns and its blocks."""
    constants, blocks = set[str](), Table()
    for name, block in columns.items():
        if isinstance(block, FunctionBlock):
            blocks[name] = {"block": block.kind, "settings": block.settings()}
        elif isinstance(block, Column) and block.constant:
            constants.add(block.constant)
        elif isinstance(block, Column):
            blocks[name] = dict(block.settings)
        else:
            raise ConfigError(
                f"columns[{name!r}] is a {type(block).__name__}. Give modlm.Ngram, Model, Online, Cache, Kind, "
                f"FunctionBlock, Uniform, Unknown or Delta."
            )
    kind = "interpolated" if "delta" not in constants else "neural"
    if blocks and kind == "neural":
        kind = "conditional" if conditional else "hybrid"
    extra = [name for name in ("uniform", "unknown") if name in constants]
    return {"kind": kind, "extra": extra, **({"columns": blocks} if blocks else {})}
