"""Cores that this process may run on."""

from __future__ import annotations

import os


def bound_cores() -> set[int]:
    """Numbers of the cores that the system lets this process use; all cores if it cannot say (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
