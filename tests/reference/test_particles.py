"""Particles beside the second program: positions and velocities after five steps."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from reference import runs

KINDS = {
    "tracer": (sw.particles.Tracers, {"order": 4}),
    "inertial": (sw.particles.Inertial, {"response_time": 0.1, "gravity": [0.3, -1.0], "order": 8}),
    "light": (sw.particles.Inertial, {"response_time": 0.1, "density_ratio": 0.5, "gravity": [0.3, -1.0]}),
}
FORCED = {"name": "kolmogorov", "amplitude": 0.7, "wavenumber": 2}


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize("stepper", ["ifrk4", pytest.param("sbdf2", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("equation", ["navier-stokes", pytest.param("vorticity", marks=pytest.mark.thorough)])
def test_particles_are_where_those_of_the_second_program_are(equation, stepper, make_grid):
    """Of each kind, through the sides of the box, in a forced flow."""
    shape, lengths, random = (9, 12), (2 * np.pi, 5.0), np.random.default_rng(0)
    places = {name: random.uniform(0, 1, (6, 2)) * lengths for name in KINDS}
    sections = {name: {"kind": cls.name, **given} for name, (cls, given) in KINDS.items()}
    table = {
        "grid": {"shape": shape, "lengths": list(lengths)}, "equation": {"name": equation, "viscosity": 0.02},
        "time": {"stepper": stepper, "step": 0.02, "end": 0.1}, "particles": sections, "forcing": FORCED,
    }  # fmt: skip
    made = {
        name: cls(places=places[name], **{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})
        for name, (cls, given) in KINDS.items()
    }
    grid = make_grid(shape, devices=2, lengths=lengths)
    cls = {"navier-stokes": sw.equations.NavierStokes, "vorticity": sw.equations.Vorticity}[equation]
    force = sw.forcing.Kolmogorov(amplitude=0.7, wavenumber=2)
    flow = cls(grid, viscosity=0.02, particles=made, forcing=force)
    method = {"ifrk4": sw.steppers.IFRK4, "sbdf2": sw.steppers.SBDF2}[stepper]()
    start = {n: 3 * random.standard_normal(v.shape) for n, v in flow.values_at_points().items()}
    state = sw.initial_state(flow, method, {n: jnp.asarray(v) for n, v in start.items()})
    kept = {n: np.asarray(v) for n, v in flow.to_physical(state.field).items()}
    after = sw.integrate(flow, method, state, step=0.02, steps=5)
    course = runs.run(table, kept, places=places)
    left = 0
    for name, numbers in course.problem.tracks(course.states[5]).items():
        y = np.asarray(after.field[name])
        np.testing.assert_allclose(made[name].unwrapped(y, lengths), numbers[0], rtol=0, atol=1e-11, err_msg=name)
        if len(numbers) == 2:
            np.testing.assert_allclose(y[4:6, :6].T, numbers[1], rtol=0, atol=1e-10, err_msg=name)
        assert np.abs(numbers[0] - places[name]).max() > 0.05
        left += np.sum((numbers[0] < 0) | (numbers[0] > lengths))
    assert left, "no particle left the box"
