"""Kuramoto–Sivashinsky: growth rates, the nonlinearity, and that round-off cannot grow unseen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver import initial
from solver.equations import KuramotoSivashinsky
from solver.steppers import ETDRK4, IFRK4

pytestmark = pytest.mark.slow

MODES = {1: (3,), 2: (2, -1), 3: (1, 2, -1)}
SHAPES = {1: (32,), 2: (24, 16), 3: (16, 16, 12)}


@pytest.mark.thorough
@pytest.mark.parametrize(("stepper", "d"), [(ETDRK4(), 1), (IFRK4(), 2)], ids=str)
def test_small_waves_grow_at_the_linear_rate(make_grid, d, stepper):
    grid = make_grid(SHAPES[d], devices=1 if d == 1 else 2, lengths=30.0)
    equation = KuramotoSivashinsky(grid)
    k = 2 * np.pi / 30.0 * np.array(MODES[d])
    u = sw.sample(lambda *x: 1e-8 * jnp.cos(sum(a * b for a, b in zip(k, x, strict=True))), grid)
    state = advanced(equation, stepper, u, 4.0, 0.1)
    rate = np.sum(k**2) - np.sum(k**2) ** 2
    # the nonlinearity adds (1e-8)², nine digits below
    np.testing.assert_allclose(equation.to_physical(state.field)["u"][0], u * np.exp(rate * 4.0), atol=1e-15)


@pytest.mark.thorough
def test_nonlinearity_is_half_the_square_of_the_slope_without_its_mean(make_grid):
    grid = make_grid((24, 32), devices=4, lengths=[10.0, 20.0])
    equation = KuramotoSivashinsky(grid)
    kx, ky = 2 * np.pi / 10, 2 * np.pi / 20
    u_hat = equation.from_physical({"u": sw.sample(lambda x, y: 7 + jnp.cos(kx * x) * jnp.cos(ky * y), grid)[None]})
    slope2 = sw.sample(
        lambda x, y: (kx * jnp.sin(kx * x) * jnp.cos(ky * y)) ** 2 + (ky * jnp.cos(kx * x) * jnp.sin(ky * y)) ** 2, grid
    )
    got = equation.to_physical(equation.nonlinear(u_hat, 0.0))["u"][0]
    np.testing.assert_allclose(got, -0.5 * (slope2 - jnp.mean(slope2)), atol=1e-15)
    assert abs(float(jnp.mean(equation.to_physical(u_hat)["u"]))) < 1e-15, "the mean is removed"


@pytest.mark.thorough
@pytest.mark.parametrize("d", [2, 3])
def test_coefficients_stay_those_of_a_real_field(make_grid, d):
    """Round-off in the part that transforms to points do not see would grow as exp(t/4)."""
    grid = make_grid(SHAPES[d], devices=2, lengths=12.0)
    equation = KuramotoSivashinsky(grid)
    state = advanced(equation, ETDRK4(), initial.RandomPhase(peak=0.7)(grid, key=jax.random.key(0)), 60.0, 0.1)
    transform = sw.fft.Transform(grid)
    seen = transform.forward(transform.inverse(state.field["u"]))
    assert float(jnp.max(jnp.abs(seen - state.field["u"]))) < 1e-13 * float(jnp.max(jnp.abs(state.field["u"])))


@pytest.mark.thorough
def test_chaos_stays_bounded_at_its_known_size(make_grid):
    """In a long one-dimensional box the mean square slope settles near 1.7 (so-called viscous states)."""
    grid = make_grid((256,), devices=1, lengths=100.0)
    equation = KuramotoSivashinsky(grid)
    u = initial.RandomPhase(energy=1e-2, peak=0.7)(grid, key=jax.random.key(0))
    stepper = ETDRK4()
    values = []
    series = jax.jit(equation.series)
    state = sw.initial_state(equation, stepper, u)
    for now in sw.evolve(equation, stepper, state, end=300.0, step=0.1, pauses=[sw.Schedule(every_time=5.0)]):
        if now.t > 100:
            values.append(float(series(now.field, now.dt)["mean_square_gradient"]))
    assert 1.3 < np.mean(values) < 2.1
    assert 0.1 < np.std(values) / np.mean(values) * 10 < 5, "it must keep fluctuating"
