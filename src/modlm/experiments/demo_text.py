"""The demo's text: English that ships with every CPython, so that nothing is downloaded.

In: the language reference in `pydoc_data.topics`, and the docstrings and block comments of the standard library, taken
from its sources without importing them. Out: sentences, lower-case, one space between tokens, without markup, code or
repetitions. A whole document (a topic, a source file) goes to one part, chosen by a hash of its name: no part sees the
documents of another, and no sentence is in two parts. The two sources differ in style and serve as two domains.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sysconfig
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from modlm.errors import InputError
from modlm.experiments.prose import sentences_of
from modlm.ground.files import new_folder

SKIPPED_FOLDERS = frozenset(
    "__phello__ dist-packages ensurepip idle_test idlelib pydoc_data site-packages test tests turtledemo".split()
)
REFERENCE, LIBRARY = "reference", "library"  # the two sources
TOPICS = "topics/"  # what names of documents of the reference begin with
SHARES = {"train": 90, "valid": 5, "test": 5}  # percent of the documents
HAS_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True, kw_only=True)
class DemoText:
    """Three parts without a sentence in common; a sentence is its tokens joined by single spaces."""

    train: list[str] = field(default_factory=list)
    valid: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)

    def __add__(self, other: DemoText) -> DemoText:
        return DemoText(train=self.train + other.train, valid=self.valid + other.valid, test=self.test + other.test)

    def write(self, folder: Path) -> dict[str, Path]:
        """The parts as files, one sentence per line."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = {part: folder / f"{part}.txt" for part in SHARES}
        for part, path in paths.items():
            path.write_text("".join(f"{sentence}\n" for sentence in getattr(self, part)), encoding="utf-8")
        return paths


def demo_sentences() -> DemoText:
    """The text of the running Python: the same on every call, slightly different between versions of Python."""
    texts = demo_sources()
    return texts[REFERENCE] + texts[LIBRARY]


def write_texts(target: Path, *, overwrite: bool = False) -> dict[str, DemoText]:
    """All of the demo's text as files in a folder, and each of its two sources in a folder of its own inside."""
    with new_folder(target, overwrite=overwrite) as place:
        texts = demo_sources()
        (texts[REFERENCE] + texts[LIBRARY]).write(place)
        for source, text in texts.items():
            text.write(place / source)
    return texts


def demo_sources() -> dict[str, DemoText]:
    """The same by source: the language reference, and the docstrings and comments of the library."""
    found = {REFERENCE: DemoText(), LIBRARY: DemoText()}
    known: set[str] = set()
    for name, pieces in documents():
        part: list[str] = getattr(found[REFERENCE if name.startswith(TOPICS) else LIBRARY], _part_of(name))
        for piece in pieces:
            for sentence in sentences_of(piece):
                if sentence not in known:
                    known.add(sentence)
                    part.append(sentence)
    return found


def documents() -> Iterator[tuple[str, list[str]]]:
    """Names and pieces of raw text: the topics by name, then the source files by path."""
    topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    for name in sorted(topics):
        yield f"{TOPICS}{name}", [topics[name]]
    root = Path(sysconfig.get_path("stdlib"))
    paths = [path.relative_to(root) for path in root.rglob("*.py")]
    paths = [path for path in paths if SKIPPED_FOLDERS.isdisjoint(path.parts)]
    if not paths:
        raise InputError(
            "No sources of the standard library are here, and the demo reads its text from them. "
            "Use a Python that ships them, or train on your own file: modlm ngram TEXT -o DIR",
            path=root,
        )
    for path in sorted(paths, key=lambda path: path.as_posix()):
        yield path.as_posix(), [*_docstrings(root / path), *_comments(root / path)]


def _part_of(name: str) -> str:
    """Which part a document goes to; depends on nothing but its name."""
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % 100
    return "train" if place < SHARES["train"] else "valid" if place < 100 - SHARES["test"] else "test"


def _docstrings(path: Path) -> list[str]:
    """Docstrings in the order of the source; none from a file that does not parse (templates, Python 2)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in the sources are not ours to report
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    found: list[str] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, HAS_DOCSTRING) and (text := ast.get_docstring(node)):
            found.append(text)
        waiting += [child for child in reversed(list(ast.iter_child_nodes(node))) if isinstance(child, ast.stmt)]
    return found


def _comments(path: Path) -> list[str]:
    """Comments of at least two lines that stand alone: explanations rather than notes to a line."""
    blocks: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        stripped = line.lstrip()
        if stripped.startswith("#"):
            blocks[-1].append(re.sub(r"^#[#:!]*", "", stripped))
        elif blocks[-1]:
            blocks.append([])
    return [textwrap.dedent("\n".join(block)) for block in blocks if len(block) > 1]
