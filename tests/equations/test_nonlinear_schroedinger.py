"""Nonlinear Schrödinger and Gross–Pitaevskii: solitons, damping, traps, vortices, conservation, what may step them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced

import solver as sw
from solver import initial
from solver.dynamics.budget import imbalance
from solver.equations import GrossPitaevskii, NonlinearSchroedinger
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK4, SBDF2, Strang, fitting

pytestmark = pytest.mark.slow


def soliton(x, t, a, v, g, middle):
    apart = x - middle - v * t
    return a / np.sqrt(g) / np.cosh(a * apart) * np.exp(1j * (v * x + 0.5 * (a * a - v * v) * t))


@pytest.mark.thorough
@pytest.mark.parametrize("stepper", [ETDRK4(), IFRK4(), SBDF2()], ids=lambda s: s.name)
def test_a_bright_soliton_moves_and_keeps_its_shape(make_grid, stepper):
    length = 40.0
    grid = make_grid((512,), devices=1, lengths=length, dealias="one-half")
    v = 4 * 2 * np.pi / length
    equation = NonlinearSchroedinger(grid, coupling=2.0)
    start = initial.NlsSoliton((1.2,), (16.0,), (v,), coupling=2.0)(grid)
    errors = []
    for step in (0.01, 0.005):
        state = advanced(equation, stepper, start, 2.0, step)
        computed = np.asarray(equation.to_physical(state.field)["wavefunction"])[0]
        errors.append(np.abs(computed - soliton(grid.coordinates()[0], 2.0, 1.2, v, 2.0, 16.0)).max())
    assert errors[1] < (3e-3 if stepper.order == 2 else 2e-8)
    assert errors[0] / errors[1] > 0.8 * 2**stepper.order or errors[0] < 3e-8, errors


@pytest.mark.thorough
def test_mass_momentum_and_energy_are_conserved(make_grid):
    """In two dimensions, where no product is aliased: to the error of the steps."""
    grid = make_grid((24, 20), devices=4, lengths=8.0, dealias="one-half")
    equation = NonlinearSchroedinger(grid, coupling=-2.0)
    psi = 0.6 + initial.RandomPhase(energy=0.1, peak=1.5)(grid.as_complex, sw.Field("wavefunction"), jax.random.key(0))
    drift = []
    for step in (0.01, 0.005):
        state = advanced(equation, IFRK4(), psi, 0.4, step)
        after = equation.conserved(state.field)
        assert sorted(after) == ["energy", "mass", "momentum_x", "momentum_y"]
        drift.append([abs(float(after[name] - state.conserved[name])) for name in sorted(after)])
    assert np.all(np.array(drift[1]) < 1e-7), drift
    assert sum(drift[0]) / sum(drift[1]) > 12
    assert abs(float(state.conserved["momentum_x"])) > 1e-3


@pytest.mark.thorough
def test_damping_takes_the_mass_at_its_rate_and_the_budget_knows(make_grid):
    grid = make_grid((32, 24), devices=2, lengths=10.0, dealias="one-half")
    equation = NonlinearSchroedinger(grid, coupling=1.5, damping=0.3)
    psi = initial.Gaussian(width=2.0)(grid.as_complex)
    state = advanced(equation, ETDRK4(), psi, 1.0, 0.02)
    mass = float(equation.series(state.field, 0.02)["mass"])
    assert mass == pytest.approx(float(state.energies["mass"]) * np.exp(-0.6), rel=1e-8)
    integrals = {name: float(value) for name, value in state.budget.items()}
    assert abs(imbalance("mass", float(state.energies["mass"]), mass, integrals)) < 1e-8
    assert equation.conserved(state.field) == {}


@pytest.mark.parametrize(
    ("dealias", "given", "message"),
    [
        ("none", {"damping": 0.1}, "its linear part changes .ψ."),
        ("two-thirds", {}, "dealias 'two-thirds' would lose mass; dealias 'none' is needed"),
        ("none", {"forcing": sw.forcing.WhiteNoise(0.1)}, "forcing would not act"),
    ],
    ids=["damped", "dealiased", "forced"],
)
def test_no_unitary_splitting_takes_what_it_would_not_keep(make_grid, dealias, given, message):
    equation = NonlinearSchroedinger(make_grid((16,), devices=1, dealias=dealias), **given)
    assert "strang" not in fitting(equation)
    with pytest.raises(TypeError, match=f"stepper strang with nonlinear-schroedinger: {message}.*; or .*etdrk4"):
        Strang().check(equation)
    assert "strang" in fitting(NonlinearSchroedinger(make_grid((16,), devices=1, dealias="none")))


def test_cost_of_a_right_hand_side(make_grid):
    equation = NonlinearSchroedinger(make_grid((16, 16), devices=2))
    start = jnp.ones((1, 16, 16), complex)
    calls = transforms_in_step(equation, IFRK4(), sw.initial_state(equation, IFRK4(), start))
    assert [c.batch for c in calls] == [1] * 8
    condensate = GrossPitaevskii(make_grid((16, 16), devices=2, dealias="none"))
    calls = transforms_in_step(condensate, Strang(), sw.initial_state(condensate, Strang(), start))
    assert [c.batch for c in calls] == [1, 1]


@pytest.mark.thorough
def test_a_coherent_state_swings_at_the_frequencies_of_the_trap(make_grid):
    """Without interaction |ψ|² keeps the shape of the ground state, its centre the path of a pendulum in each axis."""
    grid = make_grid((48, 64), devices=4, lengths=[12.0, 13.0], dealias="none")
    omega, shift = np.array([1.0, 1.3]), np.array([1.2, -0.8])
    equation = GrossPitaevskii(grid, coupling=0.0, trap=tuple(omega))
    ground = lambda x, y, c: jnp.exp(-0.5 * (omega[0] * (x - 6 - c[0]) ** 2 + omega[1] * (y - 6.5 - c[1]) ** 2))  # noqa: E731
    psi = sw.sample(lambda x, y: ground(x, y, shift) + 0j, grid.as_complex)[None]
    errors = []
    for step in (0.04, 0.02):
        state = advanced(equation, Strang(), psi, 2.0, step)
        expected = sw.sample(lambda x, y: ground(x, y, shift * np.cos(omega * 2.0)) ** 2, grid)
        errors.append(float(jnp.max(jnp.abs(jnp.abs(state.field["wavefunction"][0]) ** 2 - expected))))
    assert errors[1] < 5e-4
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.2)
    row = equation.series(state.field, 0.02)
    # each direction has ½ Ω (n + ½) in kinetic energy on average, and all together Σ Ω/2 + ½ Σ Ω² shift²
    energy = 0.5 * omega.sum() + 0.5 * (omega**2) @ (shift**2)
    assert float(row["energy"] / row["mass"]) == pytest.approx(energy, rel=1e-3)


@pytest.mark.thorough
def test_the_ground_state_of_a_trap_stands_still(make_grid):
    grid = make_grid((48,), devices=1, lengths=14.0, dealias="none")
    equation = GrossPitaevskii(grid, coupling=0.0, trap=(1.0,), chemical_potential=0.5)
    psi = sw.sample(lambda x: jnp.exp(-0.5 * (x - 7.0) ** 2), grid.as_complex)[None]
    state = advanced(equation, Strang(), psi, 5.0, 0.01)
    np.testing.assert_allclose(state.field["wavefunction"], psi, atol=5e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("coupling", [3.0, -1.0])
def test_mass_is_kept_to_round_off_and_energy_to_the_order(make_grid, coupling):
    grid = make_grid((24, 16, 16), devices=4, lengths=8.0, dealias="none")
    equation = GrossPitaevskii(grid, coupling, trap=(1.0, 0.0, 0.5))
    psi = initial.Gaussian(width=1.2, velocity=(0.8, 0.0, 0.0))(grid.as_complex)
    drift = []
    for step in (0.02, 0.01):
        state = advanced(equation, Strang(), psi, 1.0, step)
        after = equation.conserved(state.field)
        assert abs(float(after["mass"] / state.conserved["mass"]) - 1) < 1e-13
        drift.append(abs(float(after["energy"] / state.conserved["energy"]) - 1))
    assert drift[1] < 5e-4, drift
    assert drift[0] / drift[1] == pytest.approx(4, abs=0.5)


@pytest.mark.thorough
def test_a_vortex_pair_moves_at_one_over_its_distance(make_grid):
    """ħ/(m d), and π d/L² more: the mean flow 2π d/L², less half of it for the neutral background."""
    length, d = 32.0, 6.0
    grid = make_grid((80, 80), devices=2, lengths=length, dealias="none")
    equation = GrossPitaevskii(grid, coupling=1.0, chemical_potential=1.0)
    middle = 0.5 * length
    pair = initial.QuantisedVortices([[middle, middle - d / 2], [middle, middle + d / 2]], (-1, 1), healing_length=1.0)
    stepper = Strang()
    state = sw.initial_state(equation, stepper, pair(grid.as_complex))
    places = []
    for now in sw.evolve(equation, stepper, state, end=24.0, step=0.04, pauses=[sw.Schedule(every_time=4.0)]):
        missing = np.maximum(0.5 - np.abs(np.asarray(now.field["wavefunction"])[0]) ** 2, 0)
        turn = np.exp(2j * np.pi * grid.coordinates()[0] / length)
        places.append(np.angle(np.sum(missing * turn)) / (2 * np.pi) * length)
    moved = np.unwrap(places, period=length)
    speed = abs(moved[-1] - moved[2]) / 16.0  # the first sound waves, of the approximate cores, have left
    assert speed == pytest.approx(1 / d + np.pi * d / length**2, rel=0.04)


RUBIDIUM = 7.3073e-10  # ħ/m of ⁸⁷Rb [m²/s]
MICRON, HERTZ = 1e-6, RUBIDIUM / 1e-12  # lengths of 1 and times of 1/HERTZ are those in which ħ/m is 1


def in_units(case, grid, length, rate, rho, scale):
    """An equation and its start in units of length, 1/time, density and ħ/m."""
    if case == "gravity":
        speed = (0.8 * length * rate, 0.0, 0.0)
        start = initial.Solitons((1.2 * length,), ((4 * length,) * 3,), velocities=(speed,))
        return sw.equations.SchroedingerPoisson(grid, rate**2 / rho, hbar_over_mass=scale), start
    if case == "soliton":
        start = initial.NlsSoliton((1.2 / length,), velocities=(1.5 * length * rate,))
        return GrossPitaevskii(grid, -2 * rate / rho, hbar_over_mass=scale), start
    if case == "vortices":
        return GrossPitaevskii(grid, rate / rho, hbar_over_mass=scale), initial.QuantisedVortices(density=rho)
    start = initial.Gaussian(1.2 * length, velocity=(1.5 * length * rate, 0.0), amplitude=rho**0.5)
    return GrossPitaevskii(grid, 2 * rate / rho, (0.7 * rate, 0.0), 0.3 * rate, hbar_over_mass=scale), start


@pytest.mark.parametrize("case", ["trapped", "soliton", "vortices", "gravity"])
def test_si_units_of_rubidium_give_the_same_run(make_grid, case):
    """Lengths in m, times in s, atoms per m³: fields, columns and the CFL number are those in units of ħ/m = 1."""
    ends = []
    for length, rate, rho, scale in ((1.0, 1.0, 1.0, 1.0), (MICRON, HERTZ, 1e20, RUBIDIUM)):
        shape = (8, 8, 8) if case == "gravity" else (16, 12)
        grid = make_grid(shape, devices=1, lengths=8.0 * length, real=False, dealias="none")
        equation, start = in_units(case, grid, length, rate, rho, scale)
        psi = start.for_equation(equation, "wavefunction")(grid)
        state = advanced(equation, Strang(), psi, 0.2 / rate, 0.02 / rate)
        row = equation.series(state.field, 0.02 / rate)
        units = {"mass": rho, "max_density": rho, "cfl": 1.0}
        numbers = [row[name] / units.get(name, rho * length**2 * rate**2) for name in row]
        ends.append((state.field["wavefunction"] / rho**0.5, numbers))
    np.testing.assert_allclose(ends[1][0], ends[0][0], atol=1e-12)
    np.testing.assert_allclose(ends[1][1], ends[0][1], rtol=1e-11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: GrossPitaevskii(g, trap=(1.0,)), r"trap \(1.0,\): 2 frequencies are needed"),
        (lambda g: GrossPitaevskii(g, trap=(1.0, -1.0)), "trap .*: zero or more for each axis"),
        (lambda g: GrossPitaevskii(g, coupling=float("nan")), "coupling nan: a finite number"),
        (lambda g: GrossPitaevskii(g, hbar_over_mass=0.0), "hbar_over_mass 0.0: a positive number is needed"),
        (lambda g: NonlinearSchroedinger(g, damping=-1.0), "damping -1.0: zero or more is needed"),
    ],
    ids=["trap", "sign", "nan", "mass", "damping"],
)
def test_wrong_parameters_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(make_grid((8, 8), devices=2, dealias="none"))


@pytest.mark.parametrize("cls", [GrossPitaevskii, sw.equations.SchroedingerPoisson])
def test_a_split_equation_refuses_a_grid_that_drops_modes(make_grid, cls):
    with pytest.raises(ValueError, match=f"dealias 'two-thirds' would lose mass; {cls.name} needs dealias 'none'"):
        cls(make_grid((8, 8), devices=2))
