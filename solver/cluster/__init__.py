"""Joining and leaving the processes of a job, agreement between them, their end, and the log."""

from solver.cluster.agree import (
    Agreement,
    Disagreement,
    FailedElsewhere,
    any_process,
    barrier,
    is_first,
    largest,
    require_same,
)
from solver.cluster.cores import bound_cores
from solver.cluster.devices import (
    available_cores,
    forced_cpu_devices,
    keep_compiled_programs,
    keep_freed_memory,
    machine_memory,
    refuse_double_precision,
    set_up_jax,
    will_be_cpu,
)
from solver.cluster.failure import end_all, on_ending
from solver.cluster.join import join, meet, mismatches, report
from solver.cluster.launch import JOIN_SECONDS, Launch, LaunchError, NotAllThere, StoppedWaiting
from solver.cluster.launcher import find_launch
from solver.cluster.log import LOGGER, keep_output_to_python, log_to, start_log
from solver.cluster.service import service_client
from solver.cluster.time_limit import end_of_job, ends_by_limit, seconds_left
from solver.cluster.watchdog import Watchdog

__all__ = [
    "JOIN_SECONDS",
    "LOGGER",
    "Agreement",
    "Disagreement",
    "FailedElsewhere",
    "Launch",
    "LaunchError",
    "NotAllThere",
    "StoppedWaiting",
    "Watchdog",
    "any_process",
    "available_cores",
    "barrier",
    "bound_cores",
    "end_all",
    "end_of_job",
    "ends_by_limit",
    "find_launch",
    "forced_cpu_devices",
    "is_first",
    "join",
    "keep_compiled_programs",
    "keep_freed_memory",
    "keep_output_to_python",
    "largest",
    "log_to",
    "machine_memory",
    "meet",
    "mismatches",
    "on_ending",
    "refuse_double_precision",
    "report",
    "require_same",
    "seconds_left",
    "service_client",
    "set_up_jax",
    "start_log",
    "will_be_cpu",
]
