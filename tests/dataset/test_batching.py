"""`sw.dataset.batches`: every window once in an epoch, in an order that the seed decides, normalised."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line
from jax.sharding import NamedSharding, PartitionSpec

import solver as sw
from solver.dataset import Batch, Statistics, Streamed, batches

TIMES = np.array([0.0, 0.5, 1.0, 1.5])


def member(number, devices=2):
    """A scalar that says which member and time it is of, and a vector of random numbers."""
    split = NamedSharding(sw.device_mesh(range(devices)), PartitionSpec(None, "slab"))
    w = 10.0 * number + np.arange(4.0)[:, None, None] + np.zeros((4, 6, 3))
    u = np.random.default_rng(number).normal(size=(4, 6, 3, 2)) * [1, 5] + [0, 3]
    fields = {name: jax.device_put(jnp.asarray(v), split) for name, v in {"w": w, "u": u}.items()}
    return Streamed(number, "train", {}, {"viscosity": 0.1 * number}, TIMES, fields, 2)


def test_each_epoch_has_every_window_once_in_another_order():
    members = [member(number) for number in (3, 7, 8)]
    identity = Statistics({"w": jnp.zeros(()), "u": jnp.zeros(2)}, {"w": jnp.ones(()), "u": jnp.ones(2)})
    options = {"window": 2, "epochs": 2, "statistics": identity}
    found = list(batches(iter(members), 4, seed=1, **options))
    assert len(found) == 4, "nine windows, four in a batch"
    seen = [[], []]
    for number, batch in enumerate(found):
        for i, (of, times) in enumerate(zip(batch.members.tolist(), batch.times.tolist(), strict=True)):
            seen[number // 2].append((of, times[0]))
            np.testing.assert_array_equal(batch.fields["w"][i, :, 0, 0], 10 * of + 2 * np.array(times))
            assert times[1] == times[0] + 0.5
            assert float(batch.scalars["viscosity"][i]) == pytest.approx(0.1 * of)
        assert batch.fields["u"].shape == (4, 2, 6, 3, 2)
        assert batch.fields["u"].sharding.spec == PartitionSpec(None, None, "slab")
    assert [len(set(epoch)) for epoch in seen] == [8, 8]
    assert seen[0] != seen[1]
    alone = [member(number, devices=1) for number in (3, 7, 8)]
    for batch, same, other in zip(
        found, batches(alone, 4, seed=1, **options), batches(alone, 4, seed=2, **options), strict=True
    ):
        np.testing.assert_array_equal(batch.fields["u"], same.fields["u"])
        assert (np.asarray(batch.fields["u"]) != np.asarray(other.fields["u"])).any()


def test_early_times_are_left_out():
    one = member(3)
    later = one.since(TIMES[2])
    assert later.times.tolist() == TIMES[2:].tolist()
    np.testing.assert_array_equal(later.fields["w"], one.fields["w"][2:])
    assert later.fields["w"].sharding.spec == one.fields["w"].sharding.spec
    [batch] = batches([later], 1, window=2)
    assert batch.times.tolist() == [TIMES[2:].tolist()]
    with refused_in_one_line("member 3 since t = 9: its last time is 1.5"):
        one.since(9.0)


def test_fields_are_normalised_by_component_and_restored():
    members = [member(number) for number in range(3)]
    [batch] = batches(members, 3, window=4)
    everything = np.concatenate([np.asarray(m.fields["u"]) for m in members])
    known = Statistics.of(members)
    np.testing.assert_allclose(known.mean["u"], everything.mean((0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(known.std["u"], everything.std((0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(batch.fields["u"].mean((0, 1, 2, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(batch.fields["u"].std((0, 1, 2, 3)), 1, rtol=1e-12)
    restored = jax.jit(lambda batch, known: known.restored(batch.fields))(batch, known)  # both are pytrees
    of = {m.number: m for m in members}
    for i, number in enumerate(batch.members.tolist()):
        np.testing.assert_allclose(restored["u"][i], of[number].fields["u"], rtol=1e-12)
    assert isinstance(batch, Batch)


def test_a_field_that_does_not_vary_is_left_at_zero():
    """A constant whose mean is rounded, and a component of a vector that is rounding of the other one."""
    one = member(1)
    vector = one.fields["u"] * jnp.asarray([1e-16, 1.0])
    constant = Streamed(1, "train", {}, {}, TIMES, {"c": 0 * one.fields["w"] + 0.1, "v": vector}, 2)
    [batch] = batches([constant], 3)
    np.testing.assert_array_equal(batch.fields["c"], 0)
    np.testing.assert_allclose(batch.fields["v"][..., 0], 0, atol=1e-14)
    np.testing.assert_allclose(Statistics.of([constant]).std["v"][1], vector[..., 1].std(), rtol=1e-12)


@pytest.mark.parametrize(
    ("members", "options", "message"),
    [
        ([], {"size": 1}, "batches of no members"),
        ([1], {"size": 4}, "size=4 of 3 windows: 1 to 3 is needed"),
        ([1], {"size": 1, "window": 5}, "window=5 of members with 4 times: 1 to 4 is needed"),
        ([1], {"size": 0}, "size=0 of 3 windows"),
    ],
)
def test_what_is_refused_at_once(members, options, message):
    with refused_in_one_line(message):
        batches(map(member, members), **options)


def test_members_of_other_times_fields_or_scalars_are_refused():
    """Such as members of two run files, whose batches would have the times of the first."""
    one = member(1)
    for change, message in [
        ({"times": 2 * TIMES}, "member 1 has 4 times from t = 0 to 3, member 1 4 times from t = 0 to 1.5: the same"),
        ({"scalars": {}}, "the scalars"),
        ({"fields": {"w": one.fields["w"]}}, "the fields"),
    ]:
        with refused_in_one_line(message):
            batches([one, replace(one, **change)], 1)
