"""`slabwave check --target` without the plug-in of a GPU; with it: tests/plan/test_compiled.py."""

import re
from pathlib import Path

import pytest

from solver.cli.main import main
from solver.plan import gpu

RUNS = Path(__file__).parents[2] / "runs"
TAYLOR_GREEN = str(RUNS / "taylor_green_512.toml")


@pytest.fixture(autouse=True)
def without_a_plug_in(monkeypatch):
    monkeypatch.setattr(gpu, "_installed", lambda name: False)


def check(capsys, *words):
    code = main(["check", *words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.slow
def test_formulas_say_that_they_are(capsys):
    """4526 MiB of the steps' program and an allowance of 1 word are what was seen before the programs were improved."""
    code, out, _ = check(capsys, TAYLOR_GREEN, "--target", "h200", "--devices", "4")
    assert code == 0
    assert "4 × NVIDIA H200 141 GB on 1 host" in out
    install = "pip install '.[cuda12]' in the checkout (no GPU is needed)"
    assert f"JAX's plug-in for CUDA is not installed: {install}" in out
    said = re.search(
        r"# memory: +about ([\d.]+) GiB per device of 121 GiB \(most in steps, by what such runs held", out
    )
    assert float(said[1]) == pytest.approx(13.69 * 512**3 / 4 * 8 / 2**30, rel=0.1)  # words of the compiled program


@pytest.mark.slow
def test_devices_without_modes_are_counted_and_a_least_time_is_said(capsys):
    _, out, _ = check(capsys, TAYLOR_GREEN, "--target", "h200", "--devices", "64")
    assert "# idle:         7 of 64 devices hold no modes: 341 rows of ky, 6 to a device, fill 57\n" in out
    least = float(re.search(r"# time: +([\d.]+) ms per step at least", out)[1])
    assert 1 < least < 20, "most of a step on eight hosts is exchanges"
    assert "[grid]" not in out, "the run file is printed on request"
    _, out, _ = check(capsys, TAYLOR_GREEN, "--target", "h200", "--devices", "57")
    assert "idle" not in out


def test_a_run_that_no_record_is_like_is_counted_on_its_trace(capsys):
    _, out, _ = check(capsys, TAYLOR_GREEN, "time.stepper='lsrk3'", "--target", "a100", "--devices", "64")
    assert "counted on the trace, since no such run was ever compiled" in out


@pytest.mark.slow
def test_too_much_for_one_device(capsys):
    _, out, _ = check(capsys, TAYLOR_GREEN, "grid.shape=[2048,2048,2048]", "--target", "a100", "--devices", "8")
    assert "does not fit" in out


REFUSED = {
    "unknown target": (["--target", "h20"], "target 'h20': known are a100, b200"),
    "hosts": (["--target", "h200", "--devices", "6", "--hosts", "4"], "--hosts can be 1, 2, 3, 6"),
    "no target": (["--hosts", "2"], "--target is needed"),
    "split": (["--target", "h200", "--devices", "4096"], "4096 slabs of the grid [512, 512, 512]"),
    "no report": (["--target", "h200", "--measured", "nowhere.json"], "nowhere.json: No such file"),
    "no devices": (["--target", "h200", "--devices", "0"], "--devices 0: one or more are needed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(capsys, case):
    words, message = REFUSED[case]
    code, _, err = check(capsys, TAYLOR_GREEN, *words)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert message in err
