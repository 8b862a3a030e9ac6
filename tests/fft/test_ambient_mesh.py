"""Under `jax.set_mesh`: the mesh of a user's other program changes nothing, and what cannot work is one line."""

import jax
import numpy as np
import pytest
from jax.sharding import AxisType

import solver as sw

OTHER = {
    "explicit": lambda: jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2),
    "auto": lambda: jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,)),
    "explicit, our names": lambda: sw.device_mesh(range(4), axis_type=AxisType.Explicit),
}


def ended():
    """A start and steps by each of the doors, and a transform."""
    grid, stepper = sw.Grid((8, 8), mesh=sw.device_mesh(range(2))), sw.steppers.IFRK2()
    flow = sw.equations.NavierStokes(grid, 0.1)
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))
    *_, evolved = sw.evolve(flow, stepper, state, end=0.2, step=0.1)
    integrated = sw.integrate(flow, stepper, state, step=0.1, steps=2)
    _, rolled = sw.rollout(flow, stepper, state, step=0.1, steps=2, every=1)
    noise = sw.initial.Noise()(grid, flow.fields["velocity"], sw.operators.random_key(0))
    fields = (evolved.field["velocity"], integrated.field["velocity"], rolled["velocity"], noise)
    return [np.asarray(field) for field in (*fields, sw.fft.rfftn(np.arange(64.0).reshape(8, 8), mesh=grid.mesh))]


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHER)
def test_another_mesh_in_force_changes_nothing(other):
    expected = ended()
    with jax.set_mesh(OTHER[other]()):
        found = ended()
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_transform_traced_under_another_explicit_mesh_is_named():
    u = np.zeros((8, 8, 8))
    with (
        jax.set_mesh(OTHER["explicit"]()),
        pytest.raises(ValueError, match=r"traced under jax.set_mesh .* \['a', 'b'\]"),
    ):
        jax.jit(sw.fft.rfftn)(u)


@pytest.mark.parametrize(
    "split", [{}, {"shape": (2, 2)}, {"use": (1, 3)}], ids=["slabs", "pencils", "two of the devices"]
)
def test_free_transforms_of_an_array_with_explicit_axes_stay_on_its_mesh(split):
    mesh = sw.device_mesh(**{"use": range(4)} | split, axis_type=AxisType.Explicit)
    values = np.random.default_rng(0).normal(size=(8, 4, 4))
    with jax.set_mesh(mesh):
        u = jax.device_put(values, jax.NamedSharding(mesh, jax.P("slab")))
        for transform in (sw.fft.rfftn, jax.jit(sw.fft.rfftn)):
            u_hat = transform(u)
            assert u_hat.sharding.mesh == mesh
            np.testing.assert_allclose(np.moveaxis(u_hat, -1, -3), np.fft.rfftn(values), atol=1e-13)
        assert sw.fft.irfftn(u_hat, values.shape).sharding.mesh == mesh
