"""The Taylor–Green vortex beside another program, which has its symmetries and nothing of the library."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import solver as sw
from solver.validate.case import series_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def symmetric():
    spec = importlib.util.spec_from_file_location("symmetric", ROOT / "benchmarks" / "taylor_green_symmetric.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.thorough
@pytest.mark.slow
def test_both_give_the_same_where_neither_resolves_the_flow(make_grid, symmetric):
    """32³ points at Re = 1600: what the truncation does is part of the answer."""
    grid = make_grid((32, 32, 32), devices=2)
    flow = sw.equations.NavierStokes(grid, viscosity=1 / 1600)
    stepper = sw.steppers.IFRK4()
    state = sw.initial_state(flow, stepper, sw.initial.TaylorGreen()(grid))
    for t, energy, enstrophy in symmetric.history(32, 0.05, (1.0, 5.0, 8.0)):
        *_, state = sw.evolve(flow, stepper, state, end=t, step=0.05)
        row = series_of(flow, state)
        np.testing.assert_allclose([row["energy"], row["enstrophy"]], [energy, enstrophy], rtol=1e-10)
