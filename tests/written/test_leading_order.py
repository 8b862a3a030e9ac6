"""The leading order of symbols at large wavenumbers, and rates that are said with it."""

import numpy as np
import pytest

from solver.written.components import ZERO
from solver.written.leading import leading_order
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
