"""Pairs of real fields by one complex FFT, against the transform of each."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from solver.fft import Method, Transform
from solver.fft.operations import local_transform
from solver.fft.plain import PairedArrays


@pytest.mark.parametrize("shape", [(9, 8), (10,)])
def test_pairs_are_the_two_fields(make_grid, shape):
    """With parts that no real field has among the coefficients, which both drop; in a batch; not cut by `fields`."""
    grid = make_grid(shape, 1)
    one, pairs, draw = Transform(grid), Transform(grid, Method(pairs=True, fields=1)), np.random.default_rng(0).normal
    u = jnp.asarray(draw(size=(3, 2, *shape)))
    np.testing.assert_allclose(jax.vmap(pairs.forward)(u), one.forward(u), atol=1e-15)
    sizes = (2, 3, 2, *grid.spectral_shape)
    u_hat = jnp.asarray(draw(size=sizes) + 1j * draw(size=sizes))[0]
    np.testing.assert_allclose(pairs.inverse(u_hat), one.inverse(u_hat), atol=1e-13)
    back, other = (jax.grad(lambda c, t=t: jnp.sum(u * t.inverse(c)))(u_hat) for t in (pairs, one))
    np.testing.assert_allclose(back, other, atol=1e-13)


def test_one_device_of_a_cpu_transforms_pairs(make_grid):
    kind = lambda devices, on_cpu: type(  # noqa: E731
        local_transform(
            (grid := make_grid((9, 8), devices)).layout, grid.mesh, Method(pairs=True), on_cpu,
            jax.ShapeDtypeStruct((2, 9, 8), grid.dtype), is_alone=True,
        )
    )  # fmt: skip
    assert kind(1, True) is PairedArrays
    assert kind(2, True) is not PairedArrays
    assert kind(1, False) is not PairedArrays
