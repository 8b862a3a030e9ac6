"""Smagorinsky's closure of Navier–Stokes: its stress against NumPy, what it takes from energy, steps, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, advanced

from solver import initial
from solver.equations import NavierStokes
from solver.steppers import IFRK4

pytestmark = pytest.mark.slow


def noisy(grid, equation):
    random = np.random.default_rng(3)
    values = {name: random.standard_normal(v.shape) for name, v in equation.values_at_points().items()}
    return equation.from_physical({name: jnp.asarray(v) for name, v in values.items()})


def test_stress_of_a_flow_and_its_rate_against_numpy(make_grid):
    """P ∇·(2 ν_t S) of whole complex transforms; the rate is the largest Σ|u_i|/Δx_i + ν_t k² of one point."""
    shape, lengths, constant = (9, 8, 10), np.array([6.0, 5.0, 4.0]), 0.3
    grid = make_grid(shape, devices=2, lengths=tuple(lengths))
    closed, plain = NavierStokes(grid, 0.01, smagorinsky=constant), NavierStokes(grid, 0.01)
    fields = noisy(grid, closed)
    change = {n: closed.nonlinear(fields, 0.0)[n] - plain.nonlinear(fields, 0.0)[n] for n in fields}
    found = np.asarray(closed.to_physical(change)["velocity"])

    u = np.asarray(closed.to_physical(fields)["velocity"])
    k = np.meshgrid(
        *(2 * np.pi * np.fft.fftfreq(n, side / n) for n, side in zip(shape, lengths, strict=True)), indexing="ij"
    )
    highest = 2 * np.pi * np.array([(n - 1) // 3 for n in shape]) / lengths
    kept = np.all([abs(a) < h * (1 + 1e-9) for a, h in zip(k, highest, strict=True)], axis=0)
    slopes = np.array([[np.fft.ifftn(1j * k[j] * np.fft.fftn(u[i])).real for j in range(3)] for i in range(3)])
    strain = (slopes + slopes.transpose(1, 0, 2, 3, 4)) / 2
    eddy = (constant * np.pi / np.prod(highest) ** (1 / 3)) ** 2 * np.sqrt(2 * np.sum(strain**2, axis=(0, 1)))
    push = np.array([sum(1j * k[j] * np.fft.fftn(2 * eddy * strain[i, j]) for j in range(3)) for i in range(3)]) * kept
    k2 = np.where(sum(a * a for a in k) > 0, sum(a * a for a in k), 1)
    push = push - np.array(k) * sum(a * p for a, p in zip(k, push, strict=True)) / k2
    expected = np.fft.ifftn(push, axes=(1, 2, 3)).real
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.max(np.abs(expected)))
    crossings = sum(abs(u[i]) * n / side for i, (n, side) in enumerate(zip(shape, lengths, strict=True)))
    row = closed.series(fields, 0.1)
    assert float(row["cfl"]) == pytest.approx(0.1 * np.max(crossings + eddy * np.sum(highest**2)), rel=1e-12)
    assert closed.report.units()["subgrid_dissipation"] == "length^2/time^3"
    assert float(row["subgrid_dissipation"]) == pytest.approx(np.mean(2 * eddy * np.sum(strain**2, axis=(0, 1))))


def test_the_energy_lost_is_the_column_and_its_budget(make_grid):
    grid = make_grid((16, 16), devices=2)
    equation = NavierStokes(grid, 0.0, smagorinsky=0.4)
    fields = noisy(grid, equation)
    _, rates = jax.jvp(equation.report.energies, (fields,), (equation.nonlinear(fields, 0.0),))
    assert float(rates["energy"]) == pytest.approx(
        -float(equation.series(fields, 0.1)["subgrid_dissipation"]), rel=1e-12
    )
    start = equation.to_physical(fields)
    state = advanced(equation, IFRK4(), start, 0.1, 0.01)
    lost = float(equation.report.energies(state.field)["energy"] - state.energies["energy"])
    assert float(state.budget["energy_from_nonlinear"]) == pytest.approx(lost, rel=1e-4)
    assert lost < -0.01


@pytest.mark.thorough
def test_decaying_turbulence_does_not_pile_up_at_the_last_shells(make_grid):
    """Without viscosity shell 7 of 7 has 0.16 of the energy of shell 3, and 6.3 of it without the closure."""
    grid = make_grid((24, 24, 24), devices=2)
    start = initial.RandomPhase(energy=0.5, peak=3.0)(grid, VELOCITY, jax.random.key(0))
    share = {}
    for constant in (None, 0.17):
        equation = NavierStokes(grid, 0.0, smagorinsky=constant)
        state = advanced(equation, IFRK4(), start, 4.0, 0.05)
        spectrum = np.asarray(equation.spectra(state.field)["energy"])
        share[constant] = spectrum[7] / spectrum[3]
    assert share[0.17] < 0.3 < 1.0 < share[None], share


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smagorinsky": -0.1}, "smagorinsky -0.1: zero or more is needed"),
        ({"smagorinsky": 0.1, "turbulent_schmidt": 0.0}, "turbulent_schmidt 0.0: a positive number is needed"),
    ],
    ids=["constant", "Schmidt"],
)
def test_wrong_parameters_are_refused(make_grid, options, message):
    with pytest.raises(ValueError, match=message):
        NavierStokes(make_grid((8, 8), devices=1), 0.1, **options)


def test_walls_are_refused(make_grid):
    with pytest.raises(ValueError, match=r"smagorinsky 0.1: a periodic box is needed"):
        NavierStokes(make_grid((8, 8), devices=1, walls="y"), 0.1, smagorinsky=0.1)
