"""Values of fields at scattered positions: the error of splines by its formula, and the same bits on any devices."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import solver as sw
from solver.diagnostics.points import at_places
from solver.mesh import split_axes
from solver.particles.exchange import flow_at
from solver.particles.splines import spline_error, spline_slopes, spline_weights

COUNT = 240


@pytest.mark.parametrize("order", [4, 6, 8])
def test_weights_are_a_partition_of_one_and_reproduce_lines(order):
    f = np.linspace(0, 0.999, 11)
    weights, slopes = spline_weights(jnp.asarray(f), order), spline_slopes(jnp.asarray(f), order)
    np.testing.assert_allclose(weights.sum(axis=0), 1, rtol=0, atol=1e-14)
    np.testing.assert_allclose(slopes.sum(axis=0), 0, rtol=0, atol=1e-14)
    places = np.arange(order)[:, None] - (order // 2 - 1)
    np.testing.assert_allclose((weights * places).sum(axis=0), f, rtol=0, atol=1e-14)
    np.testing.assert_allclose((slopes * places).sum(axis=0), 1, rtol=0, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "order"), [(1, 4), (2, 4), (4, 6), (5, 8)])
def test_the_error_of_a_wave_is_that_of_the_formula(n, order):
    """Root mean square over many positions, of a wave of n periods on 16 points."""
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    u_hat = sw.fft.Transform(grid).forward(sw.sample(lambda x: jnp.cos(n * x), grid)[None])
    x = np.random.default_rng(0).uniform(0, 2 * np.pi, (1, 20_000))
    found = flow_at(u_hat, jnp.asarray(x), sw.fft.Transform(grid), order=order)[0]
    error = np.sqrt(2 * np.mean((np.asarray(found) - np.cos(n * x[0])) ** 2))
    assert error == pytest.approx(spline_error(2 * np.pi * n / 16, order), rel=0.05)


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(("points", "order"), [(1, 4), (5, 8)])
def test_a_box_of_few_points_has_the_values_of_several_in_a_row(points, order):
    """The spline is wider than the box: a place is read more than once."""
    u = np.random.default_rng(2).normal(size=(1, points, 9))
    x = jnp.asarray(scattered((points, 9.0)))

    def found(copies):
        lengths = (copies * points, 9.0)
        grid = sw.Grid((copies * points, 9), lengths, mesh=sw.device_mesh([0]), dealias="none")
        u_hat = sw.fft.Transform(grid).forward(sw.from_global(np.tile(u, (1, copies, 1)), grid))
        return np.asarray(jax.jit(lambda u_hat: flow_at(u_hat, x, sw.fft.Transform(grid), order=order))(u_hat))

    np.testing.assert_allclose(found(1), found(8), rtol=0, atol=1e-12 * abs(u).max())


def scattered(lengths):
    """Positions everywhere, beyond the box, at its corners, and many in one layer of cells."""
    x = np.random.default_rng(1).uniform(-1, 2, (len(lengths), COUNT))
    x[0, 100:] *= 0.02
    x[:, 0], x[:, 1] = 0, -1e-18
    return x * np.asarray(lengths)[:, None]


def on_devices(mesh, shape, order, lengths, u_hat, **options):
    """Values there, of coefficients that are given without padding, with the grid."""
    grid = sw.Grid(shape, lengths, mesh=mesh)
    layout = grid.layout
    padding = [(0, 0), *((0, a - b) for a, b in zip(layout.spectral_shape, layout.logical_spectral_shape, strict=True))]
    u_hat = jax.device_put(np.pad(u_hat, padding), grid.spectral_sharding(u_hat.ndim))
    sharding = NamedSharding(mesh, PartitionSpec(None, split_axes(mesh)))
    x = jax.device_put(scattered(lengths), sharding)
    return np.asarray(
        jax.jit(lambda u_hat, x: flow_at(u_hat, x, sw.fft.Transform(grid), order=order, **options))(u_hat, x)
    )


BITS = """
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
import solver as sw
from solver.mesh import split_axes
from solver.particles import exchange
from solver.particles.exchange import interpolated_on

exchange.FEW = 0  # several rounds of the crowd below
rng = np.random.default_rng(0)
cases = [
    ((12, 16, 6), 4, None, [(1,), (3,), (2, 2)]),
    ((12, 16), 6, None, [(1,), (2,), (6,), (4,)]),
    ((12, 16, 9), 4, "z", [(1,), (3,), (4,)]),
]
for shape, order, walls, meshes in cases:
    splines = (*shape[:-1], shape[-1] + 2) if walls else shape
    c, x, first = rng.normal(size=(2, *splines)), rng.uniform(-3, 9, (len(shape), 204)), None
    x[0, 100:] *= 0.02
    for sides in meshes:
        mesh = sw.device_mesh(range(int(np.prod(sides))), shape=None if len(sides) == 1 else sides)
        grid = sw.Grid(shape, mesh=mesh, walls=walls)
        here = jax.device_put(c, grid.physical_sharding(c.ndim))
        y = jax.device_put(x, NamedSharding(mesh, PartitionSpec(None, split_axes(mesh))))
        found = np.asarray(jax.jit(lambda a, b: interpolated_on(grid, a, b, order))(here, y))
        first = found if first is None else first
        if found is not first:
            print(np.array_equal(found, first))
"""
CASES = [
    ((16, 16), 6, [2, 6], (1.0, 3.0), {}),  # halos over several devices
    ((13, 15, 9), 4, [3, (2, 2)], (1.0, 1.0, 2.0), {"slopes": True}),  # sides that no devices divide
    ((9, 16), 6, [5], (2.0, 1.0), {"single": True}),  # a device without points
    ((12, 16, 20), 8, [4, (2, 4)], (1.0, 2.0, 3.0), {}),
]


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(("shape", "order", "meshes", "lengths", "options"), CASES)
def test_values_are_those_of_the_series_on_any_devices(shape, order, meshes, lengths, options):
    alone = sw.device_mesh([0])
    grid = sw.Grid(shape, lengths, mesh=alone)
    k = [2 * np.pi / length for length in lengths]
    waves = [
        sw.sample(lambda *x: jnp.cos(k[0] * x[0] + 0.3) + jnp.sin(k[-1] * x[-1]) + 0 * sum(x), grid),
        sw.sample(lambda *x: jnp.sin(k[1] * x[1]) + 0 * sum(x), grid),
    ]
    u_hat = sw.fft.Transform(grid).forward(jnp.stack(waves))
    found = on_devices(alone, shape, order, lengths, np.asarray(u_hat), **options)
    x, values = scattered(lengths), found[0] if options.get("slopes") else found
    error = max(spline_error(2 * np.pi / n, order) for n in shape)
    np.testing.assert_allclose(values, at_places(u_hat, x.T.tolist(), grid).T, rtol=0, atol=5 * error + 1e-12)
    if options.get("slopes"):
        np.testing.assert_allclose(found[2][1], k[1] * np.cos(k[1] * x[1]), rtol=0, atol=20 * error * k[1])
        np.testing.assert_allclose(found[1][1], 0, rtol=0, atol=1e-12)
    for shape_of_mesh in meshes:
        sides = (shape_of_mesh,) if isinstance(shape_of_mesh, int) else shape_of_mesh
        mesh = sw.device_mesh(range(int(np.prod(sides))), shape=None if len(sides) == 1 else sides)
        there = on_devices(mesh, shape, order, lengths, np.asarray(u_hat), **options)
        np.testing.assert_allclose(there, found, rtol=0, atol=1e-6 if options.get("single") else 1e-13)


@pytest.mark.thorough
@pytest.mark.slow
def test_bits_are_the_same_on_any_devices():
    """Of the same coefficients of the spline. In a process of its own: programs of the tests are compiled otherwise."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    environment |= {"JAX_NUM_CPU_DEVICES": "6", "JAX_ENABLE_X64": "1"}
    done = subprocess.run([sys.executable, "-c", BITS], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 7


@pytest.mark.slow
def test_nothing_is_gathered(make_grid):
    """Positions and values go by all-to-all, planes by collective-permute, also where no devices divide the sides."""
    grid = make_grid((15, 12, 8), devices=4)
    u_hat = jax.ShapeDtypeStruct((3, *grid.spectral_shape), grid.complex_dtype, sharding=grid.spectral_sharding(4))
    sharding = NamedSharding(grid.mesh, PartitionSpec(None, split_axes(grid.mesh)))
    x = jax.ShapeDtypeStruct((3, 400), grid.dtype, sharding=sharding)
    text = (
        jax.jit(lambda u_hat, x: flow_at(u_hat, x, sw.fft.Transform(grid), order=4)).lower(u_hat, x).compile().as_text()
    )
    assert "all-gather" not in text
    assert "all-to-all" in text
    assert "collective-permute" in text
