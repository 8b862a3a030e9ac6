"""`slabwave submit` up to the point where Slurm takes over."""

import re
from pathlib import Path

import pytest

from solver import assemble
from solver.cli.main import main

ROOT = Path(__file__).parents[2]
FLOW = str(ROOT / "runs" / "taylor_green.toml")
MANY = """
[ensemble]
members = 4
draw = { "initial.amplitude" = { uniform = [1.0, 2.0] } }
"""
SWEEP = "ensemble.sweep={'equation.viscosity'=[0.01,0.02]}"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """In a folder without output/, which `make demo` leaves in a checkout."""
    monkeypatch.chdir(tmp_path)


def submit(capsys, *words):
    code = main(["submit", *map(str, words)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_dry_run_prints_the_script(capsys):
    code, text, _ = submit(
        capsys, FLOW, "--nodes", 2, "--dry-run", "--partition", "debug", "--time", "00:30:00", "time.end=3"
    )
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert {"#SBATCH --nodes=2", "#SBATCH --partition=debug", "#SBATCH --time=00:30:00"} <= set(lines)
    assert f"set -- {FLOW} time.end=3" in lines
    assert "devices.platform=cpu" in text


def test_options_of_sbatch(capsys, tmp_path):
    (tmp_path / "site.toml").write_text('platform = "cpu"\ncores_per_node = 64\nsbatch = ["--qos=normal"]\n')
    words = ["--qos", "debug", "--output", "logs/%j.txt", "--mail", "me@here.org", "--cpus-per-task", 4, "--retries", 2]
    code, text, _ = submit(capsys, FLOW, "--nodes", 1, "--site", tmp_path / "site.toml", "--dry-run", *words)
    assert code == 0
    wanted = {"qos=debug", "output=logs/%j.txt", "mail-user=me@here.org", "mail-type=END,FAIL", "cpus-per-task=4"}
    assert {f"#SBATCH --{option}" for option in wanted} <= set(text.splitlines())
    assert "--qos=normal" not in text
    assert "\nSLABWAVE_RETRIES=2\n" in text


def test_the_platform_chooses_the_site(capsys):
    _, text, _ = submit(capsys, FLOW, "--nodes", 1, "--dry-run", "devices.platform=gpu")
    assert "#SBATCH --gpus-per-node=4" in text
    assert "devices.platform=gpu" in text


def test_an_override_makes_an_ensemble_for_an_array_of_jobs(capsys):
    sweep = 'ensemble.sweep."equation.viscosity"=[1e-3, 2e-3]'
    code, text, _ = submit(
        capsys, FLOW, "--nodes", 1, "--dry-run", "--jobs", 2, sweep, "time.end=3", "output.directory=out/x"
    )
    assert code == 0
    assert "#SBATCH --array=0-1" in text
    share = '--jobs 2 --job "$SLURM_ARRAY_TASK_ID"'
    assert f"set -- {FLOW} '{sweep}' time.end=3 output.directory=out/x {share}" in text.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("words", "jobs"), [([], 3), (['ensemble.sweep."equation.viscosity"=[1,2]'], 5)])
def test_jobs_share_the_members_of_an_ensemble(capsys, tmp_path, words, jobs):
    run_file = tmp_path / "many.toml"
    run_file.write_text(Path(FLOW).read_text() + MANY)
    code, text, error = submit(capsys, run_file, "--nodes", 1, "--dry-run", "--jobs", jobs, *words)
    assert code == 0, error
    assert f"#SBATCH --array=0-{jobs - 1}" in text.splitlines()
    assert f' --jobs {jobs} --job "$SLURM_ARRAY_TASK_ID"\n' in text


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--jobs", 2, SWEEP]], ids=["run", "ensemble"])
def test_a_directory_with_another_run_is_refused(capsys, tmp_path, words):
    """The job would find that out too, once it had waited in the queue."""
    folder = tmp_path / "member-0001" if words else tmp_path
    folder.mkdir(exist_ok=True)
    if words:
        (tmp_path / "config.toml").write_text(assemble.read_run_file(FLOW, [SWEEP]).to_toml())
    (folder / "config.toml").write_text(assemble.read_run_file(FLOW, ["equation.viscosity=0.5"]).to_toml())
    code, _, error = submit(capsys, FLOW, "--nodes", 1, "--dry-run", *words, f"output.directory={tmp_path}")
    assert code == 2
    assert "equation.viscosity: 0.5" in error


REFUSED = {
    "a wrong run file": (["time.stop=1"], "time.stop: unknown key"),
    "one wrong value of a sweep": (["ensemble.sweep={'equation.viscosity'=[1e-3,-1]}"], "viscosity"),
    "too many devices": (["--nodes", "100", "--site", "cuda"], r"possible are 1 to 43.*; --nodes 1 to 10 can"),
    "too many processes": (["--nodes", "50"], "--nodes 50: .*possible are 1 to 43"),
    "groups on part of the processes": (
        ["--nodes", "3", "--site", "cuda", "devices.groups={ step = 6, analyse = 2 }"],
        "in 12 processes of 1 devices each: every process must have devices of one group; --nodes 2 can",
    ),
    "groups that share a process": (
        ["--nodes", "2", "devices.groups={ step = 2, analyse = 3 }"],
        "in 2 processes: each process must have devices of one group.*; --nodes 1 can",
    ),
    "no nodes": (["--nodes", "0"], "--nodes 0: 1 or more is needed"),
    "no chain": (["--chain", "0"], "--chain 0: 1 or more is needed"),
    "a time": (["--time", "soon"], "--time soon: HH:MM:SS is needed"),
    "seconds beyond a minute": (["--time", "99:99"], "--time 99:99: HH:MM:SS is needed"),
    "hours beyond a day": (["--time", "1-24:00:00"], "--time 1-24:00:00: HH:MM:SS is needed"),
    "a key with two values": (["time.end=1", "time.end=2"], "'time.end=1' and 'time.end=2': one key with two values"),
    "no jobs": ([SWEEP, "--jobs", "0"], "--jobs 0: 1 or more is needed"),
    "jobs of one run": (["--jobs", "2"], r"--jobs 2: the run file has no members .*; \[ensemble\] is needed"),
    "more jobs than members": ([SWEEP, "--jobs", "3"], "--jobs 3: 2 members are enough for 2"),
    "more jobs than batches": (
        ["ensemble.sweep={'time.end'=[1,2,3]}", "--jobs", "3", "ensemble.together=2"],
        "--jobs 3: 3 members in batches of ensemble.together = 2 are enough for 2 at most",
    ),
    "no cores": (["--cpus-per-task", "0"], "--cpus-per-task 0: 1 or more is needed"),
    "retries in a chain": (["--retries", "1", "--chain", "2"], "the next link of a chain resumes anyway"),
    "a partition": (["--partition", "a b"], "--partition 'a b': letters, digits"),
    "a newline": (["title=a\nb"], "the command line 'title=a.nb': one line"),
    "a site": (["--site", "juwel"], "--site juwel: unknown site"),
    "another platform": (["--site", "cuda", "devices.platform=cpu"], "'cpu', but the site cuda is for 'gpu'"),
    "a TPU": (["devices.platform=tpu"], "devices.platform = 'tpu': Slurm's scripts are for cpu and gpu"),
    "no sbatch": ([], "there is no sbatch here"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_run_is_refused_before_it_is_queued(capsys, case, monkeypatch, tmp_path):
    words, message = REFUSED[case]
    monkeypatch.setenv("PATH", str(tmp_path))
    nodes = [] if "--nodes" in words else ["--nodes", "1"]
    code, _, error = submit(capsys, FLOW, *nodes, *words)
    assert code == 2
    assert re.search(message, error), error
    assert error.count("\n") == 1
