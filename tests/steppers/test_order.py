"""Order of every stepper on real, imaginary, complex and matrix linear parts; steps of changing size."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.typing import ArrayLike

import solver as sw
from solver.assemble.classes import built_in
from solver.dynamics.budget import with_budget, without_budget
from solver.dynamics.splittable import Splittable
from solver.equations import (
    Boussinesq,
    Equation,
    Field,
    NavierStokes,
    NonlinearSchroedinger,
    SchroedingerPoisson,
)
from solver.steppers import ETDRK4, IFRK2, IFRK4, IMEXRK2, IMEXRK3, SBDF3, fitting
from solver.steppers.implicit import backward_weights

pytestmark = pytest.mark.every_case
STEPPERS = [cls() for cls in built_in("stepper").values() if cls.takes is Equation]
EXACT = [s for s in STEPPERS if s.exact_linear]
FOR_ANY_L = [s for s in STEPPERS if "complex" in s.stable_for]
SPLITTINGS = [cls() for cls in built_in("stepper").values() if cls.takes is Splittable]
names = lambda steppers: [s.name for s in steppers]  # noqa: E731


class Bernoulli(Equation):
    """u_t = λ u − u² at each point: u(t) = λ e^{λt} u0 / (λ + u0 (e^{λt} − 1))."""

    growth: ArrayLike = -1.0
    name: ClassVar[str] = "bernoulli"
    fields: ClassVar[dict[str, Field]] = {"u": Field("wavefunction")}

    def linear(self):
        return sw.Diagonal({"u": jnp.asarray(self.growth)})

    def nonlinear(self, fields, t):
        u = self.transform.inverse(fields["u"])
        return {"u": self.transform.forward(-u * u)}

    def rate(self, fields):
        return jnp.asarray(1.0)


class Oscillator(Equation):
    """x_t = y, y_t = −4x − d y + cos(3t) − ½ cos(x): two fields coupled by a matrix, and driven."""

    damping: ArrayLike = 0.2
    name: ClassVar[str] = "oscillator"
    fields: ClassVar[dict[str, Field]] = {"x": Field(), "y": Field()}

    def linear(self):
        rows = jnp.asarray([[0.0, 1.0], [-4.0, 0.0]]).at[1, 1].set(-self.damping)
        return sw.Matrix(rows[..., None] * jnp.ones(self.grid.spectral_shape), ("x", "y"))

    def nonlinear(self, fields, t):
        force = jnp.cos(3 * t) - 0.5 * jnp.cos(self.transform.inverse(fields["x"]))
        return {"x": jnp.zeros_like(fields["x"]), "y": self.transform.forward(force)}

    def rate(self, fields):
        return jnp.asarray(1.0)


CASES = {"real L": -8.0, "imaginary L": 8j, "complex L": -4 + 6j}


def bernoulli(u0, growth, t):
    factor = np.exp(growth * t)
    return growth * factor * u0 / (growth + u0 * (factor - 1))


def rates(errors):
    return np.log2(np.array(errors[:-1]) / errors[1:])


PAIRS = [(s, case) for s in STEPPERS for case in CASES if s in FOR_ANY_L or case == "real L"]


@pytest.mark.parametrize(("stepper", "case"), PAIRS, ids=lambda v: v if isinstance(v, str) else v.name)
def test_error_falls_at_the_nominal_order(make_grid, stepper, case):
    """Halving dt divides the error against the exact solution by 2**order."""
    grid = make_grid((4,), devices=1, real=False, dealias="none")
    equation = Bernoulli(grid, growth=CASES[case])
    u0 = np.array([[0.9, 1.1, 1.3, 0.7]])
    exact = bernoulli(u0, CASES[case], 1.0)
    errors = []
    for n in (32, 64, 128) if stepper.order > 2 else (128, 256, 512):
        state = sw.initial_state(equation, stepper, jnp.asarray(u0))
        *_, state = sw.evolve(equation, stepper, state, step=1 / n, end=1.0)
        errors.append(np.abs(np.asarray(equation.to_physical(state.field)["u"]) - exact).max())
    assert np.all(np.abs(rates(errors) - stepper.order) < 0.3), (rates(errors), errors)
    assert errors[-1] > 1e-13, "the errors must be above round-off to measure an order"


@pytest.mark.slow
@pytest.mark.parametrize("stepper", FOR_ANY_L, ids=names(FOR_ANY_L))
def test_order_with_a_matrix_and_steps_of_changing_size(make_grid, stepper):
    """Steps alternate between h and h/3, as targets and CFL control make them; the order stays."""
    equation = Oscillator(make_grid((4,), devices=1))
    start = {"x": jnp.asarray([[1.0, 0.5, -0.3, 0.2]]), "y": jnp.zeros((1, 4))}
    driven = equation.at_step({}, (), 0)
    advance = jax.jit(lambda f, h, t, dt: stepper.step(driven, f, h, t, dt, stepper.coefficients(driven, dt)))

    def end(n):
        state = sw.initial_state(equation, stepper, start)
        field, history, t = with_budget(state.field, state.budget), state.history, 0.0
        for i in range(2 * n):
            dt = (0.25 if i % 2 else 0.75) / n
            field, history = advance(field, history, t, dt)
            t += dt
        return np.asarray(equation.to_physical(without_budget(field))["x"])

    reference = _solved(equation, start)
    counts = (8, 16, 32) if stepper.order > 2 else (64, 128, 256)
    errors = [np.abs(end(n) - reference).max() for n in counts]
    assert np.all(np.abs(rates(errors) - stepper.order) < 0.35), (rates(errors), errors)
    assert errors[-1] > 1e-12


def _solved(equation, start):
    """By an independent integrator."""
    from scipy.integrate import solve_ivp

    def rhs(t, q):
        x, y = q.reshape(2, 4)
        # the two-thirds rule keeps the modes |n| < 4/3: the mean and one wave
        force = _kept(np.cos(3 * t) - 0.5 * np.cos(x))
        return np.concatenate([y, -4 * x - 0.2 * y + force])

    first = np.concatenate([_kept(np.asarray(start[name])[0]) for name in "xy"])
    return solve_ivp(rhs, (0, 1), first, rtol=1e-13, atol=1e-15, method="DOP853").y[:4, -1]


def _kept(u):
    modes = np.fft.rfft(u)
    modes[2:] = 0
    return np.fft.irfft(modes, 4)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", EXACT, ids=names(EXACT))
def test_the_linear_part_is_exact(make_grid, stepper):
    class Linear(Bernoulli):
        def nonlinear(self, fields, t):
            return {"u": jnp.zeros_like(fields["u"])}

    equation = Linear(make_grid((4,), devices=1, real=False, dealias="none"), growth=-30 + 50j)
    u0 = jnp.asarray([[1.0, 2.0, 3.0, 4.0]])
    *_, state = sw.evolve(equation, stepper, sw.initial_state(equation, stepper, u0), step=0.05, end=0.2)
    got = equation.to_physical(state.field)["u"]
    np.testing.assert_allclose(got, u0 * np.exp((-30 + 50j) * 0.2), rtol=1e-13)


@pytest.mark.parametrize("stepper", [SBDF3(), IMEXRK3()], ids=lambda s: s.name)
def test_order_with_real_parts_and_steps_of_changing_size(make_grid, stepper):
    """Steps alternate between h and h/3, among stiff modes too."""
    growth = np.array([-8.0, -1.0, -300.0, -3e4])  # of each mode; only the first two are there at the start

    class Stiff(Bernoulli):
        def linear(self):
            return sw.Diagonal({"u": jnp.asarray(growth)})

        def nonlinear(self, fields, t):
            u = self.transform.inverse(fields["u"])
            return {"u": self.transform.forward(jnp.cos(3 * t) - 0.1 * u * u)}

    equation = Stiff(make_grid((4,), devices=1, real=False, dealias="none"))
    start = jnp.asarray([[1.0, 0.5 + 0.5j, 0.0, 0.5 - 0.5j]])
    advance = jax.jit(lambda f, h, t, dt: stepper.step(driven, f, h, t, dt, stepper.coefficients(driven, dt)))
    driven = equation.at_step({}, (), 0)

    def end(n):
        state = sw.initial_state(equation, stepper, start)
        field, history, t = with_budget(state.field, state.budget), state.history, 0.0
        for i in range(2 * n):
            dt = (0.25 if i % 2 else 0.75) / n
            field, history = advance(field, history, t, dt)
            t += dt
        return np.asarray(without_budget(field)["u"])[0]

    def rhs(t, q):
        u_hat = q[:4] + 1j * q[4:]
        u = np.fft.ifft(u_hat) * 4
        u_hat = growth * u_hat + np.fft.fft(np.cos(3 * t) - 0.1 * u * u) / 4
        return np.concatenate([u_hat.real, u_hat.imag])

    from scipy.integrate import solve_ivp

    first = np.fft.fft(np.asarray(start)[0]) / 4
    first = np.concatenate([first.real, first.imag])
    reference = solve_ivp(rhs, (0, 1), first, rtol=1e-11, atol=1e-13, method="Radau").y[:, -1]
    reference = reference[:4] + 1j * reference[4:]
    errors = [np.abs(end(n) - reference).max() for n in (16, 32, 64)]
    assert np.all(np.abs(rates(errors) - stepper.order) < 0.35), (rates(errors), errors)
    assert errors[-1] > 1e-10


def test_tableaus_fulfil_the_conditions_of_their_orders():
    """To round-off, with the couplings of both tableaus: a wrong digit of a fraction shows here first."""
    for stepper in (IMEXRK2(), IMEXRK3()):
        c, b, stages = np.array(stepper.nodes, float), np.array(stepper.weights, float), len(stepper.nodes)
        rows = np.zeros((2, stages, stages))
        for i in range(1, stages):
            rows[0, i, :i] = np.array(stepper.explicit[i - 1], float)
            rows[1, i, : i + 1] = np.array((*stepper.implicit[i - 1], stepper.diagonal), float)
        np.testing.assert_allclose(rows.sum(axis=2), [c, c], rtol=1e-14)
        others = [np.array(stepper.embedded, float)] if stepper.order == 3 else []
        for weights in (b, rows[1, -1], *others):
            np.testing.assert_allclose([weights.sum(), weights @ c], [1, 1 / 2], rtol=1e-14)
        if stepper.order == 3:
            np.testing.assert_array_equal(b, rows[1, -1])
            np.testing.assert_allclose([b @ c**2, b @ rows[0] @ c, b @ rows[1] @ c], [1 / 3, 1 / 6, 1 / 6], rtol=1e-14)
            assert abs(others[0] @ c**2 - 1 / 3) > 1e-3


def test_backward_weights_are_those_of_equal_steps():
    a, b = backward_weights((-1.0, -2.0, -3.0))
    np.testing.assert_allclose(a, [11 / 6, -3, 3 / 2, -1 / 3], rtol=1e-14)
    np.testing.assert_allclose(b, [3, -3, 1], rtol=1e-14)


@pytest.mark.slow
def test_sbdf3_refuses_waves_and_is_differentiable(make_grid):
    grid = make_grid((4,), devices=1)
    with pytest.raises(TypeError, match=r"stepper sbdf3 is stable for linear parts that are real; .* can step it"):
        SBDF3().check(Oscillator(grid))

    def end(growth):
        equation = Bernoulli(grid, growth=growth)
        state = sw.initial_state(equation, SBDF3(), jnp.asarray([[0.9, 1.1, 1.3, 0.7]]))
        after = sw.integrate(equation, SBDF3(), state, step=0.01, steps=6)
        return jnp.sum(jnp.abs(after.field["u"]) ** 2)

    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(end)))(jnp.asarray([-8.0, -7.99, -8.01]))
    assert float(slopes[0]) == pytest.approx(float(values[1] - values[2]) / 0.02, rel=1e-4)


@pytest.mark.slow
def test_the_embedded_error_is_that_of_a_second_order_step(make_grid):
    """Halving dt divides it by 2³, and it is the difference to the solution of the other weights."""
    equation = Oscillator(make_grid((4,), devices=1))
    stepper = IMEXRK3()
    assert stepper.error_order == 2
    state = sw.initial_state(equation, stepper, {"x": jnp.asarray([[1.0, 0.5, -0.3, 0.2]]), "y": jnp.zeros((1, 4))})
    driven, fields = equation.at_step({}, (), 0), with_budget(state.field, state.budget)
    errors = []
    for dt in (0.1, 0.05, 0.025):
        coefficients = stepper.coefficients(driven, dt)
        after, history, error = stepper.step_with_error(driven, fields, (), 0.3, dt, coefficients)
        same, _ = stepper.step(driven, fields, (), 0.3, dt, coefficients)
        assert history == ()
        assert sorted(error) == ["x", "y"]
        for name in after:
            np.testing.assert_array_equal(after[name], same[name])
        embedded = _with_weights(stepper, stepper.embedded)
        other, _ = embedded.step(driven, fields, (), 0.3, dt, coefficients)
        for name, value in error.items():
            np.testing.assert_allclose(other[name] + value, after[name], atol=1e-15)
        errors.append(max(float(jnp.max(jnp.abs(e))) for e in error.values()))
    assert np.all(np.abs(rates(errors) - 3) < 0.2), errors


def _with_weights(stepper, weights):
    """The same stages, summed with other weights, in the form that Kennedy and Carpenter print."""

    class Other(type(stepper)):
        def advance(self, equation, fields, history, t, dt, coefficients):
            _, changes, moved = self._stages(equation, fields, t, dt, coefficients.of(dt), self._last())
            return {
                name: u + dt * sum(float(b) * (changes[j][name] + moved[j][name]) for j, b in enumerate(weights))
                for name, u in fields.items()
            }, history

    return Other()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "coupling"), [(SchroedingerPoisson, 4.0), (NonlinearSchroedinger, 1.0)], ids=["points", "modes"]
)
@pytest.mark.parametrize("stepper", SPLITTINGS, ids=names(SPLITTINGS))
def test_a_splitting_has_its_order_and_is_reversible(make_grid, stepper, kind, coupling):
    """Of a field at the points and of one held as modes: the mass is kept, too."""
    grid = make_grid((32, 16), devices=2, lengths=10.0, real=False, dealias="none")
    equation = kind(grid, coupling)
    psi = sw.initial.Gaussian(width=1.5, velocity=(0.7, 0.0))(grid)
    start = sw.initial_state(equation, stepper, psi)
    ends = []
    for n in (20, 40, 80, 640):
        *_, state = sw.evolve(equation, stepper, start, step=1 / n, end=1.0)
        ends.append(np.asarray(equation.to_physical(state.field)["wavefunction"]))
        assert float(equation.conserved(state.field)["mass"] / start.conserved["mass"]) == pytest.approx(1, abs=1e-13)
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    # the reference is itself off by (80/640)² of the last error, or less
    assert np.all(np.abs(rates(errors) - stepper.order) < 0.1), (rates(errors), errors)
    assert errors[-1] > 1e-13
    field, history = start.field, start.history
    driven = equation.at_step()
    for dt in (0.05, 0.03, -0.03, -0.05):
        prepared = stepper.coefficients(driven, dt)
        field, history = jax.jit(stepper.step)(driven, field, history, 0.0, dt, prepared)
    np.testing.assert_allclose(equation.to_physical(field)["wavefunction"], psi, atol=1e-14)


def test_a_stepper_names_the_equation_it_cannot_step(make_grid):
    grid = make_grid((8, 8), devices=1, real=False, dealias="none")
    with pytest.raises(
        TypeError, match=r"ifrk4 needs an equation of the form Equation; .* strang, yoshida4 can step it"
    ):
        sw.initial_state(SchroedingerPoisson(grid), IFRK4(), jnp.ones((1, 8, 8), complex))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (jnp.ones((1, 4)), "one array for the fields of oscillator: a dict of x, y is needed"),
        ({"x": jnp.ones((1, 4))}, "y missing"),
        ({"x": jnp.ones((1, 4)), "yy": jnp.ones((1, 4))}, "initial field 'yy': oscillator has y"),
        ({"x": jnp.ones((2, 4)), "y": jnp.ones((1, 4))}, r"field x of shape \[2, 4\]; .* needs \[1, 4\]"),
    ],
    ids=["bare", "missing", "unknown", "shape"],
)
def test_initial_state_checks_the_fields(make_grid, given, message):
    with pytest.raises(ValueError, match=message):
        sw.initial_state(Oscillator(make_grid((4,), devices=1)), ETDRK4(), given)


def test_a_stepper_refuses_linear_parts_for_which_it_is_not_stable(make_grid):
    class OnlyReal(IFRK2):
        name = "only-real"
        stable_for: ClassVar = frozenset({"real"})

    flow = NavierStokes(make_grid((8, 8, 8), devices=1), viscosity=0.1)
    assert "only-real" in fitting(flow)
    OnlyReal().check(flow)
    rotating = Boussinesq(make_grid((8, 8, 8), devices=1), viscosity=0.1, diffusivity=0.1, rotation=1.0)
    with pytest.raises(
        TypeError, match=r"stable for linear parts that are real; that of boussinesq is complex: .*ifrk2"
    ):
        OnlyReal().check(rotating)
    assert "only-real" not in fitting(rotating)
    assert "ifrk2" in fitting(rotating)
