"""Reads runs back: their series, recorded arrays and snapshots as xarray datasets, and their status."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.reading.hours import device_hours
    from solver.reading.outcome import AFTER_BLOW_UP, RunStatus, run_status
    from solver.reading.run import OpenRun, open_run, recorded_names

__getattr__ = imported_when_used(__name__, __file__)

__all__ = ["AFTER_BLOW_UP", "OpenRun", "RunStatus", "device_hours", "open_run", "recorded_names", "run_status"]
