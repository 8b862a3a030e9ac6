"""Random coefficients that belong to modes: the same bits however they are stored, and their law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import collectives
from jax.sharding import AxisType

import solver as sw
from solver.operators import hermitian, random_modes

SPLITS = [
    {"devices": 1},
    {"devices": 3},
    {"devices": 5, "axis_type": AxisType.Explicit},
    {"mesh_shape": (3, 2)},
    {"devices": 8},
]
SHAPES = [(16, 24, 10), (17, 12, 9), (33, 30)]


def logical(u_hat, grid):
    """Without padding, which must be empty."""
    kept = np.asarray(u_hat)[(slice(None), *map(slice, grid.layout.logical_spectral_shape))]
    assert np.sum(np.asarray(u_hat) != 0) == np.sum(kept != 0)
    return kept


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(("shape", "real"), [(s, n % 2 == 0) for n, s in enumerate(SHAPES)], ids=str)
def test_a_key_gives_the_same_bits_however_modes_are_stored(make_grid, shape, real):
    drawn = []
    for split in SPLITS:
        if len(shape) == 2 and "mesh_shape" in split:
            continue
        grid = make_grid(shape, real=real, dealias="none" if shape[0] == 17 else "two-thirds", **split)
        modes = random_modes(jax.random.key(1), grid, 3)
        assert modes.sharding.is_equivalent_to(grid.spectral_sharding(modes.ndim), modes.ndim)
        if "axis_type" not in split:
            np.testing.assert_array_equal(hermitian(modes, grid), modes)
            assert not collectives(lambda key, grid=grid: random_modes(key, grid, 3), jax.random.key(1))
        drawn.append(logical(modes, grid))
    for other in drawn[1:]:
        np.testing.assert_array_equal(other, drawn[0])
    assert not np.array_equal(drawn[0], logical(random_modes(jax.random.key(2), grid, 3), grid))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "dealias"), [((8, 6), "none"), ((6, 5, 6), "none"), ((9, 8), "smooth"), ((8,), "none")]
)
@pytest.mark.parametrize("real", [True, False], ids=["real", "complex"])
def test_every_mode_has_mean_square_1_and_is_independent(make_grid, shape, dealias, real):
    """Also the modes that are their own mirror image, which are real numbers."""
    grid, members = make_grid(shape, devices=1, dealias=dealias, real=real), 4000
    keys = jax.random.split(jax.random.key(3), members)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: random_modes(key, grid, 2)))(keys)).reshape(members, -1)
    kept = np.broadcast_to(np.asarray(grid.is_kept()), (2, *grid.spectral_shape)).ravel()
    drawn = drawn[:, kept]
    assert np.abs(np.mean(np.abs(drawn) ** 2, axis=0) - 1).max() < 5 * np.sqrt(2 / members)
    moments = drawn.T @ drawn.conj() / members  # ⟨a b*⟩ and ⟨a b⟩ of all pairs
    turned = drawn.T @ drawn / members
    others = ~np.eye(drawn.shape[1], dtype=bool)
    mirror = np.abs(turned) > 0.5  # a mode and its mirror image, both stored
    assert np.all((np.abs(moments) < 6 / np.sqrt(members)) | ~others | (mirror & (np.abs(drawn.imag).max(axis=0) == 0)))
    assert np.all(np.abs(turned)[~mirror] < 6 / np.sqrt(members))
    assert np.all(np.abs(turned[mirror] - 1) < 6 * np.sqrt(2 / members))
    axes = [np.asarray(n) for n in grid.mode_numbers()]
    own = np.broadcast_to(np.all([(n == 0) | (2 * np.abs(n) == side) * (dealias == "none")
                                  for n, side in zip(np.broadcast_arrays(*axes), grid.shape, strict=True)], axis=0),
                          (2, *grid.spectral_shape)).ravel()[kept]  # fmt: skip
    assert np.array_equal(np.abs(drawn.imag).max(axis=0) == 0, own if real else np.zeros_like(own))
    assert own.any()
    parts = drawn[:, ~own]
    assert np.abs(np.mean(parts.real**2, axis=0) - 0.5).max() < 6 * np.sqrt(0.5 / members)
    fourth = np.mean(np.abs(parts) ** 4)  # 2 of a Gaussian complex number
    assert fourth == pytest.approx(2, abs=0.1)


def test_a_grid_with_more_points_has_the_same_numbers_and_others_beside_them(make_grid):
    small, large = make_grid((12, 9, 10), devices=2), make_grid((24, 20, 16), devices=5, precision="float32")
    drawn = [np.asarray(random_modes(jax.random.key(0), grid, 2)) for grid in (small, large)]
    (x, y, z), (fx, fy, fz) = (grid.mode_numbers() for grid in (small, large))
    at = [np.array([np.flatnonzero(fine.ravel() == n)[0] for n in coarse.ravel()])
          for coarse, fine in ((y, fy), (z, fz), (x, fx))]  # fmt: skip
    kept = np.asarray(small.is_kept())
    np.testing.assert_allclose(drawn[1][(slice(None), *np.ix_(*at))] * kept, drawn[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_keys_of_any_generator(make_grid, kind):
    """Members of an ensemble differ, also with a generator whose numbers depend on vmap."""
    grid = make_grid((8, 8), devices=1)
    keys = jax.random.split(jax.random.key(0, impl=kind), 2)
    together = jax.vmap(lambda key: random_modes(key, grid))(keys)
    assert float(jnp.max(jnp.abs(together[0] - together[1]))) > 0.1
    if kind == "threefry2x32":
        np.testing.assert_array_equal(together[1], random_modes(keys[1], grid))


START = {
    "gaussian-random": sw.initial.GaussianRandom(spectrum="exponential", peak=2.0),
    "random-phase": sw.initial.RandomPhase(peak=2.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", START)
def test_random_starts_keep_their_large_scales_on_a_finer_grid(make_grid, name):
    """Of the same key, but for the share that the coarser grid does not hold."""
    coarse, fine = make_grid((24, 24), devices=3), make_grid((48, 48), devices=8)
    u, v = (np.asarray(START[name](grid, key=jax.random.key(0))) for grid in (coarse, fine))
    assert np.corrcoef(u.ravel(), v[..., ::2, ::2].ravel())[0, 1] > 0.9
