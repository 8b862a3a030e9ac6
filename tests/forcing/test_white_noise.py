"""Forcing that is white in time: its law after a step and in the long run, its power, budgets, restarts, devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, collectives
from scipy.linalg import expm

import solver as sw
from solver.cli.main import main
from solver.diagnostics import mean_square, shell_spectrum
from solver.dynamics.budget import imbalance
from solver.equations import MHD, AdvectionDiffusion, Boussinesq, NavierStokes
from solver.forcing import WhiteForcing, WhiteNoise
from solver.operators import divergence, hermitian
from solver.steppers import ETDRK2, ETDRK4, IFRK2, IFRK3, IFRK4, IMEXRK2, LSRK3, SBDF2

pytestmark = pytest.mark.slow

HEAT, SPACE_TIME = 0.2, WhiteNoise(1.5, low=0.0, high=np.inf, slope=1.0)  # every mode alike in two dimensions


def members(equation, stepper, count, *, step, steps, seed=0):
    """Coefficients of an ensemble from rest `(member, …)`, by field name."""
    still = {name: jnp.zeros(shape.shape, shape.dtype) for name, shape in equation.values_at_points().items()}
    state = sw.initial_state(equation, stepper, still, seed=0)

    @jax.jit
    def run(keys):
        one = lambda key: sw.integrate(equation, stepper, state.replace(key=key), step=step, steps=steps).field  # noqa: E731
        return jax.vmap(one)(keys)

    return jax.tree.map(np.asarray, run(jax.random.split(jax.random.key(seed), count)))


def per_mode(equation, name):
    """q of each kept mode and component: ⟨|û|²⟩ gained per time if every mode is forced alike with power 1.5."""
    grid = equation.space(name).fourier
    modes = float(np.sum(np.broadcast_to(grid.mode_weights(), grid.spectral_shape))) - 1
    return 2 * 1.5 / modes


@pytest.mark.parametrize("step", [0.5, 0.05])
def test_stationary_spectrum_of_the_stochastic_heat_equation(make_grid, step):
    """q/(2νk²) in each mode at two sizes of step a factor of ten apart; an Euler step would be 5 and 50 % off."""
    heat = AdvectionDiffusion(make_grid((9, 12), devices=1), HEAT, forcing=SPACE_TIME)
    count = 300
    u = members(heat, ETDRK2(), count, step=step, steps=round(20 / step))["c"]
    k2 = np.asarray(heat.grid.k_squared())
    expected = per_mode(heat, "c") / (2 * HEAT * np.where(k2 > 0, k2, 1)) * (1 - np.exp(-2 * HEAT * k2 * 20))
    ratio = np.mean(np.abs(u[:, 0]) ** 2, axis=0)[k2 > 0] / expected[k2 > 0]
    assert np.abs(ratio - 1).max() < 5 * np.sqrt(2 / count), "of each mode"
    assert abs(ratio.mean() - 1) < 4 / np.sqrt(count * ratio.size), "of all of them"
    assert np.all(u[:, 0][:, k2 == 0] == 0), "the mean is not forced"


LINEAR = {  # damped, turning, growing, complex: text, rank, L(k) in one dimension
    "damped": (["dt(u) = nu*lap(u)"], "scalar", lambda k: -0.3 * k**2),
    "turning": (["dt(u) = -dx(dx(dx(u))) - nu*u"], "scalar", lambda k: 1j * k**3 - 0.3),
    "no rate": (["dt(u) = nu*0*u"], "scalar", lambda k: 0 * k),
    "growing": (["dt(u) = nu*u - nu*nu*lap(lap(u))"], "scalar", lambda k: 0.3 - 0.09 * k**4),
    "wavefunction": (["dt(u) = 1j*lap(u) - nu*u"], "wavefunction", lambda k: -1j * k**2 - 0.3),
}


@pytest.mark.parametrize("case", LINEAR)
@pytest.mark.parametrize("stepper", [IFRK2()], ids=lambda s: s.name)
def test_variance_after_one_step_of_each_kind_of_rate(make_grid, case, stepper):
    lines, rank, rate = LINEAR[case]
    noise = WhiteNoise(1.5, low=0.0, high=np.inf, slope=0.0)
    equation = sw.write(lines, {"u": rank})(make_grid((16,), devices=1), nu=0.3, forcing=noise)
    count, dt = 3000, 0.8
    u = members(equation, stepper, count, step=dt, steps=1)["u"][:, 0]
    k = np.asarray(equation.space("u").fourier.wavenumbers()[0])
    kept = k != 0
    double = 2 * np.real(rate(k[kept]))
    q = per_mode(equation, "u")
    expected = q * np.where(double == 0, dt, np.expm1(double * dt) / np.where(double == 0, 1, double))
    ratio = np.mean(np.abs(u[:, kept]) ** 2, axis=0) / expected
    assert np.abs(ratio - 1).max() < 5 / np.sqrt(count)
    assert abs(ratio.mean() - 1) < 4 / np.sqrt(count * kept.sum())
    assert np.abs(np.mean(u[:, kept] ** 2, axis=0) / expected).max() < 5 / np.sqrt(count), "circular"


COUPLED = {
    "boussinesq": lambda g, f: Boussinesq(g, 0.2, 0.1, buoyancy_frequency=3.0, rotation=2.0, forcing={"velocity": f}),
    "mhd": lambda g, f: MHD(g, 0.2, 0.1, mean_field=(0.0, 0.5, 2.0), forcing={"magnetic_field": f}),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["mhd"])
def test_covariance_of_coupled_fields_after_one_long_step(make_grid, case):
    """At every mode, of all components of both fields, against a fine sum over exp(Ls)."""
    equation = COUPLED[case](make_grid((4, 5, 4), devices=1), WhiteNoise(1.0, low=0.0, high=np.inf, slope=2.0))
    names, count, dt = list(equation.fields), 3000, 0.9
    linear = jax.jit(equation.linear)()
    fields = members(equation, IFRK2(), count, step=dt, steps=1)
    stored = np.prod(equation.grid.spectral_shape)
    u = np.concatenate([fields[name] for name in names], axis=1).reshape(count, -1, stored)
    n = u.shape[1]
    matrices = np.asarray(linear.entries).reshape(*linear.entries.shape[:2], stored)
    if linear.couples == "fields":
        matrices = np.stack([np.kron(matrix, np.eye(3)) for matrix in np.moveaxis(matrices, -1, 0)], axis=-1)
    forced = next(iter(equation.forcing))
    kept = [m for m in range(u.shape[2]) if np.asarray(equation.grid.k_squared()).ravel()[m] > 0]
    k = np.stack([np.broadcast_to(k, equation.grid.spectral_shape).ravel() for k in equation.grid.wavenumbers()])
    weights = np.broadcast_to(equation.grid.mode_weights(), equation.grid.spectral_shape).ravel()
    projection = lambda k: np.eye(3) - np.outer(k, k) / (k @ k)  # noqa: E731
    q = 2 * 1.0 / (2 * weights[kept].sum())
    place = slice(0, 3) if forced == "velocity" else slice(3, None)
    nodes, quadrature = np.polynomial.legendre.leggauss(20)
    seen = 0.0
    for m in kept[::4]:
        driven = np.zeros((n, n))
        driven[place, place] = q * projection(k[:, m])
        expected = sum(
            0.5 * dt * w * (e := expm(matrices[:, :, m] * 0.5 * dt * (x + 1))) @ driven @ e.conj().T
            for x, w in zip(nodes, quadrature, strict=True)
        )
        found = np.einsum("ri,rj->ij", u[:, :, m], u[:, :, m].conj()) / count
        scale = np.sqrt(np.outer(np.diag(expected).real, np.diag(expected).real))
        assert np.all(np.abs(found - expected) < 6 * scale / np.sqrt(count) + 1e-12)
        seen = max(seen, np.abs(expected[:3, 3:]).max() / scale.max())
    assert seen > 0.05, "the fields must be correlated"


def test_a_long_run_stays_real_solenoidal_and_of_its_energy(make_grid):
    """Two thousand steps of viscous Stokes flow in single precision: ⟨u²⟩/2 = P/(2νk²) within its fluctuations."""
    grid = make_grid((16, 12), devices=1, precision="float32")
    flow = NavierStokes(grid, 0.5, forcing=WhiteNoise(0.002, low=1.0, high=1.0))
    state = sw.initial_state(flow, LSRK3(), jnp.zeros((2, 16, 12)), seed=4)
    energies = []
    for later in sw.evolve(flow, LSRK3(), state, end=1000.0, step=0.5, chunk=20):
        energies.append(float(flow.report.energies(later.field)["energy"]))
    u = later.field["velocity"]
    assert u.dtype == np.complex64
    np.testing.assert_allclose(hermitian(u, grid), u, atol=1e-8)
    assert float(jnp.max(jnp.abs(divergence(u, grid)))) < 1e-8
    # 101 samples 10 apart of the sum of two complex numbers: its relative deviation is 1/√2
    assert np.mean(energies[1:]) == pytest.approx(0.002 / (2 * 0.5), rel=4 / np.sqrt(2 * 100))


@pytest.mark.thorough
@pytest.mark.parametrize("control", [{"step": 0.01}, {"cfl": 0.5, "max_step": 0.02}], ids=["step", "cfl"])
def test_power_and_budget_of_forced_turbulence(make_grid, control):
    """What the noise does to the energy is P t in the mean, and all causes together are the change of energy."""
    grid = make_grid((24, 24), devices=1)
    flow = NavierStokes(grid, 0.002, forcing=WhiteNoise(0.4, low=3.0, high=6.0))
    u = sw.initial.RandomPhase(energy=0.1, peak=2.0)(grid, VELOCITY, jax.random.key(0))
    state = sw.initial_state(flow, IFRK4(), u, seed=3)
    *_, end = sw.evolve(flow, IFRK4(), state, end=3.0, **control)
    now = float(flow.report.energies(end.field)["energy"])
    budget = {name: float(value) for name, value in end.budget.items()}
    assert abs(imbalance("energy", float(state.energies["energy"]), now, budget)) < 1e-5
    # a step adds Σ Re û* δ̂ over the forced modes, of variance 2 P E dt over their number
    forced = (np.asarray(grid.k_squared()) >= 9) & (np.asarray(grid.k_squared()) <= 36)
    count = np.sum(np.where(forced, grid.mode_weights(), 0))
    deviation = np.sqrt(2 * 0.4 * max(0.1, now) * 3.0 / count)
    assert 4 * deviation < 0.7 * 0.4 * 3.0
    assert abs(budget["energy_from_forcing"] - 0.4 * 3.0) < 4 * deviation
    assert budget["energy_from_viscosity"] < 0


def test_mean_power_over_members_whatever_the_flow_does(make_grid):
    """Itô: ⟨E(u + δ) − E(u)⟩ = P dt, in a flow with vortices, to a thousandth."""
    grid = make_grid((12, 12), devices=1)
    flow = NavierStokes(grid, 0.0, forcing=WhiteNoise(0.7, low=1.0, high=3.0))
    u = flow.from_physical({"velocity": sw.initial.TaylorGreen(0.1)(grid)})
    dt = 0.5

    def gained(key):
        driven = flow.at_step({"velocity": ()}, key, 0)
        after = driven.kicked(u, driven.prepare_kicks(dt), 0.0)
        return flow.report.energies(after)["energy"] - flow.report.energies(u)["energy"]

    gains = np.asarray(jax.jit(jax.vmap(gained))(jax.random.split(jax.random.key(0), 20_000)))
    sampling = 4 * gains.std() / np.sqrt(len(gains))
    assert abs(gains.mean() - 0.7 * dt) < sampling < 0.02 * 0.7 * dt


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["boussinesq"])
def test_budgets_of_coupled_fields_close(make_grid, name):
    """The noise moves the other field within the step: its energy has a column for that."""
    equation = COUPLED[name](make_grid((8, 8, 8), devices=1), WhiteNoise(1.0))
    still = {n: jnp.zeros(shape) for n, shape in equation.physical_shapes().items()}
    first = sw.initial_state(equation, IFRK3(), still, seed=1)
    *_, state = sw.evolve(equation, IFRK3(), first, end=0.5, step=0.025)
    energies = {column: float(value) for column, value in equation.report.energies(state.field).items()}
    integrals = {column: float(value) for column, value in state.budget.items()}
    for column, now in energies.items():
        assert abs(integrals[f"{column}_from_forcing"]) > 1e-4 * now
        assert abs(imbalance(column, 0.0, now, integrals)) < 1e-3, (column, integrals)


SHAPE_OF_SPECTRUM = {
    "ring": (WhiteNoise(1.0, low=2.0, high=3.0), 0.0),
    "steep": (WhiteNoise(1.0, 1.0, 5.0, -2.0), -2.0),
}


@pytest.mark.parametrize("shape", [(16, 18), (12, 16, 12)], ids=["2-D", "3-D"])
@pytest.mark.parametrize("case", SHAPE_OF_SPECTRUM)
def test_spectrum_of_the_power(make_grid, shape, case):
    """Its shells add up to P, are empty outside of the band, and follow the power law as far as shells are full."""
    noise, slope = SHAPE_OF_SPECTRUM[case]
    grid = make_grid(shape, devices=1)
    flow = NavierStokes(grid, 0.0, forcing=noise)
    prepare = jax.jit(lambda: flow.at_step().prepare_kicks(1.0)["velocity"].factor.entries["velocity"])
    variance = np.asarray(prepare()) ** 2
    d = len(shape)
    root = jnp.sqrt(jnp.asarray(0.5 * (d - 1) * variance)).astype(complex)[None]
    shells = 2 * np.asarray(shell_spectrum(root, grid))
    k = np.sqrt(np.asarray(grid.k_squared()))
    assert shells.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.all((variance > 0) == (np.asarray(grid.is_kept()) & (k > noise.low - 1e-9) & (k < noise.high + 1e-9)))
    inside = variance > 0
    law = variance[inside] * k[inside] ** (d - 1 - slope)
    np.testing.assert_allclose(law, law[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("stepper", "control"),
    [(ETDRK2(), {"cfl": 0.4})],
    ids=["etdrk2-cfl"],
)
def test_restarts_and_chunks_change_no_bit(make_grid, tmp_path, stepper, control):
    grid = make_grid((12, 9, 10), devices=4)
    flow = NavierStokes(grid, 0.05, forcing=WhiteNoise(0.5))
    start = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(make_grid((12, 9, 10), devices=4)), seed=5)
    whole = list(sw.evolve(flow, stepper, start, end=0.4, chunk=1, **control))
    half = whole[len(whole) // 2]
    path = sw.io.save_checkpoint(tmp_path, half, grid)
    loaded = sw.io.load_checkpoint(path, flow, stepper)
    *_, again = sw.evolve(flow, stepper, loaded, end=0.4, chunk=7, **control)
    np.testing.assert_array_equal(again.field["velocity"], whole[-1].field["velocity"])
    assert {k: float(v) for k, v in again.budget.items()} == {k: float(v) for k, v in whole[-1].budget.items()}
    assert not np.array_equal(half.field["velocity"], again.field["velocity"])


def test_the_same_noise_on_any_number_of_devices_and_in_integrate(make_grid):
    ends = []
    for devices in (1, 8):
        grid = make_grid((16, 15, 12), devices=devices)
        flow = NavierStokes(grid, 0.05, forcing=WhiteNoise(0.5))
        state = sw.initial_state(flow, IFRK2(), jnp.zeros((3, *grid.physical_shape)), seed=5)
        *_, last = sw.evolve(flow, IFRK2(), state, end=0.08, step=0.02)
        ends.append(np.asarray(flow.to_physical(last.field)["velocity"]))
    assert np.abs(ends[0]).max() > 0.1
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-14)
    pure = sw.integrate(flow, IFRK2(), state, step=0.02, steps=4)
    np.testing.assert_allclose(pure.field["velocity"], last.field["velocity"], atol=1e-14)


def test_kicks_are_not_exchanged(make_grid):
    grid = make_grid((16, 16, 16), devices=8)
    flow = NavierStokes(grid, 0.05, forcing=WhiteNoise(0.5))
    prepared = jax.jit(lambda: flow.at_step().prepare_kicks(0.1))()
    u = {"velocity": jax.device_put(jnp.zeros((3, *grid.spectral_shape), complex), grid.spectral_sharding(4))}
    kicked = lambda u, p, key: flow.at_step({"velocity": ()}, key, 3).kicked(u, p, 0.0)  # noqa: E731
    assert not collectives(kicked, u, prepared, jax.random.key(0))


@pytest.mark.parametrize("stepper", [ETDRK2(), ETDRK4(), IFRK2(), IFRK4(), LSRK3()], ids=lambda s: s.name)
def test_every_stepper_that_is_exact_in_the_linear_part_takes_it(make_grid, stepper):
    """And all draw the same numbers: without N their results are equal."""
    heat = AdvectionDiffusion(make_grid((9, 12), devices=1), HEAT, forcing=SPACE_TIME)
    state = sw.initial_state(heat, stepper, jnp.zeros((9, 12)), seed=2)
    after = sw.integrate(heat, stepper, state, step=0.3, steps=3).field["c"]
    reference = sw.integrate(
        heat, ETDRK2(), sw.initial_state(heat, ETDRK2(), jnp.zeros((9, 12)), seed=2), step=0.3, steps=3
    )
    np.testing.assert_allclose(after, reference.field["c"], atol=1e-14)
    assert float(jnp.max(jnp.abs(after))) > 0.1


@pytest.mark.parametrize("stepper", [SBDF2(), IMEXRK2(), sw.steppers.CNAB2()], ids=lambda s: s.name)
def test_steppers_that_are_not_refuse_it(make_grid, stepper):
    heat = AdvectionDiffusion(make_grid((9, 12), devices=1), HEAT, forcing=SPACE_TIME)
    with pytest.raises(TypeError, match=f"stepper {stepper.name} with forcing white-noise of c.* etdrk2, .*lsrk3"):
        sw.initial_state(heat, stepper, jnp.zeros((9, 12)), seed=2)


def test_a_tolerance_refuses_it(make_grid):
    heat = AdvectionDiffusion(make_grid((9, 12), devices=1), HEAT, forcing=SPACE_TIME)
    state = sw.initial_state(heat, IFRK3(), jnp.zeros((9, 12)), seed=2)
    message = "a tolerance with forcing white-noise of c.* a fixed step or a CFL number is needed"
    with pytest.raises(ValueError, match=message):
        next(sw.evolve(heat, IFRK3(), state, end=1.0, tolerance=1e-3))
    with pytest.raises(ValueError, match=message):
        sw.integrate(heat, IFRK3(), state, end=1.0, tolerance=1e-3, max_steps=10)


def test_the_first_step_from_rest_under_cfl_control_is_short(make_grid):
    """Nothing moves there but the noise, which says how short."""
    flow = NavierStokes(make_grid((16, 16), devices=1), 0.01, forcing=WhiteNoise(0.5))
    state = sw.initial_state(flow, IFRK2(), jnp.zeros((2, 16, 16)), seed=2)
    _, first, *_ = sw.evolve(flow, IFRK2(), state, end=1.0, cfl=0.5, chunk=1)
    number = float(first.dt) * float(flow.rate(first.field))
    assert 0.01 < number < 0.25


@pytest.mark.thorough
def test_gradients_in_power_and_spectrum_and_members(make_grid):
    grid, stepper = make_grid((12, 14), devices=2), IFRK2()
    u = sw.initial.TaylorGreen()(grid)

    def energy(power, slope):
        flow = NavierStokes(grid, 0.05, forcing=WhiteNoise(power, 1.0, 3.0, slope))
        start = sw.initial_state(flow, stepper, u, seed=1)
        end = sw.integrate(flow, stepper, start, step=0.02, steps=5)
        return mean_square(end.field["velocity"], grid)

    h = 1e-4
    compiled = jax.jit(energy)
    by_power = (compiled(0.3 + h, 0.5) - compiled(0.3 - h, 0.5)) / (2 * h)
    by_slope = (compiled(0.3, 0.5 + h) - compiled(0.3, 0.5 - h)) / (2 * h)
    gradient = jax.jit(jax.grad(energy, argnums=(0, 1)))(0.3, 0.5)
    np.testing.assert_allclose(gradient, [by_power, by_slope], rtol=1e-6)
    powers = jnp.asarray([0.1, 0.3])
    np.testing.assert_allclose(jax.jit(jax.vmap(energy, (0, None)))(powers, 0.5)[1], compiled(0.3, 0.5), rtol=1e-12)


class Conserved(WhiteForcing):
    """Noise of the fluctuations of a conserved quantity, 2 D k² in each mode."""

    strength: float

    def density(self, equation, field):
        return 2 * self.strength * equation.space(field).fourier.k_squared()


class Jump(sw.forcing.Forcing):
    """A jump after each step; of coefficients that no real field has, if asked."""

    size: float
    wrong: bool = False
    kicks = True

    def force(self, state, u_hat, space):
        return jnp.zeros_like(u_hat)

    def kick(self, equation, field, fields, state, prepared, key):
        grid = equation.space(field).fourier
        one = jnp.where((grid.k_squared() > 0) & (grid.k_squared() < 2), self.size, 0)
        return {field: jnp.broadcast_to((1j if self.wrong else 1) * one, fields[field].shape)}


def test_own_noise_and_own_kicks(make_grid):
    grid = make_grid((9, 12), devices=3)
    heat = AdvectionDiffusion(grid, HEAT, forcing=Conserved(0.5))
    entries = heat.at_step().prepare_kicks(0.5)["c"].factor.entries["c"]
    k2 = np.asarray(grid.k_squared())
    np.testing.assert_allclose(entries**2, 0.5 / HEAT * -np.expm1(-HEAT * k2), atol=1e-14)
    heat = sw.write(["dt(c) = nu*lap(c)"], {"c": "scalar"}, energies={"half": "c*c/2"})(grid, nu=0.0, forcing=Jump(0.1))
    state = sw.initial_state(heat, IFRK2(), jnp.zeros((9, 12)))
    *_, state = sw.evolve(heat, IFRK2(), state, end=0.4, step=0.1)
    jumped = np.where((k2 > 0) & (k2 < 2) & np.asarray(grid.is_kept()), 0.4, 0)
    np.testing.assert_allclose(np.asarray(state.field["c"])[0], jumped, atol=1e-15)
    energy = float(heat.report.energies(state.field)["half"])
    assert float(state.budget["half_from_forcing"]) == pytest.approx(energy, rel=1e-12)


def test_an_own_kick_that_no_real_field_has_is_refused(make_grid):
    heat = AdvectionDiffusion(make_grid((9, 12), devices=3), HEAT, forcing=Jump(0.1, wrong=True))
    state = sw.initial_state(heat, IFRK2(), jnp.zeros((9, 12)))
    with pytest.raises(ValueError, match="forcings add to c is not real"):
        next(sw.evolve(heat, IFRK2(), state, end=0.4, step=0.1))


def flow_with(grid, **options):
    return NavierStokes(grid, 0.1, forcing=WhiteNoise(**{"power": 1.0} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power": -1.0}, "white-noise with power -1.0: zero or more"),
        ({"power": np.inf}, "white-noise with power inf: zero or more"),
        ({"low": -1.0}, "white-noise with low -1.0: zero or more"),
        ({"slope": np.nan}, "white-noise with slope nan: a finite number"),
        ({"low": 3.0, "high": 2.0}, "low 3.0 and high 2.0: low ≤ high"),
        ({"high": np.nan}, "high nan: low ≤ high"),
        ({"low": 3.2, "high": 3.5}, "low 3.2 and high 3.5: no mode of this grid lies between"),
        ({"low": 100.0, "high": np.inf}, r"no mode of this grid lies between; its \|k\| are 1 to 7.071"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(make_grid, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        flow_with(make_grid((16, 16), devices=2), **options)
    assert "\n" not in str(refusal.value)


def test_a_seed_is_needed(make_grid):
    with pytest.raises(ValueError, match="forcing white-noise is random: initial_state needs a seed"):
        sw.initial_state(flow_with(make_grid((16, 16), devices=2)), IFRK2(), jnp.zeros((2, 16, 16)))


RUN_FILE = """
[grid]
shape = [16, 24]
[equation]
name = "advection-diffusion"
diffusivity = 0.1
[initial]
name = "uniform"
[forcing]
name = "white-noise"
power = 0.5
low = 2.0
high = 1e9
[time]
stepper = "etdrk2"
step = 0.1
end = 1.0
[output]
series = { every_steps = 1 }
checkpoints = { every_steps = 5 }
"""


@pytest.mark.thorough
def test_run_files(tmp_path, monkeypatch, capsys):
    """A run in two parts writes the rows of a whole one; what cannot step it is refused before anything runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.toml").write_text(RUN_FILE)
    assert main(["run", "heat.toml", "output.directory=whole"]) == 0
    assert main(["run", "heat.toml", "output.directory=parts", "time.end=0.5"]) == 0
    assert main(["resume", "parts", "time.end=1.0"]) == 0
    whole, parts = ((tmp_path / name / "series.csv").read_text() for name in ("whole", "parts"))
    assert whole == parts
    assert len(whole.splitlines()) == 13
    capsys.readouterr()
    for override, message in (
        ("time.stepper=sbdf2", "stepper sbdf2 with forcing white-noise of c"),
        ("time={ stepper = 'ifrk3', tolerance = 1e-3, end = 1.0 }", "a tolerance with forcing white-noise of c"),
        ("forcing.high=1.0", "white-noise with low 2.0 and high 1.0: low ≤ high is needed"),
    ):
        assert main(["check", "heat.toml", override]) == 2
        error = capsys.readouterr().err.strip()
        assert message in error
        assert "\n" not in error
