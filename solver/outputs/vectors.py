"""Vector fields and components of an equation, for outputs."""

from __future__ import annotations

import jax
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.derived import density_at_points, space_of_vector
from solver.grid import Grid
from solver.io import Axis
from solver.operators import Fields

AXES = "xyz"


def vector_prefixes(equation: AnyEquation, output: str, *, needed: bool = True) -> dict[str, str]:
    """Each vector field with the prefix of its columns' names: empty for the first, which is the velocity.

    Raises:
        ValueError: `needed`, and the equation has no vector field.
    """
    names: list[str] = []  # filled while tracing, since `eval_shape` returns sorted names
    jax.eval_shape(lambda fields: names.extend(equation.report.vectors(fields)), equation.field_shapes())
    if needed and not names:
        raise ValueError(
            f"output {output}: {equation.name} has the fields {', '.join(equation.fields)}; a vector field is needed"
        )
    return {name: f"{name}_" if i else "" for i, name in enumerate(names)}


def fields_of_vectors(equation: AnyEquation) -> set[str]:
    """The fields among the vectors; in place of a vector that is not a field, the first field."""
    names = vector_prefixes(equation, "", needed=False)
    return {name if name in equation.fields else equation.first_field for name in names}


def vectors_at_points(equation: AnyEquation, fields: Fields) -> Fields:
    """Vectors of the report at the points that are no fields of the equation."""
    vectors = {name: u for name, u in equation.report.vectors(fields).items() if name not in equation.fields}
    return {name: space_of_vector(equation, name).inverse(u_hat) for name, u_hat in vectors.items()}


def component_names(equation: AnyEquation, name: str) -> tuple[str, ...]:
    """Names of the components of a field, or of a vector of the report."""
    if name in equation.fields:
        return equation.space(name).component_names
    return tuple(f"{name}_{axis}" for axis in AXES[: equation.grid.dimensions])


def real_fields(equation: AnyEquation, output: str) -> dict[str, str]:
    """Units of the real fields, and of the vectors of the report that are no fields, by name."""
    fields = {name: field.units for name, field in equation.fields.items() if field.real}
    vectors = vector_prefixes(equation, output, needed=False)
    return {**dict.fromkeys(vectors, "length/time"), **fields}


def components_by_height(equation: AnyEquation, output: str) -> dict[str, str]:
    """Units of the components of real fields, and of a velocity that is no field, by name.

    Raises:
        ValueError: the box has one dimension, or the equation has no real field.
    """
    if equation.grid.dimensions == 1:
        raise ValueError(f"output {output}: one dimension; two or three are needed")
    fields = real_fields(equation, output)
    if not fields:
        raise ValueError(f"output {output}: {equation.name} has no real field; one is needed")
    return {part: units for name, units in fields.items() for part in component_names(equation, name)}


def values_by_component(equation: AnyEquation, fields: Fields, output: str) -> Fields:
    """Values at the points of the components of `components_by_height`, each `(x, y, z)`."""
    at_points = {**equation.to_physical(fields), **vectors_at_points(equation, fields)}
    named = ((component_names(equation, name), at_points[name]) for name in real_fields(equation, output))
    return {part: values for names, parts in named for part, values in zip(names, parts, strict=True)}


def heights(grid: Grid) -> tuple[str, Axis]:
    """The last direction and the places of its planes, as an axis of records."""
    axis = AXES[grid.dimensions - 1]
    text = "distance from the lower wall" * bool(grid.walls)
    return axis, Axis(grid.coordinates()[-1].ravel(), "length", text)


def has_density(equation: AnyEquation) -> bool:
    """True if the equation has a density."""
    return jax.eval_shape(lambda values: density_at_points(equation, values), equation.values_at_points()) is not None


def require_density(equation: AnyEquation, output: str) -> None:
    """Raises ValueError if the equation has no density."""
    if not has_density(equation):
        raise ValueError(
            f"output {output}: {equation.name} has the fields {', '.join(equation.fields)}; a density is needed, "
            "as that of a wavefunction"
        )


def density_of(equation: AnyEquation, fields: Fields) -> Array:
    """The equation's density at the points."""
    density = density_at_points(equation, equation.to_physical(fields))
    assert density is not None  # checked before the run
    return density


def component_coefficients(equation: AnyEquation, fields: Fields) -> dict[str, tuple[str, Array]]:
    """For each component by name, its field and its coefficients."""
    coefficients = {}
    for name, hats in equation.coefficients(fields).items():
        for component, u_hat in zip(equation.space(name).component_names, hats, strict=True):
            coefficients[component] = (name, u_hat)
    return coefficients


def components(equation: AnyEquation) -> dict[str, str]:
    """For each component by name, its field."""
    return {component: name for name in equation.fields for component in equation.space(name).component_names}
