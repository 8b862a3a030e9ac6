"""The equations, one file each, and what they share. Every equation in this folder can be imported from here."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.equations.base import Equation, SplitEquation, advection_rate
from solver.equations.field import Field
from solver.equations.mhd import Vector, magnetic_helicity
from solver.equations.system import PeriodicSystem, require

__all__ = [
    "Equation",
    "Field",
    "PeriodicSystem",
    "SplitEquation",
    "Vector",
    "advection_rate",
    "magnetic_helicity",
    "require",
]


def __getattr__(name: str) -> Any:
    return public_class(__name__, PeriodicSystem, name)


def __dir__() -> list[str]:
    return public_names(__name__, PeriodicSystem)
