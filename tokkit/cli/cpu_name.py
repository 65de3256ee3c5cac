"""Finds the name of the processor."""

from __future__ import annotations

import contextlib
import platform


def cpu_name() -> str:
    """Return the processor's model name, or its architecture if the system does not tell the name."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
