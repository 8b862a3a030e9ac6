"""Every equation and every stepper: a run that continues from a checkpoint gives the bits of the undisturbed one."""

from collections import Counter
from functools import cache
from itertools import zip_longest

import jax
import numpy as np
import pytest
from helpers import OF_SMALL_GRIDS

import solver as sw
from solver.assemble.build import Assembly
from solver.assemble.registry import Registry
from solver.cli.new_run_file import new_run_file
from solver.config import REQUIRED, load
from solver.steppers import fitting

pytestmark = pytest.mark.slow

REGISTRY = Registry()
EQUATIONS = [REGISTRY.find("equation", name) for name in REGISTRY.names("equation")]
STEPPERS = [REGISTRY.find("stepper", name) for name in REGISTRY.names("stepper")]


def pairs():
    """Each equation with a stepper that takes it and is stable for it, so that every equation and every stepper has had
    its turn: the stepper with the fewest turns, and of those the one that fits the fewest equations."""
    fitting_steppers = {entry.name: steppers_of(entry.name) for entry in EQUATIONS}
    choices = Counter(name for names in fitting_steppers.values() for name in names)
    turns = Counter()
    for equation, names in fitting_steppers.items():
        chosen = min(names, key=lambda name: (turns[name], choices[name]))
        turns[chosen] += 1
        yield equation, chosen


@cache
def steppers_of(equation):
    """Those that are stable for it too."""
    entry = REGISTRY.find("equation", equation)
    needed = [name for name, parameter in entry.parameters.items() if parameter.default is REQUIRED]
    grid = sw.Grid((8,) * max(entry.cls.dimensions), dealias=entry.dealias, mesh=sw.device_mesh(range(1)))
    known = {stepper.name for stepper in STEPPERS}  # those of other tests may be imported, too
    return [name for name in fitting(entry.cls(grid, **dict.fromkeys(needed, 1.0))) if name in known]


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
    ]
    devices = range(min(2, dimensions))  # a one-dimensional grid uses one
    return Assembly(load(path, REGISTRY, [*small, f"time.stepper={stepper}"]), sw.device_mesh(devices))


def advanced(run, state, end, **control):
    *_, last = sw.evolve(run.equation, run.stepper, state, end=end, **control)
    return last


@pytest.mark.parametrize(("equation", "stepper"), sorted(pairs()), ids=str)
def test_a_continued_run_gives_the_bits_of_the_undisturbed_one(tmp_path, equation, stepper):
    run = build(tmp_path, equation, stepper)
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


def test_every_equation_and_stepper_has_its_turn():
    assert {equation for equation, _ in pairs()} == set(REGISTRY.names("equation"))
    assert {stepper for _, stepper in pairs()} == set(REGISTRY.names("stepper"))
