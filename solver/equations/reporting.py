"""What outputs ask of an equation beside its dynamics.

Every equation has the columns, spectra and snapshots that its fields give; `Reporting` makes them, and an equation may
give others. What not every equation has is a protocol of one or two methods, and the function behind it gives what
outputs work with where the equation does not have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import dissipation_rate, gradient_tensor, shell_spectrum, weighted_mean_square
from solver.equations.budget import Budget
from solver.equations.changes import Changes
from solver.equations.system import PeriodicSystem
from solver.operators import Fields
from solver.written.energies import names_of_squares

Mask: TypeAlias = Callable[[Sequence[Any], ArrayLike], Array]  # of coordinates, which broadcast, and time


class Reporting(PeriodicSystem):
    """What every equation reports, made from its fields.

    Class attributes:
        units: of each series column, in the order of `series`; derived from the fields for the default series.
        spectrum_laws: p of the power law E(k) ∝ k^−p that is expected of energy spectra, by the number of dimensions;
            figures of spectra show k^p E(k) too.
    """

    units: ClassVar[dict[str, str]] = {}
    spectrum_laws: ClassVar[Mapping[int, float]] = {}

    def energy_names(self) -> list[str]:
        """The column of ½⟨|u|²⟩ of each field."""
        return names_of_squares(self.fields)

    def series_units(self) -> dict[str, str]:
        """Units of each column of `series`, in their order."""
        if self.units:
            return dict(self.units)
        return {**self.units_of_squares(), **({"cfl": "1"} if self.has_rate else {})}

    def units_of_squares(self) -> dict[str, str]:
        """Units of ½⟨|u|²⟩ of each field, by column."""
        squares = zip(self.energy_names(), self.fields.values(), strict=True)
        return {name: f"({field.units})^2" for name, field in squares}

    def series(self, fields: Fields, dt: ArrayLike) -> dict[str, Array]:
        """One row of series.csv: scalars by column name. By default ½⟨|u|²⟩ of each field, and the CFL number."""
        hats = self.coefficients(fields)
        energies = {
            column: 0.5 * self.space(name).mean_square(self.counted(name, hats[name], 0.5))
            for column, name in zip(self.energy_names(), self.fields, strict=True)
        }
        return {**energies, **({"cfl": dt * self.rate(fields)} if self.has_rate else {})}

    def on_bodies(self, fields: Fields, t: ArrayLike) -> dict[str, Array]:
        """Forces and torques on the bodies of this equation, by column of series.csv; none by default."""
        return {}

    def warnings_on_bodies(self, row: dict[str, float], t: float) -> list[str]:
        """Warnings about a row of the series at a time, of bodies that do not hold the flow."""
        return []

    def units_on_bodies(self) -> dict[str, str]:
        """Units of these columns."""
        return {}

    def mask_of_bodies(self, fields: Fields) -> Mask | None:
        """The mask χ of the bodies of this equation, 1 in a solid and 0 in the fluid; None if it has no bodies.

        Args:
            fields: with `motion` beside them, where the flow moves bodies.
        """
        return None

    def spectra(self, fields: Fields) -> dict[str, Array]:
        """Shell spectra by name, each on `diagnostics.shell_wavenumbers(grid)`; by default ½|û|² of each field."""
        hats = self.coefficients(fields)
        return {
            column: shell_spectrum(self.counted(name, hats[name], 0.5), self.space(name).fourier)
            for column, name in zip(self.energy_names(), self.fields, strict=True)
        }

    def spectra_of_fields(self) -> dict[str, str]:
        """Field by name of each spectrum that is ½|û|² of one; none where `spectra` is an equation's own."""
        own = type(self).spectra is not Reporting.spectra
        return {} if own else dict(zip(self.energy_names(), self.fields, strict=True))

    def snapshot(self, fields: Fields) -> dict[str, Array]:
        """Real values at the points by name: scalars `(x, y, z)`, vectors `(component, x, y, z)`.

        By default every field; of a wavefunction its real and imaginary part.
        """
        snapshot: dict[str, Array] = {}
        for name, u in self.to_physical(fields).items():
            values = u[0] if len(u) == 1 else u
            if self.fields[name].real:
                snapshot[name] = values
            else:
                snapshot |= {f"{name}_real": values.real, f"{name}_imag": values.imag}
        return snapshot

    def snapshot_units(self) -> dict[str, str]:
        """Units of each entry of `snapshot`, as far as they are known."""
        parts = {True: ("",), False: ("_real", "_imag")}
        return {f"{name}{part}": field.units for name, field in self.fields.items() for part in parts[field.real]}

    def conserved(self, fields: Fields) -> dict[str, Array]:
        """Quantities that the equation conserves; series.csv has their drift since the start. None by default."""
        return {}


# ---- series ---------------------------------------------------------------------------------------------------------


@runtime_checkable
class HasConservedScales(Protocol):
    """An equation with conserved quantities that may cancel to zero."""

    def conserved_scales(self, fields: Fields) -> dict[str, Array]:
        """What such quantities would be if nothing in them cancelled, by name, as in `conserved`.

        The drift of a quantity is relative to its size, or to its value at the start where that is larger or no size is
        given.
        """


def conserved_scales(equation: PeriodicSystem, fields: Fields) -> dict[str, Array]:
    """Sizes of conserved quantities, for those that need one."""
    return equation.conserved_scales(fields) if isinstance(equation, HasConservedScales) else {}


@runtime_checkable
class HasWarnings(Protocol):
    """An equation that knows when a row of its series is a reason to worry."""

    def warnings(self, row: dict[str, float]) -> list[str]:
        """Warnings for the user that a row of the series gives reason for."""


def warnings(equation: PeriodicSystem, row: dict[str, float]) -> list[str]:
    """Warnings of the equation's own."""
    return equation.warnings(row) if isinstance(equation, HasWarnings) else []


@runtime_checkable
class HasBudget(Protocol):
    """An equation with quadratic quantities whose budget a run keeps."""

    def energies(self, fields: Fields) -> dict[str, Array]:
        """The quantities, by column of the series."""

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Rates of change of each of the `energies`, by cause; their sum is its time derivative [energy/time]."""

    def budget_columns(self) -> tuple[str, ...]:
        """Names of the integrals that the run keeps; none where it keeps no budget."""


def budget_columns(equation: PeriodicSystem) -> tuple[str, ...]:
    """Names of the integrals that a run keeps for the budget of energies."""
    return equation.budget_columns() if isinstance(equation, HasBudget) else ()


def energies(equation: PeriodicSystem, fields: Fields) -> dict[str, Array]:
    """The energies whose budget a run keeps."""
    return equation.energies(fields) if isinstance(equation, HasBudget) and equation.budget_columns() else {}


# ---- fields that diagnostics look at --------------------------------------------------------------------------------


@runtime_checkable
class HasVectors(Protocol):
    """An equation with vectors that are no fields of it, such as the velocity of a stream function."""

    def vectors(self, fields: Fields) -> Fields:
        """Coefficients of its vectors by name, the velocity first."""


def vectors(equation: PeriodicSystem, fields: Fields) -> Fields:
    """Coefficients of an equation's vectors by name, the velocity first; by default those of rank `vector`.

    Structure functions, scales, and densities of gradients and vorticity are worked out for them.
    """
    return equation.vectors(fields) if isinstance(equation, HasVectors) else vector_fields(equation, fields)


def vector_fields(equation: PeriodicSystem, fields: Fields) -> Fields:
    """Coefficients of an equation's fields of rank `vector`."""
    hats = equation.coefficients(fields)
    return {name: hats[name] for name, field in equation.fields.items() if field.rank == "vector"}


@runtime_checkable
class HasDensity(Protocol):
    """An equation with a density of its own."""

    def density(self, values: Fields) -> Array | None:
        """A density `(x, y, z)`, from values at the points."""


def density(equation: PeriodicSystem, values: Fields) -> Array | None:
    """A density `(x, y, z)`, from values at the points: |ψ|² of the first wavefunction if it says nothing else."""
    if isinstance(equation, HasDensity):
        return equation.density(values)
    for name, psi in values.items():
        if not equation.fields[name].real:
            return psi[0].real ** 2 + psi[0].imag ** 2
    return None


def name_apart(equation: PeriodicSystem, quantity: str, of: str) -> str:
    """The name of a quantity that is made of a vector or field, with that in front where another field is called so."""
    taken = {name for name in equation.fields if name != of}
    taken |= {component for name in equation.fields for component in equation.component_names(name) if component != of}
    return f"{of}_{quantity}" if quantity in taken else quantity


def density_name(equation: PeriodicSystem) -> str:
    """The name of the equation's density in files."""
    waves = [name for name, field in equation.fields.items() if not field.real]
    return name_apart(equation, "density", "own" if isinstance(equation, HasDensity) or not waves else waves[0])


@dataclass(frozen=True)
class Damping:
    """How an equation damps its velocity, the first of its vectors, at small scales.

    Args:
        viscosity: ν of what is −ν|k|² in all directions [length²/time]; None if there is no such term.
        further: makes the rates ≥ 0 of the other terms, such as hyperviscosity, at each mode [1/time]: one array for
            each component of the velocity. None if there are no such terms.
        size: gives the size of these terms at one mode [1/time]; 0 if their numbers are zero.
        is_all: True if nothing else damps small scales, so that the dissipation is known.
    """

    viscosity: Any = None
    further: Callable[[], Sequence[Array]] | None = None
    size: Callable[[], Any] = lambda: 0.0
    is_all: bool = True


@runtime_checkable
class HasDamping(Protocol):
    """An equation that knows how it damps its velocity."""

    def damping_of_velocity(self) -> Damping | None:
        """ν, and the rates of hyperviscosity; None if nothing damps the velocity."""


@runtime_checkable
class HasDissipation(Protocol):
    """An equation whose viscosity acts otherwise than by a rate at each mode, as that of a gas does."""

    def dissipation_at_points(self, tensor: Array) -> Array:
        """What viscosity takes out of ½|u|² at the points [u²/time], from ∂u_i/∂x_j `(j, i, x, y, z)`."""


def kinematic_viscosity(equation: PeriodicSystem) -> Any:
    """ν of an equation's velocity [length²/time], where L has −ν|k|² in all directions; None if it has not."""
    damping = _damping(equation)
    return None if damping is None else damping.viscosity


def viscosity_of_dissipation(equation: PeriodicSystem) -> float | None:
    """ν where ν∇²u is all that damps the velocity, and ν a number: its dissipation is 2ν s_ij s_ij; else None."""
    damping = _damping(equation)
    if damping is None or not damping.is_all or damping.viscosity is None or isinstance(equation, HasDissipation):
        return None
    if isinstance(damping.viscosity, jax.core.Tracer) or np.size(damping.viscosity) != 1 or np.any(damping.size()):
        return None
    return float(damping.viscosity)


def dissipates(equation: PeriodicSystem) -> bool:
    """Whether it is known what an equation takes out of ½|u|² at small scales."""
    damping = _damping(equation)
    return isinstance(equation, HasDissipation) or (damping is not None and damping.is_all)


def _damping(equation: PeriodicSystem) -> Damping | None:
    return equation.damping_of_velocity() if isinstance(equation, HasDamping) else None


def further_dissipation(equation: PeriodicSystem, u_hat: Array) -> ArrayLike:
    """ε − ν⟨|∇u|²⟩ of a velocity [u²/time]: what is taken out of ½⟨|u|²⟩ at small scales, but by ν∇²u."""
    grid, damping = equation.transform.grid, _damping(equation) or Damping()
    if isinstance(equation, HasDissipation):
        at_points = equation.dissipation_at_points(gradient_tensor(u_hat, equation.transform))
        of_viscosity = (damping.viscosity or 0.0) * weighted_mean_square(u_hat, grid.k_squared(), grid)
        return jnp.mean(at_points) - of_viscosity
    parts = zip(u_hat, damping.further(), strict=True) if damping.further else ()
    return sum((weighted_mean_square(part[None], rate, grid) for part, rate in parts), start=0.0)


def dissipation(equation: PeriodicSystem, u_hat: Array, tensor: Array) -> Array:
    """What is taken out of ½|u|² at the points and small scales [u²/time]; its mean is ε, whatever damps.

    2ν s_ij s_ij of a solenoidal velocity, and ν|∇u|² of another; further terms of L, −r(k) û, add |w|² with ŵ = r^½ û,
    as ν_h|∇²u|² of −ν_h∇⁴u. A velocity that is no field follows from a stream function, so that it is solenoidal.

    Args:
        equation: one that `dissipates`.
        u_hat: coefficients of its velocity.
        tensor: ∂u_i/∂x_j at the points `(j, i, x, y, z)`.
    """
    if isinstance(equation, HasDissipation):
        return equation.dissipation_at_points(tensor)
    damping, lost = _damping(equation) or Damping(), jnp.zeros_like(tensor[0, 0])
    if damping.viscosity is not None:
        solenoidal = "velocity" not in equation.fields or equation.fields["velocity"].solenoidal
        lost = dissipation_rate(tensor, damping.viscosity, solenoidal=solenoidal)
    if damping.further is None:
        return lost
    damped = jnp.stack([jnp.sqrt(rate) * part for rate, part in zip(damping.further(), u_hat, strict=True)])
    return lost + jnp.sum(equation.transform.inverse(damped) ** 2, axis=0)


# ---- what moves between scales --------------------------------------------------------------------------------------


@runtime_checkable
class HasInvariants(Protocol):
    """An equation with quadratic quantities that move between scales."""

    def invariants(self, fields: Fields) -> dict[str, Fields]:
        """Quantities Q = ½⟨u · g⟩ whose transfer between scales is of interest, by name: the g of each.

        g = M u by field name, coefficients, with M Hermitian and diagonal in k: a change c of the fields changes Q by
        ⟨g · c⟩, and its shell spectrum by the sum of Re(ĝ* ĉ) over the shell. Fields that Q does not contain are left
        out. No communication.
        """


def invariants(equation: Reporting, fields: Fields) -> dict[str, Fields]:
    """The g of each quantity that moves between scales; ½⟨|u|²⟩ of each field if the equation says nothing else."""
    return equation.invariants(fields) if isinstance(equation, HasInvariants) else squares_of_fields(equation, fields)


def squares_of_fields(equation: Reporting, fields: Fields) -> dict[str, Fields]:
    """The g of ½⟨|u|²⟩ of each field."""
    names = zip(equation.energy_names(), equation.fields, strict=True)
    return {column: {name: equation.counted(name, fields[name])} for column, name in names}


def invariant_units(equation: Reporting) -> dict[str, str]:
    """Units of each of the quantities that move between scales; empty where they are not known. Traces the fields."""
    names = jax.eval_shape(lambda fields: invariants(equation, fields), equation.field_shapes())
    own = getattr(equation, "units_of_invariants", {})
    known = {**equation.units_of_squares(), **equation.series_units(), **own}
    return {name: known.get(name, "") for name in names}


@runtime_checkable
class HasExchanges(Protocol):
    """An equation whose linear part moves one invariant into another."""

    def exchanges(self, fields: Fields) -> dict[str, tuple[Array, Array]]:
        """Pairs of scalars a, b by name whose co-spectrum is what the linear part moves. No communication."""


def exchanges(equation: PeriodicSystem, fields: Fields) -> dict[str, tuple[Array, Array]]:
    """Pairs of scalars whose co-spectrum is what the linear part moves from one invariant to another."""
    return equation.exchanges(fields) if isinstance(equation, HasExchanges) else {}


@runtime_checkable
class HasVirial(Protocol):
    """An equation of matter waves."""

    def virial_terms(self, fields: Fields) -> dict[str, tuple[float, Array]]:
        """Energies by name with their weights in the virial, the kinetic one (weight 2) first.

        A state at rest, far from the sides of the box, has Σ weight · energy = 0: under a dilation of the field that
        keeps its mass each energy goes as length^(−weight).
        """


@runtime_checkable
class HasParts(Protocol):
    """An equation whose fields fall into parts that move in ways of their own, such as waves and vortices."""

    def parts(self, fields: Fields) -> dict[str, Fields]:
        """Parts of the fields by name, orthogonal in the sum of the invariants, which add up to them. No communication.

        Raises:
            ValueError: the equation has none with these parameters or on this grid.
        """


def parts(equation: PeriodicSystem, fields: Fields) -> dict[str, Fields]:
    """Parts of the fields by name, whose energies output `wave-vortex` writes; none if the equation has none."""
    return equation.parts(fields) if isinstance(equation, HasParts) else {}
