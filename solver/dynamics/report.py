"""Report of an equation to outputs, as one value that the equation holds: everything but its dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.budget import Budget, Changes
from solver.operators import Fields

Mask: TypeAlias = Callable[[Sequence[Any], ArrayLike], Array]  # of coordinates, which broadcast, and time
Numbers: TypeAlias = dict[str, Array]
DIGITS = range(2, 18)  # after the point; a float64 next to its limit needs 16


def nothing(fields: Fields) -> dict[str, Any]:
    """Return no quantities: the entry of a report without quantities of its kind."""
    return {}


def _no_warnings(row: dict[str, float]) -> list[str]:
    return []


@dataclass(frozen=True)
class Damping:
    """Damping of an equation's velocity, the first of its vectors, at small scales.

    Args:
        viscosity: ν of the term −ν|k|² in all directions [length²/time]; None if there is no such term.
        further: function that makes the rates ≥ 0 of the other terms, such as hyperviscosity, at each mode [1/time]:
            one array for each component of the velocity. None if there are no such terms.
        size: function that gives the size of these terms at one mode [1/time]; 0 if their numbers are zero.
        is_all: True if nothing else damps small scales, so that the dissipation is known.
    """

    viscosity: Any = None
    further: Callable[[], Sequence[Array]] | None = None
    size: Callable[[], Any] = lambda: 0.0
    is_all: bool = True


@dataclass(frozen=True)
class BodiesReport:
    """Report of the bodies in a flow.

    Args:
        forces: function of fields and time: forces and torques by column of series.csv, `NAME_force_x`.
        units: units of these columns.
        warnings: function of a row of the series and its time: warnings about bodies that do not hold the flow.
        mask: function of the fields, with `motion` among them where the flow moves bodies: χ, 1 in a solid and 0 in the
            fluid; None if there are sponges alone.
    """

    forces: Callable[[Fields, ArrayLike], Numbers]
    units: Callable[[], dict[str, str]]
    warnings: Callable[[dict[str, float], float], list[str]]
    mask: Callable[[Fields], Mask | None]


@dataclass(frozen=True)
class Report:
    """Functions of an equation's fields (entries of a state, by name) that outputs call, and facts about the equation.

    `fields_report.report_of_fields` makes one that fits any equation, `text_report.report_of_text` one of a text. An
    equation that reports otherwise replaces entries, in `Equation.reported`; a function gives arrays that are traced.

    Args:
        columns: numbers by column of series.csv, without the CFL number. All-reduces only.
        units: units of the columns that are written, in their order, `cfl` among them.
        spectra: shell spectra by name, on `diagnostics.shell_wavenumbers(grid)`.
        spectra_of_fields: field by name of each spectrum that is ½|û|² of one.
        snapshot: real values at the points by name, scalars `(x, y, z)`, vectors `(component, x, y, z)`.
        snapshot_units: units of each entry of the snapshot, as far as they are known.
        energies: quadratic quantities, by column.
        budget: rates of change of each of the energies by cause [energy/time], from fields and their changes; the
            sum is the energy's time derivative. None for an equation whose budget cannot be kept.
        vectors: coefficients of vectors by name, the velocity first; structure functions, scales, and densities of
            gradients and vorticity are computed for them.
        flows: coefficients of those vectors that a uniform flow is added to, which the equation keeps apart from its
            fields, with this flow: they carry particles.
        density: the equation's own density `(x, y, z)`, from values at the points; None without one: then |ψ|² of the
            first wavefunction counts.
        invariants: quantities Q = ½⟨u · g⟩ whose transfer between scales is of interest, by name: the g of each.
            g = M u by field name, coefficients, with M Hermitian and diagonal in k: a change c of the fields changes Q
            by ⟨g · c⟩, and its shell spectrum by the sum of Re(ĝ* ĉ) over the shell. Fields that Q does not contain are
            left out. No communication.
        invariant_units: units of the invariants, as far as they are known.
        exchanges: pairs of scalars a, b by name whose co-spectrum is the transfer by the linear part from one
            invariant to another. No communication.
        conserved: quantities that the equation conserves.
        conserved_scales: sizes of conserved quantities that may cancel to zero: the size that a quantity would have if
            nothing in it cancelled. The drift of a quantity is relative to its size, or to its value at the start where
            that is larger or no size is given.
        warnings: warnings for the user about a row of the series.
        damping: ν, and the rates of hyperviscosity; None if nothing damps the velocity.
        velocity_pressure: the pressure that keeps the velocity free of divergence, as `dynamics.pressure.Pressure`;
            None if it is not known.
        dissipation: loss of ½|u|² by viscosity at the points [u²/time], from ∂u_i/∂x_j `(j, i, x, y, z)`, where
            viscosity acts otherwise than by a rate at each mode, as in a gas; else None.
        virial: energies by name with their weights in the virial, the kinetic one (weight 2) first. A state at rest,
            far from the sides of the box, has Σ weight · energy = 0: under a dilation of the field that keeps its mass
            each energy goes as length^(−weight). None for an equation of other fields than matter waves.
        parts: parts of the fields by name that move in ways of their own, such as waves and vortices, orthogonal in the
            sum of the invariants, which add up to the fields. No communication. Raises ValueError if the equation has
            no such parts with these parameters or on this grid. None for an equation without such parts.
        hbar_over_mass: ħ/m of a Schrödinger equation, ψ_t = ½i(ħ/m)∇²ψ + …; None for other equations.
        chemical_potential: µ that a Schrödinger equation subtracts from its potential; None where it subtracts none.
        self_focusing: g of the term i g|ψ|²ψ of a Schrödinger equation, positive where waves focus themselves; else
            None.
        self_gravity: g of ∇²Φ = g (|ψ|² − ⟨|ψ|²⟩), where Φ/(ħ/m) is the potential of a Schrödinger equation; None
            without such a potential.
        bodies: report of the bodies in the flow; None without bodies and sponges.
        at_points: further real values at the points `(x, y, z)` by name, functions of the fields, with their units.
    """

    columns: Callable[[Fields], Numbers]
    units: Callable[[], dict[str, str]]
    spectra: Callable[[Fields], Numbers]
    spectra_of_fields: Mapping[str, str]
    snapshot: Callable[[Fields], Numbers]
    snapshot_units: Callable[[], dict[str, str]]
    energies: Callable[[Fields], Numbers]
    budget: Callable[[Fields, Changes], Budget] | None
    vectors: Callable[[Fields], Fields]
    invariants: Callable[[Fields], dict[str, Fields]]
    invariant_units: Callable[[], dict[str, str]]
    flows: Callable[[Fields], Fields] = nothing
    exchanges: Callable[[Fields], dict[str, tuple[Array, Array]]] = nothing
    conserved: Callable[[Fields], Numbers] = nothing
    conserved_scales: Callable[[Fields], Numbers] = nothing
    warnings: Callable[[dict[str, float]], list[str]] = _no_warnings
    density: Callable[[Fields], Array | None] | None = None
    damping: Callable[[], Damping | None] = lambda: None
    velocity_pressure: Callable[[], Any] = lambda: None
    dissipation: Callable[[Array], Array] | None = None
    virial: Callable[[Fields], dict[str, tuple[float, Array]]] | None = None
    parts: Callable[[Fields], dict[str, Fields]] | None = None
    hbar_over_mass: Any = None
    chemical_potential: Any = None
    self_focusing: Any = None
    self_gravity: Any = None
    bodies: BodiesReport | None = None
    at_points: Mapping[str, tuple[Callable[[Fields], Array], str]] = field(default_factory=dict)


def too_small(what: str, number: float, least: int, consequence: str) -> list[str]:
    """Warning if a number is below `least`, with as many digits as tell the two apart; otherwise an empty list."""
    if not number < least:
        return []
    shown = next(text for text in (f"{number:.{n}f}" for n in DIGITS) if float(text) < least)
    return [f"{what} = {shown} is below {least}: {consequence}"]
