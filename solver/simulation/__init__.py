"""A whole run: its directory, its first state, stepping with outputs in the pauses, and its end."""

from solver.simulation.analysis_by_processes import analyse as analyse
from solver.simulation.description import run_table as run_table
from solver.simulation.directory import (
    locked_run_directory as locked_run_directory,
    refuse_earlier_end as refuse_earlier_end,
    refuse_occupied as refuse_occupied,
    refuse_other_physics as refuse_other_physics,
)
from solver.simulation.first_state import record_branch as record_branch, with_time_of as with_time_of
from solver.simulation.output_list import OutputList as OutputList
from solver.simulation.pauses import Listener as Listener, Pause as Pause
from solver.simulation.profile import Profile as Profile
from solver.simulation.shared import CommonFiles as CommonFiles, shared_directory as shared_directory
from solver.simulation.shared_files import SharedFiles as SharedFiles, shared_files as shared_files
from solver.simulation.simulation import Limits as Limits, Simulation as Simulation
from solver.simulation.stepping import (
    Running as Running,
    carry_out_together as carry_out_together,
    running as running,
    simulate as simulate,
)
from solver.simulation.stop_conditions import StopConditions as StopConditions
