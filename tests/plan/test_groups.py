"""Groups of collectives as XLA writes them, in lists, in reshaped numbers and on a mesh."""

import pytest

from solver.plan.program import group_of


@pytest.mark.parametrize(
    ("groups", "size", "stride"),
    [
        ("{{0,1,2,3},{4,5,6,7}}", 4, 1), ("{{0,4},{1,5}}", 2, 4), ("{{0},{1}}", 1, 1), ("{}", 0, 1),
        ("[2,4]<=[8]", 4, 1), ("[4,2]<=[2,4]T(1,0)", 2, 4), ("[1,8]<=[8]", 8, 1),
        ("mesh['slab'=2,'pencil'=4] {'pencil'}", 4, 1), ("mesh['slab'=2,'pencil'=4] {'slab'}", 2, 4),
        ("mesh['slab'=8] {'slab'}", 8, 1), ("mesh['a'=2,'b'=2,'c'=3] {'a','b'}", 4, 3),
    ],
)  # fmt: skip
def test_groups_in_every_form_that_xla_writes(groups, size, stride):
    assert group_of(f"channel_id=2, replica_groups={groups}, dimensions={{0}}") == (size, stride)


def test_groups_in_another_form_are_an_error():
    assert group_of("channel_id=2, dimensions={0}") == (0, 1)
    with pytest.raises(ValueError, match="groups of a collective in a form that is not known: replica_groups=<0-7>"):
        group_of("replica_groups=<0-7>, dimensions={0}")
