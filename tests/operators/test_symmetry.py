"""Hermitian symmetry against transforms, on any split."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

import solver as sw
from solver import operators

SPLITS = [
    ((16,), {"devices": 1}),
    ((8, 12), {"devices": 1}),
    ((12, 9), {"devices": 3}),
    ((8, 9, 7), {"devices": 1}),
    ((16, 24, 10), {"devices": 8}),
    ((9, 8, 12), {"devices": 5, "axis_type": AxisType.Explicit}),
    ((12, 14, 16), {"mesh_shape": (3, 2)}),
    ((8, 12, 16), {"mesh_shape": (2, 4)}),
]


def noise(grid, components=2):
    """Any complex numbers on the stored modes, and nothing in the padding."""
    shape = (components, *grid.layout.logical_spectral_shape)
    values = np.random.default_rng(1).normal(size=(2, *shape))
    room = [(0, n - m) for n, m in zip(grid.spectral_shape, shape[1:], strict=True)]
    return jax.device_put(
        np.pad(values[0] + 1j * values[1], [(0, 0), *room]), grid.spectral_sharding(grid.dimensions + 1)
    )


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("dealias", ["two-thirds", "none"])
@pytest.mark.parametrize(("shape", "split"), SPLITS, ids=str)
def test_what_no_real_field_has_is_removed_and_nothing_else(make_grid, shape, split, dealias):
    """The result is what a transform to the points and back gives, and a second turn changes nothing."""
    grid = make_grid(shape, dealias=dealias, **split)
    transform, given = sw.fft.Transform(grid), noise(grid)
    symmetric = operators.hermitian(given, grid)
    assert float(jnp.max(jnp.abs(symmetric - given))) > 0.1, "the noise must have an unseen part"
    np.testing.assert_allclose(symmetric, transform.forward(transform.inverse(given)), atol=1e-14)
    np.testing.assert_array_equal(operators.hermitian(symmetric, grid), symmetric)
    assert symmetric.sharding.is_equivalent_to(given.sharding, given.ndim)


def test_fields_of_a_tree_share_one_exchange_and_none_is_gathered(make_grid):
    """On eight slabs, and on pencils, at most two sends, whatever the number of fields."""
    for split in ({"devices": 8}, {"mesh_shape": (4, 2)}):
        grid = make_grid((16, 24, 10), **split)
        fields = {"velocity": noise(grid, 3), "buoyancy": noise(grid, 1)}
        program = operators.hermitian.lower(fields, grid).compile().as_text()
        assert 1 <= len(re.findall(r"= \S+ collective-permute(?:-start)?\(", program)) <= 2
        assert not re.search("all-gather|all-to-all|all-reduce", program)
        np.testing.assert_array_equal(
            operators.hermitian(fields, grid)["buoyancy"], operators.hermitian(fields["buoyancy"], grid)
        )
