"""What each kind of job took, from the event log that Spark writes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any


def settings(folder: Path) -> dict[str, str]:
    """What makes Spark write such a log into the folder."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def by_title(folder: Path) -> dict[str, dict[str, float]]:
    """Sums over the tasks of each title: seconds, bytes shuffled, written, spilled; and the largest task's memory."""
    titles: dict[int, str] = {}
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for log in folder.rglob("*"):
        for line in log.read_text(errors="replace").splitlines() if log.is_file() else []:
            event = json.loads(line)
            if event["Event"] == "SparkListenerStageSubmitted":
                name = (event.get("Properties") or {}).get("spark.job.description", "other")
                titles[event["Stage Info"]["Stage ID"]] = name
            elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                _add(sums[titles.get(event["Stage ID"], "other")], event["Task Metrics"])
    return {title: dict(found) for title, found in sums.items()}


def _add(found: dict[str, float], metrics: dict[str, Any]) -> None:
    found["tasks"] += 1
    found["cpu_seconds"] += metrics["Executor CPU Time"] / 1e9
    found["run_seconds"] += metrics["Executor Run Time"] / 1e3
    found["shuffle_bytes"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    found["written_bytes"] += metrics["Output Metrics"]["Bytes Written"]
    found["spilled_bytes"] += metrics["Disk Bytes Spilled"]
    found["peak_memory_bytes"] = max(found["peak_memory_bytes"], metrics["Peak Execution Memory"])
