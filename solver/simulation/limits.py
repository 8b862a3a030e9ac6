"""Limits that end a run early."""

from __future__ import annotations

from dataclasses import dataclass

from solver.config import STALL_SECONDS


@dataclass(frozen=True)
class Limits:
    """Limits that end a run early.

    Args:
        time_limit: seconds after the start of the process before which the run is to have stopped, with a checkpoint.
        stall: seconds without a step after which it is given up.
        energy: half the mean square of all fields beyond which the solution counts as blown up.

    Raises:
        ValueError: one that is not positive.
    """

    time_limit: float | None = None
    stall: float = STALL_SECONDS
    energy: float | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("wall_limit", self.time_limit),
            ("stall_limit", self.stall),
            ("energy_limit", self.energy),
        ):
            if value is not None and not value > 0:
                raise ValueError(f"{name} = {value}: a positive number is needed")
