"""Sums over modes, several in one pass: values, derivatives, round-off, members, and what is compiled."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import collectives

import solver as sw
from solver.diagnostics.mode_sums import plus, product, summed, summed_by_device
from solver.dynamics.budget import Changes
from solver.loop import FixedStep
from solver.loop.steps import trace_advance


def coefficients(grid, components, seed):
    return sw.operators.random_modes(jax.random.key(seed), grid, components)


def by_points(a_hat, b_hat, grid):
    transform = sw.fft.Transform(grid)
    return float(jnp.mean(jnp.sum(transform.inverse(a_hat) * transform.inverse(b_hat), axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(24,), (24, 24), (16, 24, 20)], ids=str)
def test_sums_are_means_over_points(shape):
    """Sums asked together, and an empty one; a sum alone takes another way to the same value."""
    grid = sw.Grid(shape, mesh=sw.device_mesh([0] if len(shape) == 1 else None))
    a_hat, b_hat = coefficients(grid, 2, 1), coefficients(grid, 2, 2)
    one, other = product(a_hat, b_hat, grid), product(a_hat, a_hat, grid)
    sums = jax.jit(lambda: summed([one, plus(one, other, -3), {}, other], grid.dtype))()
    known = by_points(a_hat, b_hat, grid), by_points(a_hat, a_hat, grid)
    np.testing.assert_allclose(sums, [known[0], known[0] - 3 * known[1], 0, known[1]], rtol=1e-12)
    np.testing.assert_allclose(summed([one], grid.dtype), [known[0]], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("split", [None, (4, 2)], ids=["slabs", "pencils"])
@pytest.mark.parametrize("shape", [(20, 24), (16, 24, 20)], ids=str)
def test_sums_of_each_device_add_up_and_send_nothing(shape, split):
    if split and len(shape) == 2:
        pytest.skip("pencils need three dimensions")
    grid = sw.Grid(shape, mesh=sw.device_mesh(shape=split))
    a_hat, b_hat = coefficients(grid, 2, 1), coefficients(grid, 2, 2)
    asked = lambda add_up, a, b: add_up([product(a, b, grid), product(a, a, grid)], grid.dtype)  # noqa: E731
    by_device = lambda a, b: asked(summed_by_device, a, b)  # noqa: E731
    assert collectives(by_device, a_hat, b_hat) == {}
    found, whole = jax.jit(by_device)(a_hat, b_hat), asked(summed, a_hat, b_hat)
    assert [rates.shape for rates in found] == [(8,), (8,)]
    np.testing.assert_allclose([float(rates.sum()) for rates in found], whole, rtol=1e-12)
    assert all(np.ptp(rates) > 0 for rates in found)


@pytest.mark.slow
def test_devices_add_up_once_in_a_step():
    """However many evaluations it has: the six rates of the four are one array."""
    flow, stepper = sw.equations.Vorticity(sw.Grid((16, 16), mesh=sw.device_mesh([0, 1])), 0.1), sw.steppers.IFRK4()
    state = sw.initial_state(flow, stepper, sw.sample(lambda x, y: jnp.cos(x) * jnp.cos(y), flow.grid))
    program = trace_advance(flow, stepper, state, FixedStep(0.01)).lower().compile().as_text()
    assert [shape for shape in re.findall(r"= (.*) all-reduce\(", program) if "f64" in shape] == ["f64[6]{0}"]


def test_sums_over_modes_of_two_kinds_of_fields_add_up():
    real, whole = (sw.Grid((12, 10), real=is_real, mesh=sw.device_mesh([0])) for is_real in (True, False))
    u, psi = coefficients(real, 1, 1), coefficients(whole, 1, 2)
    apart = [product(u, u, real), product(psi, psi, whole)]
    both, *each = summed([plus(*apart), *apart], real.dtype)
    assert float(both) == pytest.approx(float(each[0] + each[1]), rel=1e-14)


def test_single_precision_loses_little():
    """Of a million terms of one size; added one after the other they are 1e-2 off."""
    grid = sw.Grid((128, 128, 128), dealias="none", precision="float32", mesh=sw.device_mesh([0]))
    ones = jnp.full((1, *grid.spectral_shape), 0.1 + 0.1j, grid.complex_dtype)
    exact = np.sum(grid.mode_weights().astype(float) * np.ones(grid.spectral_shape)) * 2 * float(np.float32(0.1)) ** 2
    assert float(jax.jit(sw.diagnostics.mean_square, static_argnums=1)(ones, grid)) == pytest.approx(exact, rel=2e-6)


@pytest.mark.slow
def test_derivatives_in_a_loop_and_of_members():
    """The slope of Σ|a|² is 2Σ a·ȧ, also within a scan that is differentiated twice, and for each member."""
    grid = sw.Grid((12, 10), mesh=sw.device_mesh([0]))
    a_hat, b_hat = coefficients(grid, 1, 1), coefficients(grid, 1, 2)

    def squares(s):
        step = lambda total, _: (total + sw.diagnostics.mean_square(a_hat + s * b_hat, grid), None)  # noqa: E731
        return jax.lax.scan(step, 0.0, None, length=3)[0]

    ab, bb = by_points(a_hat, b_hat, grid), by_points(b_hat, b_hat, grid)
    slopes = jax.vmap(jax.grad(squares))(jnp.array([0.0, 0.5]))
    np.testing.assert_allclose(slopes, [6 * ab, 6 * ab + 3 * bb], rtol=1e-12)
    assert float(jax.grad(jax.grad(squares))(0.3)) == pytest.approx(6 * bb, rel=1e-12)
    assert float(jax.jvp(squares, (0.5,), (2.0,))[1]) == pytest.approx(12 * ab + 6 * bb, rel=1e-12)


def test_a_budget_reads_the_fields_and_writes_nothing_out():
    """Six rates are sums of one reduction. Written out, the products alone would be three times the field."""
    grid = sw.Grid((64, 64), mesh=sw.device_mesh([0]))
    flow = sw.equations.Vorticity(grid, viscosity=0.1, drag=0.2, hyperviscosity=1e-3)
    fields = {"vorticity": coefficients(grid, 1, 1)}
    rates = jax.jit(lambda fields: flow.report.budget(fields, Changes({}, fields, {})))
    moved = rates.lower(fields).compile().cost_analysis()["bytes accessed"]
    assert moved < 2 * fields["vorticity"].nbytes
