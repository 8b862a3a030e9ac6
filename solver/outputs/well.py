"""well/: a member's trajectory for a data set in the layout of The Well, one small file for each of its times."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.io import Job, Variable, hold_snapshot, snapshot_path
from solver.io.hdf5 import read_hdf5
from solver.io.snapshots import variables_in
from solver.loop.schedule import TOLERANCE, multiple
from solver.operators import Fields
from solver.outputs.at_points import Selection, component_labels
from solver.outputs.output import Run
from solver.outputs.state_files import StateFolder
from solver.spaces import FOURIER
from solver.steppers.state import State

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Well(StateFolder):
    """Fields in single precision at uniform times; an ensemble makes a data set in The Well's layout of them.

    The start and the end of the run are among the times. A vector keeps its components, a tensor all D × D of them, a
    wavefunction is two scalars, and components with names of their own are a scalar each. Between walls the points
    across them are Gauss–Legendre points, and the walls are boundaries of the kind WALL. When all members are over,
    DATASET/data/{train,valid,test} and DATASET/stats.yaml are made in the ensemble's directory.

    Args:
        every_steps: not allowed, since times would not be uniform.
        every_time: time between two states, of which `time.end` is a multiple; needed.
        fields: names of the written quantities, from the equation's `snapshot`, from derived ones (`vorticity`, …), and
            `bodies`, 1 in a body and 0 in the fluid; if empty, all of `snapshot`, and `bodies` where there are some.
        members_per_file: largest number of members in each HDF5 file.
        split: parts of the members for training, validation and test; they sum to 1.
        dataset: name of the data set, and of its folder; the name of the ensemble's directory if empty.

    Raises:
        ValueError: no `every_time`, or `every_steps`, since its times would not be uniform; `members_per_file` below 1;
            a split that is not three parts that sum to 1; a name that is no name of a folder.
    """

    fields: tuple[str, ...] = ()
    members_per_file: int = 16
    split: tuple[float, ...] = (0.8, 0.1, 0.1)
    dataset: str = ""

    name: ClassVar[str] = "well"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)  # the files know periodic sides, and walls

    def fields_it_needs(self, equation: AnyEquation) -> Iterable[str]:
        return () if equation.grid.walls else super().fields_it_needs(equation)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every_steps is not None:
            raise ValueError(f"every_steps = {self.every_steps}: times that are uniform are needed: every_time")
        if self.members_per_file < 1:
            raise ValueError(f"members_per_file = {self.members_per_file}: 1 or more is needed")
        self._check_split()
        if self.dataset and (not self.dataset.isprintable() or Path(self.dataset).name != self.dataset):
            raise ValueError(f"dataset = {self.dataset!r}: the name of one folder is needed, without slashes")
        if self.dataset == "blown-up" or self.dataset.startswith("member-"):
            raise ValueError(f"dataset = {self.dataset!r}: the ensemble has folders of this name; another is needed")

    def _check_split(self) -> None:
        given = f"split = {list(self.split)}"
        if len(self.split) != len(PARTS):
            raise ValueError(f"{given}: three parts are needed: {', '.join(PARTS)}")
        if min(self.split) < 0 or not self.split[0] > 0:
            raise ValueError(f"{given}: parts of zero or more are needed, and a positive one for training")
        if abs(sum(self.split) - 1) > 1e-6:
            raise ValueError(f"{given}: it sums to {sum(self.split):.6g}; parts that sum to 1 are needed")

    @property
    def selection(self) -> Selection:
        """The quantities that are written of each state."""
        return Selection(self.fields, "float32")

    def check(self, equation: AnyEquation) -> None:
        super().check(equation)
        if self.every_time is None:
            raise ValueError("output.well.every_time is missing: it is needed, times of a data set are its multiples")
        self.selection.check(equation, "output.well")

    def check_times(self, end: float) -> None:
        assert self.every_time is not None
        count = round(end / self.every_time)
        if count < 1 or abs(multiple(count, self.every_time) - end) > TOLERANCE * self.every_time:
            raise ValueError(
                f"output.well.every_time = {self.every_time:g}: times that are uniform are needed, and time.end = "
                f"{end:g} is no multiple of it"
            )

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        return {self.name: _values.trace(self.selection, equation, state.field, state.t)}

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        return self.selection.bytes_of_point(equation) * math.prod(equation.grid.physical_shape)

    def resume(self, run: Run) -> None:
        assert self.every_time is not None
        for count, path in enumerate(self.files(run.directory)):
            with read_hdf5(path) as file:
                t, fields = float(file.attrs["time"]), variables_in(file)
            if abs(t - multiple(count, self.every_time)) > TOLERANCE * self.every_time:
                raise ConfigError(
                    f"output.well.every_time = {self.every_time:g}: {path} holds t = {t:g}, so that times would not be "
                    f"uniform; the interval that the run was begun with is needed"
                )
            if sorted(fields) != sorted(orders(run.equation, self.selection)):
                raise ConfigError(
                    f"output.well.fields: {path} holds {', '.join(fields)}; the fields that the run was begun with are "
                    "needed"
                )

    def _copied(self, run: Run, state: State) -> Job:
        equation, step = run.equation, int(state.step)
        return hold_snapshot(
            snapshot_path(self.folder(run.directory), step),
            well_variables(equation, self.selection, state.field, state.t),
            equation.grid,
            step,
            float(state.t),
            {"equation": equation.name, "symmetric": json.dumps(_symmetric(equation))},
            for_paraview=False,
        )


def well_variables(equation: AnyEquation, selection: Selection, fields: Fields, t: ArrayLike) -> dict[str, Variable]:
    """The fields of a state at time t as The Well has them, `(x, y, z)` or `(component, x, y, z)`.

    A vector has D components, a tensor D².
    """
    units, axes = equation.report.snapshot_units(), "xyz"[: equation.grid.dimensions]
    labels: list[tuple[str, ...]] = [(), tuple(axes), pairs(axes)]
    made = _values(selection, equation, fields, t)
    return {name: Variable(u, units.get(name, ""), labels[_order(u, len(axes))]) for name, u in made.items()}


def orders(equation: AnyEquation, selection: Selection) -> dict[str, int]:
    """Name and number of indices of each field of the data set; traces the fields, and computes nothing."""
    shapes = jax.eval_shape(lambda fields: _arranged(selection, equation, fields, 0.0), equation.field_shapes())
    return {name: _order(u, equation.grid.dimensions) for name, u in shapes.items()}


def _symmetric(equation: AnyEquation) -> list[str]:
    """Names of the equation's symmetric tensors."""
    return [name for name, field in equation.fields.items() if field.rank == "symmetric tensor"]


def _order(values: Any, dimensions: int) -> int:
    """The number of indices of a field `(x, y, z)` or `(component, x, y, z)`."""
    if values.ndim == dimensions:
        return 0
    return 1 if values.shape[0] == dimensions else 2


def pairs(axes: str) -> tuple[str, ...]:
    """Names of all components of a tensor: xx, xy, …, row by row."""
    return tuple(map("".join, product(axes, repeat=2)))


def _arranged(selection: Selection, equation: AnyEquation, fields: Fields, t: ArrayLike) -> dict[str, Array]:
    """The fields of a data set; components with names of their own, which are no vector, become scalars."""
    axes, made = "xyz"[: equation.grid.dimensions], {}
    both, half = pairs(axes), [pair for pair in pairs(axes) if pair == "".join(sorted(pair))]
    for name, u in selection.values(equation, fields, t).items():
        labels = component_labels(equation, name, u)
        if not labels or labels == tuple(axes):
            made[name] = u
        elif sorted(labels) in (sorted(half), sorted(both)):  # a symmetric tensor holds half of its components
            made[name] = jnp.stack([u[labels.index(pair if pair in labels else pair[::-1])] for pair in both])
        else:
            made |= {f"{name}_{label}": u[i] for i, label in enumerate(labels)}
    return made


_values = compiled(_arranged, static_argnums=0)
