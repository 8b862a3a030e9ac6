"""Solitons and vortices of nonlinear Schrödinger equations: periodic, with their winding and their flow."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from solver import initial
from solver.equations import GrossPitaevskii, NonlinearSchroedinger

pytestmark = pytest.mark.slow


def winding(psi):
    """Turns of the phase around the cell between the points (i, j) and (i + 1, j + 1), for all i and j."""
    ahead = lambda *axes: np.roll(psi, [-1] * len(axes), axes)  # noqa: E731
    around = [psi, ahead(0), ahead(0, 1), ahead(1), psi]
    return sum(np.angle(b / a) for a, b in pairwise(around)) / (2 * np.pi)


@pytest.mark.parametrize("lengths", [(10.0, 8.0), (24.0, 5.0), (5.0, 24.0)], ids=str)
def test_vortices_wind_once_and_their_phase_is_periodic(make_grid, lengths):
    grid = make_grid((160, 160), devices=2, lengths=lengths, real=False, dealias="none")
    centres = np.array([[0.252, 0.152], [0.652, 0.352], [0.802, 0.902], [0.302, 0.752]]) * lengths
    signs = (1, -1, 1, -1)
    psi = np.asarray(initial.QuantisedVortices(centres, signs, 2.0, healing_length=0.1)(grid))[0]
    expected = np.zeros((160, 160))
    for (i, j), sign in zip((centres / lengths * 160).astype(int), signs, strict=True):
        expected[i, j] = sign
    np.testing.assert_allclose(winding(psi), expected, atol=1e-9)
    for axis in (0, 1):  # across the sides the phase goes on as it does beside them
        steps = np.angle(psi / np.roll(psi, 1, axis))
        np.testing.assert_allclose(steps.take(0, axis), steps.take(-1, axis), atol=0.15)
    assert np.abs(psi).max() == pytest.approx(np.sqrt(2), rel=1e-2)
    assert np.abs(psi).min() < 0.6


def test_the_flow_of_a_pair_is_that_of_point_vortices(make_grid):
    """In the middle between them 2/(d/2); and all the flow through the lines between them that 2π of phase gives."""
    grid = make_grid((256, 256), devices=2, lengths=64.0, real=False, dealias="none")
    psi = initial.QuantisedVortices([[32.0, 30.125], [32.0, 34.125]], (-1, 1), healing_length=0.5)(grid)[0]
    speed = np.angle(np.asarray(psi)[129, 128] / np.asarray(psi)[127, 128]) / 0.5
    assert abs(speed) == pytest.approx(1.0, rel=0.02)
    mean = np.mean(np.angle(np.roll(psi, -1, 0) / psi)) / 0.25
    assert abs(mean) == pytest.approx(2 * np.pi * 4 / 64**2, rel=1e-9)


def test_profile_of_a_vortex_solves_its_equation(make_grid):
    """R'' + R'/r − R/r² + 2 (1 − R²) R = 0 in healing lengths; the approximant leaves a few per cent."""
    r = jnp.linspace(0.2, 8.0, 40)
    pade = lambda r: jnp.sqrt(2 * r**2 * (11 / 32 + 11 / 192 * r**2) / (1 + 2 / 3 * r**2 + 11 / 96 * r**4))  # noqa: E731
    slope = jax.grad(pade)
    left = jax.vmap(jax.grad(slope))(r) + jax.vmap(slope)(r) / r - pade(r) / r**2 + 2 * (1 - pade(r) ** 2) * pade(r)
    assert float(jnp.max(jnp.abs(left))) < 0.06
    grid = make_grid((128, 128), devices=1, lengths=64.0, real=False, dealias="none")
    psi = initial.QuantisedVortices([[16.0, 32.0], [48.0, 32.0]], (1, -1), healing_length=1.0)(grid)[0]
    np.testing.assert_allclose(jnp.abs(psi)[32, 64:80], jnp.abs(pade(0.5 * jnp.arange(16))), atol=2e-3)


def test_what_is_open_comes_from_the_equation(make_grid):
    grid = make_grid((32, 16), devices=2, lengths=20.0, real=False, dealias="none")
    vortices = initial.QuantisedVortices(density=0.25).for_equation(GrossPitaevskii(grid, coupling=4.0), "wavefunction")
    assert vortices.healing_length == 1.0
    soliton = initial.NlsSoliton().for_equation(NonlinearSchroedinger(grid, coupling=4.0), "wavefunction")
    assert float(jnp.max(jnp.abs(soliton(grid)))) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: initial.QuantisedVortices(signs=(1, 1)), r"2 centres and signs \[1, 1\]: .* add up to zero"),
        (lambda g: initial.QuantisedVortices()(g), "without healing_length"),
        (lambda g: initial.QuantisedVortices([[1.0], [2.0]], healing_length=1.0)(g), r"centre \[1.0\]: x and y"),
        (
            lambda g: initial.QuantisedVortices().for_equation(GrossPitaevskii(g, -1.0), "wavefunction"),
            "g = -1.0: a repulsive",
        ),
        (lambda g: initial.NlsSoliton((1.0,), (1.0, 2.0)), "1 amplitudes and 2 centres: as many are needed"),
        (lambda g: initial.NlsSoliton((-1.0,)), r"amplitudes \(-1.0,\): a positive number"),
        (lambda g: initial.NlsSoliton()(g), "without coupling"),
    ],
    ids=["sum", "length", "centre", "attractive", "centres", "amplitude", "coupling"],
)
def test_impossible_ones_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(make_grid((16, 16), devices=2, real=False, dealias="none"))
