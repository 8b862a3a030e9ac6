"""Every output is traced for every equation that takes it: numbers whose values are unknown there end no run."""

from pathlib import Path

import pytest

from solver import assemble
from solver.assemble.registry import Registry
from solver.config import ConfigError

RUNS = sorted((Path(__file__).parents[2] / "runs").glob("*.toml"))
HAVE_NO_PROGRAMS = {"checkpoints", "series", "well"}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_every_output_of_a_case_is_traced(path):
    traced = 0
    for name in sorted({*Registry().names("output")} - HAVE_NO_PROGRAMS):
        words = [f"output.{name}.every_steps=1"]
        try:
            run = assemble.abstract_assembly(assemble.parse_run_file(path, words), 1)
            output = next(output for output in run.outputs.all if output.name == name)
            output.check(run.equation)
        except (ConfigError, ValueError, TypeError):
            continue  # refused, in one line
        output.programs(run.equation, run.state_shapes())
        traced += 1
    assert traced
