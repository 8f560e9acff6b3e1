"""From a TOML file, a preset, flags and `--set a.b=c` to a `RunConfig`, and from a `RunConfig` back to TOML.

In between stands a `Table`: nested dictionaries, each later source laid over the earlier ones. What nobody set is
filled in last: first what is usual for the kind of model (`USUAL`), then the defaults of the fields. Names in a file
are relative to the folder of the file; in the table, and so in the `config.toml` of a run, they are absolute.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from modlm.errors import ConfigError, InputError, nearest
from modlm.nets.setting_values import checked, fields_of, parsed, toml_value
from modlm.training.config import CONDITIONAL, ColumnsConfig, RunConfig, usual_columns

Table = dict[str, Any]

PRESETS = Path(__file__).with_name("presets")
FILE_BYTES = 1 << 20  # no configuration comes near this
COLUMNS = "columns"
COLUMN_NAME = re.compile(r"[A-Za-z0-9_-]+")
TAKEN = ("uniform", "unknown", "delta")  # columns that have these names already
FILES = (
    "text", "valid", "test", "source", "valid_source", "test_source", "vocabulary.file", "vocabulary.tokenizer",
    "columns.*.text", "columns.*.counts", "columns.*.model", "columns.*.settings.index",
    "columns.*.settings.file",
)  # fmt: skip
USUAL: dict[str, Table] = {  # sections 5.1 and 5.3 of the paper
    "neural": {"extra": (), "net": {"inputs": ("word",), "dropout": 0.5}},
    "hybrid": {"net": {"dropout": 0.5}, "block_dropout": {"rate": 0.5}},
    CONDITIONAL: {"block_dropout": {"rate": 0.5, "per": "exact"}},
}
WITH_SOURCE: Table = {  # of every kind, where there is a source
    "folds": 5,
    "net": {"body": "attention", "dropout": 0.3},
    "vocabulary": {"min_count": 2},
    "optimiser": {"learning_rate": 0.006, "clip": 1500.0, "schedule": "cosine"},
    "schedule": {"batch_words": 1000},
}


def read_config(path: str | Path, assignments: Iterable[str] = ()) -> RunConfig:
    """The run that a TOML file describes, changed by `a.b=c`."""
    return run_config(assigned(read_table(path), assignments), where=str(path))


# ---- sources ---------------------------------------------------------------------------------------------------------


def read_table(path: str | Path) -> Table:
    """The table of a file; relative names in it become absolute, as seen from the folder of the file."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
        if len(data) > FILE_BYTES:
            raise ValueError(f"it has more than {FILE_BYTES:,} bytes")
        table = tomllib.loads(data.decode())
    except RecursionError:
        raise ConfigError(
            f"{path} has brackets inside brackets without end. Write lines such as: kind = 'hybrid'"
        ) from None
    except ValueError as error:  # not TOML, not UTF-8, or a number beyond all bounds
        raise ConfigError(f"{path} is not a TOML file: {error}. Write lines such as: kind = 'hybrid'") from None
    return located(typed(table, where=str(path)), path.absolute().parent)


def preset_names() -> list[str]:
    """The presets that come with the package, such as `paper/ptb-hybrid`."""
    return sorted(path.relative_to(PRESETS).with_suffix("").as_posix() for path in PRESETS.rglob("*.toml"))


def find_table(name: str) -> Table:
    if Path(name).is_file():
        return read_table(name)
    if name in preset_names():
        return read_table(PRESETS / f"{name}.toml")
    raise ConfigError(
        f"{name} is neither a file nor a preset.{nearest(name, preset_names())} Presets: {', '.join(preset_names())}."
    )


def merged(below: Table, above: Table) -> Table:
    """Both tables as one; where both have a value, the one above."""
    both = dict(below)
    for key, value in above.items():
        mixed = isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = merged(both[key], value) if mixed else value
    return both


def assigned(table: Table, assignments: Iterable[str]) -> Table:
    """The table with `a.b=c` laid over it."""
    for assignment in assignments:
        path, sign, text = assignment.partition("=")
        path = path.strip()
        if not sign or not path:
            raise ConfigError(f"--set takes NAME=VALUE, such as net.hidden=100, but got {assignment!r}.")
        table = with_value(table, path, parsed(text, type_of(path), path=path))
    return table


def with_value(table: Table, path: str, value: Any) -> Table:
    """The table with a value at `a.b`; names of files are relative to the working folder."""
    for part in reversed(path.split(".")):
        value = {part: value}
    return merged(table, located(value, Path.cwd()))


def located(table: Table, folder: Path, prefix: str = "") -> Table:
    """The table with all names of files absolute, those that were not so as seen from the folder."""
    found: Table = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found[key] = located(value, folder, f"{prefix}{key}.")
        elif value and isinstance(value, str) and _pattern(prefix + key) in FILES:
            found[key] = str(folder / value)
        elif isinstance(value, list | tuple) and _pattern(prefix + key) in FILES:
            found[key] = tuple(str(folder / item) for item in value)
        else:
            found[key] = value
    return found


def _pattern(path: str) -> str:
    return re.sub(r"^columns\.[^.]+\.", "columns.*.", path)


def flat(table: Mapping[str, Any], prefix: str = "") -> Table:
    """Nested settings by their path."""
    found: Table = {}
    for name, value in table.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


# ---- names and types -------------------------------------------------------------------------------------------------


def settings(path: str = "", config: type[Any] = RunConfig) -> dict[str, Any]:
    """Every setting by its path (`columns.*.` for the count blocks), with its type."""
    found: dict[str, Any] = {}
    for name, kind in fields_of(config).items():
        if dataclasses.is_dataclass(kind):
            found |= settings(f"{path}{name}.", kind)  # type: ignore[arg-type]  # a class, never an instance
        else:
            found |= settings("columns.*.", ColumnsConfig) if name == COLUMNS else {f"{path}{name}": kind}
    return found


def type_of(path: str) -> Any:
    """The type of the setting at a path, or an error with the nearest right path."""
    known = settings()
    if _pattern(path) in known:
        return known[_pattern(path)]
    if _pattern(path).startswith("columns.*.settings."):
        return Any
    inside = [name for name in known if name.startswith(_pattern(f"{path}."))]
    if inside:
        raise ConfigError(f"{path} is a table, not a setting. Set what is in it: {', '.join(inside)}.")
    guess = nearest(path, known) or nearest(path.split(".")[-1], {name.split(".")[-1]: 0 for name in known})
    raise ConfigError(f"There is no setting {path}.{guess} Known: {', '.join(known)}.")


def typed(table: Table, *, where: str, path: str = "", config: type[Any] = RunConfig) -> Table:
    """The table with every value as the type of its setting; an error where a key is none, or a value does not fit."""
    known, found = fields_of(config), dict[str, Any]()
    for key, value in table.items():
        inner = f"{path}.{key}" if path else key
        if path == COLUMNS and (not COLUMN_NAME.fullmatch(key) or key in TAKEN):
            raise ConfigError(
                f"{where}: columns.{key[:80]} is no name for a block. Take letters, digits, _ and -, and none of "
                f"{', '.join(TAKEN)}."
            )
        if path != COLUMNS and key not in known:
            place = f"in the table {path}" if path else "at the top"
            told = inner if len(inner) <= 80 else inner[:77] + "..."
            raise ConfigError(
                f"{where}: there is no setting {told}.{nearest(key, known)} Known {place}: {', '.join(known)}."
            )
        kind = ColumnsConfig if COLUMNS in (path, key) else known[key]
        if not dataclasses.is_dataclass(kind):
            found[key] = checked(value, kind, path=f"{where}: {inner}")
        elif isinstance(value, dict):
            found[key] = typed(value, where=where, path=inner, config=kind)
        else:
            raise ConfigError(f"{where}: {inner} must be a table, [{inner}], but is {toml_value(value)[:80]}.")
    return found


# ---- the run ---------------------------------------------------------------------------------------------------------


def run_config(table: Table, *, where: str = "config") -> RunConfig:
    """The run that a table describes; what it leaves out is what is usual for its kind."""
    own = typed(table, where=where)
    if own.get("source") and "kind" not in own and own.get("mixer", "net") == "net":
        own["kind"] = CONDITIONAL
    usual = USUAL.get(own.get("kind", "hybrid"), {})
    full = merged(merged(usual, WITH_SOURCE) if own.get("source") and own.get("mixer", "net") == "net" else usual, own)
    for name in ("text", "valid"):
        if not full.get(name):
            raise ConfigError(f"{where}: {name} is missing. Name the text with {name} = 'FILE', or with --{name} FILE.")
    try:
        config: RunConfig = _built(RunConfig, full)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if not config.columns:
        config = dataclasses.replace(config, columns=usual_columns(len(config.text), config.kind))
    known = (*config.columns, *config.extra)
    for name in (name for group in config.block_dropout.groups for name in group):
        if name not in known:
            raise ConfigError(
                f"{where}: block_dropout.groups names {name[:80]!r}, which is no block of this run."
                f"{nearest(name, known)} Blocks: {', '.join(known) or 'none'}."
            )
    return config


def _built(config: type[Any], table: Table) -> Any:
    values = dict(table)
    for name, kind in fields_of(config).items():
        if dataclasses.is_dataclass(kind) and name in table:
            values[name] = _built(kind, table[name])  # type: ignore[arg-type]  # a class, never an instance
    for block, own in table.get(COLUMNS, {}).items():
        try:
            values[COLUMNS] = {**values[COLUMNS], block: _built(ColumnsConfig, own)}
        except ConfigError as error:
            raise ConfigError(re.sub(r"^columns\b", f"columns.{block}", str(error))) from None
    return config(**values)


def check_files(config: RunConfig) -> None:
    """Refuse at once what would be missed only when it is read."""
    for setting, named in flat(dataclasses.asdict(config)).items():
        for path in named if isinstance(named, tuple) else (named,):
            if _pattern(setting) in FILES and isinstance(path, str) and path and not Path(path).exists():
                raise InputError(f"there is no such file, but {setting} names it.", path=path)


# ---- writing ---------------------------------------------------------------------------------------------------------


def to_toml(config: RunConfig) -> str:
    """All settings of a run as TOML; `read_config` gives the same run back."""
    return "\n".join(_lines(dataclasses.asdict(config))).strip() + "\n"


def _lines(table: Table, path: str = "") -> list[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = ["", f"[{path}]"] if path and plain else []
    lines += [f"{key} = {toml_value(value)}" for key, value in plain.items()]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _lines(value, f"{path}.{key}" if path else key)
    return lines
