"""Every stepper: a run that continues from a checkpoint gives the bits of the undisturbed one."""

from itertools import zip_longest

import jax
import numpy as np
import pytest
from helpers import OF_SMALL_GRIDS

import solver as sw
from solver.assemble.build import Assembly
from solver.assemble.registry import Registry
from solver.cli.new_run_file import new_run_file
from solver.config import load

pytestmark = pytest.mark.slow

REGISTRY = Registry()
# each stepper with an equation: of every kind some, and the vorticity's is forced at random
PAIRS = {
    "cnab2": "burgers", "etdrk2": "boussinesq", "etdrk3": "zakharov", "etdrk4": "navier-stokes",
    "etdrk5s4": "vorticity", "ifrk2": "boussinesq", "ifrk3": "complex-ginzburg-landau", "ifrk4": "vorticity",
    "imexrk2": "zakharov", "imexrk3": "burgers", "krogstad4": "burgers", "lsrk3": "navier-stokes",
    "sbdf2": "complex-ginzburg-landau", "sbdf3": "navier-stokes", "strang": "gross-pitaevskii",
    "yoshida4": "coupled-gross-pitaevskii",
}  # fmt: skip


CARRIED = {  # passive scalars of some of them
    "boussinesq": ["scalars={ age = { source = '1 - age*buoyancy', decay = 0.1 } }", "initial.age={ name = 'bump' }"],
}


def build(folder, equation, stepper):
    """The run file that `slabwave new` prints, on a small grid."""
    path = folder / "run.toml"
    path.write_text(new_run_file(REGISTRY.find("equation", equation), equation))
    known = REGISTRY.find("equation", equation).cls.dimensions
    dimensions = 2 if 2 in known else max(known)  # three take longer to compile; test_checkpoints.py has them
    small = [
        f"grid.shape={[12, 10, 8][:dimensions]}",
        f"grid.lengths={[6.0] * dimensions}",
        *OF_SMALL_GRIDS.get((equation, dimensions), []),
        *CARRIED.get(equation, []),
    ]
    devices = range(min(2, dimensions))  # a one-dimensional grid uses one
    return Assembly(load(path, REGISTRY, [*small, f"time.stepper={stepper}"]), sw.device_mesh(devices))


def advanced(run, state, end, **control):
    *_, last = sw.evolve(run.equation, run.stepper, state, end=end, **control)
    return last


@pytest.mark.parametrize("stepper", PAIRS)
def test_a_continued_run_gives_the_bits_of_the_undisturbed_one(tmp_path, stepper):
    run = build(tmp_path, PAIRS[stepper], stepper)
    start = run.start()
    whole = advanced(run, start, 0.006, step=0.001)
    path = sw.io.save_checkpoint(tmp_path, advanced(run, start, 0.003, step=0.001), run.grid)
    again = advanced(run, sw.io.load_checkpoint(path, run.equation, run.stepper), 0.006, step=0.001)
    assert int(again.step) == int(whole.step) == 6
    before, after = (
        jax.tree.leaves((state.field, state.history, state.forcing, state.budget)) for state in (whole, again)
    )
    for first, second in zip_longest(before, after):
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
    assert all(np.all(np.isfinite(np.asarray(leaf))) for leaf in after)
    moved = [np.any(np.asarray(whole.field[name]) != np.asarray(start.field[name])) for name in start.field]
    assert all(moved)


def test_every_stepper_has_its_turn():
    assert sorted(PAIRS) == REGISTRY.names("stepper")
