"""What outputs ask of an equation's vector fields and components."""

from __future__ import annotations

import jax
from jaxtyping import Array

from solver.equations.system import PeriodicSystem
from solver.operators import Fields

AXES = "xyz"


def vector_prefixes(equation: PeriodicSystem, output: str, *, needed: bool = True) -> dict[str, str]:
    """Each vector field with what the names of its columns begin with: nothing for the first, which is the velocity.

    Raises:
        ValueError: the equation has none although one is `needed`.
    """
    names: list[str] = []  # noted while tracing: what `eval_shape` returns is sorted
    jax.eval_shape(lambda fields: names.extend(equation.vectors(fields)), equation.field_shapes())
    if needed and not names:
        raise ValueError(
            f"output {output}: {equation.name} has the fields {', '.join(equation.fields)}; a vector field is needed"
        )
    return {name: f"{name}_" if i else "" for i, name in enumerate(names)}


def has_density(equation: PeriodicSystem) -> bool:
    """Whether the equation names a density."""
    return jax.eval_shape(lambda values: equation.density(values), equation.values_at_points()) is not None


def require_density(equation: PeriodicSystem, output: str) -> None:
    """Raises ValueError where the equation names no density."""
    if not has_density(equation):
        raise ValueError(
            f"output {output}: {equation.name} has the fields {', '.join(equation.fields)}; a density is needed, "
            "as that of a wavefunction"
        )


def density_of(equation: PeriodicSystem, fields: Fields) -> Array:
    """The equation's density at the points."""
    density = equation.density(equation.to_physical(fields))
    assert density is not None  # `check` has asked
    return density


def component_coefficients(equation: PeriodicSystem, fields: Fields) -> dict[str, tuple[str, Array]]:
    """Each component by name: the field it belongs to, and its coefficients."""
    found = {}
    for name, hats in equation.coefficients(fields).items():
        for component, u_hat in zip(equation.component_names(name), hats, strict=True):
            found[component] = (name, u_hat)
    return found


def components(equation: PeriodicSystem) -> dict[str, str]:
    """Each component by name, with the field it belongs to."""
    return {component: name for name in equation.fields for component in equation.component_names(name)}
