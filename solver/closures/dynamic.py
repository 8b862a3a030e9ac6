"""Smagorinsky's eddy viscosity with a constant that the flow itself gives."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from solver.closures.closure import EddyViscosity, size_of_strain
from solver.diagnostics.profiles import plane_mean
from solver.grid import Grid
from solver.operators import gradient, root
from solver.spaces import Space
from solver.spaces.polynomials import PolynomialSpace

RATIO = 2  # of the width of the test filter to the width of the grid


class DynamicSmagorinsky(EddyViscosity):
    """ν_t = (C w)² (2 S:S)^½ with C² = ⟨L_ij M_ij⟩/⟨M_ij M_ij⟩, zero where that is negative.

    L_ij = [u_i u_j]^ − û_i û_j and M_ij = 2 w² ([|S| S_ij]^ − 4 |Ŝ| Ŝ_ij), where ^ is the test filter, which keeps the
    modes up to half the largest wavenumber of each axis, sharply; L without its trace. C follows the flow in each
    evaluation of N: it is zero as long as no energy is in the small scales. Averages over the box need one homogeneous
    turbulence there; with averages over planes C is a function of the last coordinate, for stratified flows and shear
    layers. Between walls these are needed, the test filter acts along the walls alone, and in place of 4 the square of
    the ratio of the geometric means of the widths is taken, 2^(4/3) in three dimensions. Costs 30 inverse and 12
    forward transforms more in three dimensions (16 and 6 in two), so that a right-hand side takes about four times as
    long as with a given constant.

    Args:
        average: `box`, or `planes` normal to the last axis, static.

    Source: Germano, Piomelli, Moin & Cabot, Phys. Fluids A 3 (1991) 1760; Lilly, Phys. Fluids A 4 (1992) 633.
    """

    average: Literal["box", "planes"] = eqx.field(default="box", static=True)

    name: ClassVar[str] = "dynamic-smagorinsky"

    def __check_init__(self) -> None:
        if self.average not in ("box", "planes"):
            raise ValueError(f"average {self.average!r}: 'box' or 'planes' is needed")

    @property
    def by_plane(self) -> bool:
        return self.average == "planes"

    @property
    def vanishes_at_walls(self) -> bool:  # type: ignore[override]
        return self.by_plane

    def prepare(self, u_hat: Array, space: Space) -> Array:
        """(C w)² [length²], a number, or one for each plane. Two all-reduces."""
        mean = (lambda values: plane_mean(values, space.grid)) if self.by_plane else space.mean
        of = _Between(space) if isinstance(space, PolynomialSpace) else _Periodic(space)
        kept, c = of.test_filter(), of.series(u_hat)
        coarse = lambda tensor: of.inverse(kept * of.forward(tensor))  # noqa: E731
        velocity, stress = _products(c, of)
        of_coarse, stress_of_coarse = _products(kept * c, of)
        resolved = coarse(velocity) - of_coarse
        model = 2 * (coarse(stress) - of.ratio_squared * stress_of_coarse)
        weights, diagonal = _weights(len(u_hat), model.dtype)
        trace = jnp.tensordot(diagonal, resolved, 1) / len(u_hat)
        anisotropic = resolved - jnp.tensordot(diagonal, trace, 0)
        above, below = (jnp.tensordot(weights, mean(each * model), 1) for each in (anisotropic, model))
        return jnp.where(below > 0, jnp.maximum(above, 0) / jnp.where(below > 0, below, 1), 0)

    def viscosity(self, resolved: Array, width: Any, prepared: Any) -> Array:
        return prepared * math.sqrt(2) * size_of_strain(resolved)


class _Periodic:
    """Coefficients of a periodic box, all axes of which the test filter acts on."""

    ratio_squared = float(RATIO**2)

    def __init__(self, space: Any) -> None:
        self.space, self.forward, self.inverse = space, space.forward, space.inverse

    def series(self, u_hat: Array) -> Array:
        return u_hat

    def slopes(self, c: Array) -> Array:
        """∂u_i/∂x_j, first j."""
        return gradient(c, self.space.fourier)

    def test_filter(self) -> Array:
        """True for the modes that the test filter keeps."""
        return _lower_half(self.space.fourier)


class _Between:
    """Polynomials between walls, which the test filter leaves as they are: it acts along the walls alone."""

    def __init__(self, space: PolynomialSpace) -> None:
        self.space, self.forward, self.inverse = space, space.polynomials_of, space.at_points
        self.series, self.slopes, self.along = space.series, space.slopes_of, space.grid.horizontal

    @property
    def ratio_squared(self) -> float:
        """Square of the ratio of the widths, geometric means over the axes."""
        filtered = len(self.along.varying_axes) if self.along is not None else 0
        return float(RATIO ** (2 * filtered / (filtered + 1)))

    def test_filter(self) -> Array:
        """True for the modes that the test filter keeps, `(…, 1)`."""
        return jnp.ones((1, 1), bool) if self.along is None else _lower_half(self.along)[..., None]


def _lower_half(grid: Grid) -> Array:
    """True for the modes up to half the largest wavenumber of each axis."""
    highest = [f * grid.layout.highest_mode(axis) / RATIO for axis, f in enumerate(grid.fundamental)]
    inside = [jnp.abs(k) <= h * (1 + 1e-6) for k, h in zip(grid.wavenumbers(), highest, strict=True)]
    return jnp.asarray(math.prod(inside[1:], start=inside[0]))


def _pairs(d: int) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(d), 2))


def _weights(d: int, dtype: Any) -> tuple[Array, Array]:
    """Weights of the entries of a symmetric tensor in a contraction; and 1 for an entry of the trace, else 0."""
    on_diagonal = jnp.asarray([float(i == j) for i, j in _pairs(d)], dtype)
    return 2 - on_diagonal, on_diagonal


def _products(c: Array, of: _Periodic | _Between) -> tuple[Array, Array]:
    """u_i u_j and |S| S_ij at the points, entries of symmetric tensors along the first axis."""
    d = len(c)
    slopes = of.slopes(c)
    u = of.inverse(c)
    strain = of.inverse(jnp.stack([(slopes[i, j] + slopes[j, i]) / 2 for i, j in _pairs(d)]))
    weights, _ = _weights(d, strain.dtype)
    size = root(2 * jnp.tensordot(weights, strain * strain, 1))
    return jnp.stack([u[i] * u[j] for i, j in _pairs(d)]), size * strain
