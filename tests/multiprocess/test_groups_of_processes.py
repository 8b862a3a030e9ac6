"""`devices.groups` in a job of several processes: some step, others carry out the outputs."""

import signal
import time

import numpy as np
import pytest
from helpers import read_checkpoint, values_of_file
from test_processes import alone, finish, start, start_script

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

RUN = """
[grid]
shape = [24, 20]
[equation]
name = "vorticity"
viscosity = 0.005
[forcing]
name = "ornstein-uhlenbeck"
rms = 0.5
[initial]
name = "random-phase"
[time]
stepper = "cnab2"
cfl = 0.5
max_step = 0.01
end = 0.3
[output]
series = { every_steps = 5 }
spectra = { every_steps = 10 }
snapshots = { every_time = 0.1 }
statistics = { every_time = 0.3, sample_steps = 5, fields = ["vorticity"] }
checkpoints = { every_steps = 10, keep = 100 }
"""
ENSEMBLE = """
[ensemble]
members = 3
seed = 19
[ensemble.draw]
"random.seed" = "member"
"initial.energy" = { choice = [0.5, 1.0, 1e30] }
"equation.viscosity" = { uniform = [1e-3, 1e-2] }
"""
WELL = """
[output.well]
every_time = 0.1
fields = ["vorticity"]
split = [1.0, 0.0, 0.0]
dataset = "vortices"
"""
SLOW = """
import dataclasses, time
import solver as sw

@dataclasses.dataclass(frozen=True)
class Slow(sw.outputs.Output):
    name = "slow"
    keeps_bits = True

    def write(self, run, state):
        time.sleep(0.05)


@dataclasses.dataclass(frozen=True)
class Viscosity(sw.outputs.Output):
    name = "viscosity"

    def write(self, run, state):
        (run.directory.path / "viscosity").write_text(repr(float(run.equation.viscosity)))


@dataclasses.dataclass(frozen=True)
class Failing(sw.outputs.Output):
    name = "failing"

    def write(self, run, state):
        if int(state.step) == 6:
            raise RuntimeError("the ink has run out")
"""


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "run.toml"
    path.write_text(RUN)
    (path.parent / "own.py").write_text(SLOW)
    (path.parent / "slow.toml").write_text(f'{RUN}[output."own.py:Slow"]\nevery_steps = 1\n')
    members = RUN.replace("cfl = 0.5\nmax_step = 0.01", "step = 0.01") + ENSEMBLE + WELL
    own = "".join(f'[output."own.py:{name}"]\nevery_steps = 1\n' for name in ("Slow", "Viscosity"))
    (path.parent / "members.toml").write_text(members + own)
    (path.parent / "failing.toml").write_text(f'{RUN}[output."own.py:Failing"]\nevery_steps = 2\n')
    return path


@pytest.fixture(scope="module")
def whole(run_file):
    """The run on the devices that step, in one process."""
    alone([str(run_file)], 2, run_file.parent / "whole")
    return run_file.parent / "whole"


def started(run_file, folder, *words, each=2):
    """Processes that step and processes that analyse, as many of each, with one device."""
    groups = f"devices.groups={{ step = {each}, analyse = {each} }}"
    return start(["run", str(run_file), groups, f"output.directory={folder}", *words], processes=2 * each, devices=1)


def checkpoint_of(folder, step):
    path = folder / "checkpoints" / f"step-{step:08d}"
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path


def check_the_same_run(folder, whole, extra=()):
    names = {path.name for path in (whole / "checkpoints").iterdir()}
    made = {path.name for path in (folder / "checkpoints").glob("step-*")}
    assert made - set(extra) == names
    for name in names:
        (first, manifest), (second, other) = (read_checkpoint(f / "checkpoints" / name) for f in (whole, folder))
        assert first.keys() == second.keys()
        for entry in first:
            np.testing.assert_array_equal(first[entry], second[entry])
        assert manifest["values"] == other["values"]
    snapshots = sorted(path.name for path in (whole / "snapshots").glob("step-*.h5"))
    assert len(snapshots) == 4
    for name in snapshots:
        first, second = (values_of_file(f / "snapshots" / name) for f in (whole, folder))
        np.testing.assert_array_equal(first["vorticity"], second["vorticity"])
    rows = [np.genfromtxt(f / "series.csv", delimiter=",", skip_header=2) for f in (whole, folder)]
    np.testing.assert_allclose(*rows, rtol=1e-9, atol=1e-12)
    for path in ("spectra.h5", "statistics/spectra.h5"):
        first, second = values_of_file(whole / path), values_of_file(folder / path)
        assert first.keys() == second.keys()
        for entry in first:
            np.testing.assert_allclose(second[entry], first[entry], rtol=1e-9, atol=1e-15)


def test_killed_where_it_analyses_and_continued_it_is_the_run_of_one_process(run_file, whole, tmp_path):
    processes = started(run_file.with_name("slow.toml"), tmp_path / "run")
    assert checkpoint_of(tmp_path / "run", 10).exists()
    processes[3].send_signal(signal.SIGKILL)
    codes, _, errors = finish(processes, timeout=60)
    assert not set(codes) & {0, 75}, errors
    codes, outputs, errors = finish(started(run_file.with_name("slow.toml"), tmp_path / "run", "--resume"))
    assert codes == [0, 0, 0, 0], errors
    assert "continuing from step-" in outputs[0]
    check_the_same_run(tmp_path / "run", whole)
    assert len(list((tmp_path / "run" / "checkpoints" / "step-00000010").glob("process-*.h5"))) == 2


def test_a_signal_where_it_analyses_stops_all_with_a_checkpoint(run_file, tmp_path):
    processes = started(run_file.with_name("slow.toml"), tmp_path / "run", "time.end=90", each=1)
    assert checkpoint_of(tmp_path / "run", 10).exists()
    processes[1].send_signal(signal.SIGTERM)
    codes, outputs, errors = finish(processes, timeout=60)
    assert codes == [75, 75], errors
    assert "stopped early by SIGTERM at step" in outputs[0]


def test_an_error_in_an_output_ends_all_with_its_message(run_file, tmp_path):
    codes, _, errors = finish(started(run_file.with_name("failing.toml"), tmp_path / "run", each=1), timeout=90)
    assert codes == [1, 1]
    assert "RuntimeError: the ink has run out" in errors[1]
    assert "failed: RuntimeError: the ink has run out" in errors[0]


def test_members_stopped_where_they_are_analysed_and_continued_are_those_of_one_process(run_file, tmp_path):
    """One blows up and is drawn again; a data set is made of all."""
    members, whole, folder = run_file.with_name("members.toml"), tmp_path / "whole", tmp_path / "run"
    alone([str(members)], 1, whole)
    assert [path.name for path in (whole / "blown-up").iterdir()] == ["member-0001-again-1"]
    processes = started(members, folder, each=1)
    assert checkpoint_of(folder / "member-0000", 10).exists()
    processes[1].send_signal(signal.SIGTERM)
    codes, _, errors = finish(processes, timeout=60)
    assert codes == [75, 75], errors
    at_stop = [path.name for path in (folder / "member-0000" / "checkpoints").glob("step-*[1-9]")]
    codes, outputs, errors = finish(started(members, folder, "--resume", each=1))
    assert codes == [0, 0], errors
    assert "blew up; it is drawn again" in outputs[0]
    for number in range(3):
        name = f"member-000{number}"
        check_the_same_run(folder / name, whole / name, extra=at_stop if number == 0 else ())
        assert (folder / name / "viscosity").read_text() == (whole / name / "viscosity").read_text()
    [made] = (whole / "vortices").rglob("*train*.hdf5")
    assert made.read_bytes() == (folder / made.relative_to(whole)).read_bytes()


def test_a_process_has_devices_of_one_group(run_file, tmp_path):
    words = ["run", str(run_file), "devices.groups={ step = 3, analyse = 1 }", f"output.directory={tmp_path}/run"]
    codes, _, errors = finish(start(words), timeout=60)
    assert codes == [2, 2]
    assert any("process 1 has devices of analyse and step; each process must have devices of one" in e for e in errors)
    assert not (tmp_path / "run").exists()


PIPELINE = """
import sys, jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)
port, folder, process = sys.argv[1:]
jax.distributed.initialize(f"127.0.0.1:{port}", 3, int(process))
import solver as sw
groups = sw.device_groups(flow=4, analysis=2)
shape, stepper = (20, 18), sw.steppers.CNAB2()

def flow_on(mesh):
    forcing = sw.forcing.OrnsteinUhlenbeck(rms=1.0)
    return sw.equations.NavierStokes(sw.Grid(shape, mesh=mesh), viscosity=0.02, forcing=forcing)

noise = np.random.default_rng(0).normal(size=(2, *shape))
if int(process) < 2:
    flow = flow_on(groups["flow"])
    u = sw.initial_state(flow, stepper, sw.from_global(noise, flow.grid), seed=3)
    for _ in range(20):
        u = sw.integrate(flow, stepper, u, step=0.01, steps=1)
        sw.send_state(u, flow, groups["analysis"])
    try:
        sw.hand_over(u, flow, groups["analysis"])
    except ValueError as error:
        assert "send_state and receive_state" in str(error)
    else:
        raise AssertionError
    checkpoints, options = [sw.outputs.Checkpoints()], {"step": 0.01, "end": 0.24, "directory": folder}
    try:
        sw.run(flow, stepper, u, **options, analyse=groups["analysis"])
    except ValueError as error:
        assert "devices of other processes" in str(error)
    else:
        raise AssertionError
    last = sw.run(flow, stepper, u, **options, outputs=checkpoints)
    kept = sw.io.load_checkpoint(folder + "/checkpoints/step-00000024", flow, stepper)
    np.testing.assert_array_equal(sw.gather(kept.field["velocity"]), sw.gather(last.field["velocity"]))
else:
    there = flow_on(groups["analysis"])
    own = sw.initial_state(there, stepper, jnp.asarray(noise), seed=3)
    for step in range(1, 21):
        u = sw.receive_state(there, stepper, groups["flow"])
        own = sw.integrate(there, stepper, own, step=0.01, steps=1)
        assert int(u.step) == step and float(u.t) == float(own.t)
        for got, expected in zip(jax.tree.leaves((u.field, u.history, u.forcing)),
                                 jax.tree.leaves((own.field, own.history, own.forcing)), strict=True):
            got, expected = np.asarray(got), np.asarray(expected)
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))
    later = sw.integrate(there, stepper, u, step=0.01, steps=1)
    assert int(later.step) == 21
    try:
        sw.send_state(u, there, groups["analysis"])
    except ValueError as error:
        assert "devices of both groups" in str(error)
    else:
        raise AssertionError
print("OK")
"""


def test_states_go_from_processes_to_others(tmp_path):
    processes = start_script(PIPELINE, 3, str(tmp_path / "run"))
    codes, outputs, errors = finish(processes, timeout=120)
    assert codes == [0, 0, 0], errors
    assert all(text.endswith("OK\n") for text in outputs)
