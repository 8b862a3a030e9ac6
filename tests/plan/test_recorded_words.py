"""Memory by the records: those of runs that are most alike are taken."""

import dataclasses

import pytest

from solver.plan.recorded import Kind, recorded_words

FLOW = Kind("navier-stokes", "ifrk4", 3, "two-thirds", "cfl", fields=1, is_forced=False)


def steps(kind, devices=1):
    return recorded_words(kind, "float64", devices, few=False)["steps"]


def test_a_forcing_and_a_scalar_take_memory_of_their_own():
    assert steps(FLOW) < steps(dataclasses.replace(FLOW, is_forced=True)) - 1
    flat = dataclasses.replace(FLOW, dimensions=2)
    assert steps(flat) < steps(dataclasses.replace(flat, fields=2)) - 2


def test_a_run_that_has_more_fields_than_any_record_takes_the_nearest():
    flat = dataclasses.replace(FLOW, dimensions=2, fields=2)
    assert steps(dataclasses.replace(flat, fields=5)) == steps(flat)


@pytest.mark.parametrize("change", [{"equation": "mine"}, {"dimensions": 1}, {"stepper": "mine"}])
def test_nothing_is_said_of_other_kinds(change):
    assert recorded_words(dataclasses.replace(FLOW, **change), "float64", 1, few=False) is None
