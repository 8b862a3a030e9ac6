"""Which cases `make test` leaves out."""

from types import SimpleNamespace

from some_cases import some_cases


class Item(SimpleNamespace):
    __hash__ = object.__hash__

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def left(names, *marks):
    items = [Item(nodeid=f"test_a.py::test[{name}]", marks=marks) for name in names]
    return {item.nodeid for item in some_cases(items)}


def test_of_slow_tests_a_sixth_is_left_rounded_up():
    assert [len(left(range(cases), "slow")) for cases in (1, 2, 6, 7, 33)] == [1, 1, 1, 2, 6]


def test_fast_ones_and_those_marked_keep_all():
    assert all(len(left(range(9), *marks)) == 9 for marks in ((), ("slow", "every_case"), ("multiprocess", "slurm")))
    assert len(left(range(9), "multiprocess")) == 2


def test_what_other_tests_see_is_left_out():
    assert not left("a", "thorough")


def test_no_parameter_of_a_product_keeps_one_value():
    names = [f"{a}-{b}" for a in range(3) for b in range(9)]
    of_nine = left(names, "slow")
    assert {name.split("[")[1][0] for name in of_nine} == {"0", "1", "2"}
    assert of_nine == left(reversed(names), "slow")
