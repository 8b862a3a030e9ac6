"""Random fields with a prescribed spectrum."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import shell_index, shell_spectrum, shell_wavenumbers, shell_width
from solver.dynamics.checks import need
from solver.dynamics.compiled import compiled
from solver.fft import Transform
from solver.grid import Grid
from solver.initial.initial import Initial, component_count
from solver.operators import project_solenoidal, random_modes
from solver.spaces.field import RANKS, Field
from solver.static import Static

LEAST_SHARE = 0.01  # of the spectrum, which the grid must hold
LARGEST_LOSS = 0.1  # of the spectrum, among waves that share the shell of the mean


class RandomPhase(Initial):
    """Random phases under the shell spectrum E(k) ∝ k^s exp(−(s/2)(k/k_p)²), which peaks at k_p.

    White noise is drawn by mode (`operators.random_modes`), and each shell is scaled to the E prescribed: every shell
    holds its share exactly. A key gives the same field on any number of devices, and a grid with more points has the
    same shells, and others in addition. A solenoidal field is projected to be free of divergence.

    Args:
        energy: half the mean square of the field, ½⟨|f|²⟩ [units of the field, squared]: the energy of a velocity, the
            enstrophy of a vorticity.
        peak: k_p [1/length].
        slope: s.

    Returns:
        When called: `(component, *grid.physical_shape)`, mean zero, as many components as the field has.

    Raises:
        ValueError: parameters that are not positive; when called: no key, a spectrum of which the grid holds less than
            1 %, or of which more than 10 % lies among waves that share the mean's shell, as the long ones of an
            elongated box do: below half the largest 2π/L.

    Source: method of Rogallo, NASA TM-81315 (1981), with noise in place of phases.
    """

    energy: ArrayLike = 0.5
    peak: ArrayLike = 4.0
    slope: ArrayLike = 4.0

    name: ClassVar[str] = "random-phase"
    periodic: ClassVar[bool] = True
    ranks: ClassVar[tuple[str, ...]] = RANKS

    def __check_init__(self) -> None:
        for name in ("energy", "peak", "slope"):
            need(self, name, f"random-phase with {name}", "a positive number", above=0)

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        if key is None:
            raise ValueError("random-phase without a key: one from jax.random.key is needed")
        self._check_shells(grid)
        wanted = _prescribed(shell_wavenumbers(grid), self.peak, self.slope)
        if not isinstance(wanted, jax.core.Tracer) and not _share(wanted, grid, self.peak, self.slope) > LEAST_SHARE:
            raise ValueError(
                f"random-phase with peak {self.peak}: less than {LEAST_SHARE:.0%} of its spectrum lies within the "
                f"grid's |k|, {grid.k_min:.4g} to {grid.k_corner:.4g}"
            )
        return _values(self, Static((grid, field)), wanted, key)

    def _check_shells(self, grid: Grid) -> None:
        """Refuse a spectrum of which much lies among waves that share the mean's shell, as in elongated boxes."""
        half, longest = shell_width(grid) / 2, grid.k_min
        if isinstance(self.peak, jax.core.Tracer) or isinstance(self.slope, jax.core.Tracer) or longest >= half:
            return
        lost = _share_below(half, self.peak, self.slope)
        if lost > LARGEST_LOSS:
            raise ValueError(
                f"random-phase with peak {self.peak}: {lost:.0%} of its spectrum lies below k = {half:.4g}, half the "
                f"width of this box's shells, where waves, down to k = {longest:.4g}, get nothing; at most "
                f"{LARGEST_LOSS:.0%} is needed, by a higher peak; gaussian-random draws them all"
            )


@compiled
def _values(start: RandomPhase, on: Static, wanted: Array, key: Array) -> Array:
    """Values at the points with this shell spectrum; `on` holds the grid and the kind of field."""
    grid, field = on.value
    counts = np.sqrt(field.counts(grid.dimensions)).astype(grid.dtype).reshape(-1, *[1] * grid.dimensions)
    u_hat = random_modes(key, grid, component_count(field, grid))
    u_hat = project_solenoidal(u_hat, grid) if field.solenoidal else u_hat
    spectrum = shell_spectrum(u_hat * counts, grid)
    wanted = jnp.where(spectrum > 0, wanted, 0).at[0].set(0)
    gain = jnp.sqrt(start.energy / jnp.sum(wanted) * wanted / jnp.where(spectrum > 0, spectrum, 1))
    return Transform(grid).inverse(u_hat * gain[shell_index(grid)])


def _share(wanted: np.ndarray | Array, grid: Grid, peak: ArrayLike, slope: ArrayLike) -> float:
    """Part of the spectrum, as a sum over shells of any |k|, that the grid's shells hold."""
    farthest = 5 * float(np.max(peak)) + 5 * grid.k_corner
    width = max(shell_width(grid), farthest / 10_000)
    everywhere = _prescribed(np.arange(int(farthest / width)) * width, peak, slope)
    return float(np.sum(wanted) * shell_width(grid) / (np.sum(everywhere) * width or 1))


def _share_below(k: float, peak: ArrayLike, slope: ArrayLike) -> float:
    """Part of the prescribed spectrum, as an integral over all |k|, that lies below k; the largest for arrays."""
    lengths = np.linspace(0, 8, 4001)[1:] * np.max(np.asarray(peak))  # e^(−32 s) is left at the end
    spectrum = np.asarray(_prescribed(lengths, np.asarray(peak)[..., None], np.asarray(slope)[..., None]))
    return float(np.max(np.sum(np.where(lengths < k, spectrum, 0), axis=-1) / np.sum(spectrum, axis=-1)))


def _prescribed(k: np.ndarray, peak: ArrayLike, slope: ArrayLike) -> np.ndarray | Array:
    """The prescribed shell spectrum, zero in the first shell, which holds the mean. A NumPy array where the parameters
    are numbers, not arrays."""
    xp = jnp if isinstance(peak, jax.Array) or isinstance(slope, jax.Array) else np
    relative = k / peak
    with np.errstate(under="ignore"):
        return xp.where(k > 0, relative**slope * xp.exp(-0.5 * slope * relative**2), 0)
