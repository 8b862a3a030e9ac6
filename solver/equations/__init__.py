"""The equations, one file each, and what they share. Every equation in this folder can be imported from here."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.equations.any_equation import AnyEquation as AnyEquation
from solver.equations.base import Equation as Equation, SplitEquation as SplitEquation, advection_rate as advection_rate
from solver.equations.checks import require as require
from solver.equations.companion import Companion as Companion
from solver.equations.idle_forcing import IdleForcing as IdleForcing
from solver.equations.mhd import Vector as Vector, magnetic_helicity as magnetic_helicity
from solver.equations.report import Report as Report
from solver.equations.start_changes import ChangedStart as ChangedStart
from solver.equations.unsolved_modes import UnsolvedModes as UnsolvedModes
from solver.equations.write import write as write
from solver.spaces.field import Field as Field


def __getattr__(name: str) -> Any:
    return public_class(__name__, AnyEquation, name)


def __dir__() -> list[str]:
    return public_names(__name__, AnyEquation)
