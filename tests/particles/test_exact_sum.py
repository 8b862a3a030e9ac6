"""Values at particles by the sum over all modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import solver as sw
from solver.diagnostics.points import at_places
from solver.mesh import split_axes
from solver.particles.exchange import flow_at
from solver.spaces.field import Field
from solver.spaces.polynomials import Polynomials, PolynomialSpace

CASES = [
    ((8,), None, "none", [1]),
    ((12, 10), None, "none", [1, 3]),  # with Nyquist modes
    ((10, 9, 8), None, "two-thirds", [1, (2, 2)]),
    ((8, 12), "y", "two-thirds", [1]),
    ((9, 10, 9), "z", "two-thirds", [1, 3]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "walls", "dealias", "meshes"), CASES)
def test_they_are_those_of_the_series_on_any_devices(shape, walls, dealias, meshes):
    """With slopes, against differences of the series at neighbouring places."""
    d, lengths = len(shape), (2.0, 3.0, 1.5)[: len(shape)]
    x = np.random.default_rng(2).uniform(0.1, 0.9, (d, 12)) * np.asarray(lengths)[:, None]
    for parts in meshes:
        sides = (parts,) if isinstance(parts, int) else parts
        mesh = sw.device_mesh(range(int(np.prod(sides))), shape=None if len(sides) == 1 else sides)
        grid = sw.Grid(shape, lengths, walls=walls, dealias=dealias, mesh=mesh)
        values = jnp.asarray(np.random.default_rng(1).normal(size=(2, *shape)))
        if walls:
            transform = PolynomialSpace("field", Field(), grid, polynomials=Polynomials.on(grid))
            hat, at = transform.polynomials_of(values), transform.at_places
        else:
            transform = sw.fft.Transform(grid)
            hat, at = transform.forward(values), lambda hat, places, grid=grid: at_places(hat, places, grid)
        exact = lambda x, hat=hat, at=at: np.asarray(at(hat, x.T.tolist())).T  # noqa: E731
        there = jax.device_put(x, NamedSharding(mesh, PartitionSpec(None, split_axes(mesh) if d > 1 else None)))
        found = np.asarray(flow_at(hat, there, transform, order="spectral", slopes=True))
        size = np.abs(exact(x)).max()
        np.testing.assert_allclose(found[0], exact(x), rtol=0, atol=1e-13 * size)
        for axis in range(d):
            step = 1e-5 * np.eye(d)[:, axis : axis + 1]
            difference = (exact(x + step) - exact(x - step)) / 2e-5
            np.testing.assert_allclose(found[1 + axis], difference, rtol=0, atol=1e-6 * np.abs(difference).max())
        single = flow_at(hat, there, transform, order="spectral", single=True)
        error = np.abs(single - found[0]).max() / size
        assert 1e-10 < error < 1e-5


@pytest.mark.thorough
@pytest.mark.slow
def test_particles_take_them():
    grid, stepper = sw.Grid((8, 8), mesh=sw.device_mesh([0])), sw.steppers.IFRK4()
    ends = []
    for order in ("spectral", 8):
        dust = sw.particles.Tracers(count=20, order=order)
        flow = sw.equations.Vorticity(grid, viscosity=0.0, particles={"dust": dust})
        start = sw.initial_state(flow, stepper, sw.sample(lambda x, y: jnp.cos(x) * jnp.cos(y), grid))
        state = sw.integrate(flow, stepper, start, step=0.1, steps=3)
        ends.append(np.asarray(state.field["dust"]))
        assert np.abs(ends[-1] - start.field["dust"])[:2].max() > 0.05
    error = np.abs(ends[0] - ends[1]).max()
    assert 1e-10 < error < 1e-6  # the error of splines


def test_a_sum_that_would_never_end_is_refused():
    grid = sw.Grid((512, 512), mesh=sw.device_mesh([0]))
    dust = {"dust": sw.particles.Tracers(count=300_000, order="spectral")}
    with pytest.raises(
        ValueError, match=r"order = 'spectral' with 300000 particles and 58311 modes; 171494 particles or"
    ):
        sw.equations.Vorticity(grid, particles=dust)
