"""A passive scalar in a uniform wind and a cellular flow, in one, two and three dimensions."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.equation import Equation
from solver.equations.mean_field import Vector
from solver.operators import Fields
from solver.spaces.field import Field
from solver.written import Text


@cache
def _text(has_wind: bool, has_cells: bool) -> Text:
    """The equation, with or without a constant wind and cells of flow."""
    wind = " - velocity@grad(c)" if has_wind else ""
    cells = " - dx(v_x*c) - dy(v_y*c)" if has_cells else ""
    flow = [*(["velocity"] if has_wind else []), *(["v_x*ex + v_y*ey"] if has_cells else [])]
    speeds = {"v_x": "cell_speed*sin(a*x)*cos(b*y)", "v_y": "-cell_speed*a/b*cos(a*x)*sin(b*y)"}
    return Text(
        write=f"dt(c) = diffusivity*lap(c){wind}{cells}",
        fields={"c": "scalar"},
        define=speeds if has_cells else {},
        parameters={
            "diffusivity": "scalar",
            **({"velocity": "vector"} if has_wind else {}),
            **(dict.fromkeys(["cell_speed", "a", "b"], "scalar") if has_cells else {}),
        },
        flows={"flow": " + ".join(flow)} if flow else {},
        energies={},
        series={
            "variance": "(c - mean(c))**2",
            "dissipation": "2*diffusivity*grad(c)@grad(c)",
            "min_c": "min(c)",
            "max_c": "max(c)",
        },
        invariants={"variance": "(c - mean(c))**2"},
        conserved={"mean": "c"},
        limits={"diffusivity": ">= 0"},
        symbols={"velocity": "U", "cell_speed": "A", "diffusivity": "kappa"},
    )


class AdvectionDiffusion(Equation):
    """A scalar that a constant wind U and cells of flow carry and that diffuses, on a periodic box.

    U and κ are the linear part: without cells every step is exact and no transform is needed. With cells, a = 2πn/L_x
    and b = 2πn/L_y, a right-hand side costs one inverse transform and 2 forward; v is made of vectors along x and y,
    never stored. In 3-D the cells are alike along z. The mean ⟨c⟩ is conserved, and without diffusion the variance.
    With two-thirds dealiasing every retained mode is free of aliasing.

    Good values: A = 1, n = 1 to 4 in a box of 2π with κ = 1e-3 (boundary layers of width √(κ/(A a))).

    Args:
        grid: one to three dimensions, real fields; at least two with cells.
        diffusivity: κ ≥ 0 [length²/time].
        velocity: U, one number for each direction [length/time]; none if None.
        cell_speed: A, the largest velocity along x in the cells [length/time]; no cells if None.
        cell_periods: n ≥ 1, periods of the cells along x and y, static.

    Source: Childress, Phys. Earth Planet. Inter. 20 (1979) 172; Shraiman, Phys. Rev. A 36 (1987) 261.
    """

    diffusivity: ArrayLike
    velocity: Vector | None = None
    cell_speed: ArrayLike | None = None
    cell_periods: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "advection-diffusion"
    fields: ClassVar[dict[str, Field]] = {"c": Field(units="c")}

    def __check_init__(self) -> None:
        if self.velocity is not None and np.shape(self.velocity) != (self.grid.dimensions,):
            raise ValueError(f"velocity {self.velocity}: {self.grid.dimensions} numbers are needed")
        if self.cell_speed is None:
            return
        if self.grid.dimensions == 1:
            raise ValueError(f"cell_speed {self.cell_speed} in one dimension: cells need two or three")
        most = min(self.grid.layout.highest_mode(axis) for axis in (0, 1))
        if not 1 <= self.cell_periods <= most:
            raise ValueError(f"cell_periods {self.cell_periods}: this grid resolves 1 to {most}")

    @property
    def text(self) -> Text:  # type: ignore[override]
        """The equation, with wind and cells if there are any."""
        return _text(self.velocity is not None, self.cell_speed is not None)

    @classmethod
    def texts(cls, dimensions: int) -> list[Text]:
        return [_text(wind, cells) for wind in (False, True) for cells in (False, True)[: 1 + (dimensions > 1)]]

    def numbers(self) -> dict[str, Any]:
        given = {"diffusivity": self.diffusivity, "velocity": self.velocity, "cell_speed": self.cell_speed}
        a, b = (self.cell_periods * k for k in (*self.grid.fundamental, 0.0)[:2])
        cells = {} if self.cell_speed is None else {"a": a, "b": b}
        return {**{name: value for name, value in given.items() if value is not None}, **cells}

    def rate(self, fields: Fields) -> Array:
        """Σ_i max|U_i + v_i|/Δx_i [1/time], of the wind and the cells: wherever they are, and whatever c is."""
        speeds = [jnp.zeros((), self.grid.dtype)] * self.grid.dimensions
        if self.velocity is not None:
            speeds = [abs(jnp.asarray(u)) for u in self.velocity]
        if self.cell_speed is not None:
            largest = abs(jnp.asarray(self.cell_speed))
            across = largest * self.grid.fundamental[0] / self.grid.fundamental[1]
            speeds = [speeds[0] + largest, speeds[1] + across, *speeds[2:]]
        return jnp.asarray(sum(u / dx for u, dx in zip(speeds, self.grid.spacing, strict=True)))
