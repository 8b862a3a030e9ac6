"""Run files of equations with exact solutions and exact waves: each runs, small and short; solitons as published."""

import csv

import numpy as np
import pytest

import solver as sw
from solver.assemble import schema
from solver.assemble.build import Assembly
from solver.cli.main import main
from solver.config import load
from solver.config.toml import cases

pytestmark = pytest.mark.slow

SMALL = {1: [64], 2: [24, 26], 3: [12, 14, 16]}
COLUMNS = {  # other cases differ from these in their equations, which the second program has, and in their numbers
    "burgers": ["energy", "kmax_delta"],
    "zakharov": ["mass_drift", "energy_drift"],
}


@pytest.mark.parametrize("case", COLUMNS)
def test_cases_run_small(tmp_path, case):
    path, folder = cases()[case], tmp_path / "run"
    config = load(path, schema())
    d, stepper = len(config.grid.shape), config.time.stepper
    devices = [0] if d == 1 else [0, 1]
    time = f"time={{ stepper = '{stepper}', step = 1e-4, end = 4e-4 }}"
    short = [f"grid.shape={SMALL[d]}", f"devices.use={devices}", time, "output.spectra={}"]
    assert main(["run", str(path), *short, f"output.directory={folder}"]) == 0
    assert main(["verify", str(folder)]) == 0
    with (folder / "series.csv").open() as file:
        next(file)
        rows = list(csv.DictReader(file))
    assert set(COLUMNS[case]) <= set(rows[0])
    assert all(np.isfinite(float(value)) for row in rows for value in row.values())
    assert int(rows[-1]["step"]) == 4


def test_a_cosine_becomes_eight_solitons():
    """Eight at t = 3.6/π, their tops along a line: Zabusky & Kruskal (1965), figure 1. The height is that on 512."""
    run = Assembly(load(cases()["korteweg-de-vries"], schema(), ["grid.shape=[256]"]), sw.device_mesh([0]))
    start = run.start()
    *_, state = sw.evolve(run.equation, run.stepper, start, end=3.6 / np.pi, step=5e-4)
    u = np.asarray(run.equation.to_physical(state.field)["u"][0])
    tops = np.flatnonzero((u > np.roll(u, 1)) & (u > np.roll(u, -1)))
    assert len(tops) == 8
    heights = np.sort(u[tops])[::-1]
    assert heights[0] == pytest.approx(2.26, abs=0.03)
    np.testing.assert_allclose(np.diff(heights), np.diff(heights).mean(), atol=0.08)
    now, before = run.equation.conserved(state.field), start.conserved
    assert float(now["momentum"]) == pytest.approx(float(before["momentum"]), rel=1e-7)
