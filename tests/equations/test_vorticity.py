"""Vorticity in two dimensions: Rossby waves, ideal invariants, the same flow as Navier–Stokes, its budget and cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import advanced, series
from scipy import special

import solver as sw
from solver import initial
from solver.dynamics.budget import imbalance
from solver.dynamics.compiled import compiled
from solver.equations import NavierStokes, Vorticity
from solver.forcing import ConstantPower
from solver.plan import transforms_in_step
from solver.steppers import ETDRK2, ETDRK4, IFRK4

pytestmark = pytest.mark.slow


def eddies(grid, peak=3.0):
    return initial.RandomPhase(energy=2.0, peak=peak)(grid, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("flow", "radius"),
    [
        pytest.param(None, None, marks=pytest.mark.thorough),
        pytest.param((0.7, -0.4), None, marks=pytest.mark.thorough),
        ((0.7, -0.4), 0.6),
    ],
)
def test_a_rossby_wave_of_any_height_drifts_exactly(make_grid, flow, radius):
    """A plane wave does not advect itself: q = A cos(k·x − σt), σ = U·k − (β kx + U·k/L²)/(|k|² + 1/L²), damped."""
    grid = make_grid((16, 24), devices=3, lengths=[5.0, 7.0])
    given = {"mean_velocity": flow, "deformation_radius": radius}
    equation = Vorticity(grid, viscosity=0.01, beta=6.0, drag=0.03, hyperviscosity=1e-5, hyper_order=3, **given)
    k = 2 * np.pi * np.array([2 / 5.0, -3 / 7.0])
    k2, carried, inverse = k @ k, np.dot(flow or (0, 0), k), 1 / radius**2 if radius else 0.0
    sigma = carried - (6.0 * k[0] + carried * inverse) / (k2 + inverse)
    wave = lambda phase: sw.sample(lambda x, y: 4 * jnp.cos(k[0] * x + k[1] * y - phase), grid)[None]  # noqa: E731
    state = advanced(equation, ETDRK4(), wave(0.0), 3.0, 0.25)
    damped = np.exp(-3.0 * (0.01 * k2 + 0.03 + 1e-5 * k2**3))
    expected = damped * wave(3.0 * sigma)
    np.testing.assert_allclose(equation.to_physical(state.field)["vorticity"], expected, atol=1e-13)
    assert float(jnp.max(jnp.abs(expected - damped * wave(0.0)))) > 1


def lamb_dipole(x, y, radius=1.0, speed=1.0):
    """ω of Lamb and Chaplygin, which moves along x: −2Uk J₁(kr)/J₀(ka) sin θ inside r = a, J₁(ka) = 0."""
    k = float(special.jn_zeros(1, 1)[0]) / radius
    r = np.hypot(x, y)
    return np.where(
        r < radius, -2 * speed * k * special.j1(k * r) / special.j0(k * radius) * y / np.where(r > 0, r, 1.0), 0.0
    )


def test_a_dipole_moves_at_its_speed_and_stays_where_a_mean_flow_meets_it(make_grid):
    """Its images slow it down by πa²/L²; the mean flow is a change of frame, to round-off."""
    grid = make_grid((64, 64), devices=2, lengths=[8.0, 8.0])
    x, y = np.meshgrid(8 * np.arange(64) / 64, 8 * np.arange(64) / 64, indexing="ij")
    start = jnp.asarray(lamb_dipole(x - 3.0, y - 4.0))[None]
    moved = {}
    for speed in (0.0, -0.5):
        equation = Vorticity(grid, mean_velocity=(speed, 0.25))
        state = advanced(equation, IFRK4(), start, 1.0, 0.05)
        moved[speed] = np.asarray(equation.to_physical(state.field)["vorticity"])[0]
    angle = lambda w: np.angle(np.fft.fft(np.sum(w**2, axis=1))[1])  # noqa: E731 (of the first wave along x)
    distance = -(angle(moved[0.0]) - angle(np.asarray(start[0]))) * 8 / (2 * np.pi)
    assert distance == pytest.approx(1 - np.pi / 64, rel=0.005)
    waves = np.fft.fft(moved[-0.5], axis=0) * np.exp(-1j * 2 * np.pi / 8 * np.fft.fftfreq(64, 1 / 64) * 0.5)[:, None]
    np.testing.assert_allclose(np.fft.ifft(waves, axis=0).real, moved[0.0], atol=1e-9)


def advected(q_hat, hill, k, kept):
    """−u·∇(q + η) of coefficients, in the form of its definition; two thirds of the modes are kept: not aliased."""
    k2 = np.where((k[0] == 0) & (k[1] == 0), 1.0, k[0] ** 2 + k[1] ** 2)
    points = lambda u_hat: np.fft.ifft2(u_hat).real  # noqa: E731
    u, v = points(1j * k[1] * q_hat / k2), points(-1j * k[0] * q_hat / k2)
    whole = q_hat + hill
    return np.where(kept, -np.fft.fft2(u * points(1j * k[0] * whole) + v * points(1j * k[1] * whole)), 0)


def test_a_dipole_over_a_hill_goes_where_an_independent_program_sends_it(make_grid):
    """Classical Runge–Kutta in NumPy with the same steps; the hill turns the dipole and leaves both invariants."""
    n, length, step, count = 32, 8.0, 0.025, 100
    at, numbers = length * np.arange(n) / n, np.rint(np.fft.fftfreq(n) * n)
    x, y = np.meshgrid(at, at, indexing="ij")
    k = np.meshgrid(*[2 * np.pi / length * numbers] * 2, indexing="ij")
    kept = np.logical_and(*(3 * np.abs(m) < n for m in np.meshgrid(numbers, numbers, indexing="ij")))
    hill = np.fft.fft2(0.5 * (1 + np.cos(np.pi * (x - 5) / 4)) * (1 + np.cos(np.pi * (y - 4.6) / 4)))
    start = lamb_dipole(x - 2.5, y - 4.0)
    q_hat = np.where(kept & (np.hypot(*k) > 0), np.fft.fft2(start), 0)
    for _ in range(count):
        changes, stage = [], q_hat
        for part in (0.5, 0.5, 1.0, 0.0):
            changes.append(advected(stage, hill, k, kept))
            stage = q_hat + part * step * changes[-1]
        q_hat = q_hat + step / 6 * (changes[0] + 2 * changes[1] + 2 * changes[2] + changes[3])
    equation = Vorticity(
        make_grid((n, n), devices=2, lengths=[length, length]),
        topography="0.5*(1 + cos(pi*(x - 5)/4))*(1 + cos(pi*(y - 4.6)/4))",
    )
    state = sw.initial_state(equation, IFRK4(), jnp.asarray(start)[None])
    after = advanced(equation, IFRK4(), jnp.asarray(start)[None], count * step, step)
    found = np.asarray(equation.to_physical(after.field)["vorticity"])[0]
    np.testing.assert_allclose(found, np.fft.ifft2(q_hat).real, atol=1e-9)
    side = np.angle(np.sum(found**2 * np.exp(2j * np.pi * (y - 4) / length))) * length / (2 * np.pi)
    assert abs(side) > 0.1  # without a hill it stays at y = 4
    row = [series(equation, one) for one in (state, after)]
    change = {name: row[1][name] / row[0][name] - 1 for name in ("energy", "enstrophy", "potential_enstrophy")}
    assert abs(change["energy"]) < 1e-5, change
    assert abs(change["potential_enstrophy"]) < 1e-5, change
    assert abs(change["enstrophy"]) > 0.01


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("topography", "radius"),
    [("1.5*cos(x)*sin(2*y)", None), ("2*sin(x + y)", 0.7)],
)
def test_flow_over_topography_conserves_energy_and_potential_enstrophy(make_grid, topography, radius):
    grid = make_grid((24, 18), devices=2)
    equation = Vorticity(grid, beta=2.0, topography=topography, deformation_radius=radius)
    fields = equation.from_physical({"vorticity": eddies(grid)})
    kept = ["energy", "potential_enstrophy"]
    assert [equation.report.units()[name] for name in kept] == ["length^2/time^2", "1/time^2"]
    tangent = jax.tree.map(jnp.add, equation.nonlinear(fields, 0.0), equation.linear().apply(fields))
    row, rates = jax.jvp(lambda f: equation.series(f, 0.1), (fields,), (tangent,))
    hill = Vorticity(grid, beta=0.0, topography=topography, deformation_radius=radius)
    _, alone = jax.jvp(lambda f: hill.series(f, 0.1), (fields,), (hill.nonlinear(fields, 0.0),))
    assert abs(float(rates["energy"])) < 1e-13 * float(row["energy"])
    assert all(abs(float(alone[name])) < 1e-13 * float(row[name]) for name in kept), "β is a slope of its own"
    assert abs(float(alone["enstrophy"])) > 1e-2


@pytest.mark.parametrize("radius", [None, pytest.param(0.8, marks=pytest.mark.thorough)])
def test_flow_along_contours_of_potential_vorticity_is_steady(make_grid, radius):
    """q + η = 3ψ is advected along itself; η as values at the points, the mean flow across it is a source −U·∇η."""
    grid = make_grid((16, 16), devices=2)
    psi = sw.sample(lambda x, y: jnp.cos(x) * jnp.sin(2 * y) + jnp.sin(3 * x - y), grid)
    lap_psi = sw.sample(lambda x, y: -5 * jnp.cos(x) * jnp.sin(2 * y) - 10 * jnp.sin(3 * x - y), grid)
    q = lap_psi - (psi / radius**2 if radius else 0.0)
    equation = Vorticity(grid, topography=3 * psi - q, deformation_radius=radius)
    fields = equation.from_physical({"vorticity": q[None]})
    change = equation.to_physical(equation.nonlinear(fields, 0.0))["vorticity"]
    np.testing.assert_allclose(change, 0.0, atol=1e-12)
    flat = equation.to_physical(Vorticity(grid, deformation_radius=radius).nonlinear(fields, 0.0))["vorticity"]
    assert float(jnp.max(jnp.abs(flat))) > 1
    windy = Vorticity(grid, topography=3 * psi - q, deformation_radius=radius, mean_velocity=(0.5, 0.25))
    slopes = sw.operators.gradient(grid_forward(grid, 3 * psi - q), grid)
    expected = -(0.5 * slopes[0] + 0.25 * slopes[1])
    np.testing.assert_allclose(windy.nonlinear(fields, 0.0)["vorticity"][0], expected, atol=1e-13)


def grid_forward(grid, values):
    return sw.fft.Transform(grid).forward(values)


@pytest.mark.thorough
def test_ideal_flow_conserves_energy_and_enstrophy(make_grid):
    """To the error of the steps alone, β-plane or not."""
    grid = make_grid((32, 24), devices=2)
    equation = Vorticity(grid, beta=2.0)
    drift = []
    for step in (0.04, 0.02):
        state = advanced(equation, IFRK4(), eddies(grid), 0.6, step)
        now, before = jax.jit(equation.report.energies)(state.field), state.energies
        drift.append([abs(float(now[e] / before[e]) - 1) for e in ("energy", "enstrophy")])
    assert np.all(np.array(drift[1]) < 1e-7)
    assert np.all(np.array(drift[0]) / drift[1] > 12), drift
    start = sw.initial_state(equation, IFRK4(), eddies(grid))
    assert float(jnp.max(jnp.abs(state.field["vorticity"] - start.field["vorticity"]))) > 0.05


@pytest.mark.thorough
def test_the_same_flow_as_navier_stokes(make_grid):
    grid = make_grid((24, 20), devices=4, lengths=[6.0, 5.0])
    equation = Vorticity(grid, viscosity=0.02)
    state = sw.initial_state(equation, IFRK4(), eddies(grid))
    psi_hat = -state.field["vorticity"][0] * grid.inverse_k_squared()
    psi_x, psi_y = jax.jit(sw.fft.Transform(grid).inverse)(sw.operators.gradient(psi_hat, grid))
    flow = advanced(NavierStokes(grid, viscosity=0.02), IFRK4(), jnp.stack([-psi_y, psi_x]), 0.5, 0.01)
    expected = sw.operators.curl(flow.field["velocity"], grid)
    computed = advanced(equation, IFRK4(), eddies(grid), 0.5, 0.01).field["vorticity"]
    np.testing.assert_allclose(computed, expected, atol=1e-13)
    row = jax.jit(equation.series)({"vorticity": computed}, 0.01)
    for name, other in jax.jit(NavierStokes(grid, 0.02).series)(flow.field, 0.01).items():
        assert name not in row or float(row[name]) == pytest.approx(float(other), rel=1e-12)
    for name, spectrum in jax.jit(equation.spectra)({"vorticity": computed}).items():
        assert float(spectrum.sum()) == pytest.approx(float(row[name]))


@pytest.mark.thorough
def test_a_forced_flow_with_drag_keeps_its_budget(make_grid):
    grid = make_grid((24, 20), devices=2)
    equation = Vorticity(grid, 0.01, 1.0, 0.1, 1e-5, 3, forcing=ConstantPower(2.0, 2.0, 4.0))
    state = advanced(equation, IFRK4(), eddies(grid), 0.5, 0.01)
    integrals = {name: float(value) for name, value in state.budget.items()}
    assert integrals["enstrophy_from_forcing"] == pytest.approx(1.0, rel=1e-9)  # ConstantPower counts ⟨ω f⟩
    for name in ("energy", "enstrophy"):
        now = float(jax.jit(equation.report.energies)(state.field)[name])
        assert abs(imbalance(name, float(state.energies[name]), now, integrals)) < 1e-8
        causes = [integrals[f"{name}_from_{cause}"] for cause in ("viscosity", "drag", "hyperviscosity")]
        assert max(causes) < -1e-5


def test_cost_of_a_right_hand_side(make_grid):
    grid = make_grid((16, 16), devices=2)
    equation = Vorticity(grid, viscosity=0.01)
    calls = transforms_in_step(equation, IFRK4(), sw.initial_state(equation, IFRK4(), eddies(grid)))
    assert [c.batch for c in calls] == [2] * 8


def test_a_mean_vorticity_cannot_be_held_in_a_periodic_box(make_grid):
    grid = make_grid((8, 8), devices=2)
    equation = Vorticity(grid, drag=1.0)
    u_hat = equation.from_physical({"vorticity": 3 + sw.sample(lambda x, y: jnp.cos(x + 0 * y), grid)[None]})
    assert float(jnp.abs(equation.to_physical(u_hat)["vorticity"].mean())) < 1e-15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"viscosity": -1.0}, "viscosity -1.0: zero or more is needed"),
        ({"hyper_order": 0}, "hyper_order 0: one or more is needed"),
        ({"beta": float("inf")}, "beta inf: a finite number is needed"),
        ({"mean_velocity": (1.0,)}, "mean_velocity .1.0,.: 2 numbers are needed"),
        ({"deformation_radius": 0.0}, "deformation_radius 0.0: a positive number is needed"),
        ({"topography": "cos(t)"}, "topography 'cos.t.' holds t: an expression of x, y and pi is needed"),
    ],
    ids=lambda o: str(o),
)
def test_wrong_parameters_are_refused(make_grid, options, message):
    with pytest.raises(ValueError, match=message):
        Vorticity(make_grid((8, 8), devices=1), **options)


def drifted(equation, state):
    """The mode (1, 1) after one step."""
    return sw.integrate(equation, ETDRK2(), state, step=0.5, steps=1).field["vorticity"][0, 1, 1]


def test_a_program_leaves_out_a_parameter_that_is_zero_until_it_is_not(make_grid):
    """One viscous Rossby wave, whose growth is exact."""
    grid = make_grid((8, 8), devices=1)
    wave = lambda beta: Vorticity(grid, viscosity=0.1, beta=beta)  # noqa: E731
    entry = compiled(lambda equation: equation.linear().entries["vorticity"])
    is_complex = [jnp.iscomplexobj(entry(wave(beta))) for beta in (0.0, 0, 0.7, jnp.asarray(0.0))]
    assert is_complex == [False, False, True, True]
    state = sw.initial_state(wave(0.0), ETDRK2(), sw.sample(lambda x, y: jnp.cos(x + y), grid))
    for beta in (0.0, 0.7, 0.0):
        expected = 0.5 * np.exp(0.5 * (-0.2 + 0.5j * beta))
        assert complex(drifted(wave(beta), state)) == pytest.approx(expected, abs=1e-15)
    by_beta = jax.grad(lambda beta: jnp.imag(drifted(wave(beta), state)))(0.0)
    assert float(by_beta) == pytest.approx(0.5 * 0.25 * np.exp(-0.1), abs=1e-15)


def test_bits_of_a_member_do_not_depend_on_whether_its_companions_have_a_parameter(make_grid):
    grid = make_grid((8, 8), devices=1)
    start = sw.sample(lambda x, y: jnp.cos(x + y) + jnp.sin(2 * x), grid)

    def of_both(betas):
        equations = [Vorticity(grid, viscosity=0.1, beta=beta) for beta in betas]
        states = [sw.initial_state(equation, ETDRK2(), start) for equation in equations]
        return [
            np.asarray(s.field["vorticity"])
            for s in sw.Ensemble(equations, ETDRK2(), states).integrate(step=0.5, steps=3)
        ]

    first, second = of_both([0.0, 0.7])
    np.testing.assert_array_equal(of_both([0.0, 0.0])[1], first)
    np.testing.assert_array_equal(of_both([0.7, 0.0]), [second, first])
