"""Failures of Spark in one line of ours, and a word when no worker takes the work; neither needs Spark."""

from __future__ import annotations

import io
import logging
import time
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from modlm.counts.spark import watching
from modlm.counts.spark.failures import failures_as_errors
from modlm.counts.spark.session import stop
from modlm.counts.spark.watching import watched
from modlm.errors import EngineError, InputError


def error_of(module: str, message: str, **answers: object) -> Exception:
    """An error as that package raises it."""
    methods = {name: lambda self, answer=answer: answer for name, answer in answers.items()}
    return type("Failure", (Exception,), {"__module__": module, **methods})(message)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            error_of(
                "pyspark.errors.exceptions.captured", "[PATH_NOT_FOUND] …",
                getCondition="PATH_NOT_FOUND", getMessageParameters={"path": "file:/data/none.txt"},
            ),
            InputError,
            "/data/none.txt: there is no such file.",
        ),
        (
            error_of("py4j.protocol", "An error occurred.\n\tat a.b(c)\nCaused by: java.lang.OutOfMemoryError: heap"),
            EngineError,
            "Spark broke off: java.lang.OutOfMemoryError: heap.",
        ),
        (ConnectionRefusedError(111, "Connection refused"), EngineError, "Spark broke off: .*Connection refused"),
        (
            error_of("pyspark.errors.exceptions.base", "[JAVA_GATEWAY_EXITED] …", getCondition="JAVA_GATEWAY_EXITED"),
            EngineError,
            "Java did not start. It said: Could not reserve enough space",
        ),
    ],
)  # fmt: skip
def test_failures_of_spark_come_out_as_ours(error: Exception, kind: type[Exception], message: str) -> None:
    log = io.BytesIO(b"26/11/16 WARN of something\nCould not reserve enough space\n\tat a.b(c)\n")
    with pytest.raises(kind, match=message), failures_as_errors(log=log):
        raise error


def test_other_errors_pass() -> None:
    with pytest.raises(FileNotFoundError), failures_as_errors():
        raise FileNotFoundError(2, "No such file", "text")


class Tracker:
    """One stage that nobody works on."""

    def getActiveStageIds(self) -> list[int]:
        return [0]

    def getStageInfo(self, stage: int) -> Any:
        return SimpleNamespace(stageId=stage, numCompletedTasks=0, numActiveTasks=0)


def test_a_word_when_no_worker_takes_the_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "EVERY", 0.01)
    monkeypatch.setattr(watching, "IDLE", 0.05)
    nothing = lambda *arguments: None  # noqa: E731
    context = SimpleNamespace(statusTracker=Tracker, setJobDescription=nothing, setLocalProperty=nothing)
    session: Any = SimpleNamespace(sparkContext=context)
    with caplog.at_level(logging.WARNING, logger="modlm"), watched(session, "counting"):
        until = time.monotonic() + 10
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.01)
    assert [record.message.partition(" for ")[0] for record in caplog.records] == [
        "No worker of the cluster has taken a task"
    ]


def test_a_session_whose_java_is_gone_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    """After Ctrl-C or a crash Java may be gone first; that is no second message beside the one that matters."""
    asked = []

    def end() -> None:
        asked.append(True)
        warnings.warn("Unable to cleanly shutdown Spark JVM process.", RuntimeWarning, stacklevel=1)
        raise ConnectionRefusedError("[Errno 111] Connection refused")

    stop(SimpleNamespace(stop=end))  # type: ignore[arg-type]
    assert (asked, capfd.readouterr()) == ([True], ("", ""))
