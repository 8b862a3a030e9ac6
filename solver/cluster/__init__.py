"""Joining and leaving the processes of a job, agreement between them, signals, and the log."""

from solver.cluster.agree import Disagreement, any_process, barrier, is_first, largest, require_same
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
from solver.cluster.failure import end_all
from solver.cluster.join import join, report
from solver.cluster.launch import Launch, LaunchError
from solver.cluster.launcher import find_launch
from solver.cluster.log import LOGGER, log_to, start_log
from solver.cluster.signals import StopRequest

__all__ = [
    "LOGGER",
    "Disagreement",
    "Launch",
    "LaunchError",
    "StopRequest",
    "any_process",
    "available_cores",
    "barrier",
    "end_all",
    "find_launch",
    "forced_cpu_devices",
    "is_first",
    "join",
    "keep_compiled_programs",
    "keep_freed_memory",
    "largest",
    "log_to",
    "machine_memory",
    "refuse_double_precision",
    "report",
    "require_same",
    "set_up_jax",
    "start_log",
    "will_be_cpu",
]
