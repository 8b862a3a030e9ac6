"""Burgers and advection–diffusion against exact solutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver import initial
from solver.equations import AdvectionDiffusion, Burgers
from solver.plan import transforms_in_step
from solver.steppers import ETDRK2, ETDRK4, IFRK4

pytestmark = pytest.mark.slow

NU = 0.1


# ---- Burgers ----------------------------------------------------------------------------------------------------


def cole_hopf(grid, modes, t):
    """u = −2ν∇ln θ of θ = 1 + Σ a e^(−νk²t) cos(k·x + phase), and ∇½|u|² at once: both in closed form."""

    def velocity(*x):
        theta, slope = 1.0, [0.0] * len(x)
        for n, amplitude, phase in modes:
            k = [2 * np.pi * m / length for m, length in zip(n, grid.lengths, strict=True)]
            angle = sum(a * b for a, b in zip(k, x, strict=True)) + phase
            decayed = amplitude * np.exp(-NU * sum(q * q for q in k) * t)
            theta += decayed * jnp.cos(angle)
            slope = [s - decayed * q * jnp.sin(angle) for s, q in zip(slope, k, strict=True)]
        return tuple(-2 * NU * s / theta for s in slope)

    return sw.sample(velocity, grid)


COLE_HOPF = {
    "1-D": ((128,), 1, [((1,), 0.85, 0.0), ((2,), 0.1, 1.0)], 0.02),
    "2-D": ((64, 48), 4, [((1, 0), 0.3, 0.0), ((1, 2), 0.25, 1.0), ((0, -1), 0.2, 2.0)], 0.05),
    "3-D": ((24, 20, 28), 4, [((1, 0, 1), 0.1, 0.0), ((0, 1, -1), 0.1, 1.0)], 0.05),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", COLE_HOPF)
def test_burgers_against_cole_and_hopf(make_grid, case):
    shape, devices, modes, step = COLE_HOPF[case]
    grid = make_grid(shape, devices=devices, lengths=[3.0, 4.0, 5.0][: len(shape)])
    flow = Burgers(grid, NU)
    start, end = (cole_hopf(grid, modes, t) for t in (0.0, 1.0))
    assert float(jnp.max(jnp.abs(start - end))) > 0.02, "the flow must change"
    computed = flow.to_physical(advanced(flow, IFRK4(), start, 1.0, step).field)["velocity"]
    np.testing.assert_allclose(computed, end, rtol=0, atol=2e-7)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(24,), (24, 20), (16, 20, 24)], ids=["1-D", "2-D", "3-D"])
def test_nonlinearity_against_the_advective_form(make_grid, shape):
    """(u·∇)u component by component, of a flow with vorticity and divergence."""
    grid = make_grid(shape, devices=1 if len(shape) == 1 else 4, lengths=[1.0, 2.0, 3.0][: len(shape)])
    flow = Burgers(grid, 0.0)
    u = initial.RandomPhase(peak=8.0)(grid, sw.Field("vector"), jax.random.key(0))

    @jax.jit
    def both(u):
        u_hat = flow.from_physical({"velocity": u})
        u = flow.to_physical(u_hat)["velocity"]
        slopes = [flow.transform.inverse(sw.operators.gradient(v_hat, grid)) for v_hat in u_hat["velocity"]]
        advective = jnp.stack([jnp.sum(u * slope, axis=0) for slope in slopes])
        return flow.nonlinear(u_hat, 0.0)["velocity"], -flow.transform.forward(advective)

    got, expected = both(u)
    np.testing.assert_allclose(got, expected, atol=1e-13 * float(jnp.max(jnp.abs(expected))))


@pytest.mark.thorough
def test_a_shock_stands_as_a_tanh(make_grid):
    """−U tanh(Ux/2ν) stands still; in a periodic box, beside a ramp that widens from a point far away."""
    grid = make_grid((512,), devices=1, lengths=20.0)
    flow = Burgers(grid, NU)
    x = np.asarray(grid.coordinates()[0]) - 10.0
    start = jnp.asarray(-np.tanh(x / (2 * NU)) + np.tanh((x - 10) / 1.0) + np.tanh((x + 10) / 1.0))[None]
    computed = flow.to_physical(advanced(flow, IFRK4(), start, 2.0, 0.005).field)["velocity"][0]
    near = np.abs(x) < 1
    np.testing.assert_allclose(computed[near], -np.tanh(x[near] / (2 * NU)), atol=1e-5)
    row = flow.series(flow.from_physical({"velocity": start}), 0.01)
    assert float(row["kmax_delta"]) == pytest.approx(grid.k_max * 2 * NU, rel=1e-3)
    assert flow.report.warnings({"kmax_delta": 1.9})
    assert not flow.report.warnings({"kmax_delta": 2.1})


@pytest.mark.parametrize(
    ("shape", "counts"), [((16,), (1, 1)), ((16, 16), (3, 3)), ((16, 16, 16), (6, 4))], ids=["1-D", "2-D", "3-D"]
)
def test_transforms_of_burgers(make_grid, shape, counts):
    flow = Burgers(make_grid(shape, devices=1), 0.1)
    state = sw.initial_state(flow, IFRK4(), jnp.zeros(flow.physical_shapes()["velocity"]))
    calls = transforms_in_step(flow, IFRK4(), state)
    assert [(c.forward, c.batch) for c in calls] == [(False, counts[0]), (True, counts[1])] * 4


# ---- advection and diffusion --------------------------------------------------------------------------------------


WIND = (0.7, -1.1, 0.4)


@pytest.mark.parametrize("shape", [(64,), (48, 40), (32, 28, 36)], ids=["1-D", "2-D", "3-D"])
def test_a_gaussian_and_a_wave_are_carried_and_spread_in_one_step(make_grid, shape):
    d, t, kappa, width = len(shape), 5.0, 0.05, 0.9
    grid = make_grid(shape, devices=1 if d == 1 else 4, lengths=[8.0, 7.0, 9.0][:d])
    carried = AdvectionDiffusion(grid, kappa, WIND[:d])
    k = 4 * np.pi / grid.lengths[0]
    spread = np.sqrt(width**2 + 2 * kappa * t)

    def exact(t, wide, decayed):
        along = lambda x, length, u: sum(jnp.exp(-0.5 * ((x - u * t + m * length) / wide) ** 2) for m in range(-4, 5))  # noqa: E731

        def fill(*x):
            hill = jnp.asarray((width / wide) ** d)
            for position, length, u in zip(x, grid.lengths, WIND, strict=False):
                hill = hill * along(position, length, u)
            return hill + decayed * jnp.cos(k * (x[0] - WIND[0] * t))

        return sw.sample(fill, grid)

    state = advanced(carried, ETDRK2(), exact(0.0, width, 1.0), t, t)
    assert int(state.step) == 1
    # the modes that two-thirds leaves out hold exp(−(k_max·width)²/2) of the hill
    tolerance = 1e-12 + 10 * np.exp(-0.5 * (grid.k_max * width) ** 2)
    assert tolerance < 1e-3
    computed = carried.to_physical(state.field)["c"][0]
    np.testing.assert_allclose(computed, exact(t, spread, np.exp(-kappa * k**2 * t)), atol=tolerance)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(24, 20), (20, 24, 12)], ids=["2-D", "3-D"])
def test_cells_against_the_advective_form(make_grid, shape):
    grid = make_grid(shape, devices=4, lengths=[2.0, 3.0, 4.0][: len(shape)])
    equation = AdvectionDiffusion(grid, 0.0, cell_speed=1.3, cell_periods=2)
    a, b = 2 * np.pi, 4 * np.pi / 3
    cells = lambda x, y, *z: (jnp.sin(a * x) * jnp.cos(b * y), -a / b * jnp.cos(a * x) * jnp.sin(b * y))  # noqa: E731
    v = 1.3 * sw.sample(lambda *x: (*cells(*x), *[0 * x[0]] * (len(x) - 2)), grid)

    @jax.jit
    def both(noise):
        c_hat = equation.from_physical({"c": noise})
        slope = equation.transform.inverse(sw.operators.gradient(c_hat["c"][0], grid))
        return equation.nonlinear(c_hat, 0.0)["c"], -equation.transform.forward(jnp.sum(v * slope, axis=0)[None])

    got, expected = both(jax.random.normal(jax.random.key(0), (1, *shape)))
    np.testing.assert_allclose(got, expected, atol=1e-13)
    assert float(jnp.max(jnp.abs(expected))) > 0.1


@pytest.mark.thorough
def test_cells_keep_the_variance_and_the_streamfunction(make_grid):
    """Without diffusion the variance changes by the error of the time integration only, which is of fourth order."""
    grid = make_grid((40, 48), devices=4, lengths=[3.0, 2.0])
    equation = AdvectionDiffusion(grid, 0.0, (0.0, 0.0), cell_speed=1.0, cell_periods=1)
    k = [2 * np.pi / length for length in grid.lengths]
    psi = sw.sample(lambda x, y: jnp.sin(k[0] * x) * jnp.sin(k[1] * y), grid)
    start = equation.from_physical({"c": psi[None]})
    np.testing.assert_allclose(equation.nonlinear(start, 0.0)["c"], 0, atol=2e-15)
    dye = sw.sample(lambda x, y: jnp.cos(k[0] * x) + 0 * y, grid)
    lost = {}
    for step in (0.02, 0.01):
        row = equation.series(advanced(equation, IFRK4(), dye, 1.0, step).field, step)
        lost[step] = abs(float(row["variance"]) - 0.5)
    assert lost[0.01] < 1e-6
    assert lost[0.02] / lost[0.01] > 12, lost
    assert float(row["max_c"]) < 1.5


def test_what_is_reported_and_refused(make_grid):
    grid = make_grid((16, 32), devices=2, lengths=[2.0, 8.0])
    equation = AdvectionDiffusion(grid, 0.3, (1.0, -2.0), cell_speed=-0.5, cell_periods=2)
    fields = equation.from_physical({"c": initial.Cosine((1,), background=3.0, amplitude=2.0)(grid)})
    row = {name: float(value) for name, value in equation.series(fields, 0.1).items()}
    assert row["variance"] == pytest.approx(2.0)
    assert row["dissipation"] == pytest.approx(2 * 0.3 * 2 * np.pi**2)
    assert (row["min_c"], row["max_c"]) == pytest.approx((1.0, 5.0))
    assert row["cfl"] == pytest.approx(0.1 * (1.5 / 0.125 + (2.0 + 0.5 * 4) / 0.25))  # a/b = 4
    assert float(equation.conserved(fields)["mean"]) == pytest.approx(3.0)
    for arguments, message in [
        ((-1.0,), r"diffusivity -1\.0: zero or more"),
        ((0.0, (1.0,)), r"velocity \(1.0,\): 2 numbers are needed"),
        ((0.0, None, 1.0, 6), "cell_periods 6: this grid resolves 1 to 5"),
    ]:
        with pytest.raises(ValueError, match=message):
            AdvectionDiffusion(grid, *arguments)
    with pytest.raises(ValueError, match="in one dimension: cells need two or three"):
        AdvectionDiffusion(make_grid((16,), devices=1), 0.0, cell_speed=1.0)
    with pytest.raises(ValueError, match=r"viscosity -1\.0: zero or more"):
        Burgers(grid, -1.0)


@pytest.mark.parametrize(("cell_speed", "per_rhs"), [(None, []), (1.0, [(False, 1), (True, 2)])], ids=["wind", "cells"])
def test_transforms_of_advection(make_grid, cell_speed, per_rhs):
    equation = AdvectionDiffusion(make_grid((16, 16, 16), devices=2), 0.1, WIND, cell_speed)
    state = sw.initial_state(equation, ETDRK4(), jnp.zeros((16, 16, 16)))
    calls = transforms_in_step(equation, ETDRK4(), state)
    assert [(c.forward, c.batch) for c in calls] == per_rhs * 4
