"""Time-stepping methods, by family; each is a tableau. Every stepper in this folder can be imported from here."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.steppers.handing_over import hand_over as hand_over
from solver.steppers.start import initial_state as initial_state
from solver.steppers.state import State as State
from solver.steppers.stepper import Stepper as Stepper, fitting as fitting


def __getattr__(name: str) -> Any:
    return public_class(__name__, Stepper, name)


def __dir__() -> list[str]:
    return public_names(__name__, Stepper)
