"""Rows kept for the next run: a folder for each text and setting, named by the sum of all that went into it.

The cache is `$MODLM_CACHE`, or `~/.cache/modlm`. An entry is found by contents (ids, vocabulary, settings of columns,
sums of the files they name, versions), so it is never out of date; one that is damaged is made anew. Entries used least
recently go when the cache outgrows `$MODLM_CACHE_SIZE`, and the log says where it is and how large. All of it may be
deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import modlm
from modlm.blocks.log_rows import VERSION, LogRows
from modlm.counts.engine import bytes_of
from modlm.errors import ConfigError, InputError, ModelFolderError, OutputError
from modlm.ground.arrays import Ints
from modlm.ground.files import folder_bytes, sha256
from modlm.ground.leftovers import sweep_folder
from modlm.ground.progress import short
from modlm.store.manifest import manifest_name
from modlm.text.corpus import Corpus
from modlm.text.parallel import Parallel
from modlm.training.blocks import RunBlock, columns_of, dense_blocks
from modlm.training.config import ColumnsConfig, RunConfig
from modlm.training.rows import rows

log = logging.getLogger("modlm")

LARGEST = "20GB"  # what a cache may grow to unless MODLM_CACHE_SIZE says otherwise
TRAIN = "train"


def cached_rows(
    config: RunConfig,
    train: Corpus,
    others: Mapping[str, Corpus] | None = None,
    *,
    blocks: Callable[[], Mapping[str, RunBlock]] | None = None,
    kept: Ints | None = None,
    pairs: Mapping[str, Parallel] = MappingProxyType({}),
) -> dict[str, LogRows]:
    """The rows of a run's texts: `train` without its folds, and the others by name from all counts.

    Of the training text only those of the sentences `kept`, rising, unless that is none. What the cache has is mapped
    at once; only what it lacks makes `blocks` (by default `dense_blocks`) be counted. Texts whose sentences come with
    sources, as `pairs` has them by name, are not kept.
    """
    texts = {TRAIN: train, **(others or {})}
    counted = cache(blocks or partial(dense_blocks, config, train))

    def made(name: str, folder: Path | None) -> LogRows:
        sources = pairs[name].sources if name in pairs else ()
        if name == TRAIN:
            return rows(train, counted(), folds=config.folds, folder=folder, kept=kept, sources=sources)
        return rows(texts[name], counted(), folder=folder, sources=sources)

    columns = columns_of(config)
    if pairs or not (columns or config.extra) or any(column.block for column in columns.values()):
        return {name: made(name, None) for name in texts}  # nothing to keep, or nothing tells what a block reads
    about = _about(config, train)
    entries = {name: _entry(about, config, name, text, kept) for name, text in texts.items()}
    return _found_or_made(entries, made)


def cache_folder() -> Path:
    return Path(os.environ.get("MODLM_CACHE") or Path("~/.cache/modlm").expanduser()) / "rows"


def _found_or_made(entries: Mapping[str, Path], made: Callable[[str, Path | None], LogRows]) -> dict[str, LogRows]:
    """The rows of each text. When the cache cannot take those of one, that is told once, and it gets no more."""
    found, takes = dict[str, LogRows](), True
    for name, entry in entries.items():
        rows = _found(entry, name)
        try:
            found[name] = rows or made(name, entry if takes else None)
        except OutputError as error:
            takes = False
            log.warning(
                "Rows are kept in memory, for this run only. %s MODLM_CACHE names the folder of the cache.", error
            )
            found[name] = made(name, None)
        if rows is None and takes:
            _keep_within(cache_folder(), _largest(), spared=entry)
            size, whole = short(found[name].bytes), short(folder_bytes(cache_folder()))
            log.info("rows of %s: %s bytes in %s (the cache has %s in all)", name, size, entry, whole)
    return found


def _found(entry: Path, name: str) -> LogRows | None:
    if not entry.exists():
        return None
    try:
        found = LogRows.open(entry, verify="full")
    except ModelFolderError as error:
        log.warning("Rows in the cache are made anew. %s", error)
        return None
    with suppress(OSError):
        os.utime(entry)
    log.info("rows of %s: mapped from %s", name, entry)
    return found


def _about(config: RunConfig, train: Corpus) -> dict[str, Any]:
    """What the rows of all texts of a run depend on."""
    columns = columns_of(config)
    return {
        "versions": [modlm.__version__, VERSION],
        **train.vocabulary.fingerprints(),
        "train": [train.fingerprint, *train.sources] if any(column.held_out for column in columns.values()) else [],
        "extra": config.extra,
        "columns": [[name, asdict(column), _sources(column)] for name, column in columns.items()],
    }


def _entry(about: dict[str, Any], config: RunConfig, name: str, text: Corpus, kept: Ints | None) -> Path:
    cut = [config.folds, *text.sources] if name == TRAIN else []
    own = {**about, "text": text.fingerprint, "folds": cut}
    if name == TRAIN and kept is not None:
        own["kept"] = hashlib.sha256(np.ascontiguousarray(kept).data).hexdigest()
    return cache_folder() / hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()[:40]


def _sources(column: ColumnsConfig) -> list[str]:
    """The sums of the files that a column comes from; of a folder of ours, of its manifest, which lists the rest."""
    model, sums = manifest_name("model"), list[str]()
    for path in map(Path, [*column.text, *column.counts, *filter(None, (column.model,))]):
        places = (path, path / manifest_name("counts"), path / model, path / "model" / model)
        if (file := next((place for place in places if place.is_file()), None)) is None:
            raise InputError("there is no such file or folder of modlm's. Check the columns of the run.", path=path)
        sums.append(sha256(file))
    return sums


def _largest() -> int:
    asked = os.environ.get("MODLM_CACHE_SIZE") or LARGEST
    try:
        return bytes_of(asked)
    except ConfigError as error:
        raise ConfigError(f"MODLM_CACHE_SIZE limits the cache. {error}") from error


def _keep_within(cache: Path, largest: int, *, spared: Path) -> None:
    """Remove what killed runs left, then the entries used least recently until the rest fits.

    Whoever has mapped an entry keeps it.
    """
    sweep_folder(cache)
    entries = sorted((path for path in cache.iterdir() if not path.name.startswith(".")), key=_last_use)
    whole = folder_bytes(cache)
    for path in entries:
        if whole <= largest:
            return
        if path != spared:
            size = folder_bytes(path)
            shutil.rmtree(path, ignore_errors=True)
            log.warning("Rows of %s bytes were removed from %s to keep it within its limit.", short(size), cache)
            whole -= size


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
