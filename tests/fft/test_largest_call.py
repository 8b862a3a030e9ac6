"""No FFT call of 2³¹ elements or more: XLA has left such a call unscaled on GPUs, without an error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from solver.fft import stages
from solver.fft.whole import forward_local, inverse_local
from solver.grid.layout import Layout


def calls(fn, *shapes):
    """The largest array of each FFT call in a trace."""

    def within(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "fft":
                yield max(v.aval.size for v in (*equation.invars, *equation.outvars))
            for value in equation.params.values():
                if hasattr(value, "jaxpr"):
                    yield from within(value.jaxpr)

    return list(within(jax.make_jaxpr(fn)(*shapes).jaxpr))


@pytest.mark.parametrize("real", [True, False])
def test_a_transform_of_1536_points_per_side_on_one_device(real):
    layout = Layout((1536,) * 3, "two-thirds", real)
    u = jax.ShapeDtypeStruct(layout.points, np.float32 if real else np.complex64)
    u_hat = jax.ShapeDtypeStruct(layout.spectral_shape, np.complex64)
    sizes = calls(lambda v: forward_local(v, layout, None), u)
    sizes += calls(lambda v: inverse_local(v, layout, None), u_hat)
    assert max(sizes) < 2**31
    assert len(sizes) > 5  # some of them would have been larger


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("real", [True, False])
def test_several_calls_give_what_one_gives(monkeypatch, real):
    layout = Layout((12, 10, 8), "two-thirds", real)
    u = jnp.asarray(np.random.default_rng(0).standard_normal((2, *layout.points)) * (1 if real else 1 + 1j))
    u_hat = forward_local(u, layout, None)
    values = inverse_local(u_hat, layout, None)
    monkeypatch.setattr(stages, "LARGEST_CALL", 500)
    sizes = calls(lambda v: forward_local(v, layout, None), u)
    sizes += calls(lambda v: inverse_local(v, layout, None), u_hat)
    assert len(sizes) > 5
    assert max(sizes) < 500
    # a batch of another size may go another way through the FFT library: jaxlib 0.12 differs in the last bit
    np.testing.assert_allclose(forward_local(u, layout, None), u_hat, rtol=0, atol=1e-15)
    np.testing.assert_allclose(inverse_local(u_hat, layout, None), values, rtol=0, atol=1e-15)


def test_one_transform_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(stages, "LARGEST_CALL", 64)
    with pytest.raises(ValueError, match="64 points in one call; below 64 is needed: take more devices"):
        stages.fft(jnp.ones((2, 8, 8), complex), 2)
