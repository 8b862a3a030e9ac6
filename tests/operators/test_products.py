"""Products of real and complex numbers: the same bits part by part, and so only within a step on CPUs."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.products import products_for, times, times_i

MESH = sw.device_mesh([0])
REAL = jnp.linspace(-1.0, 2.0, 7)
COMPLEX = jnp.exp(3j * REAL) * jnp.logspace(-3, 3, 5)[:, None]


def is_by_parts():
    """Whether a product that is traced now is one of real numbers."""
    equations = jax.make_jaxpr(lambda a, z: times(a, z))(REAL, COMPLEX).eqns  # JAX keeps what it traced of a function
    (kind,) = {equation.outvars[0].aval.dtype.kind for equation in equations if equation.primitive.name == "mul"}
    return kind == "f"


@pytest.mark.parametrize(
    "product",
    [lambda a, z: times(a, z), lambda a, z: times(z, a), lambda a, z: times(0.3, z), lambda a, z: times_i(z)],
    ids=["real", "reversed", "number", "i"],
)
def test_parts_give_the_bits_of_the_product(product):
    whole = jax.jit(product)(REAL, COMPLEX)
    with products_for(MESH):
        np.testing.assert_array_equal(jax.jit(lambda a, z: product(a, z))(REAL, COMPLEX), whole)


def test_what_is_no_real_number_times_a_complex_array_is_as_it_was():
    with products_for(MESH):
        assert times(2.0, 3.0) == 6.0
        assert times(2.0, 1j) == 2j
        np.testing.assert_array_equal(times(COMPLEX, COMPLEX), COMPLEX * COMPLEX)
        np.testing.assert_array_equal(times_i(REAL), 1j * REAL)


def test_gpus_keep_the_product_of_complex_numbers(monkeypatch):
    assert not is_by_parts()  # outside of a step
    with products_for(MESH):
        assert is_by_parts()
    monkeypatch.setattr("solver.products.on_gpu", lambda mesh: mesh.gpu)
    with products_for(SimpleNamespace(gpu=True)):
        assert not is_by_parts()


def test_a_step_is_made_for_its_mesh():
    """The axpy of a stage: dt is real."""
    flow = sw.equations.NavierStokes(sw.Grid((8, 8), mesh=MESH), 0.1, energy_budget=False)
    stepper = sw.steppers.IFRK2()
    state = sw.initial_state(flow, stepper, jnp.zeros((2, 8, 8)))
    driven = flow.at_step(state.forcing, state.key, 0)
    step = lambda u, dt: stepper.step(driven, u, (), 0.0, dt, stepper.coefficients(driven, dt))[0]  # noqa: E731
    text = str(jax.make_jaxpr(step)(state.field, 0.1))
    assert text.count("= complex ") > 10
