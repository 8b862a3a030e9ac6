"""Texts of a user's own beside the second program: fields after five steps, columns of the series."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from reference.comparison import assert_the_same

LENGTHS = (2 * np.pi, 5.0, 4.0)


def of_size(k):
    """A symbol of |k|, which both programs can take."""
    return k**0.5 / (1 + k * k)


def of_components(kx, ky):
    return (1 + 1j * kx * ky**2) / (2 + kx**2 + ky**2)


TEXTS = {
    "a symbol of |k| in L and in N": {
        "write": ["dt(u) = -symbol(of_size, dx(u)) - symbol(of_size, u)*dx(u) + symbol(of_size, u*u)"],
        "fields": {"u": "scalar"}, "functions": {"of_size": of_size},
    },
    "an unknown that a symbol gives, and a symbol of the components": {
        "write": ["dt(q) = -perp(psi)@grad(q) + symbol(of_components, q)/10", "psi + symbol(of_size, psi) = q"],
        "fields": {"q": "scalar"}, "unknowns": {"psi": "scalar"}, "energies": {"energy": "q*psi/2"},
        "functions": {"of_size": of_size, "of_components": of_components},
    },
    "an operator inside dt": {"write": ["dt(u - dx(dx(u))) = -dx(u) - u*dx(u)"], "fields": {"u": "scalar"}},
    "an unknown without a mean along x, of a field without one": {
        "write": ["dt(u) = -6*u*dx(u) - dx(dx(dx(u))) + 3*w", "dx(w) = dy(dy(u)) + u*u - mean(u*u, x)",
                  "mean(w, x) = 0"],
        "fields": {"u": "scalar"}, "unknowns": {"w": "scalar"}, "means": {"u": "x"},
    },
    "numbers that are functions of time": {
        "write": ["dt(u) = -c*dx(u) - ramp(0.5, -1, 0.013, 0.032)*u**2 + c*lap(u)/9 + symbol(of_size, c*u)"],
        "fields": {"u": "scalar"}, "define": {"c": "ramp(0, 1, -1, 0.02)*exp(-t)"}, "functions": {"of_size": of_size},
    },
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_fields_and_columns_are_those_of_the_second_program(name, make_grid):
    text = TEXTS[name]
    made = sw.write(text["write"], **{key: value for key, value in text.items() if key != "write"})
    dimensions = min(made.dimensions[-1], 2)
    shape = (16, 13)[:dimensions]
    equation = made(make_grid(shape, devices=dimensions, lengths=LENGTHS[:dimensions]))
    table = {
        "grid": {"shape": list(shape), "lengths": list(LENGTHS[:dimensions])}, "equation": {"name": "written", **text},
        "time": {"stepper": "ifrk4", "step": 0.01, "end": 0.05},
    }  # fmt: skip
    random = np.random.default_rng(0)
    start = {n: jnp.asarray(random.standard_normal(v.shape)) for n, v in equation.values_at_points().items()}
    stepper = sw.steppers.IFRK4()
    state = sw.initial_state(equation, stepper, start)
    kept = {n: np.asarray(v) for n, v in equation.to_physical(state.field).items()}
    after = sw.integrate(equation, stepper, state, step=0.01, steps=5)
    found = {n: np.asarray(v) for n, v in equation.to_physical(after.field).items()}
    row = {n: float(v) for n, v in equation.series(after.field, 0.01).items()}

    assert_the_same(table, kept, found, row, of_fields=1e-13, rtol=1e-12, atol=1e-15)
