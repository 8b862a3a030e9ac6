"""A run as one value: its states without a directory, and what needs one."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.config import ConfigError
from solver.io import RunDirectory
from solver.outputs import Series, Statistics
from solver.simulation import OutputList, Simulation, refuse_occupied, simulate
from solver.stop import StopRequest
from solver.validate.case import states


@pytest.fixture
def simulation(make_grid):
    flow, stepper = sw.equations.NavierStokes(make_grid((12, 10), devices=2), 0.02), sw.steppers.IFRK2()
    noise = jnp.asarray(np.random.default_rng(0).normal(size=(2, 12, 10)))
    first = sw.initial_state(flow, stepper, noise)
    return Simulation(flow, stepper, sw.KeepCFL(0.5), 0.5, lambda: first)


def same(state, other):
    pairs = zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


@pytest.mark.slow
def test_its_states_are_those_of_evolve_and_nothing_is_written(simulation, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = simulation.start()
    *_, last = simulation.states(first)
    *_, expected = sw.evolve(simulation.equation, simulation.stepper, first, end=0.5, cfl=0.5)
    assert float(last.t) == 0.5
    assert same(last, expected)
    assert not same(last.field, first.field)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_it_pauses_at_the_times_of_its_outputs_with_their_sums(simulation):
    listed = OutputList.of([Series(every_time=0.2), Statistics(every_time=0.5)])
    *reached, last = dataclasses.replace(simulation, outputs=listed).states(simulation.start())
    assert [round(float(state.t), 12) for state in (*reached, last)] == [0.0, 0.2, 0.4, 0.5]
    assert set(last.statistics) == {"statistics"}


def test_what_writes_needs_a_directory(simulation):
    with pytest.raises(ValueError, match="the simulation has no directory"), StopRequest() as stop:
        simulate(simulation, stop, None)


def test_a_case_takes_its_states_at_times_each_from_the_one_before(simulation):
    flow, stepper = simulation.equation, simulation.stepper
    start = flow.to_physical(simulation.start().field)
    at_start, middle, end = states(flow, stepper, start, [0.0, 0.2, 0.5], cfl=0.5)
    assert [float(state.t) for state in (at_start, middle, end)] == [0.0, 0.2, 0.5]
    *_, expected = sw.evolve(flow, stepper, middle, end=0.5, cfl=0.5)
    assert same(end, expected)


def test_an_output_that_writes_elsewhere_is_one_line(tmp_path):
    """Its files could neither be told from another run's, nor cleared of what an interrupted run left."""
    paths = classmethod(lambda cls, directory: (tmp_path / "a",))
    elsewhere = type("Elsewhere", (Series,), {"name": "elsewhere", "paths": paths})
    (tmp_path / "a").touch()
    with pytest.raises(ConfigError, match=r"output elsewhere writes .*: a path in the run's directory is needed"):
        refuse_occupied(RunDirectory(tmp_path / "run"), [elsewhere])
    refuse_occupied(RunDirectory(tmp_path / "run"), [Series])
