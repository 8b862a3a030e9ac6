"""Random fields with a prescribed spectrum."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.diagnostics import shell_index, shell_spectrum, shell_wavenumbers
from solver.fft import Transform
from solver.grid import Grid
from solver.operators import project_solenoidal


def random_phase(
    grid: Grid,
    key: Array,
    components: int = 1,
    solenoidal: bool = False,
    energy: float = 0.5,
    peak: float = 4.0,
    slope: float = 4.0,
) -> Array:
    """Random phases under the shell spectrum E(k) ∝ k^s exp(−(s/2)(k/k_p)²), which peaks at k_p.

    White noise is drawn at the points, transformed, and each shell is scaled to the energy prescribed: the
    symmetry of a real field comes with the noise, and every shell holds its energy exactly. The noise is
    counter-based: a key gives the same field on any number of devices.

    Args:
        grid: any.
        key: from `jax.random.key`.
        components: number of components.
        solenoidal: project to a divergence-free velocity; needs as many components as dimensions.
        energy: ½⟨|u|²⟩ in all.
        peak: k_p [1/length].
        slope: s.

    Returns:
        `(components, *grid.physical_shape)`, mean zero.

    Raises:
        ValueError: a spectrum that leaves every shell empty, or parameters that are not positive.

    Source: method of Rogallo, NASA TM-81315 (1981), with the noise drawn in space.
    """
    if not (energy > 0 and peak > 0 and slope > 0):
        raise ValueError(f"random-phase with energy={energy}, peak={peak}, slope={slope}: all must be positive")
    wanted = _prescribed(shell_wavenumbers(grid), peak, slope)
    if not wanted.sum() > 0:
        raise ValueError(f"random-phase with peak={peak}: no shell of this grid (k ≤ {grid.k_max:.4g}) has energy")
    transform = Transform(grid)

    @jax.jit
    def make(key: Array) -> Array:
        shape = (components, *grid.physical_shape)
        noise = jax.random.normal(key, shape, grid.physical_dtype)
        noise = jax.lax.with_sharding_constraint(noise, grid.field_sharding(len(shape)))
        u_hat = transform.forward(noise)
        u_hat = project_solenoidal(u_hat, grid) if solenoidal else u_hat
        found = shell_spectrum(u_hat, grid)
        gain = jnp.sqrt(jnp.where(found > 0, wanted / jnp.where(found > 0, found, 1), 0)).at[0].set(0)
        u_hat = u_hat * gain[shell_index(grid)]
        total = jnp.sum(shell_spectrum(u_hat, grid))
        return transform.inverse(u_hat * jnp.sqrt(energy / total))

    return make(key)


def _prescribed(k: np.ndarray, peak: float, slope: float) -> np.ndarray:
    """Zero in the first shell, which holds the mean."""
    relative = k / peak
    with np.errstate(under="ignore"):
        return np.where(k > 0, relative**slope * np.exp(-0.5 * slope * relative**2), 0)
