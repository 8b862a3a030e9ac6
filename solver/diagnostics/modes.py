"""Single coefficients, and frequency spectra of their records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Complex

from solver.diagnostics.sums import on_all_alike, on_parts
from solver.grid import Grid, mode_index
from solver.mesh import split_axes


def mode_coefficients(
    u_hat: Complex[Array, ...], modes: Sequence[Sequence[int]], grid: Grid
) -> Complex[Array, "... mode"]:
    """û(n) of the modes n = (n_x, n_y, n_z), k_i = 2π n_i/L_i.

    The device that holds a mode reads it, and one all-reduce of as many numbers brings it to the others.

    Args:
        u_hat: coefficients `(…, *grid.spectral_shape)` [u], any sharding.
        modes: integers, one for each axis. For a real field û(−n) is the conjugate of û(n).
        grid: the grid of the coefficients.

    Returns:
        `(…, len(modes))` [u], on every device.

    Raises:
        ValueError: the grid does not retain a mode, or a mode does not have one integer per dimension.
    """
    places = [mode_index(grid, mode) for mode in modes]
    index = np.array([index for index, _ in places])
    conjugate = np.array([conjugate for _, conjugate in places])
    is_whole = grid.layout.devices == grid.dimensions == 1
    stored = u_hat[..., index[:, 0]] if is_whole else _from_blocks(u_hat, jnp.asarray(index), grid)
    return jnp.where(conjugate, jnp.conj(stored), stored)


@partial(jax.jit, static_argnames="grid")
def _from_blocks(u_hat: Array, index: Array, grid: Grid) -> Array:
    axes, lead = split_axes(grid.mesh, grid.dimensions), u_hat.ndim - grid.dimensions

    def local(block: Array) -> Array:
        local_index, inside = [], jnp.ones(len(index), bool)
        for i in range(grid.dimensions):
            side = block.shape[lead + i]
            first = jax.lax.axis_index(axes[i]) * side if i < len(axes) else 0
            inside &= (index[:, i] >= first) & (index[:, i] < first + side)
            local_index.append(jnp.clip(index[:, i] - first, 0, side - 1))
        return jax.lax.psum(jnp.where(inside, block[(..., *local_index)], 0), axes)

    return on_all_alike(on_parts(local, grid, PartitionSpec(*[None] * lead, *axes)), grid)(u_hat)


def frequency_spectrum(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S(ω) = |a_ω|²/⟨h²⟩ with a_ω = (1/T) Σ_t h(t) a(t) exp(iωt), h the Hann window; on the host.

    A wave exp(i(k·x − ωt)) has û(k) ~ exp(−iωt), so it appears at ω > 0 if it travels along k. The sum of S over all ω
    is ⟨h²|a|²⟩/⟨h²⟩ (Parseval), which is ⟨|a|²⟩ for a stationary record. S for records of many modes k is the
    frequency–wavenumber spectrum S(k, ω).

    Args:
        t: T equally spaced times.
        values: `(T, …)` complex (or real) records.

    Returns:
        ω in ascending order [radians/time], and S `(T, …)` [values²].

    Raises:
        ValueError: there are fewer than four times, or they are not equally spaced.

    Source: Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70 (one segment); Bendat & Piersol, Random Data (2010).
    """
    t, values = np.asarray(t, float), np.asarray(values)
    steps = np.diff(t)
    if len(t) < 4 or not np.allclose(steps, steps.mean(), rtol=1e-6, atol=0) or len(values) != len(t):
        raise ValueError(f"{len(t)} times for {len(values)} values: four or more, equally spaced, are needed")
    window = 0.5 * (1 - np.cos(2 * np.pi * np.arange(len(t)) / len(t)))
    weighted = values * window.reshape(-1, *[1] * (values.ndim - 1))
    power = np.abs(np.fft.ifft(weighted, axis=0)) ** 2 / np.mean(window**2)
    omega = 2 * np.pi * np.fft.fftfreq(len(t), steps.mean())
    return np.fft.fftshift(omega), np.fft.fftshift(power, axes=0)
