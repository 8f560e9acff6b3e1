"""The models and training runs that a server has, by name; runs may grow while they are looked at."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from modlm.blocks.block import UNLIMITED
from modlm.errors import ConfigError, InputError, nearest
from modlm.model.language_model import LanguageModel
from modlm.model.mixture import Mixture
from modlm.serve.limits import MOST_SOURCE
from modlm.serve.refusals import RefusedError, bad
from modlm.serve.texts import check_context
from modlm.store.manifest import is_folder
from modlm.text.encoding import encode_sentences
from modlm.training.journal import JOURNAL
from modlm.training.run_folder import MODEL, RESULT

T = TypeVar("T")
GIVEN_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.@+-]*)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Served:
    """A model under the name that requests use."""

    name: str
    model: LanguageModel

    def described(self) -> dict[str, Any]:
        length = self.model.context_length
        about = {"model": type(self.model).__name__, **self.model.described()}
        return {
            "name": self.name, "kind": about["model"], "units": self.model.vocabulary.units,
            "vocab_size": len(self.model.vocabulary), "context_length": length if length < UNLIMITED else None,
            "columns": list(self.model.column_names), "learns": self.model.reads.learns,
            "source": self.model.reads.source, "described": about,
        }  # fmt: skip

    def given(self, source: str | None) -> "Served":
        """The model beside the source of a request; refused if it reads none, or if it does and there is none."""
        if not isinstance(self.model, Mixture) or not self.model.reads.source:
            if source is None:
                return self
            raise bad(
                "reads_no_source",
                f"{self.name} reads no source, so it cannot be asked beside one. GET /models tells which models do; "
                f"modlm train --source makes one.",
            )
        if source is None:
            message = f'{self.name} predicts sentences from a source. Send it as "source"; it may be empty.'
            raise bad("no_source", message)
        check_context(source, name="source", most=MOST_SOURCE)
        return Served(self.name, self.model.given(source))


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder; it may grow while it is looked at."""

    name: str
    folder: Path

    @property
    def finished(self) -> bool:
        return (self.folder / RESULT).is_file()

    def described(self) -> dict[str, Any]:
        return {"name": self.name, "finished": self.finished}

    def answer(self, after: int) -> dict[str, Any]:
        """The journal from a line on, and where the next question should begin.

        A journal that is shorter than that was cut back by a run taken up again: it is told from its first line.
        """
        finished = self.finished  # asked first: a run that has ended writes no more lines
        try:
            data = (self.folder / JOURNAL).read_bytes()
        except OSError:  # it has not begun, or was taken away
            data = b""
        lines = data[: data.rfind(b"\n") + 1].splitlines()  # whole ones; one that is being written waits
        begin = after if after <= len(lines) else 0
        told = [journal_entry(line) for line in lines[begin:]]
        return {"name": self.name, "after": begin, "next": len(lines), "finished": finished, "lines": told}


def journal_entry(line: bytes) -> dict[str, Any]:
    """What a line says; nothing where it was damaged."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class Library:
    """Models in the order in which they were given, and runs."""

    def __init__(self, models: Mapping[str, LanguageModel], runs: Mapping[str, Path] | None = None) -> None:
        if not models:
            raise ConfigError("There is no model to serve. Give at least one.")
        self.models = {name: Served(name, model) for name, model in models.items()}
        self.runs = {name: Run(name, folder) for name, folder in (runs or {}).items()}

    @property
    def first(self) -> Served:
        return next(iter(self.models.values()))

    def model(self, name: str | None) -> Served:
        hint = "GET /models lists them; without a name the first is asked."
        return self.first if name is None else named(name, self.models, "model", hint)

    def run(self, name: str) -> Run:
        hint = "GET /runs lists them; runs are given with --run when the server is started."
        return named(name, self.runs, "run", hint)


def named(name: str, among: Mapping[str, T], what: str, hint: str) -> T:
    """What a request names, or a refusal that says what it may mean."""
    if name in among:
        return among[name]
    message = f"There is no {what} {name[:100]!r} here.{nearest(name[:100], among)} {hint}"
    raise RefusedError(404, f"unknown_{what}", message)


def named_paths(given: Sequence[str]) -> dict[str, Path]:
    """Paths by unique names: NAME=PATH says it, else the folder's name, with numbers where it would be there twice."""
    paths: dict[str, Path] = {}
    for argument in given:
        said = None if Path(argument).exists() else GIVEN_NAME.fullmatch(argument)  # a path that is there is never cut
        name, path = (said[1], Path(said[2])) if said else (name_of(Path(argument)), Path(argument))
        if name in paths:
            if said:
                raise ConfigError(f"The name {name} is given twice. Give each model its own name.")
            name = next(other for number in count(2) if (other := f"{name}-{number}") not in paths)
        paths[name] = path
    return paths


def name_of(path: Path) -> str:
    """The folder's name, the run's for a model in its run folder; an ARPA file's without endings."""
    place = path.resolve()
    if place.name == MODEL and (place.parent / JOURNAL).is_file():
        place = place.parent
    name = re.sub(r"(\.(arpa|lm|gz|bz2|xz|zst))+$", "", place.name) if path.is_file() else place.name
    return re.sub(r"[^\w.@+-]+", "-", name).strip("-") or "model"


def open_library(models: Sequence[str], runs: Sequence[str]) -> Library:
    """Load everything that is to be served; the first thing that is wrong is an error."""
    from modlm.model.folder import load

    models, runs = gathered(models, runs)
    folders = named_paths(runs)
    for folder in folders.values():
        if not folder.is_dir():
            raise InputError("there is no such run folder. Give what `modlm train -o` wrote.", path=folder)
    library = Library({name: load(path) for name, path in named_paths(models).items()}, folders)
    for served in library.models.values():
        warm_up(served.given("a" if served.model.reads.source else None).model)
    return library


def gathered(models: Sequence[str], runs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Models and runs as given; a folder of model folders and runs, as `modlm demo` leaves, stands for all in it."""
    found, followed = list[str](), list(runs)
    for given in models:
        inside = [] if holds_model(Path(given)) else sorted(filter(holds_model, Path(given).glob("*/")))
        found += map(str, inside) if inside else [given]
        followed += [str(folder) for folder in inside if (folder / JOURNAL).is_file()]
    return found, list(dict.fromkeys(followed))


def holds_model(folder: Path) -> bool:
    """Whether a model can be opened here: its own folder, or that of a run with a model."""
    return is_folder(folder, kind="model") or is_folder(folder / MODEL, kind="model")


def warm_up(model: LanguageModel) -> None:
    """Ask once, so that the first client does not wait for kernels to be loaded."""
    model.sentence_log_probs(encode_sentences(["a"], model.vocabulary))
    model.next_words("", 1)
    model.columns_after(model.window(""))
