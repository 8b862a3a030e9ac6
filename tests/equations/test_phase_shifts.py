"""Phase-shifted dealiasing of several equations: the flow of equal resolved modes without shifts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import random_field

import solver as sw
from solver.equations import MHD, Boussinesq, Burgers, NavierStokes, Vorticity
from solver.steppers import IFRK2

pytestmark = pytest.mark.slow

NU, END = 0.025, 1.5


def wave(x, y):
    """With steep gradients soon."""
    return jnp.sin(x) * jnp.sin(y) + jnp.cos(2 * y) + 0.3 * jnp.sin(3 * x - y)


def swirl(x, y):
    """(−ψ_y, ψ_x) of ψ = cos x + cos y + ½ cos(2x + y): no mean, no divergence."""
    return jnp.sin(y) + 0.5 * jnp.sin(2 * x + y), -jnp.sin(x) - jnp.sin(2 * x + y)


CASES = {
    "vorticity": (lambda g: Vorticity(g, 0.2 * NU), {"vorticity": lambda x, y: 2 * wave(x, y)}, "phase-shift-random"),
    "mhd": (
        lambda g: MHD(g, 1.6 * NU, 1.6 * NU),
        {"velocity": swirl, "magnetic_field": lambda x, y: (-jnp.sin(y) + 0 * x, jnp.sin(2 * x) + 0 * y)},
        "phase-shift-alternating",
    ),
    "boussinesq": (
        lambda g: Boussinesq(g, 0.4 * NU, 0.4 * NU, buoyancy_frequency=1.0),
        {"velocity": swirl, "buoyancy": wave},
        "phase-shift-random",
    ),
    "burgers": (
        lambda g: Burgers(g, 1.2 * NU),
        {"velocity": lambda x, y: (0.6 * wave(x, y), 0.6 * wave(y, x))},
        "phase-shift-alternating",
    ),
    "scalars": (
        lambda g: NavierStokes(g, NU, scalars={"dye": sw.PassiveScalar(NU)}),
        {"velocity": swirl, "dye": wave},
        "phase-shift-random",
    ),
}


@pytest.mark.thorough
def test_phase_shifts_resolve_as_much_as_two_thirds_of_more_points(make_grid):
    """On 24 points the shifts keep |k| < √2/3 · 24 = 11.3, on 34 two-thirds keep 11, and on 24 they keep 7."""
    make, start, rule = CASES["mhd"]
    ends = {}
    for name, n, dealias in (("shifted", 24, rule), ("finer", 34, "two-thirds"), ("coarser", 24, "two-thirds")):
        grid = make_grid((n, n), devices=2, dealias=dealias)
        equation = make(grid)
        fields = {field: jnp.reshape(sw.sample(u, grid), (-1, n, n)) for field, u in start.items()}
        state = sw.initial_state(equation, IFRK2(), fields, seed=3)
        *_, state = sw.evolve(equation, IFRK2(), state, end=END, step=0.015)
        low = make_grid((16, 16), devices=2)  # what all of them resolve
        ends[name] = {f: np.asarray(sw.fft.resample(u_hat, grid, low)) for f, u_hat in state.field.items()}
    for field, expected in ends["finer"].items():
        error = {n: np.linalg.norm(ends[n][field] - expected) / np.linalg.norm(expected) for n in ends}
        assert error["coarser"] > 3e-4, error
        assert error["shifted"] < 0.25 * error["coarser"], error


@pytest.mark.parametrize("case", CASES)
def test_neighbouring_evaluations_cancel_their_aliases(make_grid, case):
    """The mean of two right-hand sides on points half a spacing apart is that of 34 points, which alias nothing."""
    make, _, rule = CASES[case]
    grid, finer = make_grid((24, 24), devices=2, dealias=rule), make_grid((34, 34), devices=2)
    shifted, plain = make(grid), make(finer)
    shapes = shifted.physical_shapes()
    noise = {n: random_field(grid, s[:1], seed) for seed, (n, s) in enumerate(shapes.items())}
    u_hat = shifted.from_physical(noise)
    onto = lambda fields, a, b: {n: sw.fft.resample(v, a, b) for n, v in fields.items()}  # noqa: E731
    expected = onto(jax.jit(plain.nonlinear)(onto(u_hat, grid, finer), 0.0), finer, grid)
    moved = [shifted.at_step({}, jax.random.key(0), 3).on_moved_points(i) for i in (0, 1)]
    changes = [jax.jit(lambda u, e=e: e.nonlinear(u, 0.0))(u_hat) for e in moved]
    for name, value in expected.items():
        value = np.asarray(value * grid.is_kept())
        scale = np.abs(value).max()
        error = lambda n: np.abs(np.asarray(n) - value).max() / scale  # noqa: E731, B023
        assert error(changes[0][name]) > 1e-2
        assert error(0.5 * (changes[0][name] + changes[1][name])) < 1e-13
