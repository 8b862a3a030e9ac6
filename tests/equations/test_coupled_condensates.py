"""Two condensates: Manakov's solitons, waves of a mixture, which grow where it separates; splittings of both."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver.equations import CoupledGrossPitaevskii
from solver.steppers import ETDRK4, Strang, Yoshida4, fitting

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("stepper", "dealias"), [(ETDRK4(), "one-half"), (Yoshida4(), "none")], ids=["etd", "split"])
def test_a_soliton_of_manakov_keeps_its_shape_and_polarisation(make_grid, stepper, dealias):
    length, a, g, scale = 40.0, 1.1, 2.0, 0.8
    grid = make_grid((256,), devices=1, lengths=length, real=False, dealias=dealias)
    equation = CoupledGrossPitaevskii(grid, -g, -g, -g, hbar_over_mass_1=scale, hbar_over_mass_2=scale)
    v = scale * 3 * 2 * np.pi / length
    polarisation = np.array([0.6, 0.8 * np.exp(0.5j)])
    x = np.asarray(grid.coordinates()[0])

    def soliton(t):
        shape = a * np.sqrt(scale / g) / np.cosh(a * (x - 18 - v * t))
        return shape * np.exp(1j * (v * x / scale + 0.5 * (scale * a * a - v * v / scale) * t))

    start = {f"psi_{i + 1}": jnp.asarray(p * soliton(0.0))[None] for i, p in enumerate(polarisation)}
    state = advanced(equation, stepper, start, 2.0, 0.01)
    after = equation.to_physical(state.field)
    for i, p in enumerate(polarisation):
        np.testing.assert_allclose(after[f"psi_{i + 1}"][0], p * soliton(2.0), atol=1e-6)
    if stepper.name == "yoshida4":
        for mass in ("mass_1", "mass_2"):
            assert float(equation.conserved(state.field)[mass] / state.conserved[mass]) == pytest.approx(1, abs=1e-13)
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


# ---- splittings -----------------------------------------------------------------------------------------------------

COHERENT = [
    "dt(p) = 1j/2*lap(p) - 1j*omega/2*q - 1j*g*(abs(p)**2 + abs(q)**2)*p",
    "dt(q) = 1j/2*lap(q) - 1j*omega/2*p - 1j*g*(abs(p)**2 + abs(q)**2)*q",
]


def test_two_coherently_coupled_condensates_oscillate_exactly(make_grid):
    """Equal interactions turn both phases alike, so that Rabi's oscillation is exact for any step."""
    grid = make_grid((8, 6), devices=2, real=False, dealias="none")
    pair = sw.write(COHERENT, {"p": "wavefunction", "q": "wavefunction"}, energies={})(grid, g=1.3, omega=0.9)
    ones = jnp.ones(grid.shape, complex)
    state = advanced(pair, Strang(), {"p": 0.8 * ones[None], "q": 0 * ones[None]}, 6.0, 0.5)
    after, phase = pair.to_physical(state.field), 0.8 * np.exp(-1j * 1.3 * 0.64 * 6.0)
    np.testing.assert_allclose(after["p"][0], phase * np.cos(0.45 * 6.0) * ones, atol=1e-13)
    np.testing.assert_allclose(after["q"][0], -1j * phase * np.sin(0.45 * 6.0) * ones, atol=1e-13)


@pytest.mark.parametrize("stepper", [Strang(), Yoshida4()], ids=lambda s: s.name)
def test_a_potential_that_changes_in_time_is_taken_when_it_acts(make_grid, stepper):
    """Against etdrk4 with much shorter steps: the order of the splitting, which a V of another time would lower."""
    grid = make_grid((32,), devices=1, lengths=12.0, real=False, dealias="none")
    trap = {"functions": {"trap": lambda x, t: 0.5 * (1 + 0.5 * jnp.sin(3 * t)) * (x - 6) ** 2}, "energies": {}}
    lines = [f"dt({a}) = -1j*(-lap({a})/2 + (trap(x, t) + abs({a})**2 + h*abs({b})**2)*{a})" for a, b in ("pq", "qp")]
    pair = sw.write(lines, {"p": "wavefunction", "q": "wavefunction"}, **trap)(grid, h=0.7)
    gaussian = lambda at: sw.sample(lambda x: jnp.exp(-0.5 * (x - at) ** 2) + 0j, grid)[None]  # noqa: E731
    start = {"p": gaussian(6.5), "q": gaussian(5.0)}
    end = lambda stepper, step: np.concatenate(  # noqa: E731
        list(pair.to_physical(advanced(pair, stepper, start, 1.0, step).field).values())
    )
    exact = end(ETDRK4(), 0.001)
    errors = [np.abs(end(stepper, step) - exact).max() for step in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(stepper.order, abs=0.1), errors


class TwoLevels(sw.SplitEquation):
    """Two wavefunctions at the points that turn each other's phase."""

    fields: ClassVar = {"a": sw.Field("wavefunction"), "b": sw.Field("wavefunction")}

    def drift(self, psi, dt):
        return self.transform.inverse(jnp.exp(-0.5j * dt * self.grid.k_squared()) * self.transform.forward(psi))

    def split_potential(self, psi, t=0.0):
        rho = jnp.abs(psi) ** 2
        return jnp.stack([rho[0] + 0.5 * rho[1], 0.5 * rho[0] - rho[1]])

    def rate(self, fields):
        return jnp.ones(())


def test_an_equation_at_the_points_may_have_two_wavefunctions(make_grid):
    """As the text of the same equation, which drifts first, but for the error of the steps; with a history of both."""
    grid = make_grid((12, 8), devices=4, lengths=6.0, real=False, dealias="none")
    lines = [
        "dt(a) = 1j/2*lap(a) - 1j*(abs(a)**2 + abs(b)**2/2)*a",
        "dt(b) = 1j/2*lap(b) - 1j*(abs(a)**2/2 - abs(b)**2)*b",
    ]
    text = sw.write(lines, dict.fromkeys("ab", "wavefunction"), energies={})(grid)
    start = {name: sw.sample(lambda x, y, k=k: 0.7 + 0.2 * jnp.exp(1j * k * x) * jnp.cos(y), grid)[None]
             for name, k in (("a", 2 * np.pi / 6), ("b", -2 * np.pi / 6))}  # fmt: skip
    ends = [advanced(one, Yoshida4(), start, 0.4, 0.02) for one in (TwoLevels(grid), text)]
    assert ends[0].history.shape == (2, 12, 8)
    for name, values in text.to_physical(ends[1].field).items():
        np.testing.assert_allclose(ends[0].field[name], values, atol=2e-7)
        assert np.abs(np.asarray(values) - start[name]).max() > 0.1


def test_a_gradient_through_split_steps_is_that_of_differences(make_grid):
    grid = make_grid((16,), devices=1, lengths=8.0, real=False, dealias="none")
    equation = CoupledGrossPitaevskii(grid, 0.5, 0.7, 0.9)
    start = {f"psi_{i}": sw.initial.Gaussian(width=1.0 + 0.2 * i, velocity=(0.8 * i,))(grid) for i in (1, 2)}
    state = sw.initial_state(equation, Strang(), start)

    @jax.jit
    def there(coupling):
        moved = CoupledGrossPitaevskii(grid, 0.5, 0.7, coupling)
        after = sw.integrate(moved, Strang(), state, step=0.05, steps=10)
        return jnp.abs(moved.to_physical(after.field)["psi_1"][0, 7]) ** 2

    h = 1e-4
    assert float(jax.jit(jax.grad(there))(0.9)) == pytest.approx(
        float(there(0.9 + h) - there(0.9 - h)) / (2 * h), rel=1e-6
    )


@pytest.mark.parametrize(
    ("lines", "given", "message"),
    [
        ("dt(p) = 1j*lap(p) - 1j*g*abs(p)**2*p", {"g": 1 + 0.1j}, "the parameter g is complex"),
        ("dt(p) = 1j*lap(p) - g*p - 1j*abs(p)**2*p", {"g": 1.0}, r"its linear part changes \|ψ\|"),
    ],
    ids=["complex", "damped"],
)
def test_a_text_that_loses_mass_is_refused(make_grid, lines, given, message):
    grid = make_grid((8,), devices=1, real=False, dealias="none")
    with pytest.raises(TypeError, match=f"stepper strang with written: {message}.*; or .*etdrk4"):
        Strang().check(sw.write(lines, {"p": "wavefunction"}, energies={})(grid, **given))


def test_a_budget_and_a_joint_ground_state_are_refused(make_grid):
    grid = make_grid((8,), devices=1, real=False, dealias="none")
    wave = sw.write("dt(p) = 1j*lap(p) - 1j*abs(p)**2*p", {"p": "wavefunction"})
    with pytest.raises(TypeError, match=r"energy_from_\w+ would not be counted; energy_budget false is needed"):
        Strang().check(wave(grid))
    assert "strang" in fitting(wave(grid, energy_budget=False))
    with pytest.raises(ValueError, match=r"ground-state in coupled-gross-pitaevskii: .* of one wavefunction is needed"):
        sw.initial.GroundState().for_equation(CoupledGrossPitaevskii(grid), "psi_1")
