"""Joining and leaving the processes of a job, agreement between them, their end, and the log."""

from solver.cluster.agree import (
    Agreement as Agreement,
    Disagreement as Disagreement,
    FailedElsewhere as FailedElsewhere,
    Group as Group,
    any_process as any_process,
    in_group as in_group,
    in_group_of as in_group_of,
    is_first as is_first,
    largest as largest,
    name_of_devices as name_of_devices,
    own_group as own_group,
    processes_of as processes_of,
    require_same as require_same,
)
from solver.cluster.devices import (
    available_cores as available_cores,
    forced_cpu_devices as forced_cpu_devices,
    keep_compiled_programs as keep_compiled_programs,
    keep_freed_memory as keep_freed_memory,
    machine_memory as machine_memory,
    refuse_double_precision as refuse_double_precision,
    set_up_jax as set_up_jax,
    will_be_cpu as will_be_cpu,
)
from solver.cluster.failure import end_all as end_all, on_ending as on_ending
from solver.cluster.join import join as join, meet as meet, mismatches as mismatches, report as report
from solver.cluster.launch import (
    JOIN_SECONDS as JOIN_SECONDS,
    Launch as Launch,
    LaunchError as LaunchError,
    NotAllThere as NotAllThere,
    StoppedWaiting as StoppedWaiting,
    bound_cores as bound_cores,
)
from solver.cluster.launcher import find_launch as find_launch
from solver.cluster.log import (
    LOGGER as LOGGER,
    keep_output_to_python as keep_output_to_python,
    log_of as log_of,
    log_to as log_to,
    start_log as start_log,
)
from solver.cluster.service import Messages as Messages, service_client as service_client
from solver.cluster.time_limit import (
    end_of_job as end_of_job,
    ends_by_limit as ends_by_limit,
    seconds_left as seconds_left,
)
from solver.cluster.transfers import Expected as Expected, transfers as transfers
from solver.cluster.watchdog import Watchdog as Watchdog
