"""How a command ended: its exit code, one line for each kind of failure, and what had been written until then."""

import re
import shlex
import sys
from pathlib import Path

from modlm.errors import LostProcessError, ModlmError, OutputError

SETTINGS = re.compile(r"(?<![\w.])(?:max_words|min_count|top_k|top_p)(?![\w.])")
"""Names that the library has for what are options here."""
KEYWORDS = re.compile(r'\b(field|form|on_error|encoding_errors|spelling|gguf|overwrite)=(?:"([^"]*)"|True)?')
"""The same with values, as they are given from Python."""
PHRASES = {  # what is done from Python, and here
    "A sentence is given in a list: [sentence].": 'A sentence comes on standard input: echo "..." | modlm score MODEL',
    "attach the model: modlm.integrations.hugging_face.adapted.load_adapted(FOLDER, model)": "link it there (ln -s)",
    'encoding_errors = "replace"': "--encoding-errors replace (modlm train: --set encoding_errors=replace)",
    "lm.given(sentence), or source=... beside a text": "--source TEXT; a command without it cannot ask this model",
    "use lm.score_documents": "add --documents to modlm score",
    "modlm.load comes first with the model, then its method with the text": "The model comes first, then the text",
}
RESUME = re.compile(r'modlm\.train\(\.\.\., out="([^"]*)", resume=True\)')
FLAGS = {"form": "--format", "overwrite": "--force"}
FAILED = 1
INTERRUPTED = 130

_targets: dict[Path, tuple[int, int] | None] = {}
"""What a command is to write, and what was there before."""
_resume: list[tuple[str | None, Path]] = []


def begin() -> None:
    _targets.clear()
    _resume.clear()


def refuse_existing(*targets: Path | None, force: bool, instead: str = "") -> None:
    """Refuse before hours of work what would be refused after them; devices and pipes may be written to."""
    for path in targets:
        if path is not None and not force and (path.is_dir() or path.is_file()):
            raise OutputError(f"{path} already exists. Choose another name, {instead}or overwrite it with --force.")
    _targets.update({path: _stamp(path) for path in targets if path is not None})


def _stamp(path: Path) -> tuple[int, int] | None:
    """What tells a file or folder from the one that replaced it; nothing where there is none."""
    if not path.exists():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def as_typed(command: str) -> str:
    """How a command was called; nothing if that was from Python."""
    return shlex.join(["modlm", *sys.argv[1:]]) if sys.argv[1:2] == [command] else ""


def resumable(command: str | None, *, when: Path = Path()) -> None:
    """From now on an interruption names the command with which to go on, once a file is there; None: says nothing."""
    _resume[:] = [(command, when)] if command != "" else []


def interrupted_message() -> str:
    for command, file in _resume:
        if file.exists():
            return f"interrupted; go on with: {command}" if command else ""
    done = ", ".join(str(path) for path, before in _targets.items() if _stamp(path) != before)
    return f"interrupted; finished before that: {done}" if done else "interrupted; nothing was written"


def in_flags(message: str) -> str:
    """A message of the library in the words of the command line."""
    message = SETTINGS.sub(lambda found: f"--{found[0].replace('_', '-')}", message)
    message = KEYWORDS.sub(
        lambda found: f"{FLAGS.get(found[1], '--' + found[1].replace('_', '-'))} {found[2] or ''}".rstrip(),
        RESUME.sub(r"modlm train --resume -o \1", message),
    )
    for python, here in PHRASES.items():  # last, since what is said here may look like Python
        message = message.replace(python, here)
    return message


def explain(error: BaseException) -> str:
    """One clear line for a failure; none when another process has said it."""
    if isinstance(error, LostProcessError) and error.told:
        return ""
    if isinstance(error, ModlmError):
        return in_flags(str(error))
    if isinstance(error, MemoryError):
        return (
            "there is not enough memory for this. Ask for less (a lower --order, --max-words), or count on disk with "
            "--memory 2GB."
        )
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}."
    return (
        f"internal error, {type(error).__name__}: {error}. This is a fault of modlm, not of what you did; run the same "
        f"command with --debug and report what it prints."
    )
