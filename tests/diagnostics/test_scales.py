"""Scales, gradients and correlations against NumPy, and of flows in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fields import CASES, dense, equal_spacing, moved, random_vector
from helpers import on_devices

import solver as sw
from solver import diagnostics


def numpy_gradient(u, lengths):
    """A[j, i] = ∂u_i/∂x_j."""
    hats, k = dense(u, lengths)
    space = tuple(range(1, u.ndim))
    for axis, n in enumerate(u.shape[1:]):
        if n % 2 == 0:
            k[axis] = np.where(np.isclose(np.abs(k[axis]), np.pi * n / lengths[axis]), 0, k[axis])
    return np.stack([np.fft.ifftn(1j * q * hats, axes=space, norm="forward").real for q in k])


@pytest.mark.parametrize("case", CASES)
def test_gradients_and_what_is_made_of_them(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)

    def everything(v):
        a = diagnostics.gradient_tensor(v, transform)
        return (
            a,
            diagnostics.longitudinal(a),
            diagnostics.transverse(a),
            diagnostics.vorticity(a),
            diagnostics.dissipation_rate(a, 0.1),
            diagnostics.dissipation_rate(a, 0.1, solenoidal=False),
        )

    tensor, along, across, omega, lost, pseudo = jax.jit(everything)(u_hat)
    a = numpy_gradient(u, transform.grid.lengths)
    d = len(u)
    np.testing.assert_allclose(tensor, a, atol=1e-12)
    np.testing.assert_allclose(along, [a[i, i] for i in range(d)], atol=1e-12)
    assert across.shape[0] == d * (d - 1)
    np.testing.assert_allclose(np.sum(across), np.sum(a) - np.sum([a[i, i] for i in range(d)]), atol=1e-9)
    curl = [a[1, 2] - a[2, 1], a[2, 0] - a[0, 2], a[0, 1] - a[1, 0]] if d == 3 else [a[0, 1] - a[1, 0]]
    np.testing.assert_allclose(omega, curl, atol=1e-12)
    strain = 0.5 * (a + a.swapaxes(0, 1))
    np.testing.assert_allclose(lost, 0.2 * np.sum(strain**2, axis=(0, 1)), atol=1e-12)
    np.testing.assert_allclose(pseudo, 0.1 * np.sum(a**2, axis=(0, 1)), atol=1e-12)


@pytest.mark.parametrize("case", ["3-D on 1", "3-D on 8", "2-D"])
def test_scales_of_a_random_field(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case)
    grid, nu, d = transform.grid, 0.02, len(u)
    computed = on_devices(lambda v: diagnostics.flow_scales(v, transform, nu), u_hat, exchanges=1)
    hats, k = dense(u, grid.lengths)
    k = np.sqrt(sum(q * q for q in k))
    square = np.where(k > 0, np.sum(np.abs(hats) ** 2, axis=0), 0)
    a = numpy_gradient(u, grid.lengths)
    g = np.stack([a[i, i] for i in range(d)])
    rms = np.sqrt(square.sum() / d)
    moving = square[k > 0]
    size = (np.pi / 2 if d == 3 else 2) * 0.5 * np.sum(moving / k[k > 0]) / (moving.sum() / d)
    taylor = np.sqrt({2: 2 / 3, 3: 1}[d] * square.sum() / np.sum(np.mean(g**2, axis=tuple(range(1, d + 1)))))
    lost = nu * np.sum(k**2 * square)
    eta = (nu**3 / lost) ** 0.25 if d == 3 else (nu**3 / (nu * np.sum(k**4 * square))) ** (1 / 6)
    expected = {
        "energy": 0.5 * square.sum(),
        "rms_velocity": rms,
        "integral_scale": size,
        "turnover_time": size / rms,
        "taylor_scale": taylor,
        "taylor_scale_of_dissipation": rms * np.sqrt({2: 16 / 3, 3: 15}[d] * nu / lost),
        "gradient_skewness": np.mean(g**3) / np.mean(g**2) ** 1.5,
        "gradient_flatness": np.mean(g**4) / np.mean(g**2) ** 2,
        "dissipation": lost,
        "reynolds_taylor": rms * taylor / nu,
        "reynolds_integral": rms * size / nu,
        "kolmogorov_length": eta,
        "kolmogorov_time": eta**2 / nu,
        "kmax_eta": grid.k_max * eta,
    }
    assert computed.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(computed[name], value, rtol=1e-11, err_msg=name)


@pytest.mark.slow
def test_scales_of_vortices_in_closed_form(make_grid):
    """u = (sin x cos y, −cos x sin y) in a wind: ε = ν, χ = 2ν, λ² = 2/3, flatness 9/4; of an ABC flow L = 3π/4."""
    grid = make_grid((18, 25), devices=8)
    u = sw.sample(lambda x, y: (jnp.sin(x) * jnp.cos(y), -jnp.cos(x) * jnp.sin(y)), grid)
    transform = sw.fft.Transform(grid)
    computed = diagnostics.flow_scales(transform.forward(u + 3.0), transform, 0.01)
    taylor = (2 / 3) ** 0.5
    exact = {"rms_velocity": 0.5, "taylor_scale": taylor, "gradient_flatness": 9 / 4, "dissipation": 0.01}
    eta = (0.01**3 / 0.02) ** (1 / 6)  # ⟨|∇ω|²⟩ = 2
    exact |= {"integral_scale": 2**0.5, "reynolds_taylor": 50 * taylor, "kolmogorov_length": eta}
    exact |= {"kolmogorov_time": 100 * eta**2}
    for name, value in exact.items():
        np.testing.assert_allclose(computed[name], value, rtol=1e-12, err_msg=name)
    grid = make_grid((12, 14, 10), devices=8)
    abc = sw.initial.Beltrami((1.0, 0.5, 0.7))(grid)
    size = diagnostics.integral_scale(sw.fft.Transform(grid).forward(abc + 2.0), grid)  # a mean flow changes nothing
    np.testing.assert_allclose(size, 0.75 * np.pi, rtol=1e-12)


@pytest.mark.slow
def test_a_fluid_at_rest_has_no_scales(make_grid):
    grid = make_grid((8, 8), devices=1)
    computed = diagnostics.flow_scales(jnp.zeros((2, *grid.spectral_shape), complex), sw.fft.Transform(grid), 0.1)
    infinite = {"kolmogorov_length", "kolmogorov_time", "kmax_eta"}
    assert all(float(value) == (np.inf if name in infinite else 0) for name, value in computed.items())


@pytest.mark.slow
@pytest.mark.parametrize(("case", "real"), [*((case, True) for case in [*CASES, "1-D"]), ("pencils", False)])
def test_correlations(make_grid, case, real):
    transform, u_hat, u = random_vector(make_grid, case, lengths=equal_spacing(case), real=real)
    grid, d = transform.grid, len(u)
    computed = on_devices(lambda v: diagnostics.correlations(v, grid), u_hat)
    steps = np.rint(diagnostics.correlation_distances(grid) / 0.5).astype(int)
    np.testing.assert_array_equal(steps, np.arange(min(grid.shape) // 2 + 1))
    space = tuple(range(1, u.ndim))
    varying = u - u.mean(axis=space, keepdims=True)
    for j in range(d):
        products = [np.mean(np.conj(varying) * moved(varying, j, step), axis=space).real for step in steps]
        np.testing.assert_allclose(computed[j], np.transpose(products), atol=1e-13)
    along, across, variance = diagnostics.longitudinal_and_transverse(jnp.asarray(computed))
    diagonal = np.sum([computed[i, i] for i in range(d)], axis=0)
    np.testing.assert_allclose(variance, np.sum(np.mean(np.abs(varying) ** 2, axis=space)), rtol=1e-12)
    np.testing.assert_allclose(along, diagonal / diagonal[0], rtol=1e-12, atol=1e-14)
    if d > 1:
        np.testing.assert_allclose(across, (computed.sum(axis=(0, 1)) - diagonal) / (d - 1) / variance, atol=1e-13)


@pytest.mark.slow
def test_the_correlation_of_a_shear_wave(make_grid):
    """u = (0, cos 3x, 0): along r it is uniform, across it cos 3r along x and 1 along z."""
    grid = make_grid((12, 14, 10), devices=8)
    u = sw.sample(lambda x, y, z: (0 * x, jnp.cos(3 * x) + 5 + 0 * y * z, 0 * x), grid)
    along, across, variance = diagnostics.longitudinal_and_transverse(
        diagnostics.correlations(sw.fft.Transform(grid).forward(u), grid)
    )
    r = diagnostics.correlation_distances(grid)
    np.testing.assert_allclose(along, 1, rtol=1e-12)
    np.testing.assert_allclose(across, 0.5 * (1 + np.cos(3 * r)), atol=1e-13)
    np.testing.assert_allclose(variance, 0.5, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["3-D on 8", "2-D"])
def test_the_length_of_a_pattern(make_grid, case):
    transform, u_hat, u = random_vector(make_grid, case, components=1)
    grid = transform.grid
    computed = on_devices(lambda v: diagnostics.characteristic_length(v, grid), u_hat)
    hats, k = dense(u, grid.lengths)
    k, square = np.sqrt(sum(q * q for q in k)), np.abs(hats[0]) ** 2
    square[k == 0] = 0
    np.testing.assert_allclose(computed, 2 * np.pi * square.sum() / (k * square).sum(), rtol=1e-12)
    assert float(diagnostics.characteristic_length(0 * u_hat, grid)) == 0
