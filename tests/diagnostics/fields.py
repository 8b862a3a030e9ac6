"""Small random fields of unequal sides, whole on the host, and their dense coefficients."""

import jax
import numpy as np

from solver.fft import Transform

# shape, devices, other options of the grid: odd and even sides, all modes and not, slabs that are padded, pencils
CASES = {
    "3-D on 1": ((12, 14, 10), {"devices": 1}),
    "3-D on 8": ((12, 14, 10), {"devices": 8}),
    "odd, all modes": ((9, 8, 7), {"devices": 8, "dealias": "none"}),
    "pencils": ((12, 14, 10), {"mesh_shape": (2, 3)}),
    "2-D": ((18, 25), {"devices": 8}),
}
LINE = {"1-D": ((15,), {"devices": 1})}

FORWARD = jax.jit(lambda transform, u: transform.forward(u), static_argnums=0)  # compiled once for each grid
INVERSE = jax.jit(lambda transform, u_hat: transform.inverse(u_hat), static_argnums=0)


def random_vector(make_grid, case, seed=0, components=None, lengths=None, real=True):
    """A transform, coefficients, and the same field at the points in NumPy."""
    shape, options = {**CASES, **LINE}[case]
    lengths = [6.0, 7.0, 5.0][: len(shape)] if lengths is None else lengths
    grid = make_grid(shape, lengths=lengths, real=real, **options)
    leading = len(shape) if components is None else components
    noise = 0.3 + np.random.default_rng(seed).normal(size=(leading, *shape))
    if not real:
        noise = noise + 1j * np.random.default_rng(seed + 100).normal(size=(leading, *shape))
    transform = Transform(grid)
    u_hat = FORWARD(transform, noise)
    return transform, u_hat, np.asarray(INVERSE(transform, u_hat))


def dense(u, lengths):
    """Coefficients of all modes, in NumPy's order, and the components of k as arrays that broadcast."""
    space = tuple(range(1, u.ndim))
    k = [2 * np.pi * np.fft.fftfreq(n, length / n) for n, length in zip(u.shape[1:], lengths, strict=True)]
    return np.fft.fftn(u, axes=space, norm="forward"), list(np.meshgrid(*k, indexing="ij"))


def equal_spacing(case):
    """Box lengths whose points are 0.5 apart on every axis."""
    return [0.5 * n for n in {**CASES, **LINE}[case][0]]


def moved(u, axis, steps):
    """Values at x + steps · Δx along an axis in space."""
    return np.roll(u, -steps, axis=axis + 1)
