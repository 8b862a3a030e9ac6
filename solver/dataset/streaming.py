"""The members of a data set as arrays on the devices, made one after another as a training loop needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver import assemble
from solver.config import Config, ConfigError
from solver.config.ensemble import MOST_AGAIN
from solver.dataset.contents import Trajectory, data_set_of, drawn_once_more
from solver.grid import Grid
from solver.loop import BlowUp, reached
from solver.mesh import AnyMesh, device_mesh
from solver.outputs.at_points import Selection
from solver.outputs.well import PARTS, Well, well_variables


@dataclass(frozen=True)
class Streamed:
    """A member as in the files of a data set, in the grid's precision.

    Args:
        number: number of the member.
        part: `train`, `valid` or `test`.
        values: the values of the member that differ from the run file, by key.
        scalars: its numbers, by the names that they have in the files.
        times: times of the states, `(time,)`.
        fields: by name: `(time, x, y[, z])`, of a vector `(time, x, y[, z], D)`, of a tensor `(…, D, D)`.
        dimensions: number of dimensions in space.
    """

    number: int
    part: str
    values: Mapping[str, Any]
    scalars: Mapping[str, float]
    times: np.ndarray
    fields: dict[str, Array]
    dimensions: int

    def since(self, t: float) -> Streamed:
        """The member without the states before time t, such as those in which a flow still settles.

        Raises:
            ValueError: all times are before t.
        """
        first = int(np.searchsorted(self.times, t - 1e-9 * abs(t)))
        if first == len(self.times):
            raise ValueError(f"member {self.number} since t = {t:g}: its last time is {self.times[-1]:g}")
        kept = {name: values[first:] for name, values in self.fields.items()}
        return replace(self, times=self.times[first:], fields=kept)


def stream(
    run_file: str | Path | Config,
    *,
    part: str | None = None,
    members: Sequence[int] | None = None,
    overrides: Sequence[str] = (),
) -> Iterator[Streamed]:
    """Carry out the members of an ensemble with `[output.well]`, and give each as arrays; no file is written.

    Fields have the values of the files that `slabwave run` makes on as many devices, before they are rounded to single
    precision: the same draws, members that blow up drawn again, the same times, names and parts. Of a vector the axis
    of its D components is the last, of a tensor the last two. Units come from the equation. Each array is split over
    the devices along x (pencils: and y) where they divide it, never along time; all times of one member are on the
    devices at once, in the grid's precision. Members that differ in numbers alone share one compiled program, and the
    next one is stepped when it is needed. Of `[output]` only the times count; `time.energy_limit` does not end a
    member. Collective: every process of a job takes the same members.

    Args:
        run_file: a run file, or one that was read.
        part: `train`, `valid` or `test`; all members if None.
        members: numbers of the members, in the order in which they are wanted; all by default.
        overrides: `section.key=value`, with a file.

    Returns:
        An iterator of members. Those that blow up as often as they are drawn are left out, as of the files.

    Raises:
        ConfigError: a run file that cannot work, or has no `[ensemble]` or no `[output.well]`; at once, not at the
            first member.
        ValueError: a part or member that is not there.
    """
    config = _read(run_file, overrides)
    if not config.members or "well" not in config.outputs:
        raise ConfigError("stream: a run file with [ensemble] and [output.well] is needed")
    if part not in (None, *PARTS):
        raise ValueError(f"part {part!r}: one of {', '.join(PARTS)} is needed")
    numbers = range(len(config.members)) if members is None else members
    for number in numbers:
        if not 0 <= number < len(config.members):
            raise ValueError(f"member {number}: a number from 0 to {len(config.members) - 1} is needed")
    count = len(config.devices.use or jax.devices())
    assemble.check_device_count(config, count)
    mesh = device_mesh(config.devices.use, shape=assemble.mesh_shape(config, count))
    return _members(config, mesh, numbers, part)


def _read(run_file: str | Path | Config, overrides: Sequence[str]) -> Config:
    if not isinstance(run_file, Config):
        return assemble.read_run_file(run_file, overrides)
    if overrides:
        raise ConfigError(f"{overrides[0]!r}: overrides belong to a file; a run file that was read is given")
    return assemble.resolve(run_file)


def _members(config: Config, mesh: AnyMesh, numbers: Sequence[int], part: str | None) -> Iterator[Streamed]:
    known = {each.number: each.part for each in data_set_of(config, Path(config.directory)).trajectories}
    for number in numbers:
        if part is None or known[number] == part:
            yield from _member(config, mesh, number)


def _member(config: Config, mesh: AnyMesh, number: int) -> Iterator[Streamed]:
    """The member, drawn again where it blows up; nothing if it does so every time."""
    for _ in range(1 + MOST_AGAIN):
        try:
            times, fields = _carried_out(config.members[number], mesh)
        except BlowUp:
            again = drawn_once_more(config, [number])
            if not again:
                return
            config = config.drawn_again(again)
            continue
        described: Trajectory = data_set_of(config, Path(config.directory)).trajectories[number]
        dimensions = len(config.grid.shape)
        yield Streamed(number, described.part, described.values, described.scalars, times, fields, dimensions)
        return


def _carried_out(config: Config, mesh: AnyMesh) -> tuple[np.ndarray, dict[str, Array]]:
    """The times and fields of one run."""
    assembly = assemble.Assembly(config, mesh)
    simulation = assembly.simulation
    well: Well = config.outputs["well"].make()
    times: list[float] = []
    values: dict[str, list[Array]] = {}
    for state in simulation.states(assembly.start()):
        if well.is_due(state, start=not times, end=reached(state, simulation.end)):
            times.append(float(state.t))
            made = well_variables(assembly.equation.at_time(state.t), Selection(well.fields), state.field, state.t)
            for name, variable in made.items():
                values.setdefault(name, []).append(variable.values)
    return np.array(times), {name: _stacked(each, assembly.grid) for name, each in values.items()}


def _stacked(values: list[Array], grid: Grid) -> Array:
    """Values at all times: `(time, x, y, z)`, with the components behind."""
    shape, d = grid.physical_shape, grid.dimensions
    components = values[0].shape[: values[0].ndim - d]
    order = 0 if not components else 1 if components[0] == d else 2
    sharding = NamedSharding(grid.mesh, PartitionSpec(None, *grid.physical_sharding().spec))

    def stack(each: list[Array]) -> Array:
        whole = jnp.stack(each)
        return (jnp.moveaxis(whole, 1, -1) if order else whole).reshape(len(each), *shape, *(d,) * order)

    return jax.jit(stack, out_shardings=sharding)(values)
