"""Particles and bodies in the flow: none is inside, and surfaces reflect."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.dynamics.companion import Step

BOX = (4.0, 3.0)
MIDDLE, RADIUS = np.array([0.5, 1.5]), 0.8


def beside(bodies, particles, stepper=None, shape=(16, 12), seed=0):
    """A fluid at rest with bodies and particles: equation, and first state if there is a stepper."""
    grid = sw.Grid(shape, BOX, mesh=sw.device_mesh([0]))
    flow = sw.equations.NavierStokes(grid, 0.1, bodies=bodies, particles={"dust": particles}, energy_budget=False)
    return flow, None if stepper is None else sw.initial_state(flow, stepper, jnp.zeros((2, *shape)), seed=seed)


def from_middle(x, middle=MIDDLE):
    """Distances of positions `(direction, particle)` from the nearest image of a point."""
    apart = np.asarray(x) - np.asarray(middle)[:, None]
    return np.linalg.norm(apart - np.round(apart / np.array(BOX)[:, None]) * np.array(BOX)[:, None], axis=0)


@pytest.mark.slow
def test_what_is_inside_a_disc_is_mirrored_at_its_surface_and_turned_back():
    """Relative to a surface that moves, through the side of the box, and only what moves into it; once."""
    speed, t, dt = np.array([0.3, -0.2]), 0.7, 0.1
    disc = sw.bodies.Sphere(tuple(MIDDLE), RADIUS, velocity=tuple(speed))
    dust = sw.particles.Inertial(places=[[3.0, 1.5]] * 4, response_time=0.1)
    flow, _ = beside(disc, dust)
    now = MIDDLE + speed * (t + dt)
    angles, radii = np.array([0.4, 2.9, 3.5, 0.0]), np.array([0.7, 0.78, 0.75, 1.1])
    outwards = np.stack([np.cos(angles), np.sin(angles)])
    x = now[:, None] + radii * outwards
    v = np.array([[-1.0, 1.0, -1.0, 0.0], [0.5, 0.0, 0.0, 1.0]])
    y = jnp.asarray(np.concatenate([x, np.zeros((2, 4)), v, np.zeros((1, 4))]))
    after = np.asarray(dust.after_step(flow, y, Step(y, t, dt, (), 1)))
    expected = np.where(radii < RADIUS, 2 * RADIUS - radii, radii)
    np.testing.assert_allclose(from_middle(after[:2], now), expected, rtol=1e-12)
    moved = after[:2] + after[2:4] * np.array(BOX)[:, None] - now[:, None]
    np.testing.assert_allclose(moved / expected, outwards, rtol=0, atol=1e-12)
    assert (after[2] != 0).any()
    into = np.sum((v - speed[:, None]) * outwards, axis=0)
    turned = v - 2 * np.where((radii < RADIUS) & (into < 0), into, 0) * outwards
    assert list(into < 0) == [True, True, False, True]
    np.testing.assert_allclose(after[4:6], turned, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(after[6], [1, 1, 1, 0])
    with pytest.raises(TypeError, match=r"stepper sbdf2 continues from .* dust that a wall or body has turned back"):
        sw.steppers.SBDF2().check(flow)


@pytest.mark.thorough
@pytest.mark.slow
def test_starts_are_in_the_fluid():
    """Drawn anew where they are in a body, so that the fluid is filled evenly; and mirrored where they are given."""
    stepper = sw.steppers.ETDRK2()
    bodies = {"disc": sw.bodies.Sphere(tuple(MIDDLE), RADIUS), "post": sw.bodies.Sphere((2.5, 1.0), 0.6)}
    _, state = beside(bodies, sw.particles.Tracers(count=4000), stepper)
    x = np.asarray(state.field["dust"])[:2]
    radius = from_middle(x)
    assert radius.min() > RADIUS
    assert from_middle(x, (2.5, 1.0)).min() > 0.6
    share = np.pi * (1.2**2 - RADIUS**2) / (np.prod(BOX) - np.pi * (RADIUS**2 + 0.6**2))
    assert np.mean(radius < 1.2) == pytest.approx(share, abs=4 * np.sqrt(share / 4000))
    _, state = beside(bodies, sw.particles.Tracers(places=[[0.5, 2.2], [3.9, 1.5]]), stepper)
    y = np.asarray(state.field["dust"])
    np.testing.assert_allclose(y[:2], [[0.5, 3.5], [2.4, 1.5]], rtol=1e-12)
    np.testing.assert_array_equal(y[4], 0)


@pytest.mark.thorough
@pytest.mark.slow
def test_random_walks_around_a_body_fill_the_fluid_evenly():
    stepper, count = sw.steppers.ETDRK2(), 6000
    dust = sw.particles.Brownian(count=count, order=4, diffusivity=0.1)
    flow, start = beside(sw.bodies.Sphere(tuple(MIDDLE), RADIUS), dust, stepper, seed=4)
    state = sw.integrate(flow, stepper, start, step=0.01, steps=60)
    radius = from_middle(state.field["dust"][:2])
    assert radius.min() >= RADIUS
    for outer in (0.9, 1.1, 1.4):
        share = np.pi * (outer**2 - RADIUS**2) / (np.prod(BOX) - np.pi * RADIUS**2)
        assert np.mean(radius < outer) == pytest.approx(share, abs=4 * np.sqrt(share / count))
    assert float(dust.series(flow, state.field["dust"], {}, 0.0)["dust_reflections"]) > 100
    assert np.mean(np.abs(np.asarray(state.field["dust"] - start.field["dust"])[:2])) > 0.1


@pytest.mark.slow
def test_bodies_that_the_flow_moves_push_tracers_along():
    """The disc is where it is after the step."""
    stepper = sw.steppers.ETDRK2()
    disc = sw.bodies.Sphere(tuple(MIDDLE), RADIUS, mass=3.0, velocity=(1.0, 0.0))
    ring = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    places = MIDDLE + (RADIUS + 0.01) * np.stack([np.cos(ring), np.sin(ring)], 1)
    flow, state = beside(disc, sw.particles.Tracers(places=places % BOX, order=4), stepper)
    state = sw.integrate(flow, stepper, state, step=0.02, steps=20)
    middle = MIDDLE + np.asarray(state.field["motion"])[:2]
    assert middle[0] > MIDDLE[0] + 0.1
    assert from_middle(state.field["dust"][:2], middle).min() >= RADIUS * (1 - 1e-12)
    assert from_middle(state.field["dust"][:2]).min() < RADIUS - 0.02
    assert float(np.asarray(state.field["dust"])[4].sum()) > 10
