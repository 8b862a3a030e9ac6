"""Structure functions against differences of rolled arrays, and of a shear wave."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields import CASES, equal_spacing, moved, random_vector
from helpers import on_devices

import solver as sw
from solver import diagnostics

ORDERS = (2, 3, 4, 6)


def expected(u, steps):
    """Longitudinal and transverse moments from rolled arrays, in NumPy."""
    d = len(u)
    along, across = np.zeros((len(steps), len(ORDERS))), np.zeros((len(steps), len(ORDERS)))
    for n, step in enumerate(steps):
        for p, order in enumerate(ORDERS):
            moments = [[np.mean((moved(u, j, step)[i] - u[i]) ** order) for i in range(d)] for j in range(d)]
            along[n, p] = np.trace(moments) / d
            across[n, p] = (np.sum(moments) - np.trace(moments)) / (d * (d - 1)) if d > 1 else 0
    return along, across


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "1-D"])
def test_structure_functions(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case, lengths=equal_spacing(case))
    steps = [1, 2, 3]
    split = (np.array(transform.grid.layout.parts) > 1).sum()  # axes along which separations go through coefficients
    exchanges = (1 + split) * split  # of each transform: one in slabs, two in pencils
    computed = on_devices(
        lambda v: diagnostics.structure_functions(v, steps, ORDERS, transform), u_hat, exchanges=exchanges
    )
    along, across = expected(u, steps)
    scale = along[:, 0].max() ** (0.5 * np.array(ORDERS))
    np.testing.assert_array_less(np.abs(computed[0] - along), 1e-12 * scale + np.zeros_like(along))
    if case == "1-D":
        assert computed[1] is None
    else:
        np.testing.assert_array_less(np.abs(computed[1] - across), 1e-12 * scale + np.zeros_like(across))


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "1-D"])
def test_structure_functions_of_a_scalar(make_grid, case):
    transform, c_hat, c = random_vector(make_grid, case, components=1, lengths=equal_spacing(case))
    d, steps = transform.grid.dimensions, [1, 3]
    split = (np.array(transform.grid.layout.parts) > 1).sum()
    of_scalar = lambda v: diagnostics.scalar_structure_functions(v, steps, ORDERS, transform)  # noqa: E731
    computed = on_devices(of_scalar, c_hat, exchanges=(1 + split) * split)
    moments = [[[np.mean((moved(c, j, r) - c) ** p) for p in ORDERS] for r in steps] for j in range(d)]
    expected = np.mean(moments, axis=0)
    scale = expected[:, :1].max() ** (0.5 * np.array(ORDERS))
    np.testing.assert_array_less(np.abs(computed - expected), 1e-12 * scale + np.zeros_like(expected))


def test_separations_between_points_are_exact(make_grid):
    """Of sides that are not multiples of each other: S_2 of waves is known at any r."""
    grid = make_grid((12, 14, 10), devices=8)
    transform = sw.fft.Transform(grid)
    u = sw.sample(lambda x, y, z: (jnp.cos(2 * x + y), jnp.sin(3 * z) + 0 * x * y, jnp.cos(x - 2 * y) + 0 * z), grid)
    r = 2 * np.pi / 10 * np.array([1, 2, 4])
    along, across = diagnostics.structure_functions(transform.forward(u), [1, 2, 4], (2, 3), transform)
    s = lambda k: 1 - np.cos(k * r)  # noqa: E731
    np.testing.assert_allclose(along[:, 0], (s(2) + s(0) + s(0)) / 3, rtol=1e-12)
    np.testing.assert_allclose(across[:, 0], (s(1) + s(0) + s(0) + s(3) + s(1) + s(2)) / 6, rtol=1e-12)
    assert np.abs(across[:, 1]).max() < 1e-14


def test_single_precision(make_grid):
    _, u_hat, u = random_vector(make_grid, "3-D on 8", lengths=equal_spacing("3-D on 8"))
    grid = make_grid((12, 14, 10), lengths=equal_spacing("3-D on 8"), precision="float32")
    along, _ = diagnostics.structure_functions(u_hat.astype(np.complex64), [1, 2], ORDERS, sw.fft.Transform(grid))
    assert along.dtype == np.float32
    np.testing.assert_allclose(along[:, 1], expected(u, [1, 2])[0][:, 1], rtol=1e-5)


@pytest.mark.parametrize("case", ["3-D on 1", "3-D on 8", "odd, all modes"])
def test_increments_are_those_of_the_structure_functions(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case, lengths=equal_spacing(case))
    increments = lambda v: diagnostics.longitudinal_increments(v, transform.inverse(v), 2, transform)  # noqa: E731
    computed = jax.jit(increments)(u_hat)
    np.testing.assert_allclose(computed, np.stack([moved(u, j, 2)[j] - u[j] for j in range(3)]), atol=1e-13)


def test_separations_reach_half_of_the_box(make_grid):
    grid = make_grid((16, 24), devices=2, lengths=[16.0, 12.0])  # spacings 1 and 0.5: half of the shortest side is 6
    assert diagnostics.longest_separation(grid) == 6
    np.testing.assert_array_equal(diagnostics.separations(grid), [1, 2, 4])
