"""The dynamic constant against NumPy, its derivative, and where it is zero."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields_of_numpy import Box, change_by_closure, noisy, strain_of
from helpers import refused_in_one_line

from solver.closures import DynamicSmagorinsky, Smagorinsky
from solver.equations import NavierStokes, PassiveScalar

pytestmark = pytest.mark.slow


def constant_squared(box, u, axes=None):
    """⟨L M⟩/⟨M M⟩ over some axes, with a sharp test filter at half the largest wavenumber of each axis."""
    filtered = lambda f: box.truncated(f, box.within(0.5))  # noqa: E731

    def products(u):
        strain = strain_of(box.gradient(u))
        size = np.sqrt(2 * np.sum(strain**2, axis=(0, 1)))
        return np.einsum("i...,j...->ij...", u, u), size * strain

    every = lambda tensor: np.array([[filtered(f) for f in row] for row in tensor])  # noqa: E731
    (uu, stress), (coarse_uu, coarse_stress) = products(u), products(np.array([filtered(f) for f in u]))
    resolved, model = every(uu) - coarse_uu, 2 * box.width**2 * (every(stress) - 4 * coarse_stress)
    resolved -= np.einsum("ij,...->ij...", np.eye(box.d), np.trace(resolved)) / box.d
    mean = lambda entries: np.mean(np.sum(entries, axis=(0, 1)), axis=axes)  # noqa: E731
    return mean(resolved * model) / mean(model**2)


@pytest.mark.parametrize("d", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_constant_and_stress_against_numpy(make_grid, d):
    """The change by the closure is the change with NumPy's constant given; on four devices."""
    grid = make_grid((17, 14, 16)[:d], devices=4, lengths=(6.0, 5.0, 4.0)[:d])
    closed, plain = (NavierStokes(grid, 0.01, closure=one) for one in (DynamicSmagorinsky(), None))
    fields, box = noisy(closed, seed=3), Box(grid)
    square = constant_squared(box, np.asarray(closed.to_physical(fields)["velocity"]))
    assert square > 1e-3, square  # nothing is clipped
    given = NavierStokes(grid, 0.01, closure=Smagorinsky(constant=float(np.sqrt(square))))
    found, wanted = (change_by_closure(one, plain, fields)["velocity"] for one in (closed, given))
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.max(np.abs(wanted)))
    backwards = change_by_closure(closed, plain, {"velocity": -fields["velocity"]})["velocity"]
    assert not np.any(backwards)  # L is even and M odd: the constant would be negative


@pytest.mark.parametrize("d", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_a_constant_of_each_plane_against_numpy(make_grid, d):
    """P ∇·τ and ∇·q with C(z), which is zero in some planes, and the mean of ν_t."""
    shape, lengths = (17, 14, 16)[:d], (6.0, 5.0, 4.0)[:d]
    grid = make_grid(shape, devices=4, lengths=lengths)
    closures = (DynamicSmagorinsky(average="planes", turbulent_schmidt=0.5), None)
    closed, plain = (NavierStokes(grid, 0.01, closure=one, scalars={"c": PassiveScalar()}) for one in closures)
    fields, box = noisy(closed, seed=3), Box(grid)
    values = {name: np.asarray(v) for name, v in closed.to_physical(fields).items()}
    u, [c] = values["velocity"], values["c"]
    square = np.maximum(constant_squared(box, u, tuple(range(d - 1))), 0)
    assert np.max(square) > 2 * np.min(square)
    strain = strain_of(box.gradient(u))
    eddy = square * box.width**2 * np.sqrt(2 * np.sum(strain**2, axis=(0, 1)))
    flux = [2 * eddy * box.derivative(c, axis) for axis in range(d)]
    wanted = {"velocity": box.divergence(2 * eddy * strain)}
    wanted["c"] = box.truncated(sum(box.derivative(part, axis) for axis, part in enumerate(flux)))[None]
    found = change_by_closure(closed, plain, fields)
    for name, own in wanted.items():
        np.testing.assert_allclose(found[name], own, atol=1e-12 * np.max(np.abs(own)))
    row = jax.jit(lambda fields: closed.series(fields, 0.1))(fields)
    assert float(row["eddy_viscosity"]) == pytest.approx(np.mean(eddy), rel=1e-12)
    with refused_in_one_line("average 'lines': 'box' or 'planes' is needed"):
        DynamicSmagorinsky(average="lines")


def test_derivative_through_the_constant(make_grid):
    """Of what N does, by the size of the flow, against differences."""
    grid = make_grid((12, 12), devices=1)
    equation = NavierStokes(grid, 0.0, closure=DynamicSmagorinsky())
    start = noisy(equation, seed=3)

    @jax.jit
    def lost(size):
        fields = {"velocity": size * start["velocity"]}
        return jnp.sum(jnp.abs(equation.nonlinear(fields, 0.0)["velocity"]) ** 2)

    slope = float(jax.grad(lost)(1.0))
    assert slope == pytest.approx((float(lost(1 + 1e-5)) - float(lost(1 - 1e-5))) / 2e-5, rel=1e-8)


@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.thorough)])
def test_a_flow_of_large_scales_alone_has_no_stress(make_grid, precision):
    """Modes up to a quarter of the largest: L is 0, as products lie below the test filter's cut; at rest C is 0."""
    grid = make_grid((24, 24), devices=1, precision=precision)
    equation = NavierStokes(grid, 0.01, closure=DynamicSmagorinsky())
    space, u = equation.space("velocity"), noisy(equation)["velocity"]
    large = jnp.where(sum(jnp.abs(k) for k in grid.wavenumbers()) <= 1, u, 0)
    prepare = jax.jit(lambda u_hat: equation.closure.prepare(u_hat, space))
    close = {"float64": 1e-13, "float32": 1e-5}[precision]
    assert 0 <= float(prepare(large)) < close * float(prepare(u)), (float(prepare(large)), float(prepare(u)))
    assert float(prepare(0 * u)) == 0.0
    assert prepare(u).dtype == grid.dtype
