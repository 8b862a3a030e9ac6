"""A run that goes on in a directory of its own, with other physics: time and forcing go on."""

import shutil

import numpy as np
import pytest

from solver.cli.main import main
from solver.io import list_checkpoints, read_manifest, read_series

RUN_FILE = """
[grid]
shape = [8, 8]
[equation]
name = "navier-stokes"
viscosity = 0.05
[initial]
name = "random-phase"
[forcing]
name = "ornstein-uhlenbeck"
rms = 1.0
largest = 1
[time]
stepper = "ifrk2"
step = 0.05
end = 0.1
[devices]
use = [0, 1]
[output]
directory = "first"
series = { every_steps = 1 }
"""


def newest(folder):
    return read_manifest(list_checkpoints(folder / "checkpoints")[-1])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of two steps in `first`."""
    folder = tmp_path_factory.mktemp("branch")
    (folder / "flow.toml").write_text(RUN_FILE)
    assert main(["run", str(folder / "flow.toml"), f"output.directory={folder}/first"]) == 0
    return folder


@pytest.fixture
def first(made, tmp_path, monkeypatch):
    """The folder of a copy of it, as the working directory."""
    shutil.copytree(made / "first", tmp_path / "first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *words):
    code = main(words)
    return code, capsys.readouterr().err


@pytest.mark.slow
def test_a_branch_goes_on_with_time_and_forcing(first, capsys):
    assert main(["resume", "first", "--branch", "same", "time.end=0.2"]) == 0
    assert main(["resume", "first", "time.end=0.2"]) == 0
    whole, branch = (read_series(first / name / "series.csv") for name in ("first", "same"))
    assert list(branch["step"]) == [2, 3, 4]
    np.testing.assert_allclose(branch["t"], [0.1, 0.15, 0.2], rtol=1e-14)
    np.testing.assert_allclose(branch["energy"], whole["energy"][2:], rtol=1e-12)
    assert abs(whole["energy"][4] / whole["energy"][2] - 1) > 1e-3
    forcing = [newest(first / name)["values"]["forcing/velocity"] for name in ("first", "same")]
    assert forcing[0] == forcing[1]
    assert "branch: same goes on from" in (first / "first" / "log.txt").read_text()
    capsys.readouterr()
    assert main(["info", "same"]) == 0
    assert f"branch of:   {first / 'first'}, step 2" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.slow
def test_a_branch_whose_exchanges_are_rounded_otherwise_says_so(first):
    assert main(["resume", "first", "--branch", "rounded", "time.end=0.15", "devices.exchange_precision=float16"]) == 0
    assert main(["resume", "first", "--branch", "same", "time.end=0.15"]) == 0
    words = "comes from exchanges in the grid's precision; this run goes on with exchanges in float16 on 2 devices"
    assert (first / "rounded" / "log.txt").read_text().count(words) == 1
    assert "comes from" not in (first / "same" / "log.txt").read_text()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_branch_takes_another_stepper_and_resolution_and_continues(first, capsys):
    changes = ["grid.shape=[12, 10]", "time.stepper=sbdf2", "time.step=0.02", "equation.viscosity=0.1"]
    code, errors = said(capsys, "resume", "first", *changes)
    assert code == 2
    assert "grid.shape: [8, 8] → [12, 10]" in errors
    assert "slabwave resume first --branch NEW" in errors
    assert main(["resume", "first", "--branch", "other", *changes, "time.end=0.14"]) == 0
    assert main(["resume", "other", "time.end=0.16"]) == 0
    before, rows = (read_series(first / name / "series.csv") for name in ("first", "other"))
    np.testing.assert_allclose(rows["t"], [0.1, 0.12, 0.14, 0.16], rtol=1e-12)
    assert rows["energy"][0] == pytest.approx(before["energy"][-1], rel=1e-12)
    assert newest(first / "other")["values"]["step"]["value"] == 5


@pytest.mark.every_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--branch", "new"], "time.end = 0.1: the run continues from t = 0.1; a later end is needed"),
        (["--branch", "first", "time.end=1"], "first already holds a run"),
        (["--branch", "new", "time.end=1", "--from-step", "7"], "no checkpoint of step 7; it has 2"),
        (["--branch", "new", "time.end=1", "initial.peak=3"], "a branch starts where first stood"),
        (["--branch", "new", "time.end=1", "grid.lengths=[1, 1]"], "its box is"),
        (["--from-step", "2"], "--branch NEW is needed"),
    ],
)
def test_what_a_branch_cannot_be_is_one_line(first, capsys, words, line):
    capsys.readouterr()
    code, errors = said(capsys, "resume", "first", *words)
    assert code == 2
    assert line in errors
    assert len(errors.splitlines()) == 1
    assert not (first / "new").exists()


ACCELERATED = """
[grid]
shape = [16, 16]
lengths = ["2 pi", "2 pi"]
[equation]
name = "navier-stokes"
viscosity = 0.01
[initial]
name = "taylor-green"
amplitude = 0.1
[forcing]
name = "uniform"
acceleration = [10.0, 0.0]
[time]
stepper = "ifrk4"
step = 0.05
end = 100.0
[devices]
use = [0, 1]
[output]
directory = "accelerated"
checkpoints = { every_steps = 5, keep = 1 }
"""


@pytest.fixture(scope="module")
def blown_up(tmp_path_factory):
    """A wind that grows as 10 t: its CFL number 10 t · 0.05/(2π/16) passes one at t = 0.785, after step 15."""
    folder = tmp_path_factory.mktemp("blown-up")
    (folder / "wind.toml").write_text(ACCELERATED)
    assert main(["run", str(folder / "wind.toml"), f"output.directory={folder}/accelerated"]) == 3
    return folder


@pytest.fixture
def accelerated(blown_up, tmp_path, monkeypatch):
    shutil.copytree(blown_up / "accelerated", tmp_path / "accelerated")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_last_healthy_checkpoint_is_kept_and_named_after_a_blow_up(accelerated, capsys):
    steps = [int(path.name[5:]) for path in list_checkpoints(accelerated / "accelerated/checkpoints")]
    assert steps[0] == 15
    assert len(steps) == 2
    assert main(["info", "accelerated"]) == 0
    text = capsys.readouterr().out
    assert "starts from step 15, its last healthy checkpoint" in text
    assert f"step-{steps[1]:08d} (not healthy: " in text
    assert "the CFL number is" in text


@pytest.mark.slow
def test_a_branch_after_a_blow_up_starts_from_the_last_healthy_checkpoint(accelerated, capsys):
    assert main(["resume", "accelerated", "--branch", "new", "time.step=0.01", "time.end=0.8"]) == 0
    log = (accelerated / "new/log.txt").read_text()
    assert "starts from step-00000015; later ones are" in log
    assert "not healthy" not in log
    last = list_checkpoints(accelerated / "accelerated/checkpoints")[-1]
    step, t = int(last.name[5:]), read_manifest(last)["t"]
    words = ["time.step=0.001", f"time.end={t + 0.001}"]
    main(["resume", "accelerated", "--branch", "later", "--from-step", str(step), *words])
    assert f"{last.name} is not healthy: the CFL number is" in (accelerated / "later/log.txt").read_text()


def test_a_branch_of_a_run_without_a_healthy_checkpoint_needs_a_step(accelerated, capsys):
    shutil.rmtree(accelerated / "accelerated/checkpoints/step-00000015")
    capsys.readouterr()
    assert main(["resume", "accelerated", "--branch", "new", "time.step=0.01"]) == 2
    assert "no checkpoint is healthy; choose one by --from-step" in capsys.readouterr().err
    assert not (accelerated / "new").exists()


@pytest.mark.slow
def test_a_branch_may_add_a_passive_scalar_with_a_start_of_its_own(first, capsys):
    """The flow continues, under its forcing; the dye, whose mean is kept, starts at the time of the checkpoint."""
    dye = ["scalars.dye={ diffusivity = 0.1 }", "initial.dye={ name = 'uniform', value = 2.5 }"]
    assert main(["resume", "first", "--branch", "dyed", "time.end=0.2", *dye]) == 0
    before, dyed = (read_series(first / name / "series.csv") for name in ("first", "dyed"))
    np.testing.assert_allclose(dyed["t"], [0.1, 0.15, 0.2], rtol=1e-14)
    assert dyed["energy"][0] == pytest.approx(before["energy"][-1], rel=1e-12)
    np.testing.assert_allclose(dyed["dye_mean"], 2.5, rtol=1e-14)
    for words, message in (
        (["--branch", "more", *dye, "initial.velocity={ name = 'random-phase' }"], "a branch starts where first stood"),
        (["--branch", "more", dye[0]], "has no field dye"),
        (["--branch", "more", "scalars.p={}", "initial.p={ name = 'uniform' }", "initial.path=x"], "a branch starts"),
    ):
        code, error = said(capsys, "resume", "first", *words, "time.end=1")
        assert code == 2
        assert message in error
    code, error = said(capsys, "resume", "dyed", "--branch", "again", "time.end=1", *dye)
    assert code == 2
    assert "initial.dye: the other run has dye, which continues; only a new scalar starts" in error
