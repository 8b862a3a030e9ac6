"""Legendre polynomials, and the modes of diffusion and of viscosity between walls, against what is known of them."""

import jax
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType

import solver as sw
from solver.spaces import flows_between_walls
from solver.walls import legendre
from solver.walls.modes import SLOPE, VALUE, Wall, lifting, parts_by_symmetry, scalar_modes, stokes_modes

SIZES = (16, 32, 64, 128)
RIGID, FREE, ONE_FREE = (True, True), (False, False), (True, False)


def at_ends(count):
    """Values and slopes of the polynomials at −1 and 1."""
    values = legendre.values(count, np.array([-1.0, 1.0]))
    return values, values @ legendre.derivative(count)


def test_points_integrate_exactly_and_derivative_and_antiderivative_undo_each_other():
    points, weights = legendre.gauss_points(24)
    at = legendre.values(24, points)
    np.testing.assert_allclose((at * weights[:, None]).T @ at, np.eye(24), atol=3e-15)
    np.testing.assert_allclose(np.sum(weights * points**46), 1 / 47, rtol=1e-13)
    both = legendre.derivative(24) @ legendre.antiderivative(24)
    np.testing.assert_allclose(both[:-1, 1:-1], np.eye(24)[:-1, 1:-1], atol=1e-14)


@pytest.mark.parametrize("count", SIZES)
def test_eigenvalues_of_diffusion(count):
    """Between two values (nπ/2)², between two slopes the same and 0, between a value and a slope ((n + ½)π/2)²."""
    n = np.arange(count // 3)
    exact = {
        (VALUE, VALUE): (n + 1) * np.pi / 2,
        (SLOPE, SLOPE): n * np.pi / 2,
        (VALUE, SLOPE): (n + 0.5) * np.pi / 2,
        (SLOPE, VALUE): (n + 0.5) * np.pi / 2,
    }
    for sides, roots in exact.items():
        rates, modes = scalar_modes(count, *sides)
        tolerance = 1e-5 if count == 16 else 1e-13
        np.testing.assert_allclose(rates[: len(n)], roots**2, rtol=tolerance, atol=1e-13)
        np.testing.assert_allclose(modes.T @ modes, np.eye(modes.shape[1]), atol=5e-14)


def test_eigenvalues_under_mixtures():
    """q tan q = β of the even modes where both walls have the same β; both conditions hold."""
    beta = 0.7
    rates, modes = scalar_modes(48, Wall(False, beta), Wall(False, beta))
    q = np.sqrt(rates[0])
    assert abs(q * np.tan(q) - beta) < 1e-13
    values, slopes = at_ends(48)
    np.testing.assert_allclose((slopes[1] + beta * values[1]) @ modes[:, :8], 0, atol=1e-10)
    np.testing.assert_allclose((slopes[0] - beta * values[0]) @ modes[:, :8], 0, atol=1e-10)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [((1.0, 0.0), (1.0, 0.0)), ((1.0, 0.0), (0.0, 2.0)), ((0.0, 2.0), (0.0, 2.0)), ((1.0, -0.5), (0.3, 2.0))],
)
def test_a_lifting_has_the_right_hand_sides(lower, upper):
    made = lifting(lower, upper)
    values, slopes = at_ends(3)
    rows = np.array([pair[0] * values[i] + pair[1] * slopes[i] for i, pair in enumerate((lower, upper))])
    np.testing.assert_allclose(rows @ made, np.eye(2), atol=1e-14)


@pytest.mark.parametrize("rigid", [RIGID, FREE, ONE_FREE])
@pytest.mark.parametrize("kappa", [1e-3, 1.0, 100.0])
def test_stokes_modes_are_orthonormal_and_meet_the_walls(kappa, rigid):
    count = 64
    integral, slope = legendre.antiderivative(count), legendre.derivative(count)
    values, _ = at_ends(count)
    found, columns = stokes_modes(count, kappa, rigid), []
    for (rows, _), (squares, z) in zip(parts_by_symmetry(count, rigid), found, strict=True):
        whole = np.zeros((count, len(squares)))
        whole[rows] = z
        columns.append(whole)
        assert np.all(np.diff(squares) > 0)
    z = np.concatenate(columns, axis=1)
    w = kappa * integral @ z
    np.testing.assert_allclose(z.T @ z + w.T @ w, np.eye(z.shape[1]), atol=1e-12)
    np.testing.assert_allclose(values @ w, 0, atol=1e-13)  # no mode crosses the walls
    low = np.argsort(np.concatenate([squares for squares, _ in found]))[:10]
    for side in (0, 1):
        if rigid[side]:
            np.testing.assert_allclose(values[side] @ z, 0, atol=1e-12)
        else:  # no stress
            np.testing.assert_allclose((values[side] @ slope @ z)[low], 0, atol=1e-6)


def test_stokes_eigenvalues_of_free_walls_are_those_of_sines():
    squares = np.sort(np.concatenate([squares for squares, _ in stokes_modes(64, 2.0, FREE)]))
    np.testing.assert_allclose(squares[:20], (np.arange(1, 21) * np.pi / 2) ** 2, rtol=1e-13)


@pytest.mark.parametrize("kappa", [0.5, 3.0])
def test_stokes_eigenvalues_of_rigid_walls_solve_their_equations(kappa):
    """q tan q = −κ tanh κ of even w, q cot q = κ coth κ of odd w."""
    (of_odd_w, _), (of_even_w, _) = stokes_modes(64, kappa)
    q = np.sqrt(of_even_w[:10])
    np.testing.assert_allclose(q * np.sin(q) + kappa * np.tanh(kappa) * np.cos(q), 0, atol=1e-11)
    q = np.sqrt(of_odd_w[:10])
    np.testing.assert_allclose(q * np.cos(q) - kappa / np.tanh(kappa) * np.sin(q), 0, atol=1e-11)


def test_each_process_makes_the_modes_of_its_own_devices(make_grid, monkeypatch):
    """And no process makes any for a plan, which counts them as they are on one device."""
    made = []
    count = lambda *arguments: made.append(arguments[1]) or stokes_modes(*arguments)  # noqa: E731
    monkeypatch.setattr(flows_between_walls, "stokes_modes", count)
    options = {"lengths": (2.0, 3.1, 1.0), "walls": "z"}
    planned = sw.equations.NavierStokes(
        sw.Grid((10, 14, 11), mesh=AbstractMesh((2,), ("slab",), axis_types=(AxisType.Auto,)), **options), 0.1
    )
    assert not made
    grid = make_grid((10, 14, 11), 2, **options)
    flow = sw.equations.NavierStokes(grid, 0.1)
    here = [shard.data for leaf in jax.tree.leaves(flow.between) if isinstance(leaf, jax.Array)
            for shard in leaf.addressable_shards if shard.device == grid.mesh.devices.flat[0]]  # fmt: skip
    small = [leaf for leaf in jax.tree.leaves(flow.between) if not isinstance(leaf, jax.Array)]
    assert planned.between["velocity"].bytes_on_one(2) == sum(part.nbytes for part in [*here, *small])
    one_process, every = flows_between_walls._Made(grid, (True, True), keeps_mean=False), len(made)
    made.clear()
    one_process.rates(slice(0, 3))  # ky = 0, 1, 2 of 5, and kx = 0, 1, 2, 3
    assert 0 < len(made) < every
    assert max(made) <= np.hypot(3 * np.pi, 2 * 2 * np.pi / 3.1) / 2 + 1e-9


def test_signs_of_modes_are_not_those_of_the_decomposition(monkeypatch):
    """A checkpoint holds coefficients of modes: another LAPACK, which turns some of them, makes the same ones."""
    made = lambda: [  # noqa: E731
        *(scalar_modes(22, *sides)[1] for sides in ((VALUE, VALUE), (SLOPE, SLOPE), (Wall(False, 2.0), VALUE))),
        *(z for rigid in (RIGID, FREE, ONE_FREE) for _, z in stokes_modes(22, 1.5, rigid)),
    ]
    expected, svd = made(), np.linalg.svd

    def turned(matrix, **options):
        u, sizes, v = svd(matrix, **options)
        signs = np.where(np.arange(len(sizes)) % 3, 1, -1)
        return u * signs, sizes, signs[:, None] * v

    monkeypatch.setattr(np.linalg, "svd", turned)
    for modes, known in zip(made(), expected, strict=True):
        np.testing.assert_array_equal(modes, known)
