"""Validation cases that keep checkpoints go on from them."""

import re
import signal

import jax.numpy as jnp
import pytest

from solver.assemble import StoppedEarly, run
from solver.cli.main import main
from solver.config import ConfigError
from solver.equations import Burgers
from solver.grid import Grid, sample
from solver.steppers import ETDRK4
from solver.validate import case as case_file, cases
from solver.validate.case import states


def decay(directory, viscosity=0.1, times=(0.2, 0.4)):
    grid = Grid((16,))
    equation = Burgers(grid, viscosity=viscosity)
    return states(equation, ETDRK4(), sample(lambda x: (jnp.sin(x),), grid), times, step=0.01, directory=directory)


@pytest.mark.slow
def test_states_that_are_kept_are_those_that_are_not(tmp_path):
    for kept, not_kept in zip(decay(tmp_path), decay(None), strict=True):
        assert float(kept.t) == float(not_kept.t)
        assert (kept.field["velocity"] == not_kept.field["velocity"]).all()
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["to_0.2", "to_0.4"]


@pytest.mark.slow
def test_a_case_that_was_stopped_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(case_file, "STEPS_BETWEEN", 5)
    monkeypatch.setattr(case_file, "run", stopped_at(0.3))
    with pytest.raises(StoppedEarly):
        decay(tmp_path)
    monkeypatch.undo()
    last = decay(tmp_path)[-1]
    assert (last.field["velocity"] == decay(None)[-1].field["velocity"]).all()
    for folder, times in (("to_0.2", "0.2$"), ("to_0.4", "0.3")):
        log = (tmp_path / folder / "log.txt").read_text()
        assert re.search(rf"continuing from \S+, t = {times}", log, re.MULTILINE)


def stopped_at(time):
    """`run` with a listener that asks for a stop, by a signal, at the first pause at or after a time."""

    class Signal:
        def at_pause(self, pause):
            if float(pause.state.t) >= time - 1e-9 and not pause.done:
                signal.raise_signal(signal.SIGTERM)

    return lambda *given, **named: run(*given, listeners=[Signal()], **named)


def test_states_of_other_physics_are_refused(tmp_path):
    decay(tmp_path)
    with pytest.raises(ConfigError, match="holds a run of other physics"):
        decay(tmp_path, viscosity=0.2)


def test_the_command_keeps_the_flows_of_a_case(tmp_path, monkeypatch, capsys):
    seen = []
    case = cases()["taylor-green"]
    monkeypatch.setattr(case, "run", lambda self: seen.append(self.directory("flow")) or [])
    assert main(["validate", "taylor-green", "--quick", "--output", str(tmp_path)]) == 0
    assert seen == [tmp_path / "taylor-green" / "quick" / "flow"]
    assert capsys.readouterr().out.startswith("| case |")
