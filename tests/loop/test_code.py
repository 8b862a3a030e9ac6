"""Programs follow the code of a user's own classes, as a notebook changes it."""

import jax.numpy as jnp
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
