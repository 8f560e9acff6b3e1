"""Docstrings as we write them, for Sphinx: single backticks are code, indented stretches are code blocks."""

import re
from itertools import pairwise

from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]+`)")
SPECIAL = re.compile(r"([*|]|(?<=\w)_(?!\w))")  # what reStructuredText would take for markup


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", drop_signature)
    return {"parallel_read_safe": True}


def process(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    lines[:] = as_restructured(lines)


def drop_signature(
    app: Sphinx, what: str, name: str, thing: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Classes that are made by a class method do not show how they are put together inside."""
    made_otherwise = any(hasattr(thing, method) for method in ("fit", "from_text", "open"))
    return ("", returned) if what == "class" and made_otherwise else (signature, returned)


def as_restructured(lines: list[str]) -> list[str]:
    """The same text in reStructuredText."""
    found: list[str] = []
    for before, line in pairwise(["", *lines]):
        indented = line.startswith("    ")
        if indented and not before.strip() and not (found and found[-1].startswith("    ")):
            found += ["", "::", ""]
        found.append(line if indented else "".join(_part(part) for part in CODE.split(line)))
    return found


def _part(part: str) -> str:
    return f"`{part}`" if CODE.fullmatch(part) else SPECIAL.sub(r"\\\1", part)
