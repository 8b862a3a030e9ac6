"""wall-slopes.h5: slopes at both walls, which wall shear and wall heat flux are made of, as fields along the walls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics.sums import on_every_device
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import AXES
from solver.spaces.polynomials import PolynomialSpace
from solver.walls.conditions import LOWER, UPPER

SIDES = (LOWER, UPPER)
NUMBERS: dict[str, Callable[[Array], Array]] = {"mean": jnp.mean, "max": jnp.max, "min": jnp.min}


@dataclass(frozen=True)
class WallSlopes(Records):
    """∂A/∂z at each wall, `A_slope_lower` and `A_slope_upper`, of components A that may have one; along x and y.

    ν ∂u/∂z is the wall shear stress of a velocity u, and −κ ∂T/∂z the flux of a scalar T. Of a velocity without
    divergence there are the components along the walls, and in three dimensions `U_shear_lower`, `U_shear_upper`, the
    size of their slopes. Each quantity Q has its mean, its largest and its smallest value over the wall: `Q_mean`,
    `Q_max`, `Q_min`. The slopes are derivatives of the polynomials at the walls. Costs a transform along the walls of
    each component, an all-reduce of the planes and of the numbers.

    Args:
        planes: False for the numbers alone.
    """

    planes: bool = True

    name: ClassVar[str] = "wall-slopes"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        grid = equation.grid
        if not grid.walls or grid.dimensions == 1:
            raise ValueError(f"output wall-slopes: {grid.box}: two or three dimensions and walls are needed")
        along = {AXES[j]: Axis(grid.coordinates()[j].ravel(), "length") for j in range(grid.dimensions - 1)}
        columns: dict[str, Column] = {}
        for name, units, text in _quantities(equation):
            columns |= {name: Column(tuple(along), units, text)} if self.planes else {}
            columns |= {f"{name}_{what}": Column((), units, f"{what} over the wall of {name}") for what in NUMBERS}
        return RecordsLayout(along if self.planes else {}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        grid, columns = equation.grid, dict[str, Array]()
        for name in equation.fields:
            space = equation.space(name)
            assert isinstance(space, PolynomialSpace)
            at_walls = space.at_walls(space.across(space.series(fields[name])))
            for side, slopes in zip(SIDES, at_walls, strict=True):
                columns |= {f"{a}_slope_{side}": v for a, v in zip(_sheared(equation, name), slopes, strict=False)}
                if equation.fields[name].solenoidal and grid.dimensions == 3:
                    columns[f"{name}_shear_{side}"] = jnp.sqrt(jnp.sum(slopes[:-1] ** 2, axis=0))
        numbers = {f"{name}_{what}": fn(v) for name, v in columns.items() for what, fn in NUMBERS.items()}
        whole = on_every_device(jnp.stack([*columns.values()]), grid.horizontal) if self.planes else ()
        return {**dict(zip(columns, whole, strict=False)), **numbers}


def _sheared(equation: AnyEquation, name: str) -> tuple[str, ...]:
    """Components of a field that may have a slope at a wall."""
    parts = equation.space(name).component_names
    return parts[:-1] if equation.fields[name].solenoidal else parts


def _quantities(equation: AnyEquation) -> Iterator[tuple[str, str, str]]:
    """Name, units and description of each quantity."""
    axis = AXES[equation.grid.dimensions - 1]
    for name, field in equation.fields.items():
        known = {"length/time": "1/time", "1": "1/length", "": ""}
        units = known.get(field.units, f"({field.units})/length")
        for side in SIDES:
            for part in _sheared(equation, name):
                yield f"{part}_slope_{side}", units, f"d{axis} {part} at the {side} wall"
            if field.solenoidal and equation.grid.dimensions == 3:
                yield f"{name}_shear_{side}", units, f"size of d{axis} {name} at the {side} wall"
