"""Time-stepping methods, by family."""

from solver.steppers.base import State, Stepper, initial_state
from solver.steppers.exponential import ETDRK4, phi_functions
from solver.steppers.integrating_factor import IFRK4
from solver.steppers.split_step import Strang

__all__ = ["ETDRK4", "IFRK4", "State", "Stepper", "Strang", "initial_state", "phi_functions"]
