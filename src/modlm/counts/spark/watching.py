"""Progress of Spark's jobs, and a word when no machine of the cluster takes them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from modlm.counts.spark.failures import failures_as_errors
from modlm.ground.progress import Progress, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = 0.5  # seconds between two looks
IDLE = 30.0  # seconds without a task that somebody should hear of

log = logging.getLogger("modlm")


@contextmanager
def watched(session: SparkSession, title: str) -> Iterator[None]:
    """A progress bar in tasks while the block waits for jobs; their failures come out as ours."""
    ended = threading.Event()
    with progress(title, unit="tasks") as bar:
        look = threading.Thread(target=_look, args=(session, bar, ended), name="modlm-spark-progress", daemon=True)
        look.start()
        try:
            with failures_as_errors():
                session.sparkContext.setJobDescription(title)  # for Spark's own pages and logs
                yield
                session.sparkContext.setLocalProperty("spark.job.description", None)
        finally:
            ended.set()
            look.join(timeout=10 * EVERY)


def _look(session: SparkSession, bar: Progress, ended: threading.Event) -> None:
    """Look until the work ends; a look that fails says nothing, since the work itself will."""
    done: dict[int, int] = {}
    busy, warned = time.monotonic(), False
    try:
        tracker = session.sparkContext.statusTracker()
        while not ended.wait(EVERY):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            running = [stage for stage in stages if stage is not None]
            for stage in running:
                bar.advance(max(0, stage.numCompletedTasks - done.get(stage.stageId, 0)))
                done[stage.stageId] = max(done.get(stage.stageId, 0), stage.numCompletedTasks)
            if not running or any(stage.numActiveTasks for stage in running):
                busy = time.monotonic()
            elif not warned and time.monotonic() - busy > IDLE:
                log.warning(
                    "No worker of the cluster has taken a task for %g seconds; it may have no free cores or memory. "
                    "Spark goes on waiting.", IDLE,
                )  # fmt: skip
                warned = True
    except Exception:
        return
