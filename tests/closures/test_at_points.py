"""Closures at the points: stress, flux and rate against NumPy, energy, derivatives, devices, refusals."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields_of_numpy import Box, change_by_closure, noisy, rates_and_budget, strain_of
from helpers import VELOCITY, advanced, refused_in_one_line

import solver as sw
from solver import initial
from solver.closures import Closure, Smagorinsky, Spectral
from solver.dynamics.budget import Changes
from solver.dynamics.derived import derived_quantities
from solver.equations import Boussinesq, NavierStokes
from solver.forcing import ABC
from solver.outputs.at_points import Selection
from solver.steppers import IFRK4

slow = pytest.mark.slow
SHAPE, LENGTHS = (9, 8, 10), (6.0, 5.0, 4.0)


class Gradients(Closure):
    """τ = c w² (A Aᵀ + |A| A) of the resolved gradient A, and q = c w² A∇c: a mixed model, whose τ is not symmetric."""

    constant: Any = 0.1

    takes_scalars: ClassVar[bool] = True

    def stress(self, resolved, width, prepared):
        size = jnp.sqrt(jnp.sum(resolved**2, axis=(0, 1)))
        return self.constant * width**2 * (jnp.einsum("ik...,jk...->ij...", resolved, resolved) + size * resolved)

    def flux(self, resolved, slope, width, prepared):
        return self.constant * width**2 * jnp.einsum("ij...,j...->i...", resolved, slope)


class Network(Closure):
    """ν_t = w² |S| f(S:S) with a network f."""

    network: Any

    of: ClassVar[str] = "strain"

    def stress(self, resolved, width, prepared):
        square = jnp.sum(resolved * resolved, axis=(0, 1))
        return width**2 * self.network(square) * resolved


class Dense(eqx.Module):
    """One hidden layer at each point; holds a function, as networks do."""

    inward: jax.Array
    outward: jax.Array
    function: Any = jnp.tanh

    def __call__(self, x):
        return sum(b * self.function(a * x) for a, b in zip(self.inward, self.outward, strict=True))


def by_numpy(closure, box, u, slope):
    """τ, q and ν_t."""
    gradient = box.gradient(u)
    strain = strain_of(gradient)
    if isinstance(closure, Smagorinsky):
        eddy = (closure.constant * box.width) ** 2 * np.sqrt(2 * np.sum(strain**2, axis=(0, 1)))
        return 2 * eddy * strain, eddy / closure.turbulent_schmidt * slope, eddy
    size = np.sqrt(np.sum(gradient**2, axis=(0, 1)))
    stress = closure.constant * box.width**2 * (np.einsum("ik...,jk...->ij...", gradient, gradient) + size * strain)
    d = len(u)
    anisotropic = stress - np.einsum("ij,...->ij...", np.eye(d), np.trace(stress)) / d
    eddy = np.sqrt(np.sum(anisotropic**2, axis=(0, 1)) / np.sum(strain**2, axis=(0, 1))) / 2
    return stress, closure.constant * box.width**2 * np.einsum("ij...,j...->i...", gradient, slope), eddy


@slow
@pytest.mark.parametrize(
    "closure", [Smagorinsky(constant=0.3, turbulent_schmidt=0.5), Gradients()], ids=["strain", "gradient"]
)
@pytest.mark.parametrize("d", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_stress_flux_and_rate_against_numpy(make_grid, closure, d):
    """P ∇·τ and ∇·q, the column of what the stress takes, and the largest Σ|u_i|/Δx_i + ν_t k² of one point."""
    grid = make_grid(SHAPE[:d], devices=2, lengths=LENGTHS[:d])
    box, mean = Box(grid), np.array([0.3, -0.2, 0.5])[:d]
    given = {"scalars": {"c": sw.PassiveScalar(0.1, mean.tolist())}}
    closed, plain = (NavierStokes(grid, 0.01, **given, closure=one) for one in (closure, None))
    fields = noisy(closed)
    found = change_by_closure(closed, plain, fields)
    values = {name: np.asarray(v) for name, v in closed.to_physical(fields).items()}
    u, [c] = values["velocity"], values["c"]
    slope = np.array([box.derivative(c, j) for j in range(d)]) + mean.reshape(d, *[1] * d)
    stress, flux, eddy = by_numpy(closure, box, u, slope)
    expected = {"velocity": box.divergence(stress)}
    expected["c"] = [box.truncated(sum(box.derivative(part, j) for j, part in enumerate(flux)))]
    for name, own in expected.items():
        np.testing.assert_allclose(found[name], own, atol=1e-12 * np.max(np.abs(own)))
    row = jax.jit(lambda fields: closed.series(fields, 0.1))(fields)
    crossings = sum(abs(u[i]) * n / side for i, (n, side) in enumerate(zip(SHAPE, LENGTHS, strict=True)) if i < d)
    faster = 2.0 if isinstance(closure, Smagorinsky) else 1.0
    rate = np.max(crossings + faster * eddy * np.sum(box.highest**2))
    assert float(row["cfl"]) == pytest.approx(0.1 * rate, rel=1e-12)
    strain = strain_of(box.gradient(u))
    assert float(row["subgrid_dissipation"]) == pytest.approx(np.mean(np.sum(stress * strain, axis=(0, 1))), rel=1e-12)
    assert float(row["eddy_viscosity"]) == pytest.approx(np.mean(eddy), rel=1e-12)
    quantities, bare = derived_quantities(closed), derived_quantities(plain)
    pressure = quantities["pressure"].make(fields) - bare["pressure"].make(fields)
    own = box.pressure(stress)
    np.testing.assert_allclose(pressure, own, atol=1e-12 * np.max(np.abs(own)))
    for name, own in {"subgrid_dissipation": np.sum(stress * strain, axis=(0, 1)), "eddy_viscosity": eddy}.items():
        np.testing.assert_allclose(quantities[name].make(fields), own, rtol=1e-10, atol=1e-13 * np.max(np.abs(own)))
        assert quantities[name].units == closed.report.units()[name]
    units = closed.report.units()
    assert (units["subgrid_dissipation"], units["eddy_viscosity"]) == ("length^2/time^3", "length^2/time")


@slow
@pytest.mark.parametrize(
    "closure",
    [
        pytest.param(Smagorinsky(constant=0.3), marks=pytest.mark.thorough, id="points"),
        pytest.param(Spectral(), id="modes"),
    ],
)
def test_a_stratified_flow_is_closed_as_a_flow_with_a_scalar(make_grid, closure):
    """The buoyancy in a mean gradient N² along the last axis, N = 2."""
    grid = make_grid((9, 8, 10), devices=2)
    own, other = {"viscosity": 0.01, "diffusivity": 0.1, "buoyancy_frequency": 2.0}, {"viscosity": 0.01}
    other |= {"scalars": {"c": sw.PassiveScalar(0.1, (0.0, 0.0, 4.0))}}
    found = []
    for cls, given, scalar in ((Boussinesq, own, "buoyancy"), (NavierStokes, other, "c")):
        closed, plain = (cls(grid, **given, closure=one) for one in (closure, None))
        found.append([(change := change_by_closure(closed, plain, noisy(closed)))["velocity"], change[scalar]])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-13 * np.max(np.abs(theirs)))


@slow
def test_the_energy_lost_is_the_column_and_a_cause_of_the_budget(make_grid):
    """Also where a scalar has a source, which is in the scalar's N."""
    grid = make_grid((16, 16), devices=2)
    made = {"dye": sw.PassiveScalar(source="cos(x)")}
    equation = NavierStokes(grid, 0.0, closure=Smagorinsky(constant=0.4), scalars=made)
    rate, causes, row = rates_and_budget(equation, noisy(equation))
    assert row["subgrid_dissipation"] > 0.1
    assert rate == pytest.approx(-row["subgrid_dissipation"], rel=1e-12)
    assert causes == {"viscosity": 0.0, "closure": pytest.approx(rate, rel=1e-12)}


@pytest.mark.thorough
def test_decaying_turbulence_does_not_pile_up_at_the_last_shells(make_grid):
    """Without viscosity shell 7 of 7 has 0.16 of the energy of shell 3, and 6.3 of it without the closure."""
    grid = make_grid((24, 24, 24), devices=2)
    start = initial.RandomPhase(energy=0.5, peak=3.0)(grid, VELOCITY, jax.random.key(0))
    share = {}
    for closure in (None, Smagorinsky()):
        equation = NavierStokes(grid, 0.0, closure=closure)
        state = advanced(equation, IFRK4(), start, 4.0, 0.05)
        spectrum = np.asarray(equation.spectra(state.field)["energy"])
        share[closure is None] = spectrum[7] / spectrum[3]
    assert share[False] < 0.3 < 1.0 < share[True], share


def test_without_a_closure_its_word_leaves_nothing(make_grid):
    """The plan of transforms, the functions at the points and the columns are those of a text without the word."""
    grid = make_grid((8, 8), devices=1)
    line = "dt(u) = -u@grad(u) - grad(p) + nu*lap(u)"
    given = {"fields": {"u": "vector"}, "unknowns": {"p": "scalar"}}
    closed, plain = (sw.write([own, "div(u) = 0"], **given)(grid, nu=0.1) for own in (f"{line} + closure(u)", line))
    assert closed.derived.plan == plain.derived.plan
    assert closed.derived.changes == plain.derived.changes
    assert closed.report.units().keys() == plain.report.units().keys()
    assert plain.plain_text.write == closed.plain_text.write


@slow
def test_derivatives_by_the_constant_and_by_the_weights_of_a_network(make_grid):
    """Through a step, from a flow at rest in a half of the box: finite, and those by differences."""
    grid = make_grid((8, 8), devices=1)
    network = Dense(jnp.array([0.3, -0.7]), jnp.array([0.4, 0.2]))
    u = initial.TaylorGreen()(grid, VELOCITY, jax.random.key(0))
    u = u.at[:, :, :4].set(0.0)

    def last(closure):
        equation = NavierStokes(grid, 0.01, closure=closure)
        state = sw.initial_state(equation, IFRK4(), {"velocity": u})
        moved = sw.integrate(equation, IFRK4(), state, step=0.02, steps=2)
        return jnp.sum(equation.to_physical(moved.field)["velocity"] ** 3)

    for closure in (Smagorinsky(constant=0.4), Network(network)):
        numbers, rest = eqx.partition(closure, eqx.is_inexact_array_like)
        slope = jax.grad(lambda own, rest=rest: last(eqx.combine(own, rest)))(numbers)
        direction = jax.tree.map(lambda leaf: 1.0 + 0 * jnp.asarray(leaf), numbers)
        along = sum(float(jnp.sum(a)) for a in jax.tree.leaves(slope))
        moved = [
            float(last(eqx.combine(jax.tree.map(lambda n, d, e=e: n + e * d, numbers, direction), rest)))
            for e in (1e-4, -1e-4)
        ]
        assert along == pytest.approx((moved[0] - moved[1]) / 2e-4, rel=1e-6)
        assert along != 0


def test_with_bodies_the_budget_does_not_name_what_it_cannot_tell_apart(make_grid):
    bodies = sw.bodies.Sphere(centre=(3.0, 3.0), radius=1.5)
    flow = NavierStokes(make_grid((8, 8), devices=1), 0.01, closure=Smagorinsky(), bodies=bodies)
    causes = jax.eval_shape(lambda u: flow.report.budget(u, Changes(u, u, {})), flow.coefficients(flow.field_shapes()))
    assert set(causes["energy"]) == {"viscosity", "nonlinear"}


def test_derivative_at_a_point_without_strain_is_finite():
    """ν_t S has the derivative 0 where the square root has none."""
    closure = Smagorinsky()
    slope = jax.jit(jax.jacobian(lambda strain: closure.stress(strain, 1.0, ())))(jnp.zeros((2, 2)))
    np.testing.assert_array_equal(slope, 0)


@slow
@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.thorough)])
def test_devices_give_the_same(make_grid, precision):
    """Slabs of four devices and one, in both precisions; a network's function is no number."""
    found = []
    for devices in (1, 4):
        grid = make_grid((12, 10, 8), devices=devices, precision=precision)
        equation = NavierStokes(grid, 0.01, closure=Network(Dense(jnp.array([0.3, -0.7]), jnp.array([0.4, 0.2]))))
        state = advanced(equation, IFRK4(), equation.to_physical(noisy(equation)), 0.02, 0.01)
        assert state.field["velocity"].dtype == grid.complex_dtype
        found.append(np.asarray(equation.to_physical(state.field)["velocity"]))
    close = {"float64": 1e-13, "float32": 1e-5}[precision]
    np.testing.assert_allclose(found[1], found[0], atol=close * np.max(np.abs(found[0])))


class Shifted(Closure):
    """Looks at its neighbour."""

    def stress(self, resolved, width, prepared):
        return resolved + jnp.roll(resolved, 1, axis=-1)


class Vector(Closure):
    def stress(self, resolved, width, prepared):
        return resolved[0]


class Flat(Smagorinsky):
    dimensions: ClassVar[tuple[int, ...]] = (3,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Smagorinsky(constant=-0.1), "constant -0.1: zero or more is needed"),
        (lambda: Smagorinsky(turbulent_schmidt=0.0), "turbulent_schmidt 0.0: a positive number is needed"),
        (lambda: flow(closure=ABC()), "closure abc: a closure of solver.closures is needed"),
        (lambda: flow(closure=Flat()), "closure smagorinsky in 2 dimensions: 3 are needed"),
        (
            lambda: flow(scalars={"c": sw.PassiveScalar()}, closure=Network(abs)),
            "network: it has no flux of scalars",
        ),
        (
            lambda: Selection(("eddy_viscosity",), coarsen=2).check(flow(closure=Smagorinsky()), "snapshots"),
            "snapshots.coarsen = 2: eddy_viscosity holds the closure's stress, of the run's grid",
        ),
        (
            lambda: flow(closure=Vector()).check(),
            r"calls the closure, fails \(closure vector: stress gives float64\[2, .*real \[2, 2",
        ),
        (lambda: flow(closure=Shifted()).check(), "which calls the closure"),
        (
            lambda: sw.equations.Burgers(sw.Grid((8, 8), mesh=sw.device_mesh([0])), 0.1, closure=Smagorinsky()),
            "closure smagorinsky: burgers says of no velocity, by closure",
        ),
    ],
    ids=["constant", "Schmidt", "kind", "dimensions", "scalars", "coarser", "shape", "neighbours", "equation"],
)
def test_wrong_closures_are_refused(make, message):
    with refused_in_one_line(message):
        make()


def flow(**given):
    return NavierStokes(sw.Grid((8, 8), mesh=sw.device_mesh([0])), 0.1, **given)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("closure(u) + closure(2*u)", "a closure is of one velocity"),
        ("closure(u, grad(q))", "without closure"),
        ("closure(u) + closure(u, q*ex)", "the gradient of one scalar field is needed"),
    ],
    ids=["two", "scalar alone", "slope"],
)
def test_words_of_a_text_that_are_refused(term, message):
    text = sw.Text([f"dt(u) = {term}", "dt(q) = 0*q"], fields={"u": "vector", "q": "scalar"})
    with pytest.raises(ValueError, match=message):
        _ = text.system
