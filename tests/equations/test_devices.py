"""Equations on one device and on eight: the same fields to round-off."""

import jax
import numpy as np
import pytest

import solver as sw
from solver import initial
from solver.equations import (
    GrossPitaevskii,
    NonlinearSchroedinger,
    SurfaceQuasiGeostrophic,
    TwoLayerQuasiGeostrophic,
    Vorticity,
)
from solver.steppers import IMEXRK3, SBDF3, Yoshida4

pytestmark = pytest.mark.slow

CASES = {
    "vorticity": (lambda g: Vorticity(g, 0.01, 2.0, 0.1, 1e-4), IMEXRK3()),
    "surface": (lambda g: SurfaceQuasiGeostrophic(g, 0.01), SBDF3()),
    "two layers": (lambda g: TwoLayerQuasiGeostrophic(g, 3.0, 0.4, 1.0, 0.1, 1e-4), IMEXRK3()),
    "nonlinear Schrödinger": (lambda g: NonlinearSchroedinger(g, 1.0, 0.1), IMEXRK3()),
    "Gross–Pitaevskii": (lambda g: GrossPitaevskii(g, 1.0, (1.0, 0.5)), Yoshida4()),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_fields_on_one_device_and_on_eight(make_grid, case):
    make, stepper = CASES[case]
    ends = []
    for devices in (1, 8):
        rule = "none" if stepper.takes is sw.SplitEquation else "two-thirds"
        equation = make(make_grid((20, 28), devices=devices, lengths=[6.0, 7.0], dealias=rule))  # neither is divided
        start = {
            name: initial.RandomPhase(peak=3.0)(equation.grid_of(name), field, jax.random.key(i))
            for i, (name, field) in enumerate(equation.fields.items())
        }
        *_, state = sw.evolve(equation, stepper, sw.initial_state(equation, stepper, start), end=0.1, step=0.01)
        ends.append({name: np.asarray(u) for name, u in jax.jit(equation.to_physical)(state.field).items()})
        moved = max(np.abs(ends[-1][name] - start[name]).max() for name in start)
    assert moved > 1e-2
    for name, u in ends[0].items():
        assert np.abs(ends[1][name] - u).max() < 1e-12 * np.abs(u).max()
