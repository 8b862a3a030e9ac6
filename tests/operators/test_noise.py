"""What white noise leaves under a linear part: covariances against quadrature and closed forms, and their factors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

from solver.operators import Diagonal, Matrix, Separate, added_noise, reached_by

T = 0.37
NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)


def by_quadrature(matrix, covariance, t):
    """∫₀^t exp(Ls) Q exp(L^H s) ds of one small matrix, on short pieces; of a fast one by Lyapunov's equation."""
    if np.linalg.eigvals(matrix).real.max() < -10:
        stationary, moved = solve_continuous_lyapunov(matrix, -covariance), expm(matrix * t)
        return stationary - moved @ stationary @ moved.conj().T
    pieces = max(1, int(np.ceil(np.abs(matrix).sum(axis=0).max() * t / 5)))
    total = 0
    for piece in range(pieces):
        for x, weight in zip(NODES, WEIGHTS, strict=True):
            moved = expm(matrix * (piece + 0.5 * (x + 1)) * t / pieces)
            total = total + 0.5 * weight * t / pieces * moved @ covariance @ moved.conj().T
    return total


def shapes(components, modes, names=("a", "b")):
    return {name: jax.ShapeDtypeStruct((components, modes), complex) for name in names}


def covariance_of(noise):
    """F F^H for each mode."""
    entries = np.asarray(noise.factor.entries)
    return np.einsum("ikm,jkm->mij", entries, entries.conj())


KINDS = {
    "random": lambda rng: rng.normal(size=(4, 4)),
    "fast": lambda rng: 30 * rng.normal(size=(4, 4)) - 150 * np.eye(4),
    "nothing": lambda rng: np.zeros((4, 4)),
    "rotation": lambda rng: np.kron(np.eye(2), [[0, 9.0], [-9.0, 0]]),
    "defective": lambda rng: np.diag([1.0, 1.0, 1.0], 1),
    "complex": lambda rng: rng.normal(size=(4, 4)) + 3j * rng.normal(size=(4, 4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_covariance_under_matrices_and_its_factor(kind):
    rng = np.random.default_rng(0)
    matrices = np.stack([KINDS[kind](rng) for _ in range(3)], axis=-1)
    mixing = np.array([[1.0, 0.5], [0.2, -1.0]])  # of the noise in a's two components; b is not driven
    made = added_noise(
        Matrix(jnp.asarray(matrices), ("a", "b")), ("a",), jnp.asarray([0.7, 0.3, 0.0]),
        lambda unit: {"a": jnp.einsum("ij,jm->im", mixing, unit["a"])}, shapes(2, 3), T, is_real=True,
    )  # fmt: skip
    assert made.names == ("a", "b")
    assert not made.shaped_first
    driven = np.zeros((4, 4))
    driven[:2, :2] = mixing @ mixing.T
    for found, matrix, density in zip(covariance_of(made), np.moveaxis(matrices, -1, 0), (0.7, 0.3, 0), strict=True):
        expected = by_quadrature(matrix, density * driven, T)
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(np.abs(expected).max(), 1e-30), rtol=1e-9)
    lower = np.asarray(made.factor.entries)
    assert np.all(lower[0, 1:] == 0)


@pytest.mark.slow
def test_a_singular_covariance_has_no_noise_in_its_missing_directions():
    """Noise along one direction of four, under a linear part that keeps it there."""
    direction = np.array([1.0, -2.0, 0.5, 3.0])[:, None]
    made = added_noise(
        Matrix(jnp.asarray(-0.3 * np.eye(4)[..., None]), ("a", "b")), ("a", "b"), jnp.ones(1),
        lambda unit: dict(zip("ab", jnp.split(direction * (direction.T @ jnp.concatenate([unit["a"], unit["b"]])), 2),
                              strict=True)), shapes(2, 1), T, is_real=True,
    )  # fmt: skip
    entries = np.asarray(made.factor.entries)[..., 0]
    assert np.all(entries[:, 1:] == 0)
    np.testing.assert_allclose(entries[:, 0] / entries[0, 0], direction[:, 0], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rate", [0.0, 1e-12, -1e-5, -0.4, -1e4, 2.0, 3j, -0.4 + 50j])
def test_variance_of_one_number_per_mode(rate, dtype):
    """(exp(2 Re(L) t) − 1)/(2 Re L), and t where that is 0: the imaginary part turns a circular law."""
    entries = jnp.asarray([rate]).astype(jnp.result_type(dtype, jnp.complex64) if isinstance(rate, complex) else dtype)
    made = added_noise(
        Diagonal({"a": entries, "b": entries}), ("a",), jnp.ones(1, dtype), lambda unit: unit, shapes(2, 1),
        jnp.asarray(T, dtype), is_real=True,
    )  # fmt: skip
    assert made.names == ("a",)
    assert made.shaped_first
    double = 2 * np.real(rate)
    expected = T if double == 0 else np.expm1(double * T) / double
    found = np.asarray(made.factor.entries["a"])
    assert found.dtype == dtype
    np.testing.assert_allclose(found**2, expected, rtol=1e-14 if dtype == "float64" else 1e-6)


@pytest.mark.slow
def test_fields_coupled_alike_in_each_component_and_rates_of_each_component():
    """Both are the same as one matrix over all components."""
    rng = np.random.default_rng(1)
    coupled = rng.normal(size=(2, 2, 3))
    halved = lambda unit: {"a": 0.5 * unit["a"]}  # noqa: E731
    together = added_noise(
        Matrix(jnp.asarray(coupled), ("a", "b"), "fields"), ("a",), jnp.ones(3), lambda unit: unit, shapes(2, 3), T,
        is_real=True,
    )  # fmt: skip
    assert together.shaped_first
    for found, matrix in zip(covariance_of(together), np.moveaxis(coupled, -1, 0), strict=True):
        np.testing.assert_allclose(found, by_quadrature(matrix, np.diag([1.0, 0]), T), rtol=1e-10)
    both = added_noise(
        Matrix(jnp.asarray(coupled), ("a", "b"), "fields"), ("a", "b"), jnp.ones(3), lambda unit: unit, shapes(2, 3), T,
        is_real=True,
    )  # fmt: skip
    for found, matrix in zip(covariance_of(both), np.moveaxis(coupled, -1, 0), strict=True):
        np.testing.assert_allclose(found, by_quadrature(np.kron(matrix, np.eye(2)), np.eye(4), T), rtol=1e-10)
    rates = jnp.asarray([[-1.0, -2.0, 0.0], [-3.0, 1.0, -0.5]])
    own = added_noise(
        Diagonal({"a": rates, "b": 0 * rates}), ("a",), jnp.ones(3), halved, shapes(2, 3), T, is_real=True
    )
    for found, rate in zip(covariance_of(own), np.asarray(rates).T, strict=True):
        np.testing.assert_allclose(found, by_quadrature(np.diag(rate), 0.25 * np.eye(2), T), rtol=1e-10, atol=1e-30)


def test_noise_reaches_the_fields_that_a_matrix_couples():
    matrix = Matrix(jnp.zeros((2, 2, 1)), ("b", "c"))
    side_by_side = Separate((Diagonal({"a": jnp.zeros(1)}), matrix))
    assert reached_by(side_by_side, ("a",)) == ("a",)
    assert reached_by(side_by_side, ("b",)) == ("b", "c")
    with pytest.raises(
        TypeError, match="white noise in a, b under a linear part that is Separate: a Diagonal or a Matrix"
    ):
        reached_by(side_by_side, ("a", "b"))


@pytest.mark.slow
def test_derivatives_where_the_noise_is_nothing():
    """Modes outside of a band have no derivative, not one that is no number."""

    def total(strength):
        density = strength * jnp.asarray([1.0, 0.0])
        diagonal = added_noise(
            Diagonal({"a": jnp.asarray(-1.0)}), ("a",), density, lambda u: u, shapes(1, 2, "a"), T, is_real=True
        )
        matrix = added_noise(
            Matrix(jnp.ones((1, 1, 2)), ("a",)), ("a",), density, lambda u: u, shapes(1, 2, "a"), T, is_real=True
        )
        return jnp.sum(diagonal.factor.entries["a"]) + jnp.sum(matrix.factor.entries)  # fmt: skip

    assert float(jax.grad(total)(0.8)) == pytest.approx(float(total(0.8)) / (2 * 0.8), rel=1e-12)
