"""Order of every stepper on real, imaginary and complex linear parts, and the φ-functions."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import solver as sw
from solver.equations import Equation, SchroedingerPoisson
from solver.steppers import ETDRK4, IFRK4, Strang, phi_functions


@dataclass(frozen=True)
class Decaying(Equation):
    """u_t = L u − u² with L = a constant c(k): a Bernoulli equation at each point when L is one number.

    With L(k) = λ for all modes and no space dependence lost, u(t) = λ e^{λt} u0 / (λ + u0 (e^{λt} − 1)).
    """

    growth: complex = -1.0
    name: ClassVar[str] = "bernoulli"

    def linear(self):
        return jnp.asarray(self.growth)

    def nonlinear(self, u_hat, t):
        u = self.transform.inverse(u_hat)
        return self.transform.forward(-u * u)

    def rate(self, field):
        return jnp.asarray(1.0)


@dataclass(frozen=True)
class ComplexDecaying(Decaying):
    real: ClassVar[bool] = False


CASES = {"real L": -8.0, "imaginary L": 8j, "complex L": -4 + 6j}


def bernoulli(u0, growth, t):
    factor = np.exp(growth * t)
    return growth * factor * u0 / (growth + u0 * (factor - 1))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stepper", [IFRK4(), ETDRK4()], ids=lambda s: s.name)
def test_error_falls_at_the_nominal_order(make_grid, stepper, case):
    """Halving dt divides the error against the exact solution by 2**order."""
    grid = make_grid((4,), devices=1, real=False, dealias="none")
    equation = ComplexDecaying(grid, growth=CASES[case])
    u0 = np.array([[0.9, 1.1, 1.3, 0.7]])
    exact = bernoulli(u0, CASES[case], 1.0)
    errors = []
    for n in (16, 32, 64):
        state = sw.initial_state(equation, stepper, jnp.asarray(u0))
        *_, state = sw.evolve(equation, stepper, state, step=1 / n, end=1.0)
        errors.append(np.abs(np.asarray(equation.to_physical(state.field)) - exact).max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(rates - stepper.order) < 0.35), (rates, errors)
    assert errors[-1] > 1e-13, "the errors must be above round-off to measure an order"


@pytest.mark.parametrize("stepper", [IFRK4(), ETDRK4()], ids=lambda s: s.name)
def test_the_linear_part_is_exact(make_grid, stepper):
    @dataclass(frozen=True)
    class Linear(ComplexDecaying):
        def nonlinear(self, u_hat, t):
            return jnp.zeros_like(u_hat)

    equation = Linear(make_grid((4,), devices=1, real=False, dealias="none"), growth=-30 + 50j)
    u0 = jnp.asarray([[1.0, 2.0, 3.0, 4.0]])
    *_, state = sw.evolve(equation, stepper, sw.initial_state(equation, stepper, u0), step=0.05, end=0.2)
    np.testing.assert_allclose(equation.to_physical(state.field), u0 * np.exp((-30 + 50j) * 0.2), rtol=1e-13)


def test_strang_is_second_order_and_reversible(make_grid):
    grid = make_grid((32, 16), devices=2, lengths=10.0, real=False, dealias="none")
    equation, stepper = SchroedingerPoisson(grid, coupling=4.0), Strang()
    psi = sw.initial.gaussian(grid, width=1.5, velocity=(0.7, 0.0))
    start = sw.initial_state(equation, stepper, psi)
    ends = []
    for n in (20, 40, 80, 640):
        *_, state = sw.evolve(equation, stepper, start, step=1 / n, end=1.0)
        ends.append(np.asarray(state.field))
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    # the reference is itself off by (80/640)² of the last error
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(rates - 2) < 0.1), (rates, errors)
    field, history = start.field, start.history
    for dt in (0.05, 0.05, -0.05, -0.05):
        field, history = jax.jit(stepper.step, static_argnums=0)(equation, field, history, 0.0, dt, ())
    np.testing.assert_allclose(field, psi, atol=1e-14)


@pytest.mark.parametrize("z", [0.0, 1e-9, -0.3, 0.99, 1.01, -1.0, 1j, 0.7j, -0.6 + 0.8j, 12j, -40.0, -5 + 7j])
def test_phi_functions_to_round_off(z):
    mpmath.mp.dps = 50
    got = [complex(p) for p in phi_functions(jnp.asarray(z))]
    for j, value in enumerate(got, start=1):
        exact = complex(mpmath.hyp1f1(1, j + 1, mpmath.mpmathify(z)) / mpmath.factorial(j))
        assert abs(value - exact) < 4e-15 * max(1.0, abs(exact)), (j, value, exact)


def test_a_stepper_names_the_equation_it_cannot_step(make_grid):
    grid = make_grid((8, 8), devices=1, real=False, dealias="none")
    with pytest.raises(TypeError, match="ifrk4 steps a Equation; SchroedingerPoisson is none"):
        sw.initial_state(SchroedingerPoisson(grid), IFRK4(), jnp.ones((1, 8, 8), complex))


def test_initial_state_checks_the_field(make_grid):
    grid = make_grid((4,), devices=1, real=False, dealias="none")
    with pytest.raises(ValueError, match=r"shape \[2, 4\]; bernoulli on this grid needs \[1, 4\]"):
        sw.initial_state(ComplexDecaying(grid), IFRK4(), jnp.ones((2, 4)))
