"""An equation of each kind: the same fields on one device and on eight, from the run file of `slabwave new`."""

import numpy as np
import pytest
from helpers import EACH_KIND, OF_SMALL_GRIDS, SPLIT

import solver as sw
from solver.assemble.build import Assembly
from solver.assemble.registry import Registry
from solver.cli.new_run_file import new_run_file
from solver.config import load
from solver.equations import SplitEquation

pytestmark = pytest.mark.slow

REGISTRY = Registry()
CELLS = {"advection-diffusion": ["equation.cell_speed=1.0"]}  # without them nothing but the linear part is left
NAMES = (*EACH_KIND, SPLIT, "advection-diffusion", "hall-mhd")  # places in the text; three dimensions alone


def ends(folder, name, devices):
    """Fields at the points at the start and after four steps, in two dimensions where the equation has them."""
    entry = REGISTRY.find("equation", name)
    path = folder / "run.toml"
    path.write_text(new_run_file(entry, name))
    d = 2 if 2 in entry.cls.dimensions else 3
    stepper = "strang" if issubclass(entry.cls, SplitEquation) else "ifrk2"
    small = [f"grid.shape={[24, 26, 8][:d]}", f"grid.lengths={[6.0, 7.0, 5.0][:d]}", f"time.stepper={stepper}"]
    run = Assembly(
        load(path, REGISTRY, [*small, *OF_SMALL_GRIDS.get((name, d), []), *CELLS.get(name, [])]),
        sw.device_mesh(range(devices)),
    )
    start = run.start()
    *_, state = sw.evolve(run.equation, run.stepper, start, end=0.04, step=0.01)
    return [{n: np.asarray(u) for n, u in run.equation.to_physical(s.field).items()} for s in (start, state)]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_fields_on_one_device_and_on_eight(tmp_path, name):
    (first, on_one), (_, on_eight) = (ends(tmp_path, name, devices) for devices in (1, 8))
    for field, values in on_one.items():
        scale = np.abs(values).max()
        assert np.abs(values - first[field]).max() > 1e-6 * scale, "the fields must move"
        assert np.abs(on_eight[field] - values).max() < 1e-12 * scale
