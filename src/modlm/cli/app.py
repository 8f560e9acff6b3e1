"""The command line: every command in one table, and what each kind of failure says and returns.

Exit codes: 0 done, 1 a `ModlmError` or another failure that is told in one line, 2 wrong usage, 130 interrupted. Only
typer is imported here; commands import what they need when they run, so that `--help` answers at once.
"""

import contextlib
import gc
import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NoReturn

import typer

from modlm.cli.outcome import FAILED, INTERRUPTED, begin, explain, in_flags, interrupted_message
from modlm.errors import LostProcessError
from modlm.ground import compiling

COMMANDS = {
    "demo": "demo:demo", "count": "count:count", "ngram": "ngram:ngram", "train": "train:train", "tune": "tune:tune",
    "eval": "evaluate:evaluate", "score": "score:score", "filter": "filter:filter_documents",
    "compare": "compare:compare", "certify": "certify:certify", "next": "next_words:next_words",
    "generate": "generate:generate", "index": "index_text:index", "find": "index_text:find",
    "overlap": "index_text:overlap", "interpolate": "interpolate:interpolate", "convert": "convert:convert",
    "inspect": "inspect_path:inspect", "rescore": "rescore:rescore", "translate": "translate:translate",
    "serve": "serve:serve", "adapt": "adapt:adapt", "align": "align:align", "reproduce": "reproduce:reproduce",
    "families": "families:families", "warm": "warm:warm", "schema": "schema:schema",
}  # fmt: skip
"""Where each command is, in this package. One that is asked for is imported alone: nobody waits for the others."""


def imported(name: str) -> Callable[..., None]:
    """The function of a command."""
    module, _, function = COMMANDS[name].partition(":")
    found: Callable[..., None] = getattr(importlib.import_module(f"modlm.cli.{module}"), function)
    return found


def program(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command that is asked for, or all of them where none is, as for `--help` and for completion."""
    app = typer.Typer(
        name="modlm", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, callback=modlm,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )  # fmt: skip
    first = next((word for word in arguments if not word.startswith("-")), "")
    listed = first not in COMMANDS and bool(arguments) and "_MODLM_COMPLETE" not in os.environ
    for name in [first] if first in COMMANDS else COMMANDS:
        command = imported(name)
        app.command(name, help=command.__doc__)(_listed if listed else command)
    return app


def _listed() -> None:
    """A command of which only name and first line are shown: its options need not be read."""


def _print_version(asked: bool) -> None:
    if asked:
        from modlm import __version__

        print(f"modlm {__version__}")
        raise typer.Exit


def modlm(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error comes from; works anywhere on the line.")
    ] = False,
) -> None:
    """Language models as mixtures, n-gram, neural and hybrid: train, evaluate, query, mix, prune, export, inspect.

    MODEL is a model folder, a run folder with a model in it, an ARPA file or a KenLM binary. TEXT has one sentence per
    line, may be compressed (gz, bz2, xz, zst), and may be - for standard input.

    \b
    modlm demo                                  a few minutes on text that ships with Python
    modlm ngram train.txt -o model              train an n-gram model
    modlm train --text T --valid V -o run       train a net, interpolated n-grams, or a hybrid
    modlm eval model test.txt                   perplexity
    modlm next model "the company said"         the most probable next words, and why
    modlm serve model                           all of it over HTTP, and a page to look into models
    """  # fmt: skip


def main(arguments: list[str] | None = None) -> NoReturn:
    given = sys.argv[1:] if arguments is None else list(arguments)
    debug = os.environ.get("MODLM_DEBUG", "0") not in ("", "0")
    words = given[: given.index("--")] if "--" in given else given
    if "--debug" in words:
        given.remove("--debug")
        debug = True
    code = run(given, debug=debug)
    gc.freeze()  # the system takes all memory back at once; a search for cycles in it takes a fifth of a second
    sys.exit(code)


def run(arguments: list[str], *, debug: bool = False) -> int:
    """The exit code of a command; whatever goes wrong is told on standard error."""
    begin()
    compiling.STATE.command = next((word for word in arguments if word in COMMANDS), "")
    with _log_on_standard_error(), _termination_as_exit():
        try:
            result: Any = program(arguments)(arguments, standalone_mode=False, prog_name="modlm")  # 130 for a Ctrl-C
            sys.stdout.flush()
        except KeyboardInterrupt:
            result = INTERRUPTED
        except BrokenPipeError:
            _drop_output()
            return FAILED
        except SystemExit as leaving:
            if (lost := _lost_before(leaving)) is None:
                raise
            return _failed(lost)
        except Exception as error:
            if hasattr(error, "show") and hasattr(error, "exit_code"):  # wrong usage, which typer can explain best
                error.show()
                return int(error.exit_code)
            if debug:
                raise
            return _failed(error)
    code = result if isinstance(result, int) else 0
    if code == INTERRUPTED:
        _say(interrupted_message())
    return code


def _failed(error: Exception) -> int:
    """The exit code of a command that ended with an error, which is told."""
    if isinstance(error, OSError):
        _drop_output()
    if isinstance(error, LostProcessError):
        with contextlib.suppress(ValueError):  # not the main thread
            # torchrun ends those that are left, which is what this one is about to do
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _say(explain(error))
    return FAILED


def _lost_before(leaving: BaseException) -> LostProcessError | None:
    """The loss of another process that was on its way here when torchrun's signal came: that is what is to be told."""
    error = leaving.__context__
    while error is not None and not isinstance(error, LostProcessError):
        error = error.__context__
    return error


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        if message:
            print(f"modlm: {message}", file=sys.stderr)


class _InFlags(logging.Formatter):
    """What the library says, in the words of the command line."""

    def format(self, record: logging.LogRecord) -> str:
        return in_flags(super().format(record))


@contextlib.contextmanager
def _log_on_standard_error() -> Iterator[None]:
    """What the package has to say besides results, in the form of the other messages."""
    log, handler = logging.getLogger("modlm"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(_InFlags("modlm: %(message)s"))
    propagated, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagated


def _drop_output() -> None:
    """If standard output takes nothing more, write nothing more, not even on the way out."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _termination_as_exit() -> Iterator[None]:
    """A polite kill unwinds as Ctrl-C does, so that no temporary file stays behind."""

    def leave(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
