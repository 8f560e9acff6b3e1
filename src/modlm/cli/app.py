"""The command line: every command in one table, and what each kind of failure says and returns.

Exit codes: 0 done, 1 a `ModlmError` or another failure that is told in one line, 2 wrong usage, 130 interrupted. Only
typer is imported here; commands import what they need when they run, so that `--help` answers at once.
"""

import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NoReturn

import typer

from modlm.cli.adapt import adapt
from modlm.cli.align import align
from modlm.cli.certify import certify
from modlm.cli.compare import compare
from modlm.cli.convert import convert
from modlm.cli.count import count
from modlm.cli.demo import demo
from modlm.cli.evaluate import evaluate
from modlm.cli.families import families
from modlm.cli.filter import filter_documents
from modlm.cli.generate import generate
from modlm.cli.index_text import find, index, overlap
from modlm.cli.inspect_path import inspect
from modlm.cli.interpolate import interpolate
from modlm.cli.next_words import next_words
from modlm.cli.ngram import ngram
from modlm.cli.outcome import FAILED, INTERRUPTED, begin, explain, in_flags, interrupted_message
from modlm.cli.reproduce import reproduce
from modlm.cli.rescore import rescore
from modlm.cli.schema import schema
from modlm.cli.score import score
from modlm.cli.serve import serve
from modlm.cli.train import train
from modlm.cli.translate import translate
from modlm.cli.tune import tune
from modlm.cli.warm import warm
from modlm.errors import LostProcessError
from modlm.ground import compiling

app = typer.Typer(
    name="modlm", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)  # fmt: skip

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo, "count": count, "ngram": ngram, "train": train, "tune": tune, "eval": evaluate, "score": score,
    "filter": filter_documents, "compare": compare, "certify": certify, "next": next_words, "generate": generate,
    "index": index, "find": find, "overlap": overlap, "interpolate": interpolate, "convert": convert,
    "inspect": inspect, "rescore": rescore, "translate": translate, "serve": serve, "adapt": adapt, "align": align,
    "reproduce": reproduce, "families": families, "warm": warm, "schema": schema,
}  # fmt: skip


for name, command in COMMANDS.items():
    app.command(name)(command)


def _print_version(asked: bool) -> None:
    if asked:
        from modlm import __version__

        print(f"modlm {__version__}")
        raise typer.Exit


@app.callback()
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
            result: Any = app(arguments, standalone_mode=False, prog_name="modlm")  # 130 for a Ctrl-C
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
