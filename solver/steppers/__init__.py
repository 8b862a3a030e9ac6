"""Time-stepping methods, by family; each is a tableau."""

from solver.steppers.base import State, Stepper, fitting, initial_state
from solver.steppers.exponential import ETDRK2, ETDRK3, ETDRK4
from solver.steppers.implicit import CNAB2, SBDF2
from solver.steppers.integrating_factor import IFRK2, IFRK3, IFRK4, LSRK3
from solver.steppers.split_step import Strang

__all__ = [
    "CNAB2",
    "ETDRK2",
    "ETDRK3",
    "ETDRK4",
    "IFRK2",
    "IFRK3",
    "IFRK4",
    "LSRK3",
    "SBDF2",
    "State",
    "Stepper",
    "Strang",
    "fitting",
    "initial_state",
]
