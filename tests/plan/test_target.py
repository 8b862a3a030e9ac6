"""Targets: devices that are described in files, spread over hosts."""

from dataclasses import replace

import pytest

from solver.plan import Part, Program, Rates, Target
from solver.plan.program import Kernel
from solver.plan.rates import published

TARGETS = ("a100", "b200", "gh200", "h100", "h200", "mi250x", "mi300x")


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_is_complete(name):
    entries = published(name)
    assert entries["xla"]["platform_name"] in ("CUDA", "ROCM")
    assert entries["xla"]["device_memory_size"] == pytest.approx(entries["memory_bytes"], rel=0.08)
    assert entries["network_bandwidth"] < entries["link_bandwidth"] < entries["memory_bandwidth"]


def test_devices_fill_hosts():
    assert [Target.of("h200", n).hosts for n in (1, 8, 16)] == [1, 1, 2]
    assert Target.of("h200", 32, 4).rates.gpus_per_host == 8
    assert Target.of("gh200", 16).hosts == 4


REFUSED = {
    "unknown": (("h20", 8), r"target 'h20': known are a100, b200, gh200, h100, h200, mi250x, mi300x, or a .toml file"),
    "uneven": (("h200", 6, 4), r"6 devices on 4 hosts: hosts have equally many each; --hosts can be 1, 2, 3, 6"),
    "too many for whole hosts": (("h200", 9), r"9 devices on 2 hosts: .*--hosts can be 1, 3, 9"),
    "no hosts": (("h200", 4, 0), r"4 devices on 0 hosts"),
    "no file": (("nowhere.toml", 1), r"target nowhere.toml: No such file or directory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        Target.of(*arguments)


def test_a_file_of_ones_own(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('name = "X"\nmemory_bytes = 10\nmemory_bandwidth = 1e12\n')
    with pytest.raises(ValueError, match="link_bandwidth, network_bandwidth, gpus_per_host, xla missing"):
        Target.of(str(own), 1)
    own.write_text("name =")
    with pytest.raises(ValueError, match=r"own\.toml: "):
        Target.of(str(own), 1)
    rates = (
        'name = "X"\nmemory_bytes = 1000\nmemory_bandwidth = 1e12\nlink_bandwidth = 1e11\nnetwork_bandwidth = 1e10\n'
    )
    own.write_text(rates + 'gpus_per_host = 2\n[xla]\nplatform_name = "CUDA"\n')
    target = Target.of(str(own), 4)
    assert (target.hosts, target.rates.name, target.memory) == (2, "X", 920)


def exchange(size, members, stride=1):
    return Kernel("%all-to-all-start", "all-to-all", size, size, members=members, stride=stride)


def program(*kernels, **sizes):
    return Program(tuple(kernels), **{"arguments": 0, "outputs": 0, "scratch": 0, "shared": 0, **sizes})


def test_bytes_that_stay_on_a_host_and_that_leave_it():
    """Of 16 devices on two hosts a slab sends 7 of 16 parts within its host and 8 to the other."""
    target = Target.of("h200", 16)
    assert target.bytes_sent(program(exchange(1600, 16))) == (700, 800)
    assert target.bytes_sent(program(exchange(1600, 2, stride=8))) == (0, 800)
    assert target.bytes_sent(program(exchange(1600, 8))) == (1400, 0)


def test_what_fits():
    target = replace(Target.of("h200", 1), rates=replace(Rates.of("h200"), memory_bytes=1000))
    fft = Kernel("%fft", "fft", 100, 100, lengths=(8,))
    part = Part("steps", program(fft, arguments=500, scratch=300), state_bytes=20)
    assert (part.held, part.with_workspace) == (820, 920)
    assert target.fits(part)
    assert not target.fits(replace(part, state_bytes=21))
