"""Gaussian random fields with a given spectrum."""

from __future__ import annotations

from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.checks import need
from solver.dynamics.compiled import compiled
from solver.fft import Transform
from solver.grid import Grid
from solver.initial.initial import Initial, component_count
from solver.operators import project_solenoidal, random_modes, root
from solver.spaces.field import RANKS, Field
from solver.static import Static


class GaussianRandom(Initial):
    """Independent Gaussian modes with ⟨|û(k)|²⟩ ∝ E(k)/k^(d−1), the density of the shell spectrum E(k).

    E ∝ k^s (`power-law`), (k/k_p)⁴/(1 + (k/k_p)²)^(17/6) (`von-karman`, whose slope is −5/3 beyond k_p) or
    k^s exp(−(s/2)(k/k_p)²) (`exponential`, which peaks at k_p), between the cut-offs; the mean is zero.

    Amplitudes are random too, unlike in `random-phase`, where each shell holds its energy exactly: here spectrum
    and r.m.s. value are means over seeds, the field at each point is normal, and so is every sum of its values. Numbers
    are drawn by mode (`operators.random_modes`): a key gives the same field on any number of devices, and a grid with
    more points has the same modes, and others in addition. A solenoidal field is projected to be free of divergence,
    and keeps its r.m.s. value.

    Args:
        rms: ⟨|f|²⟩^½ in the mean over seeds, of all components together [field's units].
        spectrum: `power-law`, `von-karman` or `exponential`, static.
        slope: s; of no effect for `von-karman`.
        peak: k_p > 0 [1/length]; of no effect for `power-law`.
        low, high: cut-offs of |k| [1/length]; no upper one if None.

    Returns:
        When called: `(component, *grid.physical_shape)`, mean zero, as many components as the field has.

    Raises:
        ValueError: an rms that is negative, a peak that is not positive; when called: no key, or cut-offs that leave no
            mode.

    Source: Pope, Turbulent Flows (2000), 6.5, for the spectra; Lang & Potthoff, Monte Carlo Methods Appl. 17 (2011)
    195, for the method.
    """

    rms: ArrayLike = 1.0
    spectrum: Literal["power-law", "von-karman", "exponential"] = eqx.field(static=True, default="von-karman")
    slope: ArrayLike = 4.0
    peak: ArrayLike = 2.0
    low: ArrayLike = 0.0
    high: ArrayLike | None = None

    name: ClassVar[str] = "gaussian-random"
    periodic: ClassVar[bool] = True
    ranks: ClassVar[tuple[str, ...]] = RANKS

    def __check_init__(self) -> None:
        need(self, "rms", "gaussian-random with rms", "zero or more", least=0)
        need(self, "slope", "gaussian-random with slope", "a finite number")
        need(self, "peak", "gaussian-random with peak", "a positive wavenumber", above=0)
        need(self, "low", "gaussian-random with low", "zero or more", least=0)
        need(self, "high", "gaussian-random with high", "a positive wavenumber", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if key is None:
            raise ValueError("gaussian-random without a key: one from jax.random.key is needed")
        u, total = _values(self, Static((grid, field)), key)
        if not isinstance(total, jax.core.Tracer) and not total > 0:
            raise ValueError(
                f"gaussian-random with low {self.low} and high {self.high}: no mode of this grid (k ≤ {grid.k_max:.4g} "
                "in every direction) lies between"
            )
        return u

    def _power(self, grid: Grid) -> Array:
        """Variance of each mode but for a factor; zero outside the cut-offs, for the mean, and in the padding."""
        k2 = grid.k_squared()
        inside = (k2 > 0) & grid.is_kept()
        k = jnp.sqrt(jnp.where(inside, k2, 1))
        inside = inside & grid.in_band(self.low, jnp.inf if self.high is None else self.high)
        relative = k / self.peak
        if self.spectrum == "power-law":
            density = k**self.slope
        elif self.spectrum == "von-karman":
            density = relative**4 / (1 + relative**2) ** (17 / 6)
        else:
            density = relative**self.slope * jnp.exp(-0.5 * self.slope * relative**2)
        return jnp.where(inside, density / k ** (grid.dimensions - 1), 0)


@compiled
def _values(start: GaussianRandom, on: Static, key: Array) -> tuple[Array, Array]:
    """Values at the points, and the sum of the variances of the modes; `on` holds the grid and the kind of field."""
    grid, field = on.value
    projected = field.solenoidal and grid.dimensions > 1
    components, all_components = component_count(field, grid), sum(field.counts(grid.dimensions))
    u_hat = random_modes(key, grid, components)
    u_hat = project_solenoidal(u_hat, grid) if projected else u_hat
    power = start._power(grid)
    total = jnp.sum(grid.mode_weights() * power)
    free = components - 1 if projected else all_components  # independent numbers in each mode
    scale = start.rms / jnp.sqrt(free * jnp.where(total > 0, total, 1))
    gain = root(power)
    return Transform(grid).inverse(u_hat * (scale * gain).astype(grid.dtype)), total
