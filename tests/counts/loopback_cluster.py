"""A real cluster on this machine: a master and workers, each a process of its own, one of which may die."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.counts.spark_here import QUICK, why_not

MARKS = [
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    pytest.mark.skipif(os.name != "posix", reason="signals and process groups are those of POSIX"),
    pytest.mark.xdist_group("spark"),
]
SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 240.0  # seconds; only a broken cluster takes so long
OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.shuffle.io.maxRetries": "1",  # a worker that is gone does not come back
    "spark.shuffle.io.retryWait": "1s",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.files.maxPartitionBytes": "60000",
    "spark.ui.enabled": "false",
}


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Daemon:
    """A process with all that it starts, which is what a machine is to the others."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """At once, as when the power fails."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def said(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.log.read_text(errors="replace"))


def started(name: str, *arguments: str, folder: Path) -> Daemon:
    import pyspark

    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    log = folder / f"{name}.log"
    settings = {
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK["spark.driver.extraJavaOptions"],
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [script, *arguments], stdout=stream, stderr=stream, env=os.environ | settings, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
    return Daemon(process, log)


@dataclass(frozen=True)
class LoopbackCluster:
    url: str
    workers: list[Daemon]


@contextmanager
def running_cluster(folder: Path, *, workers: int) -> Iterator[LoopbackCluster]:
    deploy = "org.apache.spark.deploy"
    daemons: list[Daemon] = []
    try:
        here = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        master = started("master", f"{deploy}.master.Master", *here, folder=folder)
        daemons.append(master)
        wait_for(lambda: master.said(r"Starting Spark master at (spark://\S+)") is not None, "the master")
        found = master.said(r"Starting Spark master at (spark://\S+)")
        assert found is not None
        for number in range(workers):
            limits = ["--cores", "1", "--memory", "600M", "--work-dir", str(folder / f"work-{number}")]
            worker = f"worker-{number}"
            daemons.append(started(worker, f"{deploy}.worker.Worker", *here, *limits, found[1], folder=folder))
        for worker_daemon in daemons[1:]:
            wait_for(lambda one=worker_daemon: one.said("Successfully registered") is not None, "a worker")  # type: ignore[misc]
        yield LoopbackCluster(found[1], daemons[1:])
    finally:
        for daemon in daemons:
            daemon.kill()


def command(*arguments: object) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    code = "from modlm.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *(str(argument) for argument in arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def conf_flags(conf: dict[str, str]) -> list[str]:
    return [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]


def with_a_death(
    folder: Path, *arguments: object, begun: Callable[[], bool], ended: Callable[[], bool], **conf: str
) -> None:
    """Run a command on two workers; when it has begun, one of them dies, and the command must end well all the same."""
    with running_cluster(folder, workers=2) as cluster:
        running = command(*arguments, "--master", cluster.url, *conf_flags(QUICK | OPTIONS | conf))
        try:
            wait_for(lambda: begun() or running.poll() is not None, "the first results")
            cluster.workers[0].kill()
            finished, busy = ended(), executors(cluster)
            _, err = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
            running.communicate()
    assert running.returncode == 0, err
    assert min(busy) >= 1 and not finished, "both workers took part, and one died before the end"


def executors(cluster: LoopbackCluster) -> list[int]:
    """How many executors each worker has started for us."""
    return [worker.log.read_text(errors="replace").count("Asked to launch executor") for worker in cluster.workers]
