"""The spectral eddy viscosity of Chollet and Lesieur."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.closures.closure import SpectralViscosity
from solver.diagnostics import shell_index, shell_wavenumbers, shell_width
from solver.dynamics.checks import need
from solver.grid import Grid
from solver.operators import root
from solver.spaces import Space


class Spectral(SpectralViscosity):
    """ν_t(k) = 0.441 C_K^(−3/2) (E(k_c)/k_c)^½ (1 + 34.5 exp(−3.03 k_c/k)): Chollet & Lesieur's, with a cusp at k_c.

    E(k_c) is the energy spectrum of the flow at that moment in the last shell that the grid keeps as a whole, and k_c
    that shell's wavenumber: the viscosity vanishes where no energy has reached the cut. It is worked out in each
    evaluation of N, by one all-reduce. Three dimensions.

    Args:
        kolmogorov: C_K > 0 of the spectrum C_K ε^(2/3) k^(−5/3) that the viscosity is made for.

    Raises:
        ValueError: a number that is not positive; when the equation is made: two dimensions.

    Source: Chollet & Lesieur, J. Atmos. Sci. 38 (1981) 2747; Lesieur & Métais, Annu. Rev. Fluid Mech. 28 (1996) 45.
    """

    kolmogorov: ArrayLike = 1.4

    name: ClassVar[str] = "spectral"
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def __check_init__(self) -> None:
        need(self, "kolmogorov", "kolmogorov", "a positive number", above=0)

    def viscosity(self, u_hat: Array, space: Space) -> Array:
        grid = space.fourier
        number, cut = last_whole_shell(grid)
        counted = 0.5 * jnp.sum(jnp.abs(u_hat) ** 2, axis=0) * grid.mode_weights()
        energy = jnp.sum(jnp.where(shell_index(grid) == number, counted, 0)) / shell_width(grid)
        size = root(energy / cut)
        k = jnp.sqrt(jnp.where(grid.k_squared() > 0, grid.k_squared(), 1))
        return 0.441 * jnp.asarray(self.kolmogorov) ** -1.5 * size * (1 + 34.5 * jnp.exp(-3.03 * cut / k))


def last_whole_shell(grid: Grid) -> tuple[int, float]:
    """Number and wavenumber [1/length] of the last shell of the spectra whose modes the grid keeps all.

    Raises:
        ValueError: the grid keeps no whole shell but the shell of the mean.
    """
    k = shell_wavenumbers(grid)
    first_lost = min(((grid.layout.highest_mode(a) + 1) * grid.fundamental[a] for a in grid.varying_axes), default=0.0)
    whole = np.flatnonzero(k + shell_width(grid) / 2 <= first_lost * (1 + 1e-9))
    if len(whole) < 2:
        raise ValueError(f"closure spectral: a grid that keeps a whole shell is needed; its k_max is {grid.k_max:.4g}")
    return int(whole[-1]), float(k[whole[-1]])
