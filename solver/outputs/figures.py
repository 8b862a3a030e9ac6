"""What the outputs' figures have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def pyplot() -> Any:
    """matplotlib's pyplot, drawing into files.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the message says how it is.
    """
    try:
        import matplotlib
    except ImportError:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'slabwave[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save(figure: Any, target: Path) -> list[Path]:
    """Write a figure and close it."""
    figure.savefig(target, dpi=130)
    pyplot().close(figure)
    return [target]
