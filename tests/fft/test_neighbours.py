"""Frequencies, rolled fields, stencils, other orders, and where entries live."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import collectives, numpy_coefficients, random_field

import solver as sw
from solver.grid import find_mode, find_point

MESHES = [(1,), (4,), (4, 2), (2, 4)]


def grid_on(make_grid, mesh, shape=(16, 24, 10), **options):
    return make_grid(shape, **({"devices": mesh[0]} if len(mesh) == 1 else {"mesh_shape": mesh}), **options)


def test_frequencies_differentiate_a_transform():
    mesh, shape, spacing = sw.device_mesh(range(4)), (16, 12, 10), [0.25, 0.5, 0.1]
    u = np.random.default_rng(0).normal(size=shape)
    for transform, back, frequencies in (
        (sw.fft.rfftn, lambda v: sw.fft.irfftn(v, shape, mesh=mesh), sw.fft.rfftfreq(shape, spacing)),
        (sw.fft.fftn, lambda v: sw.fft.ifftn(v, mesh=mesh).real, sw.fft.fftfreq(shape, spacing)),
    ):
        for axis, f in enumerate(frequencies):
            k = np.fft.fftfreq(shape[axis], spacing[axis]).reshape([-1 if a == axis else 1 for a in range(3)])
            dense = np.fft.ifftn((2 * np.pi * k) ** 2 * np.fft.fftn(u)).real
            np.testing.assert_allclose(back((2 * np.pi * f) ** 2 * transform(u, mesh=mesh)), dense, atol=1e-10)
    with pytest.raises(ValueError, match="one spacing, or one for each axis"):
        sw.fft.fftfreq(shape, [1.0, 2.0])


@pytest.mark.slow
@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_roll(make_grid, mesh):
    grid = grid_on(make_grid, mesh)
    u = random_field(grid)
    for axis in range(3):
        for shift in (1, -1, 3, 4, 7, -9, 16, 100):
            np.testing.assert_array_equal(sw.fft.roll(u, shift, grid, axis), np.roll(u, shift, 1 + axis))
    if mesh != (1,):
        assert collectives(lambda v: sw.fft.roll(v, 3, grid), u) == {"collective-permute": 1}, "what leaves, no more"
        assert collectives(lambda v: sw.fft.roll(v, 3, grid, 2), u) == {}


def _laplacian(u):
    inner = (slice(1, -1),) * 3
    total = -6 * u[(..., *inner)]
    for axis in range(3):
        for side in (slice(0, -2), slice(2, None)):
            total += u[(..., *(side if a == axis else slice(1, -1) for a in range(3)))]
    return total


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_stencil(make_grid, mesh):
    grid = grid_on(make_grid, mesh)
    u = random_field(grid)
    dense = -6 * np.asarray(u) + sum(np.roll(u, s, a) for a in (1, 2, 3) for s in (1, -1))
    result = sw.fft.apply_stencil(_laplacian, u, grid)
    np.testing.assert_allclose(result, dense, atol=1e-14)
    assert result.sharding.is_equivalent_to(u.sharding, 4)
    sides = sum(n > 1 for n in mesh)
    assert collectives(lambda v: sw.fft.apply_stencil(_laplacian, v, grid), u)["collective-permute"] == 2 * sides


def test_planes_are_passed_on_between_equal_parts_only(make_grid):
    uneven = make_grid((15, 12, 10), devices=4)
    with pytest.raises(ValueError, match="where the devices divide the split sides"):
        sw.fft.roll(jnp.zeros((15, 12, 10)), 1, uneven)
    with pytest.raises(ValueError, match="width 3: from 1 to 2 planes"):
        sw.fft.apply_stencil(_laplacian, jnp.zeros((16, 16, 10)), make_grid((16, 16, 10)), width=3)


@pytest.mark.parametrize("mesh", [(1,), (3,), (4, 2)], ids=str)
def test_natural_order_and_back(make_grid, mesh):
    grid = grid_on(make_grid, mesh)
    u = random_field(grid)
    u_hat = sw.fft.Transform(grid).forward(u)
    natural = sw.fft.to_natural_order(u_hat, grid)
    np.testing.assert_allclose(np.asarray(natural).transpose(0, 2, 3, 1), numpy_coefficients(u, grid), atol=1e-15)
    np.testing.assert_array_equal(sw.fft.from_natural_order(natural, grid), u_hat)


def test_natural_order_is_exchanged_not_gathered(make_grid):
    grid = make_grid((16, 24, 10), devices=4, dealias="none")
    u_hat = sw.fft.Transform(grid).forward(random_field(grid))
    assert collectives(lambda v: sw.fft.to_natural_order(v, grid), u_hat) == {"all-to-all": 1}
    assert sw.fft.to_natural_order(u_hat, grid).sharding.spec[1] == "slab"


@pytest.mark.slow
@pytest.mark.parametrize("mesh", [(1,), (4,), (4, 2)], ids=str)
@pytest.mark.parametrize("dealias", ["two-thirds", "none"])
def test_a_mode_is_found_where_it_lives(make_grid, mesh, dealias):
    grid = grid_on(make_grid, mesh, dealias=dealias)
    u_hat = sw.fft.Transform(grid).forward(random_field(grid, ()))
    dense = np.fft.fftn(np.asarray(sw.fft.Transform(grid).inverse(u_hat))) / np.prod(grid.physical_shape)
    for n in [(0, 0, 0), (1, -2, 3), (-5, 7, -2), (2, 1, -3)]:
        place = find_mode(grid, n)
        shard = next(s for s in u_hat.addressable_shards if s.device == place.device)
        value = np.asarray(shard.data)[place.local_index]
        assert u_hat[place.index] == value
        np.testing.assert_allclose(np.conj(value) if place.conjugate else value, dense[n], atol=1e-15)
    with pytest.raises(ValueError, match=r"\[9, 0, 0\] is not retained; this grid has \|n_x\| ≤ [58]"):
        find_mode(grid, (9, 0, 0))


@pytest.mark.parametrize("mesh", [(1,), (4,), (3,), (4, 2)], ids=str)
def test_a_point_is_found_where_it_lives(make_grid, mesh):
    grid = grid_on(make_grid, mesh)
    u = random_field(grid, ())
    for index in [(0, 0, 0), (5, 13, 7), (15, 23, 9)]:
        place = find_point(grid, index)
        shard = next(s for s in u.addressable_shards if s.device == place.device)
        assert np.asarray(shard.data)[place.local_index] == u[index]
    with pytest.raises(ValueError, match="indices below"):
        find_point(grid, (16, 0, 0))


def test_a_device_holds_what_the_mesh_says(make_grid):
    grid = make_grid((16, 24, 10), devices=4)
    assert [find_point(grid, (i, 0, 0)).device for i in (0, 3, 4, 15)] == [jax.devices()[d] for d in (0, 0, 1, 3)]
    assert find_mode(grid, (0, -1, 0)).device == jax.devices()[3]


@pytest.mark.parametrize("axis", [-1, 3, 4])
def test_roll_along_no_axis_in_space_is_refused(make_grid, axis):
    grid = make_grid((4, 4, 4), devices=2)
    with pytest.raises(ValueError, match=f"roll along axis {axis}: 0 to 2 are the axes in space"):
        sw.fft.roll(jnp.ones((2, 4, 4, 4)), 1, grid, axis)
