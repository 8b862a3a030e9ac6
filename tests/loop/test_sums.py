"""Sums of many small numbers where JAX is limited to 32 bits: times and energy budgets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.loop.sums import as_number, as_pair, plus


class Decay(sw.Equation):
    """u_t = −u/100: ½⟨u²⟩ decays as exp(−t/50)."""

    name = "decay"
    fields = {"u": sw.Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": jnp.zeros(self.grid.spectral_shape, self.grid.dtype)})

    def nonlinear(self, fields, t):
        return {"u": -0.01 * fields["u"]}

    def rate(self, fields):
        return jnp.full((), 1e4)


CASES = {
    "ifrk2 cfl": (sw.steppers.IFRK2(), {"cfl": 0.8}),
    "ifrk2 tolerance": (sw.steppers.IFRK2(), {"tolerance": 1e-2, "max_step": 8e-5}),
    "sbdf2 cfl": (sw.steppers.SBDF2(), {"cfl": 0.8}),
    "sbdf3 step": (sw.steppers.SBDF3(), {"step": 8e-5}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_times_and_budgets_lose_nothing_in_32_bits(make_grid, case):
    """A step of 8e-5 from t = 1000, where float32 has no number within 6e-5; increments of 4e-7 to a sum of −5."""
    stepper, control = CASES[case]
    with jax.enable_x64(False):
        equation = Decay(make_grid((8,), devices=1, precision="float32"))
        u = sw.sample(lambda x: jnp.cos(x), equation.grid)
        start = sw.initial_state(equation, stepper, u, t=1000.0).replace(budget={
            "energy_from_linear": np.float64(0), "energy_from_nonlinear": np.float64(-5),
        })  # fmt: skip
        ends = []
        for chunk in (300, 10_000):
            states = sw.evolve(equation, stepper, start, end=1000.08 + 3e-5, chunk=chunk, **control)
            *_, last = states
            ends.append((float(last.t), float(last.budget["energy_from_nonlinear"]), int(last.step)))
        assert ends[0] == ends[1]
        assert ends[0][0] == 1000.08 + 3e-5
        # a first step may be shorter than the others
        assert 1001 <= ends[0][2] <= 1040
        lost = 0.25 * (1 - np.exp(-0.02 * 0.08003))
        assert ends[0][1] + 5 == pytest.approx(-lost, rel=1e-4)


def test_a_pair_is_one_number_of_double_precision():
    """What a checkpoint keeps of a sum is all of it."""
    with jax.enable_x64(False):
        pair = as_pair(1000 / 3)
        step = jax.jit(plus)
        for i in range(200):
            pair = step(pair, np.float32(8e-5 / (i + 1)))
            again = as_pair(as_number(pair))
            assert all(np.array_equal(a, b) for a, b in zip(pair, again, strict=True))
        exact = 1000 / 3 + sum(float(np.float32(8e-5 / (i + 1))) for i in range(200))
        assert float(as_number(pair)) == pytest.approx(exact, rel=1e-13)
