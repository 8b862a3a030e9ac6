"""Optional packages, which only analysis in Python needs."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def needed(module: str, purpose: str, extra: str) -> Any:
    """Import a module of an optional package.

    Raises:
        ModuleNotFoundError: it is not installed; the message gives the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{purpose} needs {error.name}: pip install '.[{extra}]' in the checkout", name=error.name
        ) from None


def is_installed(module: str) -> bool:
    """True if a package can be imported; does not import it."""
    return importlib.util.find_spec(module) is not None
