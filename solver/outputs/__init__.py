"""The outputs of a run: one class for each kind of output, with its schedule."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.outputs.output import Output as Output, Run as Run


def __getattr__(name: str) -> Any:
    return public_class(__name__, Output, name)


def __dir__() -> list[str]:
    return public_names(__name__, Output)
