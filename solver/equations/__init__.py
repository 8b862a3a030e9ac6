"""The equations, one file each. They can be imported from here, and with them what one of your own is made with."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.dynamics.advection_rate import advection_rate as advection_rate
from solver.dynamics.any_equation import AnyEquation as AnyEquation
from solver.dynamics.checks import require as require
from solver.dynamics.companion import Companion as Companion, CompanionWarning as CompanionWarning
from solver.dynamics.equation import Equation as Equation
from solver.dynamics.passive_scalars import PassiveScalar as PassiveScalar
from solver.dynamics.report import Report as Report
from solver.dynamics.split_equation import SplitEquation as SplitEquation
from solver.dynamics.start_changes import ChangedStart as ChangedStart
from solver.dynamics.start_warnings import IdleForcing as IdleForcing, UnsolvedModes as UnsolvedModes
from solver.dynamics.table import Table as Table
from solver.dynamics.write import write as write
from solver.equations.mean_field import Vector as Vector, magnetic_helicity as magnetic_helicity
from solver.spaces.field import Field as Field


def __getattr__(name: str) -> Any:
    return public_class(__name__, AnyEquation, name)


def __dir__() -> list[str]:
    return public_names(__name__, AnyEquation)
