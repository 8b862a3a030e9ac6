"""The doctor in this process, on eight virtual devices: what it measures, prints, writes, and leaves behind."""

import errno
import fcntl
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh

from solver.cli.main import main
from solver.doctor import disk, exchange, host, memory, read_report
from solver.doctor.exchange import Exchange

ORIGINAL = exchange.all_to_all


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """As little as says something."""
    monkeypatch.setattr(exchange, "ON_CPU", ((1000, 3), (4096, 1)))
    monkeypatch.setattr(memory, "ON_CPU", 2**16)
    monkeypatch.setattr(disk, "SIZE_OF_HOST", 2**20)
    monkeypatch.setattr(disk, "LEAST_SIZE", 2**20)


def doctor(capsys, *words):
    """Exit code, and the lines: name to verdict and text."""
    code = main(["doctor", *map(str, words)])
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    return code, {name: (verdict, text) for verdict, name, text in lines}


def test_a_healthy_process(tmp_path, capsys):
    tmp_path = tmp_path / "not" / "there yet"
    code, lines = doctor(capsys, tmp_path)
    failed = {name: line for name, line in lines.items() if line[0] == "FAIL"}
    assert (code, failed) == (0, {})
    assert {
        "launch", "devices", "cores", "limits", "float64", "programs", "disk", "room", "locks", "memory", "all-to-all",
        "transport", "report",
    } <= set(lines)  # fmt: skip
    assert lines["all-to-all"][1].startswith("within a host, 8 devices with each other: 1 KiB ")
    assert os.listdir(tmp_path) == ["doctor.json"], "nothing else is left"
    report = read_report(tmp_path / "doctor.json")
    assert report.format == 1
    assert [(row.bytes, row.devices, row.wrong_words) for row in report.all_to_all] == [(1024, 8, 0), (4096, 8, 0)]
    assert report.bandwidth.within_host == max(row.bandwidth for row in report.all_to_all) > 0
    assert report.bandwidth.across_hosts is None
    assert min(report.bandwidth.memory, report.bandwidth.disk_write, report.bandwidth.disk_read) > 0
    assert len(report.devices) == 8
    assert report.hosts[0].processes == [0]
    assert {check.name for check in report.checks} == set(lines) - {"report"}


def damaged(words, axes):
    """Two words that arrive on device 3 are one too large."""
    arrived = ORIGINAL(words, axes)
    here = jax.lax.axis_index((exchange.HOST, exchange.DEVICE)) == 3
    return arrived.at[0, 0, 1, 2:4].add(here.astype(jnp.uint32))


def test_damaged_words_fail(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(exchange, "all_to_all", damaged)
    code, lines = doctor(capsys, tmp_path, "--json", tmp_path / "found.json")
    assert code == 1
    verdict, text = lines["all-to-all"]
    assert verdict == "FAIL"
    assert text.startswith("4 KiB within a host: 6 wrong words: 6 on device 3 (process 0 on ")
    (first, second) = read_report(tmp_path / "found.json").all_to_all
    assert second.wrong_words == 2 * exchange.CALLS, "one exchange in each call: two words each"
    assert first.wrong_words == 4 * exchange.CALLS, "what was damaged before the last exchange still counts"


@pytest.mark.slow
@pytest.mark.parametrize("scope", exchange.SCOPES)
@pytest.mark.parametrize("times", [1, 3])
def test_words_go_where_they_belong(scope, times):
    """Also that words which arrive from another device than they should, or not at all, are counted."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("host", "device"), axis_types=(AxisType.Auto,) * 2)
    exchange = Exchange(mesh, scope, 960)
    sent = exchange.make(1)
    assert sent.shape == (2, 4, exchange.parts, exchange.words)
    arrived = exchange.repeat(sent, times)
    assert int(exchange.wrong(arrived, 1).sum()) == 0
    number = exchange.words * exchange.parts
    assert exchange.bytes == 4 * number == 960
    for other in (sent, jnp.roll(arrived, 1, axis=2), jnp.roll(arrived, 1, axis=0), jnp.zeros_like(arrived)):
        assert int(exchange.wrong(other, 1).sum()) > 0.9 * 8 * number * (1 - 1 / exchange.parts)
    assert int(exchange.wrong(arrived, 2).sum()) > 0.9 * 8 * number, "words of another round"
    assert int(exchange.wrong(arrived.at[1, 2, 0, 5].add(1), 1)[1, 2]) == 1


def test_hosts_with_different_numbers_of_devices():
    """As many devices of each host as the smallest has: a mesh is a table."""

    class At:
        def __init__(self, process):
            self.process_index = process

    uneven = [At(process) for process in (0, 0, 0, 1, 1, 2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "Mesh", lambda devices, names, axis_types: devices)
        rows = exchange.host_mesh(uneven, ["n1", "n2", "n2"])
    assert [[d.process_index for d in row] for row in rows] == [[0, 0, 0], [1, 1, 2]]


def test_scopes():
    def of(hosts, devices):
        chosen = np.array(jax.devices()[: hosts * devices]).reshape(hosts, devices)
        return exchange.scopes(Mesh(chosen, ("host", "device"), axis_types=(AxisType.Auto,) * 2))

    assert [of(1, 1), of(1, 4), of(4, 1)] == [[], ["within_host"], ["across_hosts"]]
    assert of(2, 4) == ["within_host", "across_hosts", "all"]


@pytest.mark.slow
def test_a_directory_that_takes_no_file(capsys, tmp_path):
    code, lines = doctor(capsys, "/proc", "--json", tmp_path / "found.json")
    assert code == 1
    verdict, text = lines["disk"]
    assert (verdict, text.startswith("/proc: No such file or directory (process 0 on ")) == ("FAIL", True)
    assert lines["memory"][0] == "ok", "the rest is examined all the same"
    assert read_report(tmp_path / "found.json").bandwidth.disk_write is None
    code, lines = doctor(capsys, tmp_path, "--json", "/proc/found.json")
    assert (code, lines["report"][0]) == (1, "FAIL")
    code, lines = doctor(capsys, tmp_path / "found.json")
    assert (code, lines["disk"][0], lines["report"][0]) == (1, "FAIL", "FAIL")
    assert "found.json: Not a directory (process 0 on " in lines["disk"][1]


def test_a_full_disk_is_one_line_and_nothing_stays(tmp_path, capsys, monkeypatch):
    def full(handle, chunk):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(disk.os, "write", full)
    code, lines = doctor(capsys, tmp_path)
    assert (code, lines["disk"][0]) == (1, "FAIL")
    assert f"{tmp_path}: Disk quota exceeded (process 0" in lines["disk"][1]
    assert os.listdir(tmp_path) == ["doctor.json"]


def test_what_is_written_is_removed_after_an_error(tmp_path, capsys, monkeypatch):
    def failing(path):
        assert path.stat().st_size == 2**20
        raise RuntimeError("an error that no check expects")

    monkeypatch.setattr(disk, "read", failing)
    assert main(["doctor", str(tmp_path)]) == 1
    assert "RuntimeError: an error that no check expects" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


def test_a_lock_keeps_another_process_out(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    assert disk.lock(path) == "held"
    monkeypatch.setattr(fcntl, "flock", lambda file, how: None)
    assert disk.lock(path) == "ignored"

    def refuse(file, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert disk.lock(path) == "No locks available"


def test_single_precision_is_noticed(monkeypatch):
    assert host.double_precision()
    monkeypatch.setattr(host.jax, "device_put", lambda x, device: jnp.float32(x))
    assert not host.double_precision()


def test_bad_input_is_one_line(capsys, tmp_path):
    for words, message in {
        ("--devices", "0"): "--devices 0: one or more are needed",
        ("--platform", "quantum"): "invalid choice",
        ("--coordinator", "h"): "go together",
        ("grid.shape=[8]",): "takes no overrides",
    }.items():
        assert main(["doctor", str(tmp_path), *words]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_what_a_launcher_did_wrong_is_a_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    code, lines = doctor(capsys, tmp_path)
    assert (code, lines["launch"][0]) == (1, "FAIL")
    assert "job 7 has 4 tasks, but this process was started without srun" in lines["launch"][1]
