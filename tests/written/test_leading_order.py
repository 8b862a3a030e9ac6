"""The leading order of symbols at large wavenumbers, and rates that are said with it."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.written.components import ZERO
from solver.written.leading import leading_order
from solver.written.problem import rounded
from solver.written.rates import LARGE, along_axis
from solver.written.tree import Call, Derivative, Name, Negative, Number, Power, Product, Quotient, Solved, Sum

A, B, ONE = Name("a"), Name("b"), Number(1)
DX, LAP = Derivative(ONE, 0), Call("lap", (ONE,))
SYMBOLS = {
    "a derivative": (Negative(Derivative(Product(Number(0.5), A), 0)), 1),
    "two orders": (Sum((Derivative(A, 0), B, Derivative(Derivative(B, 0), 1))), 1),
    "as many": (Sum((LAP, Product(A, Derivative(DX, 0)), Derivative(DX, 1))), 2),
    "solved": (Solved(Product(A, DX), Sum((LAP, Negative(Power(B, Number(2)))))), -1),
    "screened": (Call("helmholtz", (Derivative(Call("lap", (A,)), 0), B)), 1),
    "a function": (Derivative(Call("sqrt", (A,)), 0), 1),
    "inverse": (Call("inverse_lap", (Derivative(Quotient(A, B), 0),)), -1),
}


@pytest.mark.parametrize("name", SYMBOLS)
def test_what_leads_is_the_symbol_at_a_large_wavenumber(name):
    symbol, order = SYMBOLS[name]
    modes = along_axis(2, axis=0)
    factor = leading_order(symbol, axis=0)
    np.testing.assert_allclose(modes.values(factor), modes.values(symbol) / LARGE**order, rtol=1e-5)
    assert not any(part in (DX, LAP) or isinstance(part, Derivative | Solved) for part in factor.walk())


def test_derivatives_across_vanish():
    assert leading_order(Product(A, Derivative(DX, 1)), axis=0) == ZERO


@pytest.mark.parametrize("symbol", [Call("fraclap", (ONE, B)), Call("mean", (A,)), Solved(A, Derivative(B, 1))])
def test_what_is_no_sum_of_powers_is_not_known(symbol):
    assert leading_order(symbol, axis=0) is None


SPACING = 1e6 / 16  # a box in metres


@pytest.mark.parametrize("number", [2e-13, 1.4e-12, 7e-5, 3e-200])
def test_a_rate_keeps_numbers_of_any_size(make_grid, number):
    """Units decide how large a coefficient is: the rate is |c h|/Δx of one of 1e-13 too."""
    grid = make_grid((16,), devices=1, lengths=(1e6,))
    equation = sw.write(f"dt(h) = -{number}*h*dx(h) + 3e2*lap(h)", {"h": "scalar"})(grid)
    fields = equation.from_physical({"h": jnp.full((1, 16), 1e13)})
    np.testing.assert_allclose(equation.rate(fields), number * 1e13 / SPACING, rtol=1e-11)


@pytest.mark.parametrize("number", ["2e-13", "1e-40"])
def test_diffusion_by_a_small_number_is_told_too(make_grid, number):
    equation = sw.write(f"dt(h) = div({number}*h*grad(h))", {"h": "scalar"})(make_grid((16,), devices=1))
    assert "k^2" in equation.why_no_rate


def test_what_rounding_leaves_of_terms_that_cancel_is_no_rate(make_grid):
    """0.1 + 0.2 − 0.3 is 6e-17 in double precision."""
    text = "dt(h) = -h*(0.1*lap(h) + 0.2*dx(dx(h)) - 0.3*dx(dx(h)) + dx(h))"
    equation = sw.write(text, {"h": "scalar"})(make_grid((16,), devices=1, lengths=(16.0,)))
    fields = equation.from_physical({"h": jnp.full((1, 16), 3.0)})
    np.testing.assert_allclose(equation.rate(fields), 3.0, rtol=1e-12)


def test_a_small_coefficient_of_a_plan_is_not_rounded_to_zero():
    assert [rounded(value) for value in (3e-9, -1e-20, 1 / 3 + 1e-9, 0.1234567)] == [3e-9, -1e-20, 1 / 3, 0.1234567]
