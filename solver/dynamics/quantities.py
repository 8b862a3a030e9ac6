"""Names of the quantities that are made of an equation's fields, and its density."""

from __future__ import annotations

from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.operators import Fields


def density_at_points(equation: AnyEquation, values: Fields) -> Array | None:
    """A density `(x, y, z)`, from values at the points: the equation's own, or else |ψ|² of the first wavefunction."""
    own = equation.report.density
    if own is not None:
        return own(values)
    for name, psi in values.items():
        if not equation.fields[name].real:
            return psi[0].real ** 2 + psi[0].imag ** 2
    return None


def name_apart(equation: AnyEquation, quantity: str, of: str) -> str:
    """The name of a quantity that is made of a vector or field, with that in front where another field is called so."""
    taken = {name for name in equation.fields if name != of}
    taken |= {component for space in equation.spaces.values() for component in space.component_names if component != of}
    return f"{of}_{quantity}" if quantity in taken else quantity


def density_name(equation: AnyEquation) -> str:
    """The name of the equation's density in files."""
    waves = [name for name, field in equation.fields.items() if not field.real]
    return name_apart(equation, "density", "own" if equation.report.density is not None or not waves else waves[0])
