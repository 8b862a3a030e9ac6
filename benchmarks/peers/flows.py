"""exponax 0.2 and jax-cfd 0.2.1: a function of arrays, fields and a number of steps, and what it is given.

The arrays of a stepper are arguments of the compiled program; held by it as constants, they take XLA minutes at 256³.
"""

import jax
import jax.numpy as jnp
import numpy as np


def _vorticity(points, dtype):
    x = np.arange(points) * 2 * np.pi / points
    return jnp.asarray(2.5 * np.sin(x)[:, None] * np.sin(2 * x)[None, :], dtype)


def exponax(case, points, precision):
    """Two-dimensional vorticity, or velocity in three dimensions, by ETDRK4."""
    import equinox
    import exponax as ex

    if case == "vorticity":
        stepper = ex.stepper.NavierStokesVorticity(2, 2 * jnp.pi, points, 1e-3, diffusivity=1e-3, order=4)
        start = _vorticity(points, precision)[None]
    else:
        stepper = ex.stepper.NavierStokesVelocity(3, 2 * jnp.pi, points, 1e-3, diffusivity=1e-2, order=4)
        start = _taylor_green(points, precision)
    arrays, rest = equinox.partition(stepper, equinox.is_array)
    return lambda own, u, steps: ex.repeat(equinox.combine(own, rest), steps)(u), arrays, start


def _taylor_green(points, dtype):
    x = np.arange(points) * 2 * np.pi / points
    a, b, c = np.meshgrid(x, x, x, indexing="ij", sparse=True)
    velocity = [np.sin(a) * np.cos(b) * np.cos(c), -np.cos(a) * np.sin(b) * np.cos(c)]
    return jnp.stack([jnp.asarray(u, dtype) for u in (*velocity, np.zeros((points,) * 3))])


def jax_cfd(case, points, precision):
    """Two-dimensional vorticity, from modes to modes, by Crank–Nicolson and a low-storage Runge–Kutta method."""
    if not hasattr(jax, "tree_map"):
        jax.tree_map = jax.tree.map  # JAX has none since 0.4.34; jax-cfd asks for it
    from jax_cfd.base import grids
    from jax_cfd.spectral import equations, time_stepping

    domain = ((0, 2 * np.pi), (0, 2 * np.pi))
    flow = equations.NavierStokes2D(1e-3, grids.Grid((points, points), domain=domain), smooth=True)
    step = time_stepping.crank_nicolson_rk4(flow, 1e-3)

    def after(_, modes, steps):
        return jax.lax.scan(lambda u, _: (step(u), None), modes, None, steps)[0]

    return after, (), jnp.fft.rfftn(_vorticity(points, precision))


MADE = {"exponax": exponax, "jax-cfd": jax_cfd}
