"""A figure of a state in Python, drawn as `slabwave plot` draws a snapshot."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax

from solver.dynamics.any_equation import AnyEquation
from solver.io import read_snapshot, write_snapshot
from solver.outputs.at_points import Selection, attributes_of, variables
from solver.pictures import View
from solver.pictures.drawn_slices import figure_of
from solver.steppers import State


def plot(
    equation: AnyEquation,
    state: State,
    field: str | None = None,
    *,
    component: str | None = None,
    plane: str | None = None,
    at: float | None = None,
    dark: bool = False,
) -> Any:
    """A figure of a state: an image of each component in two dimensions, of a plane in three, curves in one.

    Args:
        equation: the state's equation.
        state: a state, from `initial_state`, `integrate`, `evolve` or `load_checkpoint`.
        field: name of a field, or of one that is made of the stored ones, such as `vorticity`, `speed` or `density`
            (docs/pictures.md); all stored fields if None.
        component: label of a component; all if None.
        plane: `xy`, `xz` or `yz`, in three dimensions.
        at: position of the plane on the third axis [length].
        dark: light lines on a dark page.

    Returns:
        A matplotlib figure, which a notebook shows and `figure.savefig("flow.png")` writes. The values are transformed
        to the points on the devices of the state and copied to the host.

    Raises:
        ValueError: the equation has no such field, component or plane, or there are several processes: they write
            snapshots instead, for `slabwave plot`.
        ModuleNotFoundError: matplotlib is not installed: the extra `plot` is needed.
    """
    if jax.process_count() > 1:
        raise ValueError(f"plot in {jax.process_count()} processes: one is needed; `slabwave plot` draws snapshots")
    view = View(field=field, component=component, plane=plane, at=at, dark=dark)
    written = variables(equation.at_time(state.t), Selection(), state.field, state.t)
    about = attributes_of(equation, equation.name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.h5"
        write_snapshot(path, written, equation.grid, int(state.step), float(state.t), about)
        return figure_of(read_snapshot(path), view)
