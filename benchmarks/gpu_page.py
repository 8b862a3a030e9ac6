"""Lines of the page that benchmarks/gpu.py prints, and what becomes of errors."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any

Options = argparse.Namespace
PRECISIONS = ("float32", "float64")


def say(line: str = "") -> None:
    """Print a line at once."""
    print(line, flush=True)


def head(columns: str) -> str:
    """The first two lines of a table."""
    return f"| {columns} |\n" + "|---" * (columns.count("|") + 1) + "|"


def attempt(what: str, call: Callable[[], Any]) -> Any:
    """The result of a call; if it fails, a row with the reason, and None."""
    try:
        return call()
    except Exception as error:  # of the device, the compiler or the disk: the other rows are worth more
        say(f"| {what} | {reason(error)} |")
        return None
    finally:
        gc.collect()


def reason(error: Exception) -> str:
    """One line of it."""
    text = (str(error).strip() or "no message").splitlines()[0].replace("|", "/")
    return "out of memory" if "RESOURCE_EXHAUSTED" in text else f"failed: {type(error).__name__}: {text[:160]}"


def in_time(options: Options) -> bool:
    """Whether new work may start."""
    return time.time() < options.deadline


def side(options: Options) -> int:
    """The largest size up to 256."""
    return max((n for n in options.sizes if n <= 256), default=min(options.sizes))
