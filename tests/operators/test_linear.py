"""Linear operators: φ-functions of small matrices against mpmath, solves, and what is refused."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from helpers import collectives

import solver as sw
from solver.operators import phi_functions, phi_matrices

EPS = np.finfo(float).eps
SHAPES = {
    "rotation": [[0, 1], [-1, 0]],
    "damped waves": [[-0.3, 1j], [1j, -0.1]],
    "defective": [[-1, 1], [0, -1]],
    "nilpotent": [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
    "stratified": [[-0.1, 0, 0, 0], [0, -0.1, 0, 0], [0, 0, -0.1, 0.5], [0, 0, -2, -0.2]],
    "stiff and slow": [[-1, 0.1], [0.1, -1e-3 - 0.01]],
    "zero": [[0, 0], [0, 0]],
}


@pytest.mark.parametrize("z", [0.0, 1e-9, -0.3, 0.99, 1.01, -1.0, 1j, 0.7j, -0.6 + 0.8j, 12j, -40.0, -5 + 7j])
def test_phi_functions_to_round_off(z):
    mpmath.mp.dps = 50
    got = [complex(p) for p in phi_functions(jnp.asarray(z))]
    for j, value in enumerate(got, start=1):
        exact = complex(mpmath.hyp1f1(1, j + 1, mpmath.mpmathify(z)) / mpmath.factorial(j))
        assert abs(value - exact) < 4e-15 * max(1.0, abs(exact)), (j, value, exact)


def exact_phi(matrix, count):
    """φ_0 … φ_count from one exponential of a larger matrix, in many digits: the blocks above the corner."""
    n = len(matrix)
    mpmath.mp.dps = 60
    large = mpmath.zeros(n * (count + 1))
    for i in range(n):
        for j in range(n):
            large[i, j] = mpmath.mpmathify(complex(matrix[i, j]))
        for k in range(count):
            large[i + n * k, i + n * (k + 1)] = 1
    exponential = mpmath.expm(large)
    block = lambda k: [[complex(exponential[i, n * k + j]) for j in range(n)] for i in range(n)]  # noqa: E731
    return [np.array(block(k)) for k in range(count + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-12, 1e-3, 0.6, 3.0, 40.0, 1e4])
@pytest.mark.parametrize("name", SHAPES)
def test_phi_of_matrices_against_many_digits(name, size):
    matrix = np.array(SHAPES[name]) * 1.0
    norm = np.abs(matrix).sum(axis=1).max()
    matrix = matrix * size / (norm or 1)
    others = np.stack([matrix, 0 * matrix, -1e4 * np.eye(len(matrix))])  # modes beside it must not change it
    got = phi_matrices(jnp.asarray(np.moveaxis(others, 0, -1)), 3)
    for k, exact in enumerate(exact_phi(matrix, 3)):
        error = np.abs(np.asarray(got[k][..., 0]) - exact).sum(axis=1).max()
        growth = max(1.0, np.abs(exact).sum(axis=1).max())  # of a defective matrix: ‖A‖ exp
        assert error < 20 * EPS * (1 + size) * growth, (k, error / EPS)


def test_phi_of_matrices_in_other_units_of_their_fields():
    """An L of waves and damping, with fields in units that differ by 2^90: the same numbers in these units."""
    matrix = jnp.asarray([[-60.0, 3.0, 0.0], [-0.8, -60.0, 0.7], [0.0, 0.3, -1.0]])[..., None]
    units = 2.0 ** np.array([0, 50, -40])[:, None, None]
    own, other = phi_matrices(matrix, 3), phi_matrices(matrix / units * units[:, 0], 3)
    for one, two in zip(own, other, strict=True):
        np.testing.assert_allclose(two * units / units[:, 0], one, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e12])
def test_phi_of_a_matrix_that_couples_one_way(size):
    matrix = jnp.asarray([[0.0, size], [0.0, 0.0]])[..., None]
    phi = phi_matrices(matrix, 2)
    for k, (own, other) in enumerate(((1, 1), (1, 1 / 2), (1 / 2, 1 / 6))):
        np.testing.assert_allclose(phi[k][..., 0], [[own, other * size], [0, own]], rtol=1e-14)


def waves(grid):
    """u_t = iω v, v_t = iω u with ω = 3 k_x, and damping of v alone."""
    along = 3j * grid.wavenumbers()[0] * jnp.ones(grid.spectral_shape)
    rows = jnp.stack([jnp.stack([0 * along, along]), jnp.stack([along, -0.1 + 0 * along])])
    return sw.Matrix(rows, ("u", "v"))


@pytest.mark.slow
def test_apply_solve_and_exp_agree_with_numpy(make_grid):
    grid = make_grid((8, 6), devices=2)
    linear = waves(grid)
    fields = {
        name: jax.random.normal(jax.random.key(i), (1, *grid.spectral_shape), complex) for i, name in enumerate("uv")
    }
    dense = np.moveaxis(np.asarray(linear.entries), (0, 1), (-2, -1))
    x = np.stack([np.asarray(fields[n][0]) for n in "uv"], axis=-1)[..., None]
    stacked = lambda f: np.stack([np.asarray(f[n][0]) for n in "uv"], axis=-1)  # noqa: E731
    np.testing.assert_allclose(stacked(linear.apply(fields)), (dense @ x)[..., 0], atol=1e-13)
    implicit = np.linalg.solve(1.5 * np.eye(2) - 0.3 * dense, x)[..., 0]
    np.testing.assert_allclose(stacked(linear.solve(1.5, 0.3).apply(fields)), implicit, atol=1e-13)
    there_and_back = linear.exp(-0.7).apply(linear.exp(0.7).apply(fields))
    np.testing.assert_allclose(stacked(there_and_back), x[..., 0], atol=1e-12)


@pytest.mark.slow
def test_matrices_of_single_precision_stay_in_it(make_grid):
    grid = make_grid((8, 6), devices=1, precision="float32")
    linear = sw.Matrix(waves(grid).entries.astype(np.complex64), ("u", "v"))
    fields = {name: jnp.ones((1, *grid.spectral_shape), np.complex64) for name in "uv"}
    dt = np.float32(0.1)
    for made in (linear.solve(1, dt), linear.solve(np.float32(1.5), dt), linear.exp(dt), linear.phi({1: 1.0}, dt)):
        assert {field.dtype for field in made.apply(fields).values()} == {np.dtype(np.complex64)}


def test_matrices_stay_split_over_devices(make_grid):
    grid = make_grid((16, 24))
    fields = {name: jnp.ones((1, *grid.spectral_shape), complex) for name in "uv"}
    fields = jax.device_put(fields, grid.spectral_sharding(3))

    def step(fields):
        linear = waves(grid)
        return linear.solve(1.0, 0.1).apply(linear.phi({1: 1, 2: -1}, 0.1).apply(linear.exp(0.1).apply(fields)))

    assert set(collectives(step, fields)) <= {"all-reduce"}


def test_solve_where_a_pivot_vanishes(make_grid):
    """1 − L has a diagonal of −1e-7, or of zeros, so that rows change places; in the last mode they need not."""
    grid = make_grid((8, 6), devices=1)
    dense = np.zeros((*grid.spectral_shape, 3, 3))
    dense[:] = np.add([[1, 2, 1], [3, 1, -3], [4, -2, 1]], 1e-7 * np.eye(3))
    dense[0] = [[1, 2, 1], [3, 1, -3], [4, -2, 1]]
    dense[-1, -1] = [[5, 2, 0], [0, -1, -3], [4, 0, 7]]
    linear = sw.Matrix(jnp.moveaxis(jnp.asarray(dense), (-2, -1), (0, 1)), tuple("uvw"))
    x = np.random.default_rng(0).normal(size=(*grid.spectral_shape, 3))
    solved = linear.solve(1.0, 1.0).apply({name: jnp.asarray(x[None, ..., i] + 0j) for i, name in enumerate("uvw")})
    exact = np.linalg.solve(np.eye(3) - dense, x[..., None])[..., 0]
    np.testing.assert_allclose(np.stack([solved[name][0] for name in "uvw"], axis=-1), exact, rtol=0, atol=1e-14)


@pytest.mark.slow
def test_gradients_pass_through_matrix_exponentials():
    entries = lambda a: jnp.asarray([[-0.1, 1.0], [-1.0, 0.0]])[..., None] * a  # noqa: E731
    value = lambda a: jnp.sum(phi_matrices(entries(a), 2)[2] ** 2)  # noqa: E731
    slope = float(jax.grad(value)(3.0))
    assert slope == pytest.approx(float((value(3.0 + 1e-5) - value(3.0 - 1e-5)) / 2e-5), rel=1e-7)


@pytest.mark.parametrize(
    ("linear", "message"),
    [
        (lambda g: sw.Diagonal({"w": 1.0}), r"\['w'\]: \['u', 'v'\] are needed"),
        (lambda g: sw.Diagonal({"u": 1.0, "v": np.ones((5, 5))}), r"shape \[5, 5\]; it must broadcast to"),
        (lambda g: sw.Matrix(jnp.ones((3, 3, 1, 1)), ("u", "v")), r"shape \[3, 3, 1, 1\]: \[2, 2, "),
    ],
    ids=["names", "shape", "size"],
)
def test_a_linear_part_that_does_not_fit_is_refused(make_grid, linear, message):
    grid = make_grid((8, 6), devices=2)
    with pytest.raises(ValueError, match=message):
        linear(grid).check(dict.fromkeys("uv", (1, *grid.spectral_shape)))
