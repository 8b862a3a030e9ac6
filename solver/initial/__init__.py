"""Initial fields: one frozen class each, parameters as leaves. Called with a grid they give values at the points."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.initial.initial import Initial as Initial
from solver.initial.wavefunctions import CORE_RADIUS as CORE_RADIUS


def __getattr__(name: str) -> Any:
    return public_class(__name__, Initial, name)


def __dir__() -> list[str]:
    return public_names(__name__, Initial)
