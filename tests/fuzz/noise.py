"""Random forces in a run of many memories: as large as their parameters say."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from reference import runs

from fuzz.running import RANDOM, Fault, Table, succeed, write
from fuzz.starts import sides

STEPS = 300
SHORT = 5e-5  # steps in units of the run file's: what the force has done does not act back yet
PLACES = ((0.1, 0.2, 0.3), (0.4, 0.9, 0.6), (0.8, 0.5, 0.7))
OF_SEVERAL_STEPS = ("cnab2", "sbdf2", "sbdf3")  # mix the forces of neighbouring steps


def forces_are_of_their_size(table: Table, folder: Path) -> str:
    """The mean square by which the changes of neighbouring steps differ is that of the random force.

    Of what differs from the same run without the force.
    """
    names = list(runs.system_of(table).fields)
    alone = "name" in table["forcing"]
    forced = {names[0]: table["forcing"]} if alone else table["forcing"]
    name, force = next((name, force) for name, force in forced.items() if force["name"] in RANDOM)
    if table["time"]["stepper"] in OF_SEVERAL_STEPS:
        return "random forces of several steps"
    dt = SHORT * table["time"].get("step", 0.01)
    if force["name"] == "white-noise":  # a step adds 2P dt to the mean square
        variance = 2 * (2 * force["power"] * dt)
    else:
        force = {**force, "correlation_time": 2 * dt}
        variance = 2 * (1 - np.exp(-1 / 2)) * force["rms"] ** 2 * dt**2
    time = {"stepper": table["time"]["stepper"], "step": dt, "end": STEPS * dt}
    moved = []
    for run, strength in (("noise", {}), ("calm", {"power": 0.0} if force["name"] == "white-noise" else {"rms": 0.0})):
        one = {**force, **strength}
        short = _at_places({**table, "forcing": one if alone else {**forced, name: one}, "time": time})
        path, into = write(short, folder, f"{run}.toml"), folder / run
        succeed(["run", path, f"output.directory={into}"], "random forces in short steps")
        moved.append(_values(into, name))
    found = float(np.mean(np.sum(np.diff(moved[0] - moved[1], n=2, axis=1) ** 2, axis=0)))
    if not 0.7 < found / variance < 1.4:
        raise Fault(f"{force['name']}: neighbouring steps differ by {found:.3g} in the mean square, not {variance:.3g}")
    return "random forces of their size"


def _at_places(table: Table) -> Table:
    """The run file with nothing written but values at some places after each step, in double precision."""
    grid = {**table["grid"], "precision": "float64"}
    at = [[float(share * side) for share, side in zip(place, sides(grid), strict=False)] for place in PLACES]
    devices = {key: value for key, value in table["devices"].items() if key != "exchange_precision"}
    return {**table, "grid": grid, "devices": devices, "output": {"points": {"every_steps": 1, "at": at}}}


def _values(into: Path, name: str) -> np.ndarray:
    """`(component, step, place)` of a field."""
    with h5py.File(into / "points.h5") as file:
        columns = [column for column in (name, *(f"{name}_{axis}" for axis in "xyz")) if column in file]
        return np.array([file[column][()] for column in columns])
