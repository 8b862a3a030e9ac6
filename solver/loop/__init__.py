"""Stepping: `evolve`, with pauses that yield the state; `integrate` and `rollout`, pure functions."""

from solver.loop.batch import Modules as Modules, signature as signature
from solver.loop.controls import (
    Attempt as Attempt,
    FixedStep as FixedStep,
    KeepCFL as KeepCFL,
    MeetTolerance as MeetTolerance,
    StepControl as StepControl,
    check_end as check_end,
    check_step_control as check_step_control,
    step_control as step_control,
)
from solver.loop.course import BlowUp as BlowUp, Course as Course, evolve as evolve
from solver.loop.many import (
    Rows as Rows,
    evolve_members as evolve_members,
    integrate_members as integrate_members,
    places_for as places_for,
    rollout_members as rollout_members,
)
from solver.loop.members import Members as Members
from solver.loop.pure import integrate as integrate
from solver.loop.schedule import TOLERANCE as TOLERANCE, Schedule as Schedule, reached as reached
from solver.loop.step_function import StepFunction as StepFunction, step_function as step_function
from solver.loop.step_warnings import (
    LongStep as LongStep,
    RoundedTime as RoundedTime,
    long_step as long_step,
    long_step_at_start as long_step_at_start,
    rounded_time as rounded_time,
    rounded_time_at_start as rounded_time_at_start,
)
from solver.loop.steps import (
    StepLimits as StepLimits,
    advance as advance,
    advance_donating as advance_donating,
    trace_advance as trace_advance,
)
from solver.loop.sums import device_state as device_state, energy_of_all as energy_of_all
from solver.loop.trajectory import rollout as rollout
