"""Velocity fields of thin vortices: the vorticity is given, and Biot and Savart's law does the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
from equinox import field as attribute
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.fft import Transform
from solver.grid import Grid, sample
from solver.initial.initial import Initial, as_tuples, per_axis
from solver.operators import curl
from solver.spaces.field import Field
from solver.static import is_zero


class VortexRing(Initial):
    """Vortex rings: ω = Γ/(πa²) exp(−s²/a²) e_θ, s the distance from a circle of radius R, û = i k×ω̂/|k|².

    A thin ring moves along its axis with Γ/(4πR) (ln(8R/a) − 0.558); its impulse is πΓ(R² + a²/2). Distances are to
    the nearest periodic image. Rings of opposite axes collide, rings of one axis leapfrog. Circulation is positive
    around the circle as the fingers of the right hand where its thumb is the axis.

    Args:
        circulation: Γ [length²/time].
        radius: R > 0 [length].
        core: a > 0 [length].
        centres: centres of the rings [length]; one in the middle of the box if None.
        axes: direction in which each ring moves, of any length but 0; all along the last axis if None.

    Returns:
        When called: velocity `(3, *grid.physical_shape)`, divergence-free, mean zero. Transforms: three each way.

    Raises:
        ValueError: a radius or core that is not positive, or another number of axes than centres; when called: a grid
            that is not three-dimensional, a centre or an axis without three entries, an axis of length 0.

    Source: Saffman, Vortex Dynamics (1992), chapter 10.
    """

    circulation: ArrayLike = 1.0
    radius: ArrayLike = 1.0
    core: ArrayLike = 0.3
    centres: tuple[tuple[ArrayLike, ...], ...] | None = attribute(converter=as_tuples, default=None)
    axes: tuple[tuple[ArrayLike, ...], ...] | None = attribute(converter=as_tuples, default=None)

    name: ClassVar[str] = "vortex-ring"
    periodic: ClassVar[bool] = True
    ranks: ClassVar[tuple[str, ...]] = ("vector",)
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def __check_init__(self) -> None:
        need(self, "radius", "vortex-ring with radius", "a positive length", above=0)
        need(self, "core", "vortex-ring with core", "a positive length", above=0)
        count = 1 if self.centres is None else len(self.centres)
        if self.axes is not None and len(self.axes) != count:
            raise ValueError(f"vortex-ring with {len(self.axes)} axes for {count} centres: as many are needed")

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        middle = [[0.5 * length for length in grid.lengths]]  # type: ignore[union-attr]
        centres = [per_axis("centres", centre, grid, []) for centre in self.centres or middle]
        axes = [per_axis("axes", axis, grid, []) for axis in self.axes or [[0.0, 0.0, 1.0]] * len(centres)]
        for axis in axes:
            if all(map(is_zero, axis)):
                raise ValueError(f"vortex-ring with axis {axis}: a direction is needed")

        def vorticity(*points: Array) -> list[Array]:
            rings = [self._ring(_apart(points, c, grid), n) for c, n in zip(centres, axes, strict=True)]
            return [sum(parts) for parts in zip(*rings, strict=True)]  # type: ignore[misc]

        return _velocity_of(vorticity, grid)

    def _ring(self, r: Sequence[Array], axis: Sequence[ArrayLike]) -> list[Array]:
        """Vorticity of a ring at the vectors r from its centre."""
        direction = jnp.stack([jnp.asarray(a) for a in axis])
        n = direction / jnp.sqrt(jnp.sum(direction**2))
        along = sum(a * b for a, b in zip(n, r, strict=True))
        rho2 = sum(a * a for a in r) - along**2
        near = rho2 <= 1e-12 * self.radius**2  # on the axis no direction is tangential
        rho = jnp.sqrt(jnp.where(near, 1, rho2))
        s2 = (jnp.where(near, 0, rho) - self.radius) ** 2 + along**2
        strength = self.circulation / (jnp.pi * self.core**2) * jnp.exp(-s2 / self.core**2)
        swirl = jnp.where(near, 0, strength / rho)
        turned = [n[1] * r[2] - n[2] * r[1], n[2] * r[0] - n[0] * r[2], n[0] * r[1] - n[1] * r[0]]
        return [swirl * part for part in turned]


class VortexTubes(Initial):
    """Two antiparallel vortex tubes along y that reconnect: ω = ±Γ/(πa²) exp(−r²/a²) (X′, 1, Z′), û = i k×ω̂/|k|².

    Their centre lines are X = x₀ ± (d/2 + ε cos α cos(2πy/L)) and Z = z₀ − ε sin α cos(2πy/L), x₀ and z₀ in the middle
    of the box, r the distance from them in x and z to the nearest periodic image. With Γ > 0 both move along z. They
    are closest at y = L/2, where they are ahead by ε sin α: the wave that grows (Crow), so that they touch there.

    Args:
        circulation: Γ of the tube at larger x; the other has −Γ [length²/time].
        core: a > 0 [length].
        separation: d, of the mean centre lines [length].
        perturbation: ε [length].
        inclination: α of the plane of the perturbation to the plane of the tubes [radians].

    Returns:
        When called: velocity `(3, *grid.physical_shape)`, divergence-free, mean zero. Transforms: three each way.

    Raises:
        ValueError: a core that is not positive; when called: a grid that is not three-dimensional.

    Source: Melander & Hussain, CTR Summer Program (1988) 257; Kerr & Hussain, Physica D 37 (1989) 474;
    Crow, AIAA J. 8 (1970) 2172.
    """

    circulation: ArrayLike = 1.0
    core: ArrayLike = 0.4
    separation: ArrayLike = 1.8
    perturbation: ArrayLike = 0.2
    inclination: ArrayLike = 1.0471975511965976

    name: ClassVar[str] = "vortex-tubes"
    periodic: ClassVar[bool] = True
    ranks: ClassVar[tuple[str, ...]] = ("vector",)
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def __check_init__(self) -> None:
        need(self, "core", "vortex-tubes with core", "a positive length", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        def vorticity(*points: Array) -> list[Array]:
            tubes = [self._tube(sign, points, grid) for sign in (1, -1)]
            return [a + b for a, b in zip(*tubes, strict=True)]

        return _velocity_of(vorticity, grid)

    def _tube(self, sign: int, points: Sequence[Array], grid: Grid) -> list[Array]:
        x0, _, z0 = (0.5 * length for length in grid.lengths)  # type: ignore[union-attr]
        k = grid.fundamental[1]
        wave, slope = jnp.cos(k * points[1]), -k * jnp.sin(k * points[1])
        sideways = sign * self.perturbation * jnp.cos(self.inclination)
        upwards = -self.perturbation * jnp.sin(self.inclination)
        line = [x0 + sign * 0.5 * self.separation + sideways * wave, points[1], z0 + upwards * wave]
        x, _, z = _apart(points, line, grid)
        strength = sign * self.circulation / (jnp.pi * self.core**2) * jnp.exp(-(x * x + z * z) / self.core**2)
        return [strength * sideways * slope, strength, strength * upwards * slope]


def _velocity_of(vorticity: Callable[..., list[Array]], grid: Grid) -> Array:
    """u with ∇×u = ω, ∇·u = 0 and ⟨u⟩ = 0, at the points: what Biot and Savart's law gives in a periodic box."""
    transform = Transform(grid)

    @jax.jit
    def make() -> Array:
        omega_hat = transform.forward(sample(vorticity, grid))
        return transform.inverse(curl(omega_hat, grid) * grid.inverse_k_squared())

    return make()


def _apart(points: Sequence[Array], centre: Sequence[ArrayLike], grid: Grid) -> list[Array]:
    """Vector from a centre to each point, or from its nearest periodic image."""
    apart = [x - c for x, c in zip(points, centre, strict=True)]
    return [d - length * jnp.round(d / length) for d, length in zip(apart, grid.lengths, strict=True)]  # type: ignore[arg-type]
