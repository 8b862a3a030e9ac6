"""The doctor in two real processes that meet by explicit address."""

import os
import time

import pytest
from test_processes import finish
from zygote import zygote

from solver.cluster.addresses import free_port
from solver.doctor import read_report

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]


def start(directory, script="", devices=2):
    words = ["doctor", str(directory), "--devices", str(devices), "--coordinator", f"127.0.0.1:{free_port()}"]
    return [zygote().start([*words, "--processes", "2", "--process", str(i)], script=script) for i in range(2)]


def test_two_processes(tmp_path):
    codes, outputs, errors = finish(start(tmp_path), timeout=100)
    assert codes == [0, 0], outputs + errors
    assert "FAIL" not in outputs[0]
    assert "ok    launch      2 processes by explicit address on 1 host" in outputs[0]
    assert "within a host, 4 devices with each other" in outputs[0]
    assert "ok    transport   gloo of jaxlib" in outputs[0]
    assert "its 2 processes are all bound to the same cores" in outputs[0]
    assert "ok " not in outputs[1], "the first process alone prints"
    report = read_report(tmp_path / "doctor.json")
    assert [device.process for device in report.devices] == [0, 0, 1, 1]
    assert {row.devices for row in report.all_to_all} == {4}
    assert os.listdir(tmp_path) == ["doctor.json"]


DAMAGE = """
import jax.numpy as jnp
from jax import lax
from solver.doctor import exchange
original = exchange.all_to_all
def damaged(words, axes):
    arrived = original(words, axes)
    return arrived.at[0, 0, 0, 5].add((lax.axis_index(exchange.DEVICE) == 1).astype(jnp.uint32))
exchange.all_to_all = damaged
from solver.cli.main import entry
entry()
"""


def test_words_damaged_in_another_process(tmp_path):
    codes, outputs, errors = finish(start(tmp_path, DAMAGE, devices=1), timeout=100)
    assert codes == [1, 1], errors
    assert "FAIL  all-to-all  64 KiB within a host: " in outputs[0]
    assert "on device" in outputs[0]
    assert "(process 1 on " in outputs[0]
    assert "slabwave: error" not in "".join(errors), "a check that fails is no error of the command"
    assert all(row.wrong_words >= 3 for row in read_report(tmp_path / "doctor.json").all_to_all)


ERROR = """
import jax
from solver.doctor import disk
original = disk.read
def failing(path):
    if jax.process_index() == 1:
        raise RuntimeError("the disk of process 1 is on fire")
    return original(path)
disk.read = failing
from solver.cli.main import entry
entry()
"""
SLEEP = """
import time, jax
from solver.doctor import examine, job, memory
job.PATIENCE, examine.STALL_SECONDS = 4.0, 8.0
original = memory.measure
def asleep(job):
    if jax.process_index() == 1:
        time.sleep(1000)
    return original(job)
memory.measure = asleep
from solver.cli.main import entry
entry()
"""


@pytest.mark.parametrize(
    ("script", "message"),
    [(ERROR, "RuntimeError: the disk of process 1 is on fire"), (SLEEP, "process 1 has not answered for 4 s")],
    ids=["error", "sleep"],
)
def test_a_process_that_does_not_go_on_ends_all(tmp_path, script, message):
    began = time.monotonic()
    codes, outputs, errors = finish(start(tmp_path, script, devices=1), timeout=60)
    assert codes == [1, 1], errors
    assert time.monotonic() - began < 40
    assert message in "".join(errors)
    assert not os.listdir(tmp_path), "no file of the one or the other is left"
    assert "sleep" not in script or "FAIL  memory      process 1 has not answered" in outputs[0]
