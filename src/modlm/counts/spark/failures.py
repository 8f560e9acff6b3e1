"""What goes wrong in Spark, in one line of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from modlm.errors import EngineError, InputError

WAY_OUT = "The Spark application's own log has more; MODLM_DEBUG=1 shows it here."
PYTHON = re.compile(r"^([a-zA-Z][\w.]*(?:Error|Exception)): (.+)$", re.MULTILINE)
TAIL = 4000  # bytes of Java's last words


@contextmanager
def failures_as_errors(*, log: IO[bytes] | None = None) -> Iterator[None]:
    """Errors of Spark, py4j and the connection to Java become errors of ours; all others pass."""
    try:
        yield
    except Exception as error:
        module = type(error).__module__.partition(".")[0]
        if module == "pyspark":
            raise _of_spark(error, log) from error
        if module == "py4j" or (isinstance(error, ConnectionError) and error.filename is None):
            reason = _cause(error) or "the connection to Java broke off"
            raise EngineError(f"Spark broke off: {reason}. {_last_words(log)}{WAY_OUT}") from error
        raise


def _of_spark(error: Exception, log: IO[bytes] | None) -> Exception:
    condition = getattr(error, "getCondition", lambda: None)() or ""
    parameters = getattr(error, "getMessageParameters", lambda: None)() or {}
    if condition == "PATH_NOT_FOUND":
        return InputError("there is no such file.", path=parameters.get("path", "").removeprefix("file:"))
    if condition == "JAVA_GATEWAY_EXITED":
        return EngineError(f"Java did not start. {_last_words(log)}{WAY_OUT}")
    if "Python worker" in str(error) and (
        worker := PYTHON.findall(str(error).partition("JVM stacktrace")[0])
    ):  # the last line of a traceback of a worker
        kind, said = worker[-1]
        return EngineError(
            said if kind.startswith("modlm.") else f"A worker's Python broke off: {kind}: {said} {WAY_OUT}"
        )
    return EngineError(f"Spark broke off: {_cause(error)}. {WAY_OUT}")


def _cause(error: Exception) -> str:
    """The first line that says something, of the innermost cause if Java tells one."""
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    said = [line for line in (*reversed(causes), *lines) if line and not line.startswith("at ")]
    return said[0].rstrip(".")[:400] if said else ""


def _last_words(log: IO[bytes] | None) -> str:
    """What Java wrote last, if there is a log to look into."""
    if log is None:
        return ""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - TAIL))
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if not line.lstrip().startswith("at ") and "WARN" not in line]
    return f"It said: {told[-1].strip()[:300]} " if told else ""
