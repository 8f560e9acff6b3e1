"""Run one command and write down its time and peak memory; a script of its own so that it is small.

On Linux a child inherits the peak memory of the process that starts it. A benchmark that holds models in memory would
lend its own gigabytes to every command it measures; this launcher lends ten megabytes.

    python launcher.py REPORT STDIN STDOUT STDERR COMMAND...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Measure from just before the command starts until it has ended."""
    report, stdin, stdout, stderr, *command = sys.argv[1:]
    with Path(stdin).open("rb") as given, Path(stdout).open("wb") as output, Path(stderr).open("wb") as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
    unit = 1 if sys.platform == "darwin" else 1024
    found = {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * unit,
        "code": os.waitstatus_to_exitcode(status),
    }
    Path(report).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
