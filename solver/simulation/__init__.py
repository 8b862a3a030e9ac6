"""A whole run: its directory, its first state, stepping with outputs in the pauses, and how it ends."""

from solver.simulation.branch import record_branch, with_time_of
from solver.simulation.description import run_table
from solver.simulation.directory import locked_run_directory, refuse_earlier_end, refuse_occupied, refuse_other_physics
from solver.simulation.limits import Limits
from solver.simulation.output_list import OutputList
from solver.simulation.pauses import Listener, Pause
from solver.simulation.profile import Profile
from solver.simulation.simulation import Simulation
from solver.simulation.stepping import simulate
from solver.simulation.stop_conditions import StopConditions

__all__ = [
    "Limits",
    "Listener",
    "OutputList",
    "Pause",
    "Profile",
    "Simulation",
    "StopConditions",
    "locked_run_directory",
    "record_branch",
    "refuse_earlier_end",
    "refuse_occupied",
    "refuse_other_physics",
    "run_table",
    "simulate",
    "with_time_of",
]
