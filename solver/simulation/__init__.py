"""A whole run: its directory, its first state, stepping with outputs in the pauses, and how it ends."""

from solver.simulation.directory import refuse_earlier_end, refuse_occupied, refuse_other_physics, taken_directory
from solver.simulation.early import EarlyStop
from solver.simulation.profile import Profile
from solver.simulation.stepping import Limits, OutputList, simulate

__all__ = [
    "EarlyStop",
    "Limits",
    "OutputList",
    "Profile",
    "refuse_earlier_end",
    "refuse_occupied",
    "refuse_other_physics",
    "simulate",
    "taken_directory",
]
