"""Second derivatives through `integrate`: for equations of each kind, in every order of modes, at a bounded memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import EACH_KIND, SPLIT

import solver as sw
from solver.assemble.registry import Registry
from solver.config import REQUIRED
from solver.equations import SplitEquation
from solver.steppers import IFRK2, Strang

pytestmark = pytest.mark.slow

REGISTRY = Registry()


def problem(name, devices, checkpoint, shape=(9, 8, 6), steps=2):
    """How a number of the fields after some steps on a tiny grid depends on an amount of a direction at the start."""
    entry = REGISTRY.find("equation", name)
    d = entry.cls.dimensions[0] if devices == 1 else len(shape)
    grid = sw.Grid(shape[:d], lengths=(6.0, 7.0, 5.0)[:d], dealias=entry.dealias, mesh=sw.device_mesh(range(devices)))
    needed = [key for key, parameter in entry.parameters.items() if parameter.default is REQUIRED]
    equation = entry.cls(grid, **dict.fromkeys(needed, 0.3))
    stepper = Strang() if isinstance(equation, SplitEquation) else IFRK2()
    draws = np.random.default_rng(1)
    values, direction = (
        {key: jnp.asarray(draws.normal(size=v.shape), v.dtype) for key, v in equation.values_at_points().items()}
        for _ in range(2)
    )
    start = sw.initial_state(equation, stepper, values)
    towards = jax.jit(equation.from_physical)(direction)

    def loss(amount):
        moved = jax.tree.map(lambda u, v: u + amount * v, start.field, towards)
        history = stepper.start(equation, moved)
        final = sw.integrate(
            equation,
            stepper,
            start.replace(field=moved, history=history),
            step=0.02,
            steps=steps,
            checkpoint=checkpoint,
        )
        return sum(jnp.sum(jnp.abs(u) ** 4) for u in equation.to_physical(final.field).values())

    return loss


def agree(derivative, slope, at, h=1e-3):
    """A second derivative, and the difference of order four of the first."""
    expected = (8 * (slope(at + h) - slope(at - h)) - slope(at + 2 * h) + slope(at - 2 * h)) / (12 * h)
    assert abs(derivative) > 0
    np.testing.assert_allclose(derivative, expected, rtol=1e-7)


@pytest.mark.parametrize("name", [*EACH_KIND, SPLIT])
def test_hessian_vector_product_of_each_kind(name):
    loss = problem(name, devices=1, checkpoint="none")
    both = jax.jit(lambda x: jax.jvp(jax.grad(loss), (x,), (jnp.ones(()),)))
    agree(both(0.1)[1], lambda x: both(x)[0], 0.1)


ORDERS = {
    "jvp of grad": lambda loss: lambda x: jax.jvp(jax.grad(loss), (x,), (jnp.ones(()),))[1],
    "grad of grad": lambda loss: jax.grad(jax.grad(loss)),
    "grad of jvp": lambda loss: jax.grad(lambda x: jax.jvp(loss, (x,), (jnp.ones(()),))[1]),
}


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["grad of grad", "grad of jvp"])  # the third is tried for each kind
def test_every_order_of_modes_on_eight_devices(order):
    loss = problem("vorticity", devices=8, checkpoint="steps", shape=(10, 24))
    agree(jax.jit(ORDERS[order](loss))(0.1), jax.jit(jax.grad(loss)), 0.1)


@pytest.mark.thorough
def test_memory_of_a_hessian_vector_product():
    loss = problem("vorticity", devices=8, checkpoint="sqrt", shape=(24, 24), steps=64)
    program = lambda fn: jax.jit(fn).lower(jnp.ones(())).compile().memory_analysis().temp_size_in_bytes  # noqa: E731
    assert program(ORDERS["jvp of grad"](loss)) <= 2.5 * program(jax.grad(loss))
