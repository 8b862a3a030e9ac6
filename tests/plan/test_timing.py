"""Predicted times: against published timings, at their limits, and from measured rates."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from solver.doctor import read_report
from solver.grid import Layout
from solver.plan import timing
from solver.plan.rates import PROTOCOL, STREAMING, Rates, published
from solver.plan.timing import (
    LAUNCH,
    MESSAGE,
    StepWork,
    better_split,
    exchange_time,
    fft_passes,
    pass_time,
    step_time,
    strided_pass_time,
    transform_time,
)

MARKS = tomllib.loads((Path(__file__).parents[2] / "benchmarks" / "marks.toml").read_text())
TARGETS = sorted(p.stem for p in (Path(timing.__file__).parent / "targets").glob("*.toml"))
A100 = Rates.of("a100")
PLAIN = Rates("plain", memory=1e12, link=1e11, network=1e10, gpus_per_host=8)
STEP = StepWork(words=338, fft_words=157, kernels=100, transforms=32, exchanges=8, hidden=0.5)
GiB = 2**30


@pytest.mark.parametrize("mark", MARKS["transform"], ids=lambda mark: mark["name"])
def test_published_transform_within_30_percent(mark):
    keys = ("slabs", "pencils", "passes", "strided")
    how = {key: mark[key] for key in keys if key in mark}
    seconds = transform_time(Rates.of(mark["target"]), tuple(mark["shape"]), mark["itemsize"], **how)
    assert 1 / 1.3 < seconds / mark["seconds"] < 1.3


@pytest.mark.parametrize("mark", MARKS["exchange"], ids=lambda mark: mark["name"])
def test_published_exchange_within_30_percent(mark):
    seconds = exchange_time(Rates.of(mark["target"], **mark["peaks"]), mark["size"], mark["members"])
    assert 1 / 1.3 < seconds / mark["seconds"] < 1.3


def test_bounds_hold():
    for mark in MARKS["bound"]:
        x, y, z = mark["shape"]
        bytes_on_network = x * y * z * mark["itemsize"] / 2 / mark["hosts"] / (PROTOCOL * mark["network_per_host"])
        assert mark["exchanges"] * bytes_on_network < mark["seconds"]


def test_bytes_cost_what_the_bandwidths_say():
    assert pass_time(PLAIN, 10 * GiB) == pytest.approx(2 * 10 * GiB / 1e12)
    assert (fft_passes(1024, 8), fft_passes(32768, 8)) == (1, 2)
    assert strided_pass_time(PLAIN, 10 * GiB, 8) == pytest.approx(17 * 10 * GiB / 1e12), "128 bytes read for each 8"
    assert exchange_time(PLAIN, 10 * GiB, 8) == pytest.approx(10 * GiB * 7 / 8 / 1e11, rel=1e-3)
    assert exchange_time(PLAIN, 10 * GiB, 16) == pytest.approx(10 * GiB / 2 / 1e10, rel=1e-3), "half leaves the host"
    assert exchange_time(PLAIN, 10 * GiB, 8, stride=2) == pytest.approx(10 * GiB / 2 / 1e10, rel=1e-3)
    assert exchange_time(PLAIN, 10 * GiB, 8, stride=8) == pytest.approx(10 * GiB * 7 / 8 / 1e10, rel=1e-3)


def test_little_bytes_cost_their_messages():
    assert pass_time(PLAIN, 1) == LAUNCH
    assert exchange_time(PLAIN, 1, 4096) == pytest.approx(LAUNCH + 4095 * MESSAGE, rel=1e-6)
    tiny = step_time(PLAIN, Layout((64, 64, 64), slabs=32), STEP, 4)
    assert tiny.work == 100 * LAUNCH
    assert tiny.exchange == pytest.approx(8 * (LAUNCH + 31 * MESSAGE), rel=0.2)


def test_one_device_exchanges_nothing():
    assert exchange_time(PLAIN, GiB, 1) == 0
    alone = step_time(A100, Layout((512,) * 3), STEP, 4)
    assert (alone.exchange, alone.hidden) == (0, 0)
    assert alone.total == pytest.approx(338 * 4 * 512**3 / A100.memory)
    assert transform_time(PLAIN, (512,) * 3, 8) == pytest.approx(3 * 2 * GiB / 1e12), "three axes, a pass each"


@pytest.mark.parametrize("parts", [(1, 1), (8, 1), (64, 1), (8, 8)])
def test_twice_the_precision_takes_twice_the_time(parts):
    """Both where memory is the bound and where the network is."""
    layout = Layout((1024,) * 3, slabs=parts[0], pencils=parts[1])
    quiet = replace(STEP, exchanges=1)  # few messages
    single, double = (step_time(A100, layout, quiet, size).total for size in (4, 8))
    assert double / single == pytest.approx(2, rel=0.01)
    single, double = (transform_time(A100, (1024,) * 3, size, slabs=parts[0], pencils=parts[1]) for size in (8, 16))
    assert double / single == pytest.approx(2, rel=0.02)


def test_a_real_field_takes_half_the_time():
    whole, half = (transform_time(A100, (1024,) * 3, 8, slabs=8, real=real) for real in (False, True))
    assert whole / half == pytest.approx(2, rel=0.01)


def test_lines_that_fit_shared_memory_take_one_pass():
    assert [fft_passes(n, 8) for n in (512, 16384, 32768)] == [1, 1, 2]
    assert [fft_passes(n, 16) for n in (512, 8192, 16384)] == [1, 1, 2]
    short, long = Layout((16384,) * 3, slabs=64), Layout((32768, 16384, 16384), slabs=64)
    second = step_time(A100, long, STEP, 4).work / step_time(A100, short, STEP, 4).work
    assert second == pytest.approx(2 * (338 + 157 / 3) / 338), "one axis of three is longer"


def test_groups_within_a_host_do_not_use_the_network():
    no_network = replace(PLAIN, network=1.0)
    assert exchange_time(no_network, GiB, 4, 1, 64) < 1, "groups of 4 on hosts of 8"
    assert exchange_time(no_network, GiB, 3, 1, 63) > 1e8, "a host's end cuts groups of 3"
    assert exchange_time(no_network, GiB, 3, 2, 6) < 1, "6 devices, one host"


def test_more_bytes_take_longer_and_faster_links_less():
    times = [exchange_time(PLAIN, size, 64) for size in (1e3, 1e6, 1e9)]
    assert times == sorted(times)
    times = [exchange_time(PLAIN, GiB, members) for members in (2, 8, 16, 64, 1024)]
    assert times == sorted(times)
    assert exchange_time(replace(PLAIN, network=2e10), GiB, 64) < times[3]
    assert exchange_time(replace(PLAIN, gpus_per_host=64), GiB, 64) < times[3]
    per_step = [step_time(A100, Layout((1024,) * 3, slabs=p), STEP, 4).total for p in (1, 2, 4, 8)]
    assert per_step == sorted(per_step, reverse=True)


@pytest.mark.parametrize("parts", [(6, 1), (4, 4), (5, 3)], ids=["slabs", "pencils", "padded"])
@pytest.mark.parametrize("dealias", ["two-thirds", "none"])
def test_bytes_are_those_of_the_layout(dealias, parts):
    layout = Layout((48, 40, 36), dealias, slabs=parts[0], pencils=parts[1])
    sent = sum(s * (p - 1) / p for s, p in zip(timing._exchanged(layout, 16), parts, strict=True)) * layout.devices
    assert sent == pytest.approx(layout.exchange_bytes(16), abs=2), "rounded down twice there"


def test_pencils_pack_and_unpack_a_second_time():
    layout = Layout((512,) * 3, slabs=8, pencils=8)
    x, y, kz = layout.padded_points[0], layout.padded_points[1], layout.spectral_shape[1]
    packed = 4 * 32 * x * y * kz * 8 / 64
    assert step_time(A100, layout, STEP, 4).work == pytest.approx((338 * 4 * 512**3 / 64 + packed) / A100.memory)


def test_work_hides_no_more_than_the_exchanges_last():
    fast, slow = Layout((1024,) * 3, slabs=8), Layout((1024,) * 3, slabs=16)
    near, far = (step_time(A100, layout, STEP, 4) for layout in (fast, slow))
    assert near.hidden == near.exchange < 0.5 * near.work
    assert far.hidden == 0.5 * far.work < far.exchange
    assert far.total == pytest.approx(0.5 * far.work + far.exchange)


def test_slabs_within_a_host_and_pencils_beyond_the_last_slab():
    cube = Layout((256,) * 3)
    near = better_split(A100, cube, STEP, 4, devices=8)
    assert (near.best.slabs, near.best.pencils) == (8, 1)
    assert near.pencils.total > near.slabs.total
    far = better_split(A100, cube, STEP, 4, devices=512)
    assert far.slabs is None, "171 slabs at most"
    assert far.best.slabs * far.best.pencils == 512
    assert "512" not in str(near)
    assert "slabs 8 × 1" in str(near)
    assert "predicted: NVIDIA A100 80 GB, 8 to a host; published peaks" in str(near)


def test_all_splits_are_measured_against_what_is_known_of_one():
    layout = Layout((512,) * 3, slabs=64)
    plain, anchored = (better_split(A100, layout, STEP, 4, known=known) for known in (None, 7e-3))
    assert anchored.slabs.total == pytest.approx(7e-3)
    assert anchored.pencils.total / 7e-3 == pytest.approx(plain.pencils.total / plain.slabs.total)


def test_many_messages_ask_for_pencils():
    """Slabs send 8 · 1023 messages a step; the pencils of a host send theirs over its links."""
    layout, chatty = Layout((2048,) * 3), replace(STEP, exchanges=32)
    choice = better_split(Rates.of("h200"), layout, chatty, 4, devices=1024)
    assert choice.best is choice.pencils
    assert choice.best.pencils <= 8
    assert choice.slabs.total == step_time(Rates.of("h200"), replace(layout, slabs=1024), chatty, 4).total


def test_too_many_devices_are_refused():
    with pytest.raises(ValueError, match=r"4099 devices for the grid \[64, 64, 64\], which can use up to 946"):
        better_split(A100, Layout((64,) * 3), STEP, 4, devices=4099)
    flat = better_split(A100, Layout((1024, 1024)), STEP, 4, devices=16)
    assert flat.pencils is None


@pytest.mark.parametrize("target", TARGETS)
def test_targets_hold_what_devices_have(target):
    peaks, rates = published(target), Rates.of(target)
    assert 40e9 < rates.memory_bytes < 300e9
    assert 1e12 < peaks["memory_bandwidth"] < 1e13
    assert 1e10 <= peaks["network_bandwidth"] < peaks["link_bandwidth"] < peaks["memory_bandwidth"]
    assert rates.gpus_per_host in (4, 8)
    assert rates.memory == pytest.approx(STREAMING * peaks["memory_bandwidth"])
    assert rates.network == pytest.approx(PROTOCOL * peaks["network_bandwidth"])


def test_unknown_target_is_refused_with_the_known_ones():
    assert {"a100", "h100", "h200", "b200", "gh200", "mi250x", "mi300x"} <= set(TARGETS)
    with pytest.raises(ValueError, match=r"target 'a1000': known are a100, .*mi300x"):
        Rates.of("a1000")


def doctor_json(path, **bandwidth):
    device = {"process": 0, "platform": "gpu"}
    hosts = ["n0", "n0", "n0", "n0", "n1", "n1"]
    report = {
        "time": "2026-11-22T12:00:00+0000", "launcher": "slurm", "platform": "gpu", "directory": "/scratch",
        "versions": {}, "collectives": "NCCL 2.27.3", "bandwidth": bandwidth, "all_to_all": [], "hosts": [],
        "processes": [], "checks": [], "devices": [device | {"id": i, "host": h} for i, h in enumerate(hosts)],
    }  # fmt: skip
    path.write_text(json.dumps(report))
    return read_report(path)


def test_rates_of_a_doctor_json_are_used_as_they_are(tmp_path):
    report = doctor_json(tmp_path / "doctor.json", memory=1.5e12, within_host=2e11, across_hosts=3e9)
    rates = Rates.measured(report, A100)
    assert (rates.memory, rates.link, rates.network, rates.gpus_per_host) == (1.5e12, 2e11, 3e9, 4)
    assert rates.basis == "measured by the doctor on 2026-11-22T12:00:00+0000"
    assert pass_time(rates, GiB) == pytest.approx(2 * GiB / 1.5e12)


def test_rates_that_the_doctor_did_not_measure_come_from_elsewhere(tmp_path):
    rates = Rates.measured(doctor_json(tmp_path / "doctor.json", memory=1.5e12, within_host=2e11), A100)
    assert (rates.memory, rates.link, rates.network) == (1.5e12, 2e11, A100.network)
    assert rates.basis.endswith("; network: " + A100.basis)
