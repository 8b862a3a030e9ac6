"""extremes.h5: largest and smallest values, and their positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from solver.config import nearest
from solver.diagnostics import largest, smallest
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derived import density_at_points, density_name, name_apart, space_of_vector
from solver.io import Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import AXES


@dataclass(frozen=True)
class Extremes(Records):
    """Largest and smallest value of every component, and their points: `Q_max`, `Q_max_x`, `Q_max_y`, …, `Q_min`, ….

    Quantities are real components; `density`; `speed`, |u| of the first vector field; its `vorticity`, |ω| in 3-D and ω
    in 2-D. A field keeps its name: if a field is called `density` or `speed`, the quantity of this name has the name of
    its source in front, such as `psi_density`; if a field is called `vorticity`, the quantity is left out. Of several
    equal values the first in the order of x, then y, then z counts. Costs one inverse transform of each quantity, and
    all-reduces of numbers.

    Args:
        quantities: names of the quantities; all that the equation has if empty.
    """

    quantities: tuple[str, ...] = ()

    name: ClassVar[str] = "extremes"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        known = list(jax.eval_shape(lambda fields: _quantities(equation, fields), equation.field_shapes()))
        for name in self.quantities:
            if name not in known:
                raise ValueError(f"output extremes: unknown quantity {name!r}{nearest(name, known)}")
        columns = {}
        for name in self.quantities or known:
            for which, text in (("max", "largest value"), ("min", "smallest value")):
                columns[f"{name}_{which}"] = Column((), "", f"{text} of {name}")
                for axis in AXES[: equation.grid.dimensions]:
                    columns[f"{name}_{which}_{axis}"] = Column((), "length", f"{axis} of the {text} of {name}")
        return RecordsLayout({}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns, quantities = {}, _quantities(equation, fields)
        for name in self.quantities or quantities:
            for which, search in (("max", largest), ("min", smallest)):
                value, place = search(quantities[name], equation.grid)
                columns[f"{name}_{which}"] = value
                columns |= {f"{name}_{which}_{axis}": x for axis, x in zip(AXES, place, strict=False)}
        return columns


def _quantities(equation: AnyEquation, fields: Fields) -> dict[str, Array]:
    """Real values at the points, by name."""
    quantities: dict[str, Array] = {}
    values = equation.to_physical(fields)
    for name, u in values.items():
        if equation.fields[name].real:
            quantities |= dict(zip(equation.space(name).component_names, u, strict=True))
    vectors = equation.report.vectors(fields)
    if vectors and equation.grid.dimensions > 1:
        name, u_hat = next(iter(vectors.items()))
        space = space_of_vector(equation, name)
        u = values[name] if name in values else space.inverse(u_hat)
        omega = space.curl(u_hat)
        quantities[name_apart(equation, "speed", name)] = jnp.sqrt(jnp.sum(u**2, axis=0))
        quantities.setdefault("vorticity", omega[0] if len(omega) == 1 else jnp.sqrt(jnp.sum(omega**2, axis=0)))
    density = density_at_points(equation, values)
    return quantities if density is None else {**quantities, density_name(equation): density}
