"""A Spark session to count in: the one that runs already, or one of our own that ends with the work."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

from modlm.counts.engine import CountOptions
from modlm.counts.spark.failures import failures_as_errors
from modlm.errors import ConfigError, EngineError, require
from modlm.ground.files import lent_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = 17
INSTALL_JAVA = (
    f"Spark runs on Java {JAVA} or later, which is a package of the system and not of Python; on Debian and Ubuntu: "
    f"apt-get install openjdk-{JAVA}-jre-headless. If it lies elsewhere, let JAVA_HOME name its folder."
)
PATIENCE = 5.0  # seconds for a master to answer
PATIENCE_AT_THE_END = 30.0  # seconds for a session to stop; Java ends with us in any case
LEAST_MEMORY = 512 << 20  # Spark does not start with less
MASTER_VARIABLE = "MODLM_MASTER"


def master_of(options: CountOptions) -> str | None:
    """The master's URL, if anybody but Spark has said something."""
    return options.master or os.environ.get(MASTER_VARIABLE) or options.conf.get("spark.master")


def pyspark_sql() -> ModuleType:
    """The package, without its remarks about versions of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        require("pyarrow.parquet", extra="spark", purpose="Counting with Spark")
        return require("pyspark.sql", extra="spark", purpose="Counting with Spark")


@contextmanager
def spark_session(options: CountOptions) -> Iterator[SparkSession]:
    """A session that was there before stays; ours is stopped when the block ends, however it ends."""
    sql = pyspark_sql()
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        asked, own = master_of(options), running.sparkContext.master
        if asked is not None and asked != own:
            raise ConfigError(
                f"This program has a Spark session with the master {own} already, and {asked} was asked for. Stop that "
                f"session, or leave the master out."
            )
        yield running
        return
    check_java()
    check_master(master_of(options))
    with _own_signals():
        session = _started(sql, settings(options))
    root, own = logging.getLogger(), logging.getLogger("py4j")
    level = own.level
    root.addFilter(not_of_py4j)
    own.setLevel(logging.CRITICAL + 1)
    try:
        yield session
    finally:
        stop(session)
    root.removeFilter(not_of_py4j)  # after an error it stays, since connections that were cut short are still told of
    own.setLevel(level)


def not_of_py4j(record: logging.LogRecord) -> bool:
    """Leaves out what py4j tells everybody about talks with Java that were cut short; the error is told by us."""
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ctrl-C does what it did before: Spark's handler talks to Java in the middle of another talk, and breaks it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop(session: SparkSession) -> None:
    """End the session and its jobs, from a thread of its own: after Ctrl-C this one's talk with Java is not over."""

    def try_to_stop() -> None:
        with suppress(Exception):  # a Java that no longer answers ends with us; what went wrong before is what is told
            session.stop()

    ending = threading.Thread(target=try_to_stop, name="modlm-spark-stop", daemon=True)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # that Java is gone already
        ending.start()
        ending.join(timeout=PATIENCE_AT_THE_END)


def settings(options: CountOptions) -> dict[str, str]:
    """What a session of ours is started with; what the user says comes last and wins."""
    url = master_of(options)
    here = url is None or url.startswith("local")
    chosen = {
        "spark.app.name": "modlm count",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.parquet.compression.codec": "zstd",
    }
    if here:  # nobody else has to reach us, so nobody can
        chosen |= {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
        chosen |= {"spark.driver.bindAddress": "127.0.0.1"}
    if url is not None:
        chosen["spark.master"] = url
    if options.memory is not None:
        name = "spark.driver.memory" if here else "spark.executor.memory"
        chosen[name] = f"{max(options.memory, LEAST_MEMORY) >> 20}m"
    return chosen | dict(options.conf)


def _started(sql: ModuleType, chosen: Mapping[str, str]) -> SparkSession:
    builder = sql.SparkSession.builder
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryFile() as log, failures_as_errors(log=log), _errors_of_java_to(log):
        _start_java(chosen)
        session: SparkSession = builder.getOrCreate()
    return session


def _start_java(chosen: Mapping[str, str]) -> None:
    """As Spark does by itself, but that nothing stays behind when we are killed meanwhile.

    Java tells us how to reach it, with a secret, through a folder that Spark makes. It is swept once Java is gone, too:
    without it Java would not know what to do, and wait for ever.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # of a session before
        return
    with lent_folder() as (folder, handle):
        before, tempfile.tempdir = tempfile.tempdir, str(folder)
        try:
            gateway = launch_gateway(
                SparkConf().setAll(list(chosen.items())), {"pass_fds": (handle,)} if os.name == "posix" else {}
            )
        finally:
            tempfile.tempdir = before
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def _errors_of_java_to(log: IO[bytes]) -> Iterator[None]:
    """What Java says while it starts, and what it has to say later, goes to a file, not between our own lines."""
    if os.environ.get("MODLM_DEBUG", "0") not in ("", "0"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def check_java() -> None:
    """Refuse with the way out what Spark would refuse with a page of Java."""
    home = os.environ.get("JAVA_HOME", "")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        place = f"JAVA_HOME is {home}, where there is no bin/java" if home else "there is no Java on this machine"
        raise EngineError(f"Counting with Spark needs Java, but {place}. {INSTALL_JAVA}")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace").stderr
    except OSError as error:
        raise EngineError(
            f"Counting with Spark needs Java, but {java} does not run: {error}. {INSTALL_JAVA}"
        ) from error
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None or int(found[1]) < JAVA:
        version = f"{java} is version {found[1]}" if found else f"{java} does not tell its version"
        raise EngineError(f"Counting with Spark needs Java {JAVA} or later, but {version}. {INSTALL_JAVA}")


def check_master(url: str | None) -> None:
    """That a master of Spark's own kind answers; Spark itself would try for minutes."""
    if url is None or not url.startswith("spark://"):
        return
    reasons = []
    for place in url.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdecimal():
            raise ConfigError(f"A Spark master is given as spark://host:port, but is {url!r}.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
            return
        except (OSError, OverflowError) as error:
            reasons.append(getattr(error, "strerror", None) or str(error))
    raise EngineError(
        f"The Spark master {url} does not answer ({'; '.join(reasons)}). Start it, correct the address, or leave "
        f"--master out to count on this machine."
    )
