"""Columns that a Python function gives: windows of words in, distributions over the vocabulary out.

    def repeats(windows, vocabulary):                      # windows: a list of lists of words, the nearest last
        probs_BJ = np.full((len(windows), len(vocabulary)), 0.1 / len(vocabulary))
        for row, window in zip(probs_BJ, windows):
            row[vocabulary.id(window[-1]) if window else vocabulary.end] += 0.9
        return probs_BJ                                     # or (B, K, J) for K columns

    block = FunctionBlock(repeats, columns=("repeats",), context_length=1)

What comes back is checked: every distribution sums to 1. A model folder keeps the name of a function that can be
imported, `module:function`; any other is asked for when the model is loaded.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np

from modlm.blocks.block import ALONE, TOGETHER, Beside, Block, Reads
from modlm.errors import ConfigError
from modlm.ground.arrays import Floats, Ids
from modlm.store.folder import Folder, Parts
from modlm.text.vocabulary import Vocabulary

EXACT = 1e-4  # how far a distribution's sum may be from 1, so that single precision will do

ColumnFunction = Callable[[list[list[str]], Vocabulary], Any]

GIVEN: dict[str, ColumnFunction] = {}
"""Functions that this process was given without a name to import them by, under one that it made up."""


class FunctionBlock(Block):
    """One or several columns by a function of the words before; without features."""

    kind: ClassVar[str] = "function"

    def __init__(
        self,
        function: ColumnFunction,
        *,
        columns: Sequence[str] = ("function",),
        context_length: int,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """`context_length` is the number of words that the function is given; fewer where a sentence begins."""
        if not columns or context_length < 0:
            raise ConfigError(
                f"A function needs a name for each of its columns and a context of 0 words or more, but has "
                f"{len(columns)} names and {context_length}."
            )
        self.function, self.columns, self.reads = function, tuple(columns), Reads(context_length)
        if vocabulary is not None:
            self.vocabulary = vocabulary

    @classmethod
    def configured(
        cls, vocabulary: Vocabulary, *, function: str, columns: Sequence[str] = ("function",), context_length: int
    ) -> Self:
        """From settings: `function` is `module:function`."""
        return cls(imported(function), columns=columns, context_length=context_length, vocabulary=vocabulary)

    def settings(self) -> dict[str, Any]:
        """What `configured` takes, in this process."""
        target = name_of(self.function) or f"given:{id(self.function)}"
        if target.startswith("given:"):
            GIVEN[target] = self.function
        return {"function": target, "columns": list(self.columns), "context_length": self.reads.words}

    def after(self, windows_BC: Ids, beside: Beside = ALONE) -> tuple[Floats, Floats]:
        """Whole columns after each window."""
        columns = np.empty((len(windows_BC), len(self.vocabulary), len(self.columns)))
        for begin in range(0, len(windows_BC), TOGETHER):
            columns[begin : begin + TOGETHER] = self._asked(windows_BC[begin : begin + TOGETHER])
        return columns, np.zeros((len(windows_BC), 0))

    def _asked(self, windows_BC: Ids) -> Floats:
        """(B, J, K): what the function says, checked."""
        near_BC = windows_BC[:, windows_BC.shape[1] - min(self.reads.words, windows_BC.shape[1]) :]
        known = len(self.vocabulary)
        windows = [self.vocabulary.decode(window[window < known]) for window in near_BC]
        found = np.asarray(self.function(windows, self.vocabulary), dtype=np.float64)
        found_BKJ = found[:, None, :] if found.ndim == 2 else found
        if found_BKJ.shape != (len(windows), len(self.columns), known):
            raise ConfigError(
                f"The function of {', '.join(self.columns)} gave an array of shape {found.shape} for {len(windows)} "
                f"contexts. It must give one distribution over the {known} words for each context, or one for each of "
                f"its {len(self.columns)} columns."
            )
        sums_BK = found_BKJ.sum(axis=2)
        wrong = np.argwhere(~(np.abs(sums_BK - 1) <= EXACT) | (found_BKJ < 0).any(axis=2))
        if len(wrong):
            row, column = wrong[0]
            raise ConfigError(
                f"The function gave no distribution for the column {self.columns[column]!r} after "
                f"{' '.join(windows[row]) or '<s>'!r}: its entries sum to {sums_BK[row, column]:.6g}, the least is "
                f"{found_BKJ[row, column].min():.6g}. They must not be negative and must sum to 1."
            )
        return np.moveaxis(found_BKJ / sums_BK[:, :, None], 1, 2)

    def parts(self) -> Parts:
        """The function's name, if it can be imported by it."""
        return Parts({"function": name_of(self.function), "columns": list(self.columns), "context": self.reads.words})

    @classmethod
    def from_parts(cls, stored: Folder, vocabulary: Vocabulary) -> Self:
        """The function that `load` was given for this block, or the one that its name imports."""
        name = stored.inside.rstrip("/").rpartition("/")[2]
        target = str(stored.about.get("function", ""))
        if name not in stored.functions and not target:
            raise ConfigError(
                f"The column {name!r} of this model is a Python function that has no name to import it by. Give it: "
                f"modlm.load(path, functions={{{name!r}: your_function}})."
            )
        function = stored.functions.get(name) or imported(target)
        columns, length = stored.list_of("columns", str), stored.whole("context")
        return stored.checked(lambda: cls(function, columns=columns, context_length=length, vocabulary=vocabulary))


def name_of(function: ColumnFunction) -> str:
    """`module:function` if that imports this very function, else nothing."""
    target = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    try:
        return target if imported(target) is function and not target.startswith("__main__") else ""
    except ConfigError:
        return ""


def imported(target: str) -> ColumnFunction:
    """The function of a name: one written in Python, in a module that is not Python's own.

    A model folder may name it, so that nothing but a function meant for this is ever called.
    """
    if target in GIVEN:
        return GIVEN[target]
    module, _, name = target.partition(":")
    try:
        found = getattr(importlib.import_module(module), name) if module and name.isidentifier() else None
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"The function {target!r} cannot be imported: {error}. Install the package it is in."
        ) from error
    proper = isinstance(found, FunctionType) and found.__module__ == module
    if not proper or module.partition(".")[0] in sys.stdlib_module_names:
        raise ConfigError(f"{target!r} is no function for a column. Write module:function, a function of your own.")
    return found  # type: ignore[return-value]  # it is a FunctionType
