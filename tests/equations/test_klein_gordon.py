"""Klein–Gordon: its dispersion relation, an exact nonlinear oscillation, and the energy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced
from scipy.special import ellipj

import solver as sw
from solver import initial
from solver.equations import KleinGordon
from solver.plan import transforms_in_step
from solver.steppers import ETDRK2, ETDRK4, IFRK4, LSRK3

pytestmark = pytest.mark.slow


@pytest.mark.thorough
@pytest.mark.parametrize(("stepper", "mass"), [(IFRK4(), 0.0), (ETDRK4(), 2.0), (LSRK3(), 2.0)], ids=str)
def test_waves_turn_at_their_frequency(make_grid, stepper, mass):
    """ω² = c²k² + m², in steps of more than half a turn."""
    grid = make_grid((10, 12, 14), devices=4, lengths=[2.0, 3.0, 1.5])
    c, t = 1.7, 6.0
    k = 2 * np.pi * np.array([2 / 2.0, -1 / 3.0, 3 / 1.5])
    omega = np.sqrt(c**2 * (k @ k) + mass**2)
    wave = lambda t: lambda x, y, z: k[0] * x + k[1] * y + k[2] * z - omega * t  # noqa: E731
    phi = lambda t: sw.sample(lambda *x: jnp.cos(wave(t)(*x)), grid)  # noqa: E731
    rate = lambda t: sw.sample(lambda *x: omega * jnp.sin(wave(t)(*x)), grid)  # noqa: E731
    equation = KleinGordon(grid, c, mass)
    step = 1.5
    assert omega * step > 2 * np.pi
    state = advanced(equation, stepper, {"phi": phi(0.0), "rate_of_phi": rate(0.0)}, t, step)
    assert int(state.step) == 4
    computed = equation.to_physical(state.field)
    np.testing.assert_allclose(computed["phi"][0], phi(t), atol=1e-10)
    np.testing.assert_allclose(computed["rate_of_phi"][0] / omega, rate(t) / omega, atol=1e-10)


def test_a_uniform_massless_field_moves_on(make_grid):
    """Without mass the mean is a free particle: the matrix of k = 0 has no second eigenvector."""
    grid = make_grid((8, 8), devices=2)
    fields = {"phi": jnp.full((8, 8), 2.0), "rate_of_phi": jnp.full((8, 8), 0.5)}
    equation = KleinGordon(grid, mass=0.0)
    state = advanced(equation, ETDRK2(), fields, 10.0, 2.5)
    np.testing.assert_allclose(equation.to_physical(state.field)["phi"], 7.0, rtol=1e-13)


def test_a_uniform_oscillation_is_an_elliptic_cosine(make_grid):
    """φ = A cn(Ωt, κ), Ω² = m² + λA², κ² = λA²/(2Ω²)."""
    mass, coupling, a, t = 0.8, 1.5, 1.2, 4.0
    equation = KleinGordon(make_grid((8, 8), devices=2), 1.0, mass, coupling)
    fields = {"phi": jnp.full((8, 8), a), "rate_of_phi": jnp.zeros((8, 8))}
    computed = equation.to_physical(advanced(equation, IFRK4(), fields, t, 0.01).field)
    omega2 = mass**2 + coupling * a**2
    sn, cn, dn, _ = ellipj(np.sqrt(omega2) * t, coupling * a**2 / (2 * omega2))
    np.testing.assert_allclose(computed["phi"], a * cn, atol=1e-7)
    np.testing.assert_allclose(computed["rate_of_phi"], -a * np.sqrt(omega2) * sn * dn, atol=1e-7)


@pytest.mark.thorough
def test_energy_is_conserved_to_fourth_order(make_grid):
    grid = make_grid((24, 28), devices=4, lengths=12.0)
    equation = KleinGordon(grid, 1.0, 1.0, 1.0)
    start = {"phi": initial.Bump(height=1.5, width=1.5)(grid), "rate_of_phi": initial.Cosine((1, 2))(grid)}
    drift = {}
    for step in (0.1, 0.05):
        state = sw.initial_state(equation, IFRK4(), start)
        before = float(state.conserved["energy"])
        *_, state = sw.evolve(equation, IFRK4(), state, end=4.0, step=step)
        drift[step] = abs(float(equation.conserved(state.field)["energy"]) / before - 1)
    assert drift[0.05] < 1e-5
    assert drift[0.1] / drift[0.05] > 12, drift


@pytest.mark.thorough
def test_the_energy_does_not_change_along_the_right_hand_side(make_grid):
    grid = make_grid((32, 36), devices=4, lengths=[7.0, 9.0])
    equation = KleinGordon(grid, 1.3, 0.6, 0.9)
    kx, ky = grid.fundamental

    @jax.jit
    def change(phi, rate):
        fields = equation.from_physical({"phi": phi, "rate_of_phi": rate})
        linear, other = equation.linear().apply(fields), equation.nonlinear(fields, 0.0)
        return jax.jvp(equation.conserved, [fields], [{n: linear[n] + other[n] for n in linear}])

    phi = sw.sample(lambda x, y: 0.7 * jnp.cos(kx * x + 1) + 0.4 * jnp.sin(2 * ky * y - kx * x) + 0.2, grid)[None]
    rate = sw.sample(lambda x, y: 0.5 * jnp.sin(kx * x) + 0.4 * jnp.cos(ky * y - kx * x) + 0.3, grid)[None]
    energy, lost = change(phi, rate)
    assert float(energy["energy"]) > 0.1
    assert abs(float(lost["energy"])) < 1e-14


def test_what_is_reported_and_refused(make_grid):
    grid = make_grid((16, 16), devices=2)
    equation = KleinGordon(grid, 2.0, 3.0, 0.5)
    u = {"phi": initial.Cosine((1, 0), amplitude=2.0)(grid), "rate_of_phi": initial.Uniform(0.5)(grid)}
    row = equation.series(equation.from_physical(u), 0.1)
    assert float(row["energy"]) == pytest.approx(0.5 * 0.25 + 0.5 * 4 * 2 + 0.5 * 9 * 2 + 0.25 * 0.5 * 16 * 3 / 8)
    assert float(row["max_phi"]) == pytest.approx(2.0)
    assert float(row["cfl"]) == pytest.approx(0.1 * np.sqrt(9 + 1.5 * 4))
    for options, message in [
        ({"mass": -1.0}, "mass -1.0: zero or more"),
        ({"wave_speed": np.nan}, "wave_speed nan: zero or more"),
        ({"coupling": np.inf}, "coupling inf: a finite number"),
    ]:
        with pytest.raises(ValueError, match=message):
            KleinGordon(grid, **options)


def test_one_transform_each_way(make_grid):
    equation = KleinGordon(make_grid((16, 16), devices=2))
    state = sw.initial_state(equation, IFRK4(), {n: jnp.zeros((16, 16)) for n in equation.fields})
    calls = transforms_in_step(equation, IFRK4(), state)
    assert [(c.forward, c.batch) for c in calls] == [(False, 1), (True, 1)] * 4
