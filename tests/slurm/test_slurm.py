"""Batch scripts and `slabwave submit` on a real Slurm of four nodes."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import last_of_each, read_checkpoint

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "multiprocess"))

from local_slurm import LocalSlurm, what_is_missing
from mpi_launchers import BOTH

from solver.doctor import read_report

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
CASE = ROOT / "runs" / "allen_cahn.toml"
SMALL = [
    "grid.shape=[16,12]", "grid.lengths=[6,6]", "time.step=0.01", "output.snapshots=false", "output.spectra=false",
    "output.series={every_steps=1}", "output.checkpoints={every_steps=10,keep=9}",
]  # fmt: skip
LONG = "time.end=1e6"
SITE = 'platform = "cpu"\npartition = "test"\ncores_per_node = 2\n[environment]\nOF_THE_SITE = "seen"\n'
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(what_is_missing() is not None, reason=f"no Slurm: {what_is_missing()}"),
]


@pytest.fixture(scope="module")
def slurm():
    cluster = LocalSlurm(nodes=4, cpus=2, gpus=2)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def export():
    """For sbatch: the Python and the sources that the tests run with."""
    assert (SCRIPTS / "slabwave").exists(), "the package must be installed where the tests run"
    return f"--export=ALL,PYTHONPATH={ROOT},PATH={SCRIPTS}:{os.environ['PATH']}"


def batch(slurm, tmp_path, *overrides, nodes=2):
    """Through slurm/cpu.sbatch."""
    return slurm.submit(
        export(), f"--nodes={nodes}", "--cpus-per-task=2", f"--output={tmp_path}/out.txt",
        str(ROOT / "slurm" / "cpu.sbatch"), str(CASE), f"output.directory={tmp_path}/run",
        *last_of_each([*SMALL, *overrides]),
        cwd=tmp_path,
    )  # fmt: skip


def submit(slurm, tmp_path, *words, nodes=2, **variables):
    """`slabwave submit`; returns the numbers of the jobs."""
    (tmp_path / "site.toml").write_text(SITE)
    command = [
        str(SCRIPTS / "slabwave"), "submit", str(CASE), "--nodes", str(nodes), "--site", "site.toml",
        *last_of_each([f"output.directory={tmp_path}/run", *SMALL, *words]),
    ]  # fmt: skip
    done = slurm.run(*command, cwd=tmp_path, also={"PYTHONPATH": str(ROOT), **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def shell(slurm, tmp_path, lines, *options):
    """A job of these lines."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n" + lines)
    return slurm.submit(export(), f"--output={tmp_path}/out.txt", *options, str(tmp_path / "job.sh"), cwd=tmp_path)


def run_command(tmp_path, *overrides, name="run"):
    return " ".join(
        [
            "slabwave",
            "run",
            str(CASE),
            *(f"'{w}'" for w in last_of_each([*SMALL, *overrides, f"output.directory={tmp_path}/{name}"])),
        ]
    )


def wait_for(look, timeout=120):
    deadline = time.monotonic() + timeout
    while not (result := look()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return result


def tasks(directory):
    """Processes whose command line names this run's directory and is slabwave's own."""
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"output.directory={directory}".encode() in words and b"python" in words[0]:
            processes.append(int(entry.name))
    return processes


def both(processes):
    return processes if len(processes) == 2 else None


def environment_of(pid):
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def checkpoint(directory, step):
    return read_checkpoint(directory / "checkpoints" / f"step-{step:08d}")[0]


def test_a_run_on_two_nodes_survives_a_signal_before_it_listens(slurm, tmp_path):
    for _ in range(3):
        job = batch(slurm, tmp_path, "time.end=0.2")
        wait_for(lambda: len(tasks(tmp_path / "run")) == 2)
        slurm.run("scancel", "--signal=USR1", job)
        ended = slurm.wait(job, ENDED)
        output = (tmp_path / "out.txt").read_text()
        if "while waiting for process" not in output:  # on a busy machine it may come when the first listens
            break
    assert (ended["JobState"], ended["ExitCode"]) == ("COMPLETED", "0:0"), output
    first = output[output.index("processes:") :].splitlines()
    assert re.match(r"processes: 2 by slurm at n1:\d+; this is 0 on n1", first[0])
    assert "devices: 4 in use of 4" in first[1]
    assert f"SLURM_JOB_ID={job}" in first[2]
    assert output.count("finished: step 20") == 1
    folder = tmp_path / "run" / "checkpoints" / "step-00000020"
    assert {p.name for p in folder.glob("process-*.h5")} == {"process-00000.h5", "process-00001.h5"}


def test_a_killed_task_ends_the_job_and_the_same_line_continues_it_to_the_bit(slurm, tmp_path):
    (tmp_path / "whole").mkdir()
    whole = batch(slurm, tmp_path / "whole", "time.end=2")
    job = batch(slurm, tmp_path, "time.end=2")
    wait_for(lambda: (tmp_path / "run" / "checkpoints" / "step-00000010").exists())
    victim = next(p for p in tasks(tmp_path / "run") if environment_of(p).get("SLURM_PROCID") == "1")
    os.kill(victim, signal.SIGKILL)
    began = time.monotonic()
    ended = slurm.wait(job, ENDED, timeout=60)
    assert time.monotonic() - began < 45, "the others must not wait for the dead one"
    assert ended["JobState"] != "COMPLETED"
    again = batch(slurm, tmp_path, "time.end=2")
    ended = slurm.wait(again, ENDED)
    output = (tmp_path / "out.txt").read_text()
    assert ended["JobState"] == "COMPLETED", output
    assert re.search(r"continuing from step-00000[01]\d0", output)
    slurm.wait(whole, ENDED)
    a, b = (checkpoint(folder / "run", 200) for folder in (tmp_path, tmp_path / "whole"))
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])
    series = [(folder / "run" / "series.csv").read_text() for folder in (tmp_path, tmp_path / "whole")]
    assert series[0] == series[1]


def test_a_stopped_job_is_queued_again_until_the_limit(slurm, tmp_path):
    (job,) = submit(slurm, tmp_path, LONG, SLABWAVE_RESTARTS="1")
    output = tmp_path / f"slurm-{job}.out"
    wait_for(lambda: (tmp_path / "run" / "checkpoints" / "step-00000010").exists())
    assert slurm.state(job)["Partition"] == "test"
    assert environment_of(tasks(tmp_path / "run")[0])["OF_THE_SITE"] == "seen"
    slurm.run("scancel", "--signal=USR1", job)
    wait_for(lambda: "continuing from step-" in output.read_text() and tasks(tmp_path / "run"))
    wait_for(lambda: output.read_text().rpartition("continuing")[2].count("step ") > 0)
    assert slurm.state(job)["Restarts"] == "1"
    slurm.run("scancel", "--signal=USR1", job)
    ended = slurm.wait(job, ENDED)
    text = output.read_text()
    assert (ended["JobState"], ended["ExitCode"]) == ("FAILED", "75:0"), text
    assert text.count("stopped early by") == 2, text  # by SIGUSR1, or the signal to the other process came first
    assert "not queued again after 1 restarts (SLABWAVE_RESTARTS=1)" in text


def test_a_chain_continues_the_run_job_by_job(slurm, tmp_path):
    first, second = submit(slurm, tmp_path, LONG, "--chain", "2")
    assert slurm.state(second)["Dependency"].startswith(f"afterany:{first}")
    wait_for(lambda: (tmp_path / "run" / "checkpoints" / "step-00000010").exists())
    slurm.run("scancel", "--signal=USR1", first)
    ended = slurm.wait(first, ENDED)
    assert (ended["ExitCode"], ended["Restarts"], ended["Requeue"]) == ("75:0", "0", "0")
    output = tmp_path / f"slurm-{second}.out"
    wait_for(lambda: output.exists() and "continuing from step-" in output.read_text())
    slurm.run("scancel", "--signal=KILL", second)
    slurm.wait(second, ENDED)


def test_an_array_of_jobs_shares_the_members_of_an_ensemble(slurm, tmp_path):
    """Both jobs start at one time; the one that is stopped is queued again, and goes on with its own member."""
    (job,) = submit(
        slurm, tmp_path, "time.end=2", "--jobs", "2", 'ensemble.sweep."equation.wall_width"=[0.1, 0.2]', nodes=1
    )
    members = [tmp_path / "run" / f"member-{number:04d}" for number in range(2)]
    wait_for(lambda: (members[1] / "checkpoints" / "step-00000010").exists())
    slurm.run("scancel", "--signal=USR1", f"{job}_1")
    fields = []
    for element, value in enumerate(("0.1", "0.2")):
        wait_for(lambda i=element: slurm.state(f"{job}_{i}").get("JobState") in ENDED)
        output = (tmp_path / f"slurm-{job}_{element}.out").read_text()
        assert slurm.state(f"{job}_{element}")["JobState"] == "COMPLETED", output
        assert slurm.state(f"{job}_{element}")["Restarts"] == str(element)
        assert "finished: step 200" in output
        assert f"wall_width = {value}" in (members[element] / "config.toml").read_text()
        assert members[1 - element].name not in output
        arrays = checkpoint(members[element], 200)
        fields.append(next(value for name, value in arrays.items() if name.startswith("field/")))
    assert np.abs(fields[0] - fields[1]).max() > 1e-6
    assert (tmp_path / "run" / "members.csv").read_text().splitlines()[1:] == ["member-0000,0.1", "member-0001,0.2"]


def test_two_steps_at_once_uneven_and_with_pmi(slurm, tmp_path):
    """Each step's processes meet one another: three on two nodes, and two that srun gave PMI's variables."""
    step = "srun --overlap --kill-on-bad-exit=1 -N2 --cpus-per-task=1 -w"
    lines = [
        f"{step} n1,n2 -n3 {run_command(tmp_path, 'time.end=0.2', 'devices.virtual=1', name='a')} >a.txt 2>&1 &",
        f"{step} n1,n2 -n2 --mpi=pmi2 {run_command(tmp_path, 'time.end=0.3', name='b')} >b.txt 2>&1 &",
        "wait",
    ]
    job = shell(slurm, tmp_path, "\n".join(lines) + "\n", "--nodes=2", "--ntasks-per-node=2")
    slurm.wait(job, ENDED)
    a, b = (tmp_path / "a.txt").read_text(), (tmp_path / "b.txt").read_text()
    assert "finished: step 20" in a, a
    assert "finished: step 30" in b, b
    places = [re.search(r"joining: (\d) processes by slurm at (n1:\d+)", text).groups() for text in (a, b)]
    assert [count for count, _ in places] == ["3", "2"]
    assert places[0][1] != places[1][1]
    assert "devices: 3 in use of 3" in a


def test_processes_that_would_run_alone_and_idle_gpus_are_refused(slurm, tmp_path):
    command = run_command(tmp_path, "time.end=0.2")
    lines = [f"{command} >alone.txt 2>&1; echo alone $?", f"srun {command} >gpus.txt 2>&1; echo gpus $?"]
    options = ("--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=2")
    job = shell(slurm, tmp_path, "\n".join(lines) + "\n", *options)
    slurm.wait(job, ENDED)
    assert (tmp_path / "out.txt").read_text().splitlines()[:1] == ["alone 2"]
    assert "has 2 tasks, but this process was started without srun" in (tmp_path / "alone.txt").read_text()
    assert "gpus 2" in (tmp_path / "out.txt").read_text()
    message = "Slurm allocated 2 GPUs on n1, but JAX finds none and would compute on the CPU"
    assert message in (tmp_path / "gpus.txt").read_text()
    assert not (tmp_path / "run").exists()


def test_the_doctor_on_two_nodes(slurm, tmp_path):
    """Once well, and once in an allocation whose GPUs nobody uses."""
    doctor = "srun --overlap --kill-on-bad-exit=1 slabwave doctor --devices 2"
    lines = [
        f"{doctor} --platform cpu {tmp_path} >well.txt 2>&1; echo well $?",
        f"{doctor} {tmp_path} --json {tmp_path}/idle.json >idle.txt 2>&1; echo idle $?",
    ]
    options = ("--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=2", "--gpus-per-node=2")
    slurm.wait(shell(slurm, tmp_path, "\n".join(lines) + "\n", *options), ENDED)
    well, idle = (tmp_path / "well.txt").read_text(), (tmp_path / "idle.txt").read_text()
    assert (tmp_path / "out.txt").read_text().split() == ["well", "0", "idle", "1"], well + idle
    assert re.search(r"ok    launch      2 processes by slurm on 2 hosts \(n1, n2\); they meet at n1:\d+", well), well
    for where in ("within a host, 2 devices", "across hosts, 2 devices", "over all devices, 4 devices"):
        assert re.search(rf"ok    all-to-all  {where} .* all words right", well), well
    assert "ok    shared      a file that n1 made is seen on all hosts" in well
    assert "ok    addresses   all of n1, n2 are 127" in well
    assert re.search(r"ok    clocks      within \S+ s of that of n1", well)
    report = read_report(tmp_path / "doctor.json")
    assert [(host.name, host.processes) for host in report.hosts] == [("n1", [0]), ("n2", [1])]
    assert min(report.bandwidth.within_host, report.bandwidth.across_hosts, report.bandwidth.disk_write) > 0
    assert "FAIL  launch      Slurm allocated 2 GPUs on n1, but JAX finds none" in idle
    assert "FAIL  launch      Slurm allocated 2 GPUs on n2, but JAX finds none" in idle
    assert "ok    all-to-all  across hosts" in idle, "the rest is examined all the same"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".slabwave")]


@pytest.mark.parametrize("mpi", BOTH, ids=lambda mpi: mpi.name)
def test_mpiexec_inside_a_job_counts_as_mpi(slurm, tmp_path, mpi):
    if mpi.what_is_missing() is not None:
        pytest.skip(f"no MPI: {mpi.what_is_missing()}")
    variables = {k: mpi.environment()[k] for k in ("LD_LIBRARY_PATH", "MPI4PY_LIBMPI")}
    exports = "".join(f"export {name}={value}\n" for name, value in variables.items())
    command = run_command(tmp_path, "time.end=0.2", "devices.virtual=2")
    options = " ".join(option for option in mpi.options if option != "--oversubscribe")  # one on each node
    lines = f"{exports}export PATH={mpi.mpiexec.parent}:$PATH\nmpiexec {options} -n 2 {command}\n"
    job = shell(slurm, tmp_path, lines, "--nodes=2", "--ntasks-per-node=1")
    hosts = {environment_of(pid).get("SLURMD_NODENAME") for pid in wait_for(lambda: both(tasks(tmp_path / "run")))}
    assert hosts == {"n1", "n2"}
    ended = slurm.wait(job, ENDED)
    output = (tmp_path / "out.txt").read_text()
    assert ended["JobState"] == "COMPLETED", output
    assert re.search(r"joining: 2 processes by (Open MPI|MPICH) at", output)
    assert output.count("finished: step 20") == 1
