"""The machine that numbers were measured on."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path


def processor() -> str:
    lines = list[str]()
    with contextlib.suppress(OSError):  # not Linux
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
