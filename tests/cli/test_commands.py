"""The command line as a user meets it: exit codes, one line of error, nothing lost."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from helpers import last_of_each, read_checkpoint
from zygote import slabwave, zygote

from solver.io.manifest import FORMAT, digest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEMO = str(ROOT / "runs" / "taylor_green.toml")
SMALL = [
    "grid.shape=[24,16,20]",
    "time.stepper=ifrk2",
    "devices.virtual=2",
    "time.end=0.4",
    "output.checkpoints.every_steps=10",
]
TINY = ["grid.shape=[8,8,8]", "time.end=0.01"]


def words_of(folder, *overrides):
    return ["run", DEMO, *last_of_each([*SMALL, f"output.directory={folder}", *overrides])]


def run_small(folder, *overrides, **options):
    return slabwave(*words_of(folder, *overrides), **options)


def run_as_a_user_does(folder, *overrides, **variables):
    """In a process that imports everything itself; others are forked from one that has."""
    clean = {k: v for k, v in os.environ.items() if k != "JAX_NUM_CPU_DEVICES"}
    return subprocess.run(
        [sys.executable, "-m", "solver", *words_of(folder, *overrides)], capture_output=True, text=True, timeout=240,
        env={**clean, "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    done = run_as_a_user_does(folder, "output.snapshots.every_time=0.2", "output.spectra.every_time=0.1")
    assert done.returncode == 0, done.stderr
    return folder, done


def assert_same_run(a, b, step):
    first, second = (read_checkpoint(folder / "checkpoints" / f"step-{step:08d}") for folder in (a, b))
    assert first[0].keys() == second[0].keys()
    for name in first[0]:
        np.testing.assert_array_equal(first[0][name], second[0][name])
    assert first[1]["values"] == second[1]["values"]
    assert (a / "series.csv").read_text() == (b / "series.csv").read_text()


def test_a_run_leaves_what_is_promised(finished):
    folder, done = finished
    lines = done.stdout.splitlines()
    assert lines[0].startswith("processes: 1 by one process")
    assert "devices: 2 in use of 2, cpu" in lines[1]
    assert "finished: step 40, t = 0.4" in lines[-1]
    assert {p.name for p in folder.iterdir() if not p.name.startswith(".")} == {
        "config.toml", "provenance.json", "log.txt", "status.json", "series.csv", "spectra.h5", "snapshots",
        "checkpoints",
    }  # fmt: skip
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["step"], status["end"]) == ("finished", 40, 0.4)
    resolved = tomllib.loads((folder / "config.toml").read_text())
    assert resolved["grid"]["shape"] == [24, 16, 20]
    assert resolved["initial"] == {"name": "taylor-green", "amplitude": 1.0}
    provenance = json.loads((folder / "provenance.json").read_text())
    assert {"versions", "devices", "git", "command", "environment"} <= set(provenance)
    names = sorted(p.name for p in (folder / "snapshots").iterdir())
    snapshots = [f"step-000000{n}.{e}" for n in ("00", "20", "40") for e in ("h5", "hdf")]
    assert names == ["snapshots.hdf.series", *snapshots]
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == [f"step-000000{n}" for n in (20, 30, 40)], (
        "keep = 3"
    )
    with xarray.open_dataset(folder / "snapshots" / "step-00000040.h5", engine="h5netcdf") as data:
        assert data["velocity"].shape == (24, 16, 20, 3)
    with h5py.File(folder / "spectra.h5") as file:
        np.testing.assert_allclose(file["t"][:], [0, 0.1, 0.2, 0.3, 0.4], atol=1e-12)
        energy = file["energy"][:].sum(axis=1)
    with (folder / "series.csv").open() as file:
        assert next(file).startswith("# units: step [1], t [time], dt [time], energy [length^2/time^2]")
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [0, 10, 20, 30, 40]
    np.testing.assert_allclose([float(row["energy"]) for row in rows], energy, rtol=1e-13)
    assert float(rows[0]["energy"]) == pytest.approx(0.125)
    assert "step 40" in (folder / "log.txt").read_text()


def test_interrupted_and_continued_gives_the_same_bits(finished, tmp_path):
    folder, _ = finished
    schedules = ["output.snapshots.every_time=0.2", "output.spectra.every_time=0.1"]
    assert run_small(tmp_path / "run", *schedules, "time.end=0.2").returncode == 0
    done = slabwave("resume", tmp_path / "run", "time.end=0.4")
    assert done.returncode == 0, done.stderr
    assert "continuing from step-00000020" in done.stdout
    assert_same_run(tmp_path / "run", folder, 40)
    assert len(json.loads((tmp_path / "run" / "provenance.json").read_text())["earlier"]) == 1


def test_killed_at_a_random_moment_and_continued_gives_the_same_bits(finished, tmp_path):
    folder, _ = finished
    schedules = ["output.snapshots.every_time=0.2", "output.spectra.every_time=0.1"]
    rng = np.random.default_rng()
    for _ in range(3):
        victim = zygote().start([*words_of(tmp_path / "run", *schedules), "--resume"])
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / "series.csv").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 1.5))
        victim.kill()
        victim.wait(60)
    done = run_small(tmp_path / "run", *schedules, "--resume")
    assert done.returncode == 0, done.stderr
    assert_same_run(tmp_path / "run", folder, 40)
    assert not list((tmp_path / "run").rglob("*.partial"))
    assert slabwave("verify", tmp_path / "run").returncode == 0


def test_a_second_run_may_not_take_the_directory(finished):
    folder, _ = finished
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    done = run_small(folder)
    assert done.returncode == 2
    assert "already holds a run" in done.stderr
    assert "--resume" in done.stderr
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before


def test_resuming_a_finished_run_changes_nothing_but_notes(finished):
    folder, _ = finished
    kept = ["series.csv", "spectra.h5", "checkpoints/step-00000040/manifest.json", "snapshots/step-00000040.h5"]
    before = [(folder / name).read_bytes() for name in kept]
    done = slabwave("resume", folder)
    assert done.returncode == 0, done.stderr
    assert [(folder / name).read_bytes() for name in kept] == before


def test_other_physics_may_not_continue_it(finished):
    folder, _ = finished
    done = slabwave("resume", folder, "equation.viscosity=0.1")
    assert done.returncode == 2
    assert "equation.viscosity: 0.005 → 0.1" in done.stderr
    done = run_small(folder, "--resume", "grid.shape=[24,16,24]")
    assert done.returncode == 2
    assert "grid.shape: [24, 16, 20] → [24, 16, 24]" in done.stderr


def test_the_resolved_file_reproduces_the_run(finished, tmp_path):
    folder, _ = finished
    done = slabwave("run", folder / "config.toml", f"output.directory={tmp_path}/run")
    assert done.returncode == 0, done.stderr
    assert_same_run(tmp_path / "run", folder, 40)


def test_damaged_checkpoints(finished, tmp_path):
    assert run_small(tmp_path / "run").returncode == 0
    checkpoints = tmp_path / "run" / "checkpoints"
    data = checkpoints / "step-00000040" / "process-00000.h5"
    data.write_bytes(data.read_bytes()[:-1])
    verified = slabwave("verify", tmp_path / "run")
    assert verified.returncode == 1
    assert re.search(r"DAMAGED\s+checkpoints/step-00000040", verified.stdout)
    done = slabwave("resume", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "step-00000040 is damaged and not used" in done.stdout
    assert "continuing from step-00000030" in done.stdout
    assert (checkpoints / "step-00000040.damaged-0").is_dir(), "kept aside"
    assert_same_run(tmp_path / "run", finished[0], 40)
    for path in checkpoints.glob("step-000000??/manifest.json"):
        path.write_text("{}")
    series = (tmp_path / "run" / "series.csv").read_bytes()
    done = slabwave("resume", tmp_path / "run", "time.end=0.5")
    assert done.returncode not in (0, 2, 3, 75)
    assert "none of its 3 checkpoints is valid; the run is not started over" in done.stderr
    assert (tmp_path / "run" / "series.csv").read_bytes() == series


def test_points_that_the_devices_cannot_split_are_refused_before_anything_is_written(tmp_path):
    done = run_small(tmp_path / "run", "devices.virtual=4", "output.snapshots={ coarsen = 8 }")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("slabwave: error: output.snapshots.coarsen = 8: 4 slabs of the grid [3, 2, 2]")
    assert not (tmp_path / "run").exists()


def test_a_blow_up_exits_3_and_keeps_the_last_good_checkpoint(tmp_path, here):
    blow = ["initial.amplitude=30", "time.step=0.05", "time.end=400", "output.checkpoints.every_steps=1"]
    done = run_small(tmp_path / "run", *blow)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "blew up between step" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "--branch NEW" in done.stderr
    assert "blew up between step" in (tmp_path / "run" / "log.txt").read_text()
    assert slabwave("verify", tmp_path / "run").returncode == 0
    last = max((tmp_path / "run" / "checkpoints").iterdir())
    assert np.isfinite(read_checkpoint(last)[0]["field/velocity"]).all()
    rows = (tmp_path / "run" / "series.csv").read_text()
    assert "nan" not in rows
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "blown up"
    words = last_of_each([*SMALL, f"output.directory={tmp_path}/run", *blow])
    again = here("run", DEMO, *words, "--resume")
    assert again.returncode == 3, "a job of a chain does not repeat it"
    assert "the same run file would lead there again; " in again.stderr
    assert "blew up between step" in here("info", tmp_path / "run").stdout
    status = json.loads(here("info", "--json", tmp_path / "run").stdout)
    assert status["state"] == "blown up"
    assert status["device_hours"] > 0
    table = here("info", tmp_path).stdout.splitlines()
    assert table[0].split() == ["run", "state", "step", "t", "end", "device", "hours"]
    assert table[1].startswith("run  blown up  ")


def test_a_signal_stops_early_with_a_checkpoint(tmp_path, finished):
    process = zygote().start(words_of(tmp_path / "run", "time.end=50"))
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "checkpoints" / "step-00000010").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 75, err
    step = int(re.search(r"stopped early by SIGUSR1 at step (\d+)", out)[1])
    assert (tmp_path / "run" / "checkpoints" / f"step-{step:08d}" / "manifest.json").exists()
    if step < 40:
        assert slabwave("resume", tmp_path / "run", "time.end=0.4").returncode == 0
        assert_same_run(tmp_path / "run", finished[0], 40)


def test_a_run_started_again_compiles_nothing_anew_and_changes_no_bit(tmp_path):
    kept = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "kept")}
    longer = "time.stepper=ifrk4"  # programs that take less than 0.3 s to compile are not kept
    # never beside programs of other sources, also where the folder was chosen
    # (small programs are kept where compiling them took long, as it may on a busy machine)
    programs = lambda: {p.name for p in (tmp_path / "kept").glob("programs-*/jit_advance_state*-cache")}  # noqa: E731
    done = run_small(tmp_path / "first", longer, environment=kept)
    assert done.returncode == 0, done.stderr
    first = programs()
    assert first
    again = run_small(tmp_path / "again", longer, environment=kept)
    assert again.returncode == 0, again.stderr
    assert not again.stderr
    assert programs() == first
    assert_same_run(tmp_path / "again", tmp_path / "first", 40)
    # a chunk of another program is not taken for it
    other = run_small(tmp_path / "other", longer, "grid.dealias='none'", "time.end=0.01", environment=kept)
    assert other.returncode == 0, other.stderr
    assert programs() > first


def test_a_run_goes_on_where_programs_cannot_be_kept(tmp_path):
    (tmp_path / "file").touch()
    done = run_small(tmp_path / "run", *TINY, environment={"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert done.returncode == 0, done.stderr
    assert "programs: no folder to keep compiled ones in" in done.stdout


WRONG = {
    "no command": ([], "required: COMMAND"),
    "unknown command": (["rnu", "x"], "'rnu': unknown command; did you mean 'run'?"),
    "unknown option": (["run", DEMO, "--foo"], "unrecognized arguments: --foo"),
    "abbreviated option": (["run", DEMO, "--resum"], "unrecognized arguments: --resum"),
    "stray word": (["run", DEMO, "foo"], "unrecognized arguments: foo"),
    "missing file": (["run", "nowhere.toml"], "nowhere.toml: no such run file"),
    "misspelt key": (["run", DEMO, "grid.shpe=[1]"], "grid.shpe: unknown key; did you mean 'shape'?"),
    "misspelt section": (["check", DEMO, "titel=x"], "'titel=x': unknown key; did you mean 'title'?"),
    "no folder for the page": (
        ["report", ".", "--output", "no/page.html"],
        "--output no/page.html: there is no folder no; the",
    ),
    "a folder as the page": (["compare", ".", "--output", "."], "--output .: the name of a file is needed"),
    "impossible split": (["check", DEMO, "--devices", "50"], "possible are 1 to 43 (in three dimensions pencils"),
    "one dimension on several devices": (
        ["check", str(ROOT / "runs" / "korteweg_de_vries.toml"), "--devices", "4"],
        "a one-dimensional grid on 4 devices: it can use one, devices.use = [0] in a run file",
    ),
    "impossible pencils": (
        ["check", DEMO, "devices.decomposition='pencil'", "--devices", "2021"],
        "at most 43 slabs and at most 22 pencils in each is needed",
    ),
    "a mesh of other size": (
        ["check", DEMO, "devices={decomposition='pencil',mesh=[4,2]}", "--devices", "6"],
        "devices.mesh: mesh [4, 2] for 6 devices: two sides are needed, such as [1, 6], [2, 3], [3, 2], [6, 1]",
    ),
    "a mesh for slabs": (["check", DEMO, "devices.mesh=[4,2]"], "decomposition = 'pencil' is needed"),
    "jaxdecomp on uneven sides": (
        ["check", DEMO, "devices.engine='jaxdecomp'", "--devices", "3"],
        "it must divide [64, 64]; the engine 'slabwave' pads",
    ),
    "no such run": (["resume", "nowhere"], "nowhere holds no run"),
    "info of nothing": (["info", "nowhere"], "nowhere holds no run"),
    "overrides where none go": (["info", "nowhere", "a.b=1"], "info takes no overrides"),
    "half an address": (["run", DEMO, "--processes", "2"], "go together; one is missing"),
    "no such port": (
        ["run", DEMO, "--coordinator", "n1:99999", "--processes", "2", "--process", "1"],
        "--coordinator n1:99999: a port from 1 to 65535 is needed",
    ),
    "no such host": (
        ["run", DEMO, "--coordinator", "no-such-host.invalid:8476", "--processes", "2", "--process", "1"],
        "the host name no-such-host.invalid leads to no address here",
    ),
    "missing input": (["run", DEMO, "initial={name='file',path='no.h5',datasets=['u']}"], "no.h5: no such file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_exit_code_2(case, tmp_path, here):
    arguments, message = WRONG[case]
    done = here(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("slabwave: error: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_a_platform_that_is_not_here_is_named(tmp_path):
    done = run_small(tmp_path / "run", "devices.platform=tpu")
    assert done.returncode == 2
    assert "a TPU has no double precision; set grid.precision=float32" in done.stderr
    done = run_small(tmp_path / "run", "devices.platform=tpu", "grid.precision=float32")
    assert done.returncode == 2
    assert "JAX finds no devices as requested" in done.stderr
    assert "tpu" in done.stderr
    assert not (tmp_path / "run").exists()


def test_debug_adds_the_traceback():
    assert "Traceback" in slabwave("run", "nowhere.toml", "--debug").stderr


def test_devices_fixed_by_the_environment_win(tmp_path):
    flag = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=4"}
    done = run_small(tmp_path / "run", *TINY, environment=flag)
    assert done.returncode == 0, done.stderr
    assert "devices: 4 in use of 4" in done.stdout
    assert "XLA_FLAGS fixes 4" in done.stdout
    done = run_as_a_user_does(tmp_path / "run2", *TINY, JAX_NUM_CPU_DEVICES="1")
    assert "devices: 1 in use of 1" in done.stdout


def test_a_subset_of_the_devices(tmp_path):
    done = run_small(tmp_path / "run", *TINY, "devices.virtual=3", "devices.use=[2,0]")
    assert done.returncode == 0, done.stderr
    assert "devices: 2 in use of 3" in done.stdout


DECOMPOSITIONS = {
    "pencils": ["devices.decomposition='pencil'", "devices.virtual=6"],
    "jaxdecomp": ["devices.engine='jaxdecomp'", "devices.virtual=4"],
}


@pytest.mark.parametrize("case", DECOMPOSITIONS)
def test_the_same_run_split_otherwise(finished, tmp_path, case):
    done = run_small(tmp_path / "run", *DECOMPOSITIONS[case])
    assert done.returncode == 0, done.stderr
    (expected, _), (read, _) = (
        read_checkpoint(folder / "checkpoints" / "step-00000040") for folder in (finished[0], tmp_path / "run")
    )
    assert np.abs(read["field/velocity"] - expected["field/velocity"]).max() < 1e-13
    assert slabwave("verify", tmp_path / "run").returncode == 0


def test_check_info_verify_plot(finished):
    folder, _ = finished
    done = slabwave("check", DEMO, "--devices", "8", "--resolved")
    assert done.returncode == 0, done.stderr
    said = re.sub(r" +", " ", done.stdout)
    assert "12 inverse, 20 forward per step\n" in said
    assert "# exchanges: 8 per step" in said
    assert tomllib.loads(done.stdout)["grid"]["shape"] == [64, 64, 64], "the output is itself a run file"
    assert done.stdout.startswith("# devices:"), "the answer comes first"
    done = slabwave("check", DEMO, "devices.decomposition='pencil'", "--devices", "128")
    assert "16 slabs × 8 pencils" in done.stdout
    assert "# exchanges:    16 per step" in done.stdout
    done = slabwave("info", folder)
    assert "step 40, t = 0.4: finished" in done.stdout
    assert "navier-stokes (viscosity = 0.005, " in done.stdout
    done = slabwave("verify", folder)
    assert done.returncode == 0
    assert "8 checked, 0 damaged" in done.stdout
    done = slabwave("plot", folder)
    assert done.returncode == 0, done.stderr
    figures = {p.name for p in (folder / "figures").iterdir()}
    assert {"series.png", "spectra.png", "step-00000040.png"} <= figures
    assert (folder / "figures" / "series.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_of_another_version_is_left_alone(finished, here, tmp_path):
    """Its checkpoints have a format that is not read: one line says which, and nothing in the directory changes."""
    run = shutil.copytree(finished[0], tmp_path / "run")
    for path in (run / "checkpoints").glob("step-*/manifest.json"):
        body = {**json.loads(path.read_text()), "format": FORMAT - 1}
        del body["sha256"]
        path.write_text(json.dumps({**body, "sha256": digest(body)}))
    reads = f"format {FORMAT - 1}; this version of Slabwave reads format {FORMAT}"
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    done = here("resume", run, "time.end=0.5")
    assert done.returncode == 1
    assert done.stderr == f"slabwave: error: {run}/checkpoints/step-00000040: a checkpoint of {reads}\n"
    assert "damaged" not in done.stdout
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == names
    assert f"step-00000040 has {reads}" in here("info", run).stdout
    verified = here("verify", run).stdout
    assert re.search(rf"unknown\s+checkpoints/step-00000040: {reads}\n", verified)
    assert ", 0 damaged" in verified


def test_starting_from_a_snapshot(finished, tmp_path):
    folder, _ = finished
    names = "['velocity']"
    path = folder / "snapshots" / "step-00000020.h5"
    done = run_small(tmp_path / "run", f"initial={{name='file',path='{path}',datasets={names}}}", "time.end=0.2")
    assert done.returncode == 0, done.stderr
    there, here = (f / "snapshots" / f"step-000000{n}.h5" for f, n in ((folder, 40), (tmp_path / "run", 20)))
    with h5py.File(there) as a, h5py.File(here) as b:
        np.testing.assert_allclose(b["velocity"][:], a["velocity"][:], atol=1e-13)
    start = f"initial={{name='file',path='{path}',datasets={names}}}"
    wrong = run_small(tmp_path / "other", start, "grid.shape=[24,16,24]")
    assert wrong.returncode == 2
    one = f"initial={{name='file',path='{path}',datasets=['x']}}"
    few = slabwave("check", DEMO, *SMALL, one)
    assert few.returncode == 2
    assert "has shape [24]; real values of shape [3, 24, 16, 20], components first, are needed" in few.stderr
    assert (
        "has shape [3, 24, 16, 20]; real values of shape [3, 24, 16, 24], components first, are needed" in wrong.stderr
    )


def test_an_earlier_end_is_refused_and_nothing_is_changed(finished):
    folder, _ = finished
    before = (folder / "config.toml").read_text()
    done = slabwave("resume", folder, "time.end=0.05")
    assert done.returncode == 2
    assert "time.end = 0.05: the run in" in done.stderr
    assert "a later end is needed" in done.stderr
    assert (folder / "config.toml").read_text() == before


WRONG_LINES = {
    "parameter": (["equation.viscosity=-1"], f"{DEMO}: equation.viscosity -1.0: zero or more is needed"),
    "seed": (
        ["random.seed=12345678901234567890"],
        "random.seed = 12345678901234567890: a number below 9223372036854775808 is needed",
    ),
    "two lines as title": (['title="a\\nb"'], "title = 'a\\nb': one line of printable characters is needed"),
    "two lines as folder": (
        ['output.directory="a\\nb"'],
        "output.directory = 'a\\nb': one line of printable characters is needed",
    ),
    "no folder": (["output.directory=''"], "output.directory = '': the name of a folder is needed"),
    "device": (["devices.use=[55]"], "devices.use: devices [55] were chosen"),
}


@pytest.mark.parametrize("case", WRONG_LINES)
def test_wrong_input_is_one_line_and_exit_code_two(tmp_path, case, here):
    overrides, message = WRONG_LINES[case]
    done = here("run", DEMO, *last_of_each(["output.directory=made", *overrides]), cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("devices", ["0", "-3"])
def test_check_needs_at_least_one_device(devices, here):
    done = here("check", DEMO, "--devices", devices)
    assert done.returncode == 2
    assert f"--devices {devices}: one or more are needed" in done.stderr
