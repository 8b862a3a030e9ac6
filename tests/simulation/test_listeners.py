"""Who is told of the pauses of a run, and in which order."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.loop import BlowUp
from solver.outputs import Series


@pytest.fixture
def given(make_grid):
    flow, stepper = sw.equations.NavierStokes(make_grid((12, 10), devices=2), 0.02), sw.steppers.IFRK2()
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(2, 12, 10)))
    return flow, stepper, sw.initial_state(flow, stepper, noise)


class Mine:
    """Remembers what it was told, and what was on the disk by then."""

    def __init__(self, folder):
        self.folder, self.pauses, self.rows = folder, [], []

    def at_pause(self, pause):
        self.pauses.append(pause)
        self.rows.append(sw.io.read_series(self.folder / "series.csv")["step"][-1])


@pytest.mark.slow
def test_own_listeners_are_told_of_every_pause_after_the_outputs(given, tmp_path):
    mine = Mine(tmp_path)
    last = sw.run(
        *given, end=0.5, step=0.1, directory=tmp_path, outputs=[Series(every_steps=2)], listeners=[mine]
    )  # fmt: skip
    steps = [int(pause.state.step) for pause in mine.pauses]
    assert (steps[0], steps[-1]) == (0, 5)
    assert {2, 4} <= set(steps)
    assert [row for step, row in zip(steps, mine.rows, strict=True) if step in (0, 2, 4, 5)] == [0, 2, 4, 5]
    assert sum(pause.steps for pause in mine.pauses) == int(last.step)
    assert [pause.done for pause in mine.pauses] == [False] * (len(steps) - 1) + [True]
    assert [pause.moved for pause in mine.pauses] == [step > 0 for step in steps]
    assert not any(pause.stopping or pause.failed for pause in mine.pauses)


class Enough(Exception):
    """Raised by a listener."""


class Ends:
    """Ends the run at step 2."""

    def __init__(self, error):
        self.error = error

    def at_pause(self, pause):
        if int(pause.state.step) == 2:
            raise self.error


@pytest.mark.slow
@pytest.mark.parametrize("error", [Enough("enough"), BlowUp("too fast")], ids=str)
def test_what_a_listener_raises_ends_the_run_with_what_was_written(given, tmp_path, error):
    outputs = [Series(every_steps=1), sw.outputs.Checkpoints(every_steps=2)]
    with pytest.raises(type(error), match=str(error)):
        sw.run(*given, end=0.5, step=0.1, directory=tmp_path, outputs=outputs, listeners=[Ends(error)])
    assert list(sw.io.read_series(tmp_path / "series.csv")["step"]) == [0, 1, 2]
    again = sw.run(*given, end=0.5, step=0.1, directory=tmp_path, outputs=outputs, resume=True)
    *_, whole = sw.evolve(*given, end=0.5, step=0.1)
    np.testing.assert_array_equal(again.field["velocity"], whole.field["velocity"])
