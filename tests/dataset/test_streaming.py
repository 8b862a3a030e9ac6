"""`sw.dataset.stream`: the members of a data set as arrays, with the values that its files have."""

import h5py
import numpy as np
import pytest
from jax.sharding import PartitionSpec

import solver as sw
from solver.config import ConfigError


@pytest.mark.slow
def test_members_have_the_values_of_the_files(run_file, data_set, manifest):
    """Rounded to single precision bit for bit, on the same devices; two of them are asked for, in this order."""
    made = list(sw.dataset.stream(run_file, members=[7, 1]))
    assert [member.number for member in made] == [7, 1]
    for member in made:
        entry = manifest["members"][member.number]
        assert (member.part, dict(member.values)) == (entry["part"], entry["values"])
        np.testing.assert_array_equal(member.times, [0, 0.05, 0.1])
        with h5py.File(data_set / entry["file"]) as file:
            for name, group in (("vorticity", "t0_fields"), ("velocity", "t1_fields")):
                stored, values = file[group][name][entry["trajectory"]], member.fields[name]
                assert values.dtype == np.float64
                assert values.sharding.spec == PartitionSpec(None, "slab")
                assert len(values.sharding.device_set) == 2
                np.testing.assert_array_equal(np.float32(values), stored)
                assert (np.asarray(values) != stored).any(), "not rounded yet"
            for name, value in member.scalars.items():
                assert np.float32(value) == file["scalars"][name][entry["trajectory"]]


@pytest.mark.slow
def test_a_part_has_its_members_alone(run_file, manifest):
    own = [int(entry["member"][-4:]) for entry in manifest["members"] if entry["part"] == "valid"]
    assert [member.number for member in sw.dataset.stream(run_file, part="valid")] == own


@pytest.mark.slow
def test_a_member_that_blows_up_is_drawn_again(run_file):
    """As for the files: the second draw and the third of seed 1 for member 0; a swept value stays, and is left out."""
    draw = "ensemble.draw={ 'initial.energy' = { choice = [0.5, 1.0, 1e30] }, 'random.seed' = 'member' }"
    overrides = ["ensemble.members=2", "ensemble.seed=1", draw, "ensemble.sweep={}"]
    [member] = sw.dataset.stream(run_file, members=[0], overrides=overrides)
    assert member.values == {"initial.energy": 0.5, "random.seed": 20_000_000}
    swept = ["ensemble.members=1", "ensemble.draw={}", "ensemble.sweep={ 'initial.energy' = [1e30, 1.0] }"]
    assert [member.number for member in sw.dataset.stream(run_file, overrides=swept)] == [1]


@pytest.mark.slow
def test_what_is_refused_at_once(run_file):
    with pytest.raises(ConfigError, match=r"\[ensemble\] and \[output\.well\] is needed"):
        sw.dataset.stream(run_file, overrides=["output.well=false"])
    with pytest.raises(ValueError, match="part 'training': one of train, valid, test is needed"):
        sw.dataset.stream(run_file, part="training")
    with pytest.raises(ValueError, match="member 10: a number from 0 to 9 is needed"):
        sw.dataset.stream(run_file, members=[3, 10])
