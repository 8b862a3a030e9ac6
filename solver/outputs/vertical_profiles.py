"""vertical-profiles.h5: means over planes, against the last direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import plane_mean
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derived import kinematic_viscosity, space_of_vector
from solver.dynamics.pressure import PRESSURE, Pressure
from solver.io import Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records, refuse_twice
from solver.outputs.vectors import (
    AXES,
    component_names,
    components_by_height,
    heights,
    real_fields,
    vectors_at_points,
)

VISCOSITY = "viscosity"


@dataclass(frozen=True)
class VerticalProfiles(Records):
    """Means over planes z = constant (lines y = constant in two dimensions), between walls or in a periodic box.

    Of all components A, B of real fields, and of a velocity that is no field: the mean `A`, its derivative across the
    planes `A_slope`, the means `A_B` of products of two and `A_A_A` of cubes; of each field F the mean of the square of
    its gradient, `F_gradient_square`, and of each vector V the flux of ½|V|² across the planes, `V_transport`. If the
    equation has a pressure p, A may be p, and `pressure_strain_ij` are the means of p (∂u_i/∂x_j + ∂u_j/∂x_i).
    `viscosity` is ν. Stresses, variances, skewness and the budget of the turbulent energy follow from their means over
    time: `sw.turbulence(statistics)`. Devices multiply deviations from the means of the planes, so that single
    precision keeps small variances of large fields. Costs inverse transforms of the fields and of their gradients, an
    evaluation of N for the pressure, and all-reduces of the means.

    Args:
        pressure: False to leave out the pressure.

    Source: Pope, Turbulent Flows (2000), chapter 7.
    """

    pressure: bool = True

    name: ClassVar[str] = "vertical-profiles"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        components_by_height(equation, self.name)
        columns, (axis, places) = [*_columns(equation, self._pressure(equation))], heights(equation.grid)
        refuse_twice([name for name, _, _ in columns])
        made = {name: Column((axis,), units, text) for name, units, text in columns}
        if _viscosity(equation) is not None and VISCOSITY not in made:
            made[VISCOSITY] = Column((), "length^2/time", "kinematic viscosity")
        return RecordsLayout({axis: places}, made)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return _means_of_products(self.values_at(equation, fields, 0.0))

    def values_at(self, equation: AnyEquation, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        """The columns, with deviations from the means of the planes in all products."""
        vectors = equation.report.vectors(fields)
        at_points = {**equation.to_physical(fields), **vectors_at_points(equation, fields)}
        pressure = self._pressure(equation)
        parts: dict[str, Array] = {}
        columns: dict[str, Array] = {}
        for name in _fields(equation):
            u, own = at_points[name], component_names(equation, name)
            slopes = space_of_vector(equation, name).gradient(fields[name] if name in fields else vectors[name])
            parts |= dict(zip(own, u, strict=True))
            columns |= {f"{one}_slope": slope for one, slope in zip(own, slopes[-1], strict=True)}
            columns[f"{name}_gradient_square"] = jnp.sum(slopes**2, axis=(0, 1))
            if _is_vector(equation, name):
                columns[f"{name}_transport"] = u[-1] * jnp.sum(u**2, axis=0) / 2
            if pressure is not None and name == pressure.name:
                p = pressure.coefficients(fields)
                parts[PRESSURE] = pressure.space.inverse(p)[0]
                columns[f"{PRESSURE}_slope"] = pressure.space.gradient(p)[-1, 0]
                columns |= {
                    f"{PRESSURE}_strain_{AXES[i]}{AXES[j]}": parts[PRESSURE] * (slopes[i, j] + slopes[j, i])
                    for i, j in combinations_with_replacement(range(len(u)), 2)
                }
        means = {name: plane_mean(part, equation.grid) for name, part in parts.items()}
        apart = {name: part - means[name] for name, part in parts.items()}
        columns |= {f"{a}_{b}": apart[a] * apart[b] for a, b in combinations_with_replacement(parts, 2)}
        columns |= {f"{a}_{a}_{a}": deviation**3 for a, deviation in apart.items()}
        means |= {name: plane_mean(column, equation.grid) for name, column in columns.items()}
        viscosity = _viscosity(equation)
        if viscosity is not None and VISCOSITY not in means:
            means[VISCOSITY] = jnp.asarray(viscosity, equation.grid.dtype)
        return means

    def recorded(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return _means_of_products({name: column.astype(np.float64) for name, column in values.items()})

    def _pressure(self, equation: AnyEquation) -> Pressure | None:
        return equation.report.velocity_pressure() if self.pressure else None


def _means_of_products(columns: Mapping[str, Any]) -> dict[str, Any]:
    """⟨A B⟩ and ⟨A³⟩ from ⟨A⟩, ⟨A'B'⟩ and ⟨A'³⟩, in the precision that the columns have."""
    made = dict(columns)
    means = {name: mean for name, mean in columns.items() if f"{name}_{name}_{name}" in columns}
    for a, b in product(means, repeat=2):
        if f"{a}_{b}" in columns:
            made[f"{a}_{b}"] = columns[f"{a}_{b}"] + means[a] * means[b]
    for a, mean in means.items():
        cube = f"{a}_{a}_{a}"
        made[cube] = columns[cube] + 3 * mean * columns[f"{a}_{a}"] + mean**3
    return made


def _viscosity(equation: AnyEquation) -> Any:
    """ν, if it is one number."""
    viscosity = kinematic_viscosity(equation)
    return viscosity if viscosity is not None and jnp.ndim(viscosity) == 0 else None


def _fields(equation: AnyEquation) -> dict[str, str]:
    return real_fields(equation, VerticalProfiles.name)


def _is_vector(equation: AnyEquation, name: str) -> bool:
    return name not in equation.fields or equation.fields[name].rank == "vector"


def _columns(equation: AnyEquation, pressure: Pressure | None) -> Iterator[tuple[str, str, str]]:
    """Name, units and description of each column with an axis."""
    names: dict[str, str] = {}
    for field, units in _fields(equation).items():
        names |= dict.fromkeys(component_names(equation, field), units)
        yield f"{field}_gradient_square", "", f"|grad {field}|^2, mean over planes"
        if _is_vector(equation, field):
            yield f"{field}_transport", "", f"flux of |{field}|^2/2 across planes"
        if pressure is not None and field == pressure.name:
            names |= {PRESSURE: pressure.field.units}
            for i, j in combinations_with_replacement(AXES[: equation.grid.dimensions], 2):
                text = f"pressure (d{j} {field}_{i} + d{i} {field}_{j}), mean over planes"
                yield f"{PRESSURE}_strain_{i}{j}", "", text
    for name, units in names.items():
        yield name, units, f"{name}, mean over planes"
        yield f"{name}_slope", "", f"derivative of {name} across planes, mean over them"
        yield f"{name}_{name}_{name}", "", f"{name}^3, mean over planes"
    for a, b in combinations_with_replacement(names, 2):
        yield f"{a}_{b}", "", f"{a} {b}, mean over planes"
