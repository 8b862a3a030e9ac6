"""What every equation offers: fields, their two forms, what is reported about them, and its own dynamics.

`Equation` is u_t = L u + N(u, t), held as coefficients: an integrating-factor or exponential stepper takes it.
`SplitEquation` is i ψ_t = (T + V) ψ, held at the points: a splitting stepper takes it. Subclasses are frozen
dataclasses; their fields besides `grid` are the parameters that a run file's `[equation]` may set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import mean_square, shell_spectrum
from solver.fft import Transform
from solver.grid import Grid


@dataclass(frozen=True)
class PeriodicSystem(ABC):
    """Shared by all equations; not subclassed directly by users.

    Class attributes:
        name: in run files.
        kind: what the field is: `velocity`, `scalar` or `wavefunction`; initial fields name the kinds they make.
        real: whether the field is real at the points.
        dimensions: numbers of dimensions in space that make sense.
        units: of each series column, in the order of `series`.
    """

    grid: Grid

    name: ClassVar[str]
    kind: ClassVar[str]
    real: ClassVar[bool] = True
    dimensions: ClassVar[tuple[int, ...]] = (1, 2, 3)
    units: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        if self.grid.real != self.real:
            raise ValueError(f"{self.name} needs a grid with real={self.real}; this one has real={self.grid.real}")
        if self.grid.dimensions not in self.dimensions:
            known = " or ".join(map(str, self.dimensions))
            raise ValueError(f"{self.name} in {self.grid.dimensions} dimensions: {known} are known")

    @cached_property
    def transform(self) -> Transform:
        """Between points and coefficients of this equation's field."""
        return Transform(self.grid)

    @property
    def component_names(self) -> tuple[str, ...]:
        """Names of the field's components, as snapshots call them."""
        return ("u",)

    @property
    def field_shape(self) -> tuple[int, ...]:
        """Of the field at the points."""
        return (len(self.component_names), *self.grid.physical_shape)

    # ---- the field's two forms --------------------------------------------------------------------------------

    @abstractmethod
    def from_physical(self, u: Array) -> Array:
        """What a state holds, from values at the points `(component, x, y, z)`."""

    @abstractmethod
    def to_physical(self, field: Array) -> Array:
        """Values at the points, from what a state holds."""

    @abstractmethod
    def coefficients(self, field: Array) -> Array:
        """Fourier coefficients, from what a state holds."""

    # ---- what is reported -------------------------------------------------------------------------------------

    def series(self, field: Array, dt: ArrayLike) -> dict[str, Array]:
        """One row of series.csv: scalars by column name. `units` names their units."""
        return {
            "energy": 0.5 * mean_square(self.coefficients(field), self.grid),
            "cfl": dt * self.rate(field),
        }

    def spectra(self, field: Array) -> dict[str, Array]:
        """Shell spectra by name, each on `diagnostics.shell_wavenumbers(grid)`."""
        return {"energy": shell_spectrum(self.coefficients(field), self.grid)}

    def snapshot(self, field: Array) -> dict[str, Array]:
        """Real fields at the points, by name."""
        return dict(zip(self.component_names, self.to_physical(field), strict=True))

    def conserved(self, field: Array) -> dict[str, Array]:
        """Quantities that the equation conserves; series.csv has their drift since the start."""
        return {}

    def warnings(self, row: dict[str, float]) -> list[str]:
        """What a row of the series says should worry the user."""
        return []

    @abstractmethod
    def rate(self, field: Array) -> Array:
        """Inverse time [1/time] such that the CFL number is dt · rate."""


@dataclass(frozen=True)
class Equation(PeriodicSystem):
    """u_t = L u + N(u, t) on coefficients, L diagonal. Subclass this for an equation of your own.

    A subclass gives `linear`, `nonlinear` and `rate`; the rest has defaults for one real component.
    """

    kind: ClassVar[str] = "scalar"

    @abstractmethod
    def linear(self) -> Array:
        """L(k) [1/time], real or complex, broadcastable against `(component, *grid.spectral_shape)`."""

    @abstractmethod
    def nonlinear(self, u_hat: Array, t: ArrayLike) -> Array:
        """Coefficients of N(u, t) [u/time], zero in the padding (what `transform.forward` returns is)."""

    def constrain(self, u_hat: Array) -> Array:
        """Applied after every step: removes what round-off must not be allowed to build up."""
        return u_hat

    def from_physical(self, u: Array) -> Array:
        return self.transform.forward(u)

    def to_physical(self, field: Array) -> Array:
        return self.transform.inverse(field)

    def coefficients(self, field: Array) -> Array:
        return field


@dataclass(frozen=True)
class SplitEquation(PeriodicSystem):
    """i ψ_t = (T + V) ψ with T diagonal in k and V diagonal in x, held at the points.

    Every mode is kept: truncation would lose mass.
    """

    kind: ClassVar[str] = "wavefunction"
    real: ClassVar[bool] = False

    @abstractmethod
    def potential(self, psi: Array) -> Array:
        """V at the points [1/time], from |ψ|²: a kick leaves it unchanged."""

    @abstractmethod
    def drift(self, psi: Array, dt: ArrayLike) -> Array:
        """exp(−i T dt) ψ."""

    def kick(self, psi: Array, potential: Array, dt: ArrayLike) -> Array:
        """exp(−i V dt) ψ."""
        return psi * jnp.exp(-1j * dt * potential)

    def from_physical(self, u: Array) -> Array:
        return u.astype(self.grid.complex_dtype)

    def to_physical(self, field: Array) -> Array:
        return field

    def coefficients(self, field: Array) -> Array:
        return self.transform.forward(field)


def advection_rate(velocity: Array, grid: Grid) -> Array:
    """max over points of Σ_i |u_i|/Δx_i [1/time]; dt times this is the CFL number. One all-reduce."""
    return jnp.max(sum(jnp.abs(u) / dx for u, dx in zip(velocity, grid.spacing, strict=True)))
