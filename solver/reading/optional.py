"""Packages that only reading for analysis needs."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def needed(module: str, purpose: str, extra: str) -> Any:
    """A module of an optional package.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how it is.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{purpose} needs {error.name}: pip install 'slabwave[{extra}]'", name=error.name
        ) from None


def is_installed(module: str) -> bool:
    """Whether a package can be imported; nothing is."""
    return importlib.util.find_spec(module) is not None
