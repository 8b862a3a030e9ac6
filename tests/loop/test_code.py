"""Programs follow the code of a user's own classes, as a notebook changes it."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.loop import advance
from solver.static import own_code

CELL = """
def reaction(u):
    return -u

def at_points(u):
    return reaction(u)

class Waves(sw.Equation):
    fields = {"u": sw.Field()}

    def linear(self):
        return sw.Diagonal({"u": 0 * self.grid.k_squared()})

    def nonlinear(self, fields, t):
        return {"u": self.transform.pointwise(at_points, fields["u"])}

    def rate(self, fields):
        return jnp.asarray(1.0)
"""


@pytest.mark.slow
def test_a_function_that_is_changed_is_compiled_anew_and_the_same_text_is_not(make_grid):
    """After the cell of a helper was run again, with the class and its instance as they were."""
    notebook = {"__name__": "__main__", "sw": sw, "jnp": jnp}
    exec(CELL, notebook)
    grid = make_grid((8, 8), devices=1)
    waves, stepper = notebook["Waves"](grid), sw.steppers.IFRK2()
    state = sw.initial_state(waves, stepper, sw.sample(lambda x, y: 2 * jnp.cos(x) + 0 * y, grid))

    def advanced():
        """The one mode after a step of 0.1 by `evolve` and by `integrate`, and N of it."""
        *_, end = sw.evolve(waves, stepper, state, end=0.1, step=0.1)
        alike = sw.integrate(waves, stepper, state, step=0.1, steps=1)
        change = waves.transform.pointwise(notebook["at_points"], state.field["u"])
        return [float(u_hat[0, 0, 1].real) for u_hat in (end.field["u"], alike.field["u"], change)]

    assert advanced() == pytest.approx([0.905, 0.905, -1])
    exec("def reaction(u):\n    return 10 * u", notebook)
    assert advanced() == pytest.approx([2.5, 2.5, 10])
    programs = advance._cache_size()
    exec("def reaction(u):\n    return 10 * u", notebook)
    assert advanced() == pytest.approx([2.5, 2.5, 10])
    assert advance._cache_size() == programs


def test_classes_of_slabwave_have_no_code_that_may_change(make_grid):
    assert own_code(sw.equations.NavierStokes(make_grid((8, 8), devices=1), 0.1)) == ()


FACTOR, TABLE, ARRAY = 1.0, {"rates": [1.0]}, np.array([1.0])


class Box:
    """A plain object."""

    def __init__(self, rate):
        self.rate = rate


class Decaying(sw.Equation):
    """u_t = −(the product of all numbers) u."""

    box: Box

    name = "decaying"
    fields: ClassVar = {"u": sw.Field("scalar")}
    GAIN = 1.0

    def linear(self):
        return sw.Diagonal({"u": 0 * self.grid.k_squared()})

    def nonlinear(self, fields, t):
        rate = FACTOR * TABLE["rates"][0] * ARRAY[0] * self.GAIN * self.box.rate
        return {"u": -rate * fields["u"]}

    def rate(self, fields):
        return jnp.asarray(1.0)


def react(u):
    return -FACTOR * u


def of_text(grid):
    return sw.write("dt(u) = react(u)", fields={"u": "scalar"}, functions={"react": react})(grid)


@pytest.mark.slow
@pytest.mark.parametrize("doubled", ["global", "in a container", "in an array", "class", "plain object", "text"])
def test_values_that_code_reads_by_name_are_those_of_now(make_grid, monkeypatch, doubled):
    """e^−1 with all numbers 1, e^−2 after one of them was set to 2, without a new class, instance or function."""
    grid, stepper, box = make_grid((8,), 1), sw.steppers.IFRK4(), Box(1.0)
    equation = of_text(grid) if doubled == "text" else Decaying(grid, box)
    state = sw.initial_state(equation, stepper, jnp.ones((1, 8)))
    mean = lambda: float(sw.integrate(equation, stepper, state, step=0.1, steps=10).field["u"].real[0, 0])  # noqa: E731
    assert mean() == pytest.approx(np.exp(-1), rel=1e-5)
    if doubled in ("global", "text"):
        monkeypatch.setitem(globals(), "FACTOR", 2.0)
    monkeypatch.setattr(Decaying, "GAIN", 2.0 if doubled == "class" else 1.0)
    TABLE["rates"][0] = 2.0 if doubled == "in a container" else 1.0
    ARRAY[0] = 2.0 if doubled == "in an array" else 1.0
    box.rate = 2.0 if doubled == "plain object" else 1.0
    try:
        assert mean() == pytest.approx(np.exp(-2), rel=1e-4)
    finally:
        TABLE["rates"][0] = ARRAY[0] = 1.0


def test_a_global_number_of_the_name_of_an_attribute_compiles_nothing(make_grid, programs_compiled, monkeypatch):
    """`box` and `rate` are attributes in the code of the class, no globals."""
    equation, stepper = Decaying(make_grid((8,), 1), Box(1.0)), sw.steppers.IFRK4()
    state = sw.initial_state(equation, stepper, jnp.ones((1, 8)))
    sw.integrate(equation, stepper, state, step=0.1, steps=10)
    before = programs_compiled()
    monkeypatch.setitem(globals(), "box", 3.0)
    sw.integrate(equation, stepper, state, step=0.1, steps=10)
    assert programs_compiled() == before
