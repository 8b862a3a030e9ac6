"""Runs read back: their series, recorded arrays and snapshots as xarray datasets, and how they ended."""

from solver.reading.hours import device_hours
from solver.reading.run import OpenRun, open_run, recorded_names
from solver.reading.standing import AFTER_BLOW_UP, Standing, standing

__all__ = ["AFTER_BLOW_UP", "OpenRun", "Standing", "device_hours", "open_run", "recorded_names", "standing"]
