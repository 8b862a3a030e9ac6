"""Two condensates: Manakov's solitons, waves of a mixture, which grow where it separates."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

from solver.equations import CoupledGrossPitaevskii
from solver.steppers import ETDRK4

pytestmark = pytest.mark.slow


def test_a_soliton_of_manakov_keeps_its_shape_and_polarisation(make_grid):
    length, a, g, scale = 40.0, 1.1, 2.0, 0.8
    grid = make_grid((256,), devices=1, lengths=length, real=False, dealias="one-half")
    equation = CoupledGrossPitaevskii(grid, -g, -g, -g, hbar_over_mass_1=scale, hbar_over_mass_2=scale)
    v = scale * 3 * 2 * np.pi / length
    polarisation = np.array([0.6, 0.8 * np.exp(0.5j)])
    x = np.asarray(grid.coordinates()[0])

    def soliton(t):
        shape = a * np.sqrt(scale / g) / np.cosh(a * (x - 18 - v * t))
        return shape * np.exp(1j * (v * x / scale + 0.5 * (scale * a * a - v * v / scale) * t))

    start = {f"psi_{i + 1}": jnp.asarray(p * soliton(0.0))[None] for i, p in enumerate(polarisation)}
    state = advanced(equation, ETDRK4(), start, 2.0, 0.01)
    after = equation.to_physical(state.field)
    for i, p in enumerate(polarisation):
        np.testing.assert_allclose(after[f"psi_{i + 1}"][0], p * soliton(2.0), atol=1e-6)
    for name, value in equation.conserved(state.field).items():
        assert float(value) == pytest.approx(float(state.conserved[name]), rel=1e-8, abs=1e-10), name


@pytest.mark.parametrize("g12", [1.6, 1.0], ids=["separates", "mixes"])
def test_waves_of_a_mixture_are_those_of_bogoliubov(make_grid, g12):
    """Around the threshold g_12² = g_11 g_22 = 1.68, of unequal densities and masses: cosh or cos of each mode."""
    length, end = 12.0, 3.0
    grid = make_grid((32,), devices=1, lengths=length, real=False, dealias="one-half")
    g, rho, scales = np.array([[1.2, g12], [g12, 1.4]]), np.array([1.0, 0.7]), np.array([1.0, 0.6])
    equation = CoupledGrossPitaevskii(grid, 1.2, 1.4, g12, hbar_over_mass_1=scales[0], hbar_over_mass_2=scales[1])
    epsilon = 0.5 * scales * (2 * np.pi / length) ** 2
    squares, shapes = np.linalg.eig(np.diag(epsilon**2) + 2 * (epsilon * rho)[:, None] * g)
    slow = np.argmin(squares)
    assert (squares[slow] < 0) == (g12**2 > 1.2 * 1.4)
    small, wave = 1e-6, np.cos(2 * np.pi / length * np.asarray(grid.coordinates()[0]))
    start = {
        f"psi_{i + 1}": jnp.asarray(np.sqrt(rho[i]) + small * shapes[i, slow] / (2 * np.sqrt(rho[i])) * wave + 0j)[None]
        for i in (0, 1)
    }
    state = advanced(equation, ETDRK4(), start, end, 0.01)
    after = equation.to_physical(state.field)
    growth = np.cos(np.sqrt(complex(squares[slow])) * end).real
    for i in (0, 1):
        density = np.abs(np.asarray(after[f"psi_{i + 1}"])[0]) ** 2
        found = 2 * np.mean((density - rho[i]) * wave) / small
        assert found == pytest.approx(growth * shapes[i, slow], rel=2e-4)


def test_a_mass_that_is_not_positive_is_refused(make_grid):
    with pytest.raises(ValueError, match=r"hbar_over_mass_2 0.0: a positive number is needed"):
        CoupledGrossPitaevskii(make_grid((8,), devices=1), hbar_over_mass_2=0.0)
