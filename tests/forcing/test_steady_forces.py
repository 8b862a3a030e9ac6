"""Steady forces and frozen shells: laminar flows, what is injected, and that devices and restarts change nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY, collectives, fourier

import solver as sw
from solver import initial
from solver.diagnostics import mean_square, shell_spectrum
from solver.dynamics.budget import imbalance
from solver.equations import MHD, Boussinesq, Burgers, NavierStokes
from solver.forcing import ABC, ConstantPower, FrozenShells, Kolmogorov, OrnsteinUhlenbeck, TaylorGreen
from solver.forcing.waves import need_periods
from solver.steppers import ETDRK4, IFRK2, IFRK4, SBDF2

pytestmark = pytest.mark.slow

NU = 0.3
SQUARE, CUBE = (12, 14), (12, 14, 12)


def at_points(forcing, grid, components):
    """Values of a force that does not depend on the flow."""
    transform = sw.fft.Transform(grid)
    f_hat = forcing.force((), jnp.zeros((components, *grid.spectral_shape), complex), fourier(grid, components))
    values = transform.inverse(f_hat)
    np.testing.assert_allclose(f_hat, transform.forward(values), atol=1e-15)  # nothing stands in the padding
    return np.asarray(values)


def from_rest(equation, steps=5, dt=0.1, stepper=None):
    """A state some steps after rest."""
    stepper = stepper or ETDRK4()
    still = {name: jnp.zeros(shape) for name, shape in equation.physical_shapes().items()}
    state = sw.initial_state(equation, stepper, still, seed=1)
    *_, state = sw.evolve(equation, stepper, state, end=steps * dt, step=dt)
    return state


def random_flow(grid, seed=0):
    return initial.RandomPhase(peak=2.0)(grid, VELOCITY, jax.random.key(seed))


# ---- what they are ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "dealias"), [(1, "two-thirds"), (8, "phase-shift-alternating"), (8, "none")], ids=str
)
def test_forces_are_their_formulas_at_the_points(make_grid, devices, dealias):
    flat = make_grid((16, 24), devices=devices, lengths=3.0, dealias=dealias)
    x, y = (2 * np.pi / 3.0 * np.asarray(s) for s in flat.meshgrid())
    expected = [np.zeros_like(x), 0.7 * np.sin(3 * x)]
    np.testing.assert_allclose(at_points(Kolmogorov(0.7, 3, "y", "x"), flat, 2), expected, atol=1e-14)
    np.testing.assert_allclose(at_points(Kolmogorov(0.7, 3), flat, 1), [0.7 * np.sin(3 * y)], atol=1e-14)
    expected = [0.7 * np.sin(2 * x) * np.cos(2 * y), -0.7 * np.cos(2 * x) * np.sin(2 * y)]
    np.testing.assert_allclose(at_points(TaylorGreen(0.7, 2), flat, 2), expected, atol=1e-14)
    cube = make_grid(CUBE, devices=devices, dealias=dealias)
    same = initial.TaylorGreen(0.7)(cube), initial.Beltrami((1.0, 0.5, 0.2), 2)(cube)
    np.testing.assert_allclose(at_points(TaylorGreen(0.7), cube, 3), same[0], atol=1e-14)
    np.testing.assert_allclose(at_points(ABC((1.0, 0.5, 0.2), 2), cube, 3), same[1], atol=1e-14)


def test_a_force_on_a_grid_of_complex_fields(make_grid):
    grid = make_grid(SQUARE, devices=2, real=False)
    y = np.asarray(grid.meshgrid()[1])
    np.testing.assert_allclose(at_points(Kolmogorov(0.7, 2), grid, 1), [0.7 * np.sin(2 * y)], atol=1e-14)


def test_a_steady_force_communicates_nothing(make_grid):
    grid = make_grid(CUBE, devices=8)
    zero = jax.device_put(jnp.zeros((3, *grid.spectral_shape), complex), grid.spectral_sharding(4))
    for forcing in (Kolmogorov(1.0, 2), TaylorGreen(1.0), ABC()):
        assert not collectives(lambda u, f=forcing: u + f.force((), u, fourier(grid, 3)), zero)


# forcing, shape, |k|², and ⟨|f|²⟩: from rest u = f (1 − exp(−νk²t))/(νk²)
LAMINAR = {
    "kolmogorov 3-D": (Kolmogorov(0.7, 2, "z", "x"), CUBE, 4, 0.7**2 / 2),
    "taylor-green 2-D": (TaylorGreen(0.7, 2), SQUARE, 8, 0.7**2 / 2),
    "abc": (ABC((0.7, 0.5, 0.3), 2), CUBE, 4, 0.7**2 + 0.5**2 + 0.3**2),
}


@pytest.mark.parametrize("case", LAMINAR)
def test_the_laminar_flow_and_the_power_that_it_is_given(make_grid, case):
    forcing, shape, k2, square = LAMINAR[case]
    flow = NavierStokes(make_grid(shape, devices=1), NU, forcing=forcing)
    state, rate = from_rest(flow), NU * k2
    grown = (1 - np.exp(-rate * 0.5)) / rate
    d = len(shape)
    np.testing.assert_allclose(
        flow.to_physical(state.field)["velocity"], grown * at_points(forcing, flow.grid, d), atol=1e-12
    )
    injected = float(state.budget["energy_from_forcing"])  # ∫⟨f·u⟩, by the quadrature of the stepper
    assert injected == pytest.approx(square / rate * (0.5 - grown), rel=1e-5)
    # and at the fixed point the power is ⟨|f|²⟩/(νk²)
    still = forcing.force((), state.field["velocity"], flow.space("velocity")) / rate
    change = flow.at_step({"velocity": ()}, (), 0).nonlinear({"velocity": still}, 0.0)["velocity"]
    moved = flow.linear().apply({"velocity": still})["velocity"] + change
    assert float(jnp.max(jnp.abs(moved))) < 1e-14
    power = sw.diagnostics.mean_product(still, rate * still, flow.grid)
    assert float(power) == pytest.approx(square / rate, rel=1e-12)


FIELDS = {
    "magnetic field": (lambda g, f: MHD(g, 0.1, NU, forcing={"magnetic_field": f}), "magnetic_field", 2),
    "buoyancy": (lambda g, f: Boussinesq(g, 0.1, NU, forcing={"buoyancy": f}), "buoyancy", 1),
    "dye": (
        lambda g, f: NavierStokes(g, 0.1, scalars={"dye": sw.PassiveScalar(NU)}, forcing={"dye": f}), "dye", 1),
    "burgers": (lambda g, f: Burgers(g, NU, forcing=f), "velocity", 2),
}  # fmt: skip
COLUMN = {
    "magnetic field": ("magnetic_energy", 1),
    "buoyancy": ("potential_energy", 1),
    "dye": ("dye_variance", 2),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_shear_force_on_other_fields(make_grid, field):
    """The field diffuses against the force, which is small: what the field does to the flow is of second order."""
    make, name, components = FIELDS[field]
    forcing = Kolmogorov(1e-3, 2, "x", "y")
    equation = make(make_grid(SQUARE, devices=1), forcing)
    state, rate = from_rest(equation), NU * 4
    grown = (1 - np.exp(-rate * 0.5)) / rate
    expected = grown * at_points(forcing, equation.grid, components)
    np.testing.assert_allclose(equation.to_physical(state.field)[name], expected, atol=1e-6 * 1e-3)
    if field == "burgers":
        return  # keeps no budget
    column, times = COLUMN[field]
    expected = times * 0.5 * 1e-6 / rate * (0.5 - grown)
    assert float(state.budget[f"{column}_from_forcing"]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("field", "forcing"),
    [
        ("magnetic field", ConstantPower(0.2)), ("buoyancy", OrnsteinUhlenbeck(0.8, 0.5)), ("dye", FrozenShells()),
        ("dye", ConstantPower(0.2)),
    ],
    ids=str,
)  # fmt: skip
def test_forcings_drive_every_field_and_the_budget_closes(make_grid, field, forcing):
    make, name, _ = FIELDS[field]
    equation = make(make_grid(SQUARE, devices=1), forcing)
    start = {n: random_flow(equation.grid, 1) if f.rank == "vector" else
             initial.RandomPhase(peak=2.0)(equation.grid, key=jax.random.key(2))
             for n, f in equation.fields.items()}  # fmt: skip
    first = sw.initial_state(equation, IFRK2(), start, seed=1)
    *_, state = sw.evolve(equation, IFRK2(), first, end=0.2, step=0.005)
    column, times = COLUMN[field]
    now = float(equation.report.energies(state.field)[column])
    integrals = {k: float(v) for k, v in state.budget.items()}
    assert abs(imbalance(column, float(state.energies[column]), now, integrals)) < 1e-4
    injected = integrals[f"{column}_from_forcing"]
    if isinstance(forcing, ConstantPower):
        assert injected == pytest.approx(times * 0.2 * 0.2, rel=1e-9)
    else:
        assert abs(injected) > 1e-3
    if equation.fields[name].solenoidal:
        spread = sw.operators.divergence(state.field[name], equation.grid)
        assert float(jnp.max(jnp.abs(spread))) < 1e-13


def test_random_forcing_in_one_dimension(make_grid):
    """Nothing can be projected there."""
    line = make_grid((32,), devices=1)
    forcing, zero = OrnsteinUhlenbeck(0.7), jnp.zeros((1, *line.spectral_shape), complex)
    space = fourier(line, 1)
    square = lambda key: mean_square(forcing.force(forcing.start(space, key), zero, space), line)  # noqa: E731
    squares = jax.jit(jax.vmap(square))(jax.random.split(jax.random.key(0), 200))
    assert np.mean(squares) == pytest.approx(0.49, rel=0.2)


# ---- frozen shells ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stepper", "order"), [(IFRK4(), 4), (SBDF2(), 2)], ids=lambda s: str(s))
def test_frozen_shells_keep_their_energy_to_the_order_of_the_stepper(make_grid, stepper, order):
    grid = make_grid((24, 20), devices=1)
    flow = NavierStokes(grid, 0.02, forcing=FrozenShells(1.0, 2.0, return_time=1e6))
    first = sw.initial_state(flow, stepper, random_flow(grid))
    before = np.asarray(shell_spectrum(first.field["velocity"], grid))
    errors = []
    for dt in (0.04, 0.02):
        *_, state = sw.evolve(flow, stepper, first, end=0.8, step=dt)
        after = np.asarray(shell_spectrum(state.field["velocity"], grid))
        errors.append(np.abs(after / before - 1)[1:3].max())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] > 0.7 * 2**order
    assert abs(after[3] / before[3] - 1) > 0.01, "the shells beside them are free"
    integrals = {k: float(v) for k, v in state.budget.items()}
    now = float(flow.report.energies(state.field)["energy"])
    assert abs(imbalance("energy", float(state.energies["energy"]), now, integrals)) < 1e-3
    assert integrals["energy_from_forcing"] > 1e-3


@pytest.mark.parametrize(("size", "is_forced"), [(1e-15, False), (1e-9, True)])
def test_a_shell_of_rounding_errors_is_not_frozen(make_grid, size, is_forced):
    grid, forcing = make_grid(SQUARE, devices=2), FrozenShells(1.0, 2.6)
    x, y = grid.meshgrid()
    u_hat = sw.fft.Transform(grid).forward(jnp.stack([jnp.cos(y), size * jnp.cos(2 * x)]))
    change = sw.fft.Transform(grid).forward(jnp.stack([0 * x, jnp.cos(2 * x)]))
    space = fourier(grid, 2)
    force = forcing.force(forcing.start_from(u_hat, space, ()), u_hat, space, change)
    power = sw.diagnostics.mean_product(force[1:], change[1:], grid)
    np.testing.assert_allclose(power, -0.5 if is_forced else 0, atol=1e-12)  # it takes back what the change puts in


def test_an_error_of_the_frozen_energy_is_taken_back_in_the_return_time(make_grid):
    grid = make_grid(SQUARE, devices=1)
    flow = NavierStokes(grid, 0.02, forcing=FrozenShells(return_time=0.5))
    first = sw.initial_state(flow, IFRK4(), random_flow(grid))
    off = first.replace(field={"velocity": 1.1 * first.field["velocity"]})
    *_, state = sw.evolve(flow, IFRK4(), off, end=1.0, step=0.02)
    before, after = (np.asarray(shell_spectrum(s.field["velocity"], grid))[1:3] for s in (first, state))
    np.testing.assert_allclose(after / before - 1, (1.1**2 - 1) * np.exp(-1.0 / 0.5), rtol=1e-5)


@pytest.mark.thorough
def test_frozen_shells_on_any_devices_and_through_restarts(make_grid, tmp_path):
    ends = []
    for devices in (1, 8):
        grid = make_grid((16, 24), devices=devices)
        flow = NavierStokes(grid, 0.02, forcing=FrozenShells())
        first = sw.initial_state(flow, IFRK2(), random_flow(grid))
        whole = list(sw.evolve(flow, IFRK2(), first, end=0.4, step=0.05, chunk=4))
        ends.append(np.asarray(flow.to_physical(whole[-1].field)["velocity"]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-13)
    path = sw.io.save_checkpoint(tmp_path, whole[1], grid)
    loaded = sw.io.load_checkpoint(path, flow, IFRK2())
    np.testing.assert_array_equal(loaded.forcing["velocity"], first.forcing["velocity"])
    *_, again = sw.evolve(flow, IFRK2(), loaded, end=0.4, step=0.05)
    np.testing.assert_array_equal(again.field["velocity"], whole[-1].field["velocity"])


# ---- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "devices"),
    [(lambda a: Kolmogorov(a, 2), 1), (lambda a: FrozenShells(return_time=a), 4)],
    ids=["kolmogorov", "frozen-shells"],
)
def test_gradient_in_the_amplitude(make_grid, make, devices):
    grid = make_grid((12, 14), devices=devices)
    start = sw.initial_state(NavierStokes(grid, 0.05, forcing=make(0.3)), IFRK2(), random_flow(grid), seed=1)
    off = start.replace(field={"velocity": 1.2 * start.field["velocity"]})

    @jax.jit
    def energy(amplitude):
        end = sw.integrate(NavierStokes(grid, 0.05, forcing=make(amplitude)), IFRK2(), off, step=0.02, steps=6)
        return 0.5 * mean_square(end.field["velocity"], grid)

    h = 1e-4
    difference = (energy(0.3 + h) - energy(0.3 - h)) / (2 * h)
    assert abs(float(difference)) > 1e-3
    assert float(jax.jit(jax.grad(energy))(0.3)) == pytest.approx(float(difference), rel=1e-5)


def flow(grid, forcing):
    return NavierStokes(grid, 0.1, forcing=forcing)


WRONG = {
    "unresolved": (lambda g: flow(g, Kolmogorov(1.0, 5)), SQUARE, "kolmogorov with wavenumber 5: .* at most 4"),
    "nyquist": (
        lambda g: flow(sw.Grid((8, 8), dealias="none", mesh=g.mesh), Kolmogorov(1.0, 4)),
        SQUARE, "at most 3 along axis 1"),
    "zero": (lambda g: Kolmogorov(1.0, 0), SQUARE, "kolmogorov with wavenumber 0: a whole number of one"),
    "halves": (lambda g: need_periods("abc", 1.5), SQUARE, "abc with wavenumber 1.5: a whole number of one or more"),
    "complex": (lambda g: Kolmogorov(1j), SQUARE, "amplitude 1j: a finite number is needed, which is not complex"),
    "complex push": (
        lambda g: flow(g, sw.forcing.Uniform((1j, 0.0))), SQUARE, r"acceleration \(1j, 0.0\): .* is not complex"),
    "axis": (lambda g: flow(g, Kolmogorov(1.0, 2, "z")), SQUARE, "direction 'z': this grid has x, y"),
    "parallel": (lambda g: flow(g, Kolmogorov(1.0, 2, "x", "x")), SQUARE, "two axes are needed"),
    "sides": (
        lambda g: flow(sw.Grid((8, 8), [1.0, 2.0], mesh=g.mesh), TaylorGreen(1.0)), SQUARE, "equal lengths in x and y"),
    "scalar": (
        lambda g: Boussinesq(g, 1.0, 1.0, forcing={"buoyancy": TaylorGreen(1.0)}), SQUARE, "fields of rank vector"),
    "ellipsoid": (
        lambda g: flow(sw.Grid((16, 16), dealias="phase-shift-alternating", mesh=g.mesh), TaylorGreen(1.0, 6)),
        SQUARE, r"modes \[6, 6\]: dealias 'phase-shift-alternating' keeps"),
    "line": (
        lambda g: Burgers(sw.Grid((16,)), 0.1, forcing=TaylorGreen(1.0)), SQUARE, "in one dimension: two or three"),
    "abc in 2-D": (lambda g: flow(g, ABC()), SQUARE, "abc of a field in 2 dimensions: three are needed"),
    "abc of two": (lambda g: ABC((1.0, 2.0)), SQUARE, r"coefficients \[1.0, 2.0\]: three numbers"),
    "abc too fine": (lambda g: flow(g, ABC(wavenumber=4)), CUBE, "abc with wavenumber 4: .* at most 3 along axis 0"),
    "bounds": (lambda g: FrozenShells(3.0, 2.0), SQUARE, "low 3.0 and high 2.0: 0 ≤ low ≤ high"),
    "no shell": (lambda g: flow(g, FrozenShells(1.2, 1.8)), SQUARE, "no multiple of 1, the width"),
    "cut shell": (lambda g: flow(g, FrozenShells(1.0, 3.0)), SQUARE, "high 3.0: the grid keeps shells up to 2.5"),
    "time": (lambda g: FrozenShells(return_time=0.0), SQUARE, "return_time 0.0: a positive time"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_forces_are_refused_in_one_line(make_grid, case):
    make, shape, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as refusal:
        make(make_grid(shape, devices=2))
    assert "\n" not in str(refusal.value)


class Push(sw.forcing.Forcing):
    """cos(x + y) along x: half of it is a gradient, which no solenoidal field can follow."""

    name = "push"
    project: bool = False

    def force(self, state, u_hat, space):
        x, y = space.grid.coordinates()
        f_hat = space.forward(jnp.stack(jnp.broadcast_arrays(jnp.cos(x + y), 0 * (x + y))))
        return space.as_declared(f_hat, "solenoidal") if self.project else f_hat


@pytest.mark.thorough
def test_the_gradient_part_of_an_own_force_enters_no_stage(make_grid):
    """Stages with it would be compressible, and cost the method its order, whatever the step ends with."""
    grid, stepper = make_grid((16, 12), devices=2), sw.steppers.IFRK3()
    ends = []
    for project in (False, True):
        flow = sw.equations.NavierStokes(grid, 0.02, forcing=Push(project=project))
        state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))
        ends.append(sw.integrate(flow, stepper, state, step=0.1, steps=5).field["velocity"])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("dealias", ["phase-shift-alternating", "phase-shift-random"])
def test_the_space_of_a_force_has_its_points_at_rest(make_grid, dealias):
    """Whatever points the products of this evaluation are taken at: from rest u = f (1 − exp(−νk²t))/(νk²), k² = 2."""
    grid = make_grid((16, 12), devices=2, dealias=dealias)
    flow, stepper = NavierStokes(grid, NU, forcing=Push()), IFRK4()
    zero = jnp.zeros((2, *grid.physical_shape))
    state = sw.initial_state(flow, stepper, zero, seed=1)
    end = sw.integrate(flow, stepper, state, step=0.05, steps=10)
    x, y = grid.meshgrid()
    expected = 0.5 * jnp.stack([jnp.cos(x + y), -jnp.cos(x + y)]) * (1 - np.exp(-2 * NU * 0.5)) / (2 * NU)
    np.testing.assert_allclose(flow.to_physical(end.field)["velocity"], expected, atol=1e-7)
