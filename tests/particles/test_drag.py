"""Drag that exponential steppers integrate exactly, with steps of any length."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import solver as sw
from solver.particles.inertial import Drag

STARTS = np.array([[0.4, 0.3], [2.0, 5.9], [6.2, 3.3], [4.4, 0.1]])
A, G = 2.0, -0.5


@pytest.mark.parametrize("tau", [3.0, 1.0, 0.02])
def test_functions_of_the_linear_part_are_those_of_its_matrix(tau):
    """Against the exponential of an augmented matrix, and an inverse."""
    linear, t = Drag(0.0, 1.0, -1 / tau, (1, 2, 3)), 0.7
    matrix = np.array([[0, 0, 1], [0, 0, 0], [0, 0, -1 / tau]])
    of = lambda f: np.stack([np.asarray(f.apply({"d": jnp.asarray(e)})["d"]) for e in np.eye(3)], 1)  # noqa: E731
    np.testing.assert_allclose(of(linear), matrix, rtol=0, atol=0)
    np.testing.assert_allclose(of(linear.exp(t)), expm(t * matrix), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(of(linear.solve(2.0, t)), np.linalg.inv(2 * np.eye(3) - t * matrix), rtol=1e-14)
    for k in (1, 2, 3):  # φ_k(tM) is the block beyond the first of exp of [[tM, 1, 0], [0, 0, 1], …]
        whole = np.zeros((3 * (k + 1), 3 * (k + 1)))
        whole[:3, :3] = t * matrix
        for block in range(k):
            whole[3 * block : 3 * block + 3, 3 * block + 3 : 3 * block + 6] = np.eye(3)
        found = of(linear.phi({k: 1.0}, t))
        np.testing.assert_allclose(found, expm(whole)[:3, -3:], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        of(linear.phi({1: 1.0, 3: -4.0}, t)), of(linear.phi({1: 1.0}, t)) - 4 * of(linear.phi({3: 1.0}, t)), atol=1e-14
    )


def carried(stepper, tau, *, vorticity, velocity=None, steps, step, side=16, order=8, **more):
    """Positions and velocities `(direction, particle)` after some steps in a steady flow."""
    grid = sw.Grid((side, side), mesh=sw.device_mesh([0]))
    drops = sw.particles.Inertial(places=STARTS, order=order, response_time=tau, **more)
    flow = sw.equations.Vorticity(grid, viscosity=0.0, particles={"drops": drops})
    state = sw.initial_state(flow, stepper, sw.sample(vorticity, grid))
    if velocity is not None:
        y = state.field["drops"].at[4:].set(velocity)
        state = dataclasses.replace(state, field={**state.field, "drops": y})
    state = sw.integrate(flow, stepper, state, step=step, steps=steps)
    y = np.asarray(state.field["drops"])
    return drops.unwrapped(y, grid.box.lengths).T, y[4:, :4]


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(
    "stepper",
    ["ETDRK2", "Krogstad4", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("ETDRK3", "ETDRK5S4"))],
)
def test_relaxation_and_settling_in_fluid_at_rest_are_exact(stepper):
    """With steps of a hundredth to a million response times."""
    end, start = 2.0, 0.3
    for tau in (50.0, 1.0, 0.1, 1e-3, 5e-7):
        x, v = carried(
            getattr(sw.steppers, stepper)(),
            tau,
            vorticity=lambda x, y: 0 * x * y,
            velocity=start,
            gravity=(0.0, G),
            steps=4,
            step=end / 4,
            side=6,
            order=4,
        )
        faded = -np.expm1(-end / tau)
        velocity = [start * (1 - faded), start * (1 - faded) + G * tau * faded]
        moved = [start * tau * faded, start * tau * faded + G * tau * (end - tau * faded)]
        for i in range(2):
            np.testing.assert_allclose(v[i], velocity[i], rtol=2e-14, atol=1e-16)
            np.testing.assert_allclose(x[i] - STARTS[:, i], moved[i], rtol=2e-12, atol=2e-14)


def vortices(x, y):
    """Vorticity of u = A (cos x sin y, −sin x cos y), a steady flow without viscosity."""
    return -2 * A * jnp.cos(x) * jnp.cos(y)


def velocity(x):
    return A * np.stack([np.cos(x[0]) * np.sin(x[1]), -np.sin(x[0]) * np.cos(x[1])])


def exact(tau, end):
    def rates(t, y):
        x, v = y.reshape(2, 2, -1)
        return np.stack([v, (velocity(x) - v) / tau]).ravel()

    start = np.stack([STARTS.T, velocity(STARTS.T)]).ravel()
    method = "Radau" if tau < 0.1 else "DOP853"
    return solve_ivp(rates, (0, end), start, method=method, rtol=1e-10, atol=1e-11).y[:8, -1].reshape(2, -1)


def exact_of_tracers(end):
    rates = lambda t, x: velocity(x.reshape(2, -1)).ravel()  # noqa: E731
    return solve_ivp(rates, (0, end), STARTS.T.ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(2, -1)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_order_in_a_flow_holds_for_every_response_time():
    """By Krogstad's method: 0.5, ten times shorter than a step, and so short that particles follow the flow."""
    end, stepper = 1.0, sw.steppers.Krogstad4()
    for tau, wanted, order, bound in (
        (0.5, exact(0.5, end), 3.7, 1e-6),
        (0.01, exact(0.01, end), 2.4, 5e-5),
        (1e-9, exact_of_tracers(end), 3.7, 5e-5),
    ):
        errors = [
            np.abs(carried(stepper, tau, vorticity=vortices, steps=n, step=end / n)[0] - wanted).max() for n in (10, 20)
        ]
        assert errors[0] < bound, tau
        assert np.log2(errors[0] / errors[1]) > order, tau


def test_steps_of_any_length_are_for_exponential_steppers_alone():
    grid = sw.Grid((8, 8), mesh=sw.device_mesh([0]))
    drops = {"drops": sw.particles.Inertial(places=STARTS, response_time=0.01)}
    flow = sw.equations.Vorticity(grid, particles=drops)
    for stepper in (sw.steppers.Krogstad4(), sw.steppers.ETDRK2()):
        stepper.check_longest_step(flow, np.inf)
    advice = "0.0278 or less is needed, as step or max_step; etdrk2, etdrk3, etdrk4, etdrk5s4, krogstad4 take any step"
    with pytest.raises(ValueError, match=advice):
        sw.steppers.IFRK4().check_longest_step(flow, 0.1)
    with pytest.raises(ValueError, match=r"0\.0095 or less is needed"):
        sw.steppers.SBDF3().check_longest_step(flow, 1)
