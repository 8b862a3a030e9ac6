"""Groups of devices: which devices each has, and what is refused."""

import jax
import pytest
from helpers import refused_in_one_line

import solver as sw


def places(mesh):
    return [jax.devices().index(device) for device in mesh.devices.flat]


def test_each_group_has_the_devices_after_those_of_the_group_before():
    groups = sw.device_groups(step=5, analyse=2)
    assert list(groups) == ["step", "analyse"]
    assert places(groups["step"]) == [0, 1, 2, 3, 4]
    assert places(groups["analyse"]) == [5, 6]
    assert groups["step"] == sw.device_mesh(range(5))


def test_a_group_may_be_of_pencils():
    groups = sw.device_groups(flow=(2, 3), scalar=1)
    assert dict(groups["flow"].shape) == {"slab": 2, "pencil": 3}
    assert dict(groups["scalar"].shape) == {"slab": 1}
    assert places(groups["scalar"]) == [6]


REFUSED = {
    "too many": ({"step": 6, "analyse": 3}, "step = 6, analyse = 3 need 9 devices; there are 8"),
    "none": ({"step": 6, "analyse": 0}, "device group analyse = 0: a positive number of devices is needed"),
    "negative": ({"step": -1}, "device group step = -1: a positive number"),
    "three sides": ({"step": (1, 2, 2)}, r"device group step = \(1, 2, 2\): .* or \(slabs, pencils in each\)"),
    "no group": ({}, "device groups none: at least one is needed"),
}


@pytest.mark.parametrize(("sizes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_one_line(sizes, message):
    with refused_in_one_line(message):
        sw.device_groups(**sizes)


def test_a_process_without_devices_of_a_group_is_refused(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(ValueError, match="step = 1 in 2 processes: process 1 has devices of no group; each process"):
        sw.device_groups(step=1)
