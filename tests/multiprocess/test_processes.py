"""Several real processes that meet by explicit address, two virtual devices each."""

import re
import signal
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers import last_of_each, read_checkpoint
from zygote import slabwave, zygote

from solver.cli.main import main
from solver.cluster.addresses import free_port

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "runs"
TAYLOR_GREEN = [str(RUNS / "taylor_green.toml"), "grid.shape=[48,32,40]", "time.stepper=ifrk2", "time.end=0.2"]
FUZZY = [str(RUNS / "fuzzy_dark_matter.toml"), "grid.shape=[16,16,12]", "grid.lengths=[12,12,12]", "time.end=0.4"]
FLAME = [str(RUNS / "kuramoto_sivashinsky.toml"), "grid.shape=[48,40]", "grid.lengths=[12,10]", "time.end=1"]

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]


def start(words, processes=2, devices=2, script="", each=lambda i: [], number=lambda i: i):
    """Processes of one run that meet at an address; of a script in place of the command, if there is one."""
    address = ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", str(processes)]
    return [
        zygote().start(
            [*last_of_each([*words, f"devices.virtual={devices}", *each(i)]), *address, "--process", str(number(i))],
            script=script,
        )
        for i in range(processes)
    ]


def start_script(script, processes, *words):
    """Processes that execute a script, each with a port where they meet and with its number as last words."""
    port = str(free_port())
    return [zygote().start([port, *words, str(i)], script=script) for i in range(processes)]


def finish(started, timeout=200):
    try:
        outputs = [process.communicate(timeout=timeout) for process in started]
    finally:
        for process in started:
            process.kill()
    return [p.returncode for p in started], [o for o, _ in outputs], [e for _, e in outputs]


def alone(words, devices, directory):
    done = slabwave("run", *words, f"devices.virtual={devices}", f"output.directory={directory}", timeout=200)
    assert done.returncode == 0, done.stderr


def newest(directory):
    return max((directory / "checkpoints").glob("step-*"))


def field(checkpoint):
    arrays = read_checkpoint(checkpoint)[0]
    return next(value for name, value in arrays.items() if name.startswith("field/"))


ENSEMBLE = """
[ensemble]
sweep = { "equation.viscosity" = [1e-3, 1e-2] }
[grid]
shape = [24, 20]
[equation]
name = "vorticity"
[initial]
name = "random-phase"
[time]
stepper = "ifrk2"
step = 0.01
end = 0.1
[output.well]
every_time = 0.05
fields = ["velocity"]
split = [1.0, 0.0, 0.0]
"""


def test_an_ensemble_on_two_processes_stops_and_goes_on(tmp_path):
    (tmp_path / "many.toml").write_text(ENSEMBLE)
    words = [str(tmp_path / "many.toml"), f"output.directory={tmp_path}/two"]
    (tmp_path / "two" / "member-0001").mkdir(parents=True)
    (tmp_path / "two" / "member-0001" / "stop").touch()
    codes, _, errors = finish(start(["run", *words]))
    assert codes == [75, 75], errors
    codes, outputs, errors = finish(start(["run", *words, "--resume"]))
    assert codes == [0, 0], errors
    assert "member-0000, 1 of 2" not in outputs[0], "it was over"
    alone(words[:1], 1, tmp_path / "one")
    for name in ("member-0000", "member-0001"):
        two, one = (field(newest(tmp_path / which / name)) for which in ("two", "one"))
        np.testing.assert_allclose(two, one, atol=1e-12 * np.abs(one).max())
    assert main(["dataset", "check", str(tmp_path / "two")]) == 0
    values = []
    for name in ("two", "one"):
        with h5py.File(tmp_path / name / name / f"data/train/{name}-train-0000.hdf5") as file:
            values.append(file["t1_fields/velocity"][:])
    assert values[0].shape == (2, 3, 24, 20, 2)
    np.testing.assert_allclose(*values, atol=1e-6 * np.abs(values[1]).max())


COUNTED = """
import jax
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if event.endswith("/cache_hits") else None)
from solver.cli.main import main
import sys
code = main(sys.argv[1:])
print("programs found:", len(hits))
sys.exit(code)
"""


def test_each_process_finds_the_programs_of_an_earlier_job(tmp_path):
    for name in ("first", "again"):
        words = ["run", *TAYLOR_GREEN, "time.end=0.02", f"output.directory={tmp_path}/{name}"]
        codes, outputs, errors = finish(start(words, script=COUNTED))
        assert codes == [0, 0], errors
    assert min(int(re.search(r"programs found: (\d+)", said)[1]) for said in outputs) > 0
    np.testing.assert_array_equal(field(newest(tmp_path / "first")), field(newest(tmp_path / "again")))


@pytest.mark.parametrize("words", [TAYLOR_GREEN, FUZZY, FLAME], ids=["flow", "wave", "flame"])
def test_two_processes_agree_with_one(tmp_path, words):
    codes, outputs, errors = finish(start(["run", *words, f"output.directory={tmp_path}/two"]))
    assert codes == [0, 0], errors
    assert "processes: 2 by explicit address" in outputs[0]
    assert "devices: 4 in use of 4" in outputs[0]
    assert "Gloo" not in outputs[0] + outputs[1]
    assert "finished" not in outputs[1], "the first process alone writes the log"
    alone(words, 1, tmp_path / "one")
    of_two, of_one = newest(tmp_path / "two"), newest(tmp_path / "one")
    assert of_two.name == of_one.name == "step-00000020"
    assert sorted(p.name for p in of_two.glob("*.h5")) == ["process-00000.h5", "process-00001.h5"]
    assert np.abs(field(of_two) - field(of_one)).max() < 1e-12 * np.abs(field(of_one)).max()
    final = f"snapshots/{of_one.name}.h5"
    with h5py.File(tmp_path / "two" / final) as a, h5py.File(tmp_path / "one" / final) as b:
        assert set(a) == set(b)
        for name in a:
            if a[name].dtype.kind == "O":  # labels of components
                np.testing.assert_array_equal(a[name][()], b[name][()])
            else:
                np.testing.assert_allclose(a[name][()], b[name][()], atol=1e-12)


def test_a_killed_process_ends_all_and_the_run_continues_to_the_same_bits(tmp_path):
    words = [*TAYLOR_GREEN, "time.end=0.6", "output.checkpoints={every_steps=10,keep=2}"]
    codes, _, errors = finish(start(["run", *words, f"output.directory={tmp_path}/whole"]))
    assert codes == [0, 0], errors
    broken = start(["run", *words, f"output.directory={tmp_path}/run"])
    deadline = time.monotonic() + 90
    while not (tmp_path / "run" / "checkpoints" / "step-00000010").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    broken[1].send_signal(signal.SIGKILL)
    began = time.monotonic()
    codes, _, _ = finish(broken, timeout=60)
    assert time.monotonic() - began < 45, "its connection ends with it; the stall limit is far away"
    assert codes[0] not in (0, 2, 3, 75)
    codes, outputs, errors = finish(start(["run", *words, f"output.directory={tmp_path}/run", "--resume"]))
    assert codes == [0, 0], errors
    assert re.search(r"continuing from step-0000(0010|0020|0030|0040|0050)", outputs[0])
    np.testing.assert_array_equal(field(newest(tmp_path / "run")), field(newest(tmp_path / "whole")))
    assert (tmp_path / "run" / "series.csv").read_text() == (tmp_path / "whole" / "series.csv").read_text()


def test_different_run_files_are_refused_and_nothing_is_written(tmp_path):
    started = start(
        ["run", *TAYLOR_GREEN, f"output.directory={tmp_path}/run"], each=lambda i: [f"equation.viscosity={0.01 + i}"]
    )
    codes, _, errors = finish(started, timeout=90)
    assert codes == [2, 2]
    assert any("process 1 was given another run file than process 0: 'viscosity = 1.01'" in e for e in errors)
    assert not (tmp_path / "run").exists()


FAULT = """
import sys
import solver.io.checkpoint_writing as checkpoints
import jax
original = checkpoints._write_own_file
def failing(*arguments):
    if jax.process_index() == {process}:
        raise RuntimeError("the disk of process {process} is on fire")
    return original(*arguments)
checkpoints._write_own_file = failing
from solver.cli.main import entry
entry()
"""


@pytest.mark.parametrize("process", [0, 1])
def test_an_error_in_one_process_ends_all_with_its_message(tmp_path, process):
    words = ["run", *TAYLOR_GREEN, "output.checkpoints.every_steps=5", f"output.directory={tmp_path}/run"]
    began = time.monotonic()
    codes, _, errors = finish(start(words, script=FAULT.format(process=process)), timeout=90)
    assert codes == [1, 1]
    assert "RuntimeError: the disk of process" in errors[process]
    assert f"process {process} failed: RuntimeError: the disk of process {process} is on fire" in errors[1 - process]
    assert time.monotonic() - began < 60
    assert not list((tmp_path / "run" / "checkpoints").glob("step-*"))


def test_a_signal_to_one_process_stops_all_with_a_checkpoint(tmp_path):
    words = ["run", *TAYLOR_GREEN, "time.end=90", "output.checkpoints.every_steps=5"]
    started = start([*words, f"output.directory={tmp_path}/run"])
    deadline = time.monotonic() + 90
    while not (tmp_path / "run" / "checkpoints" / "step-00000005").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    started[1].send_signal(signal.SIGTERM)
    codes, outputs, errors = finish(started, timeout=60)
    assert codes == [75, 75], errors
    step = int(re.search(r"stopped early by .* at step (\d+)", outputs[0])[1])
    assert (tmp_path / "run" / "checkpoints" / f"step-{step:08d}" / "manifest.json").exists()


OUTSIDE = """
import sys, jax, numpy as np
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)
port, process = sys.argv[1:]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(process))
import solver as sw
from solver.grid import local_slices
grid = sw.Grid((16, 12, 8))
whole = np.random.default_rng(0).normal(size=(2, 16, 12, 8))
mine = whole[(slice(None), *local_slices(grid))]
assert mine.shape == (2, 8, 12, 8)
for made in (sw.from_global(whole, grid), sw.from_process_local(mine, grid),
             sw.from_device_pieces(np.split(mine, 2, axis=1), grid)):
    assert not made.is_fully_addressable
    np.testing.assert_array_equal(sw.gather(made), whole)
try:
    sw.device_mesh([0, 1])
except ValueError as error:
    assert "leave processes [1] without a device" in str(error)
else:
    raise AssertionError
velocity = sw.from_global(np.random.default_rng(1).normal(size=(3, 16, 12, 8)), grid)
flow = sw.equations.NavierStokes(grid, 0.1)
fields = flow.from_physical({"velocity": velocity})  # asked for outside of jit: they cannot be iterated there
energy = float(flow.report.columns(fields)["energy"])
np.testing.assert_allclose(sw.diagnostics.mean_square(fields["velocity"], grid) / 2, energy)
np.testing.assert_allclose(float(sw.diagnostics.shell_spectrum(fields["velocity"], grid).sum()), energy)
assert float(flow.rate(fields)) > 0
print("OK")
"""


TRANSFORMS = """
import sys, jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)
port, process = sys.argv[1:]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(process))
import solver as sw
u = np.random.default_rng(0).normal(size=(2, 15, 9, 14))
dense = np.fft.rfftn(u, axes=(1, 2, 3)) / u[0].size
for shape in (None, (2, 2)):  # slabs that do not divide 15 planes; pencils that cross the processes
    mesh = sw.device_mesh(shape=shape)
    grid = sw.Grid(u.shape[1:], mesh=mesh, dealias="none")
    expected = dense.transpose(0, 2, 3, 1)
    for engine in ("slabwave", "shard_map"):
        transform = sw.fft.Transform(grid, sw.fft.Method(engine))
        u_hat = transform.forward(sw.from_global(u, grid))
        assert not u_hat.is_fully_addressable
        kept = sw.gather(u_hat)[:, : expected.shape[1], : expected.shape[2]]
        np.testing.assert_allclose(kept, expected, atol=1e-15)
        np.testing.assert_allclose(sw.gather(transform.inverse(u_hat)), u, atol=1e-14)
        weight = lambda v: jnp.sum(grid.mode_weights() * jnp.abs(transform.forward(v)) ** 2)
        gradient = jax.jit(jax.grad(weight), out_shardings=grid.physical_sharding(4))(sw.from_global(u, grid))
        np.testing.assert_allclose(sw.gather(gradient), 2 * u / u[0].size, atol=1e-15)
    free = sw.fft.rfftn(u, norm="forward", mesh=mesh)
    np.testing.assert_allclose(sw.gather(free), expected, atol=1e-15)
even = sw.Grid((16, 8, 8))
v = np.random.default_rng(1).normal(size=(16, 8, 8))
np.testing.assert_array_equal(sw.gather(sw.fft.roll(sw.from_global(v, even), 5, even)), np.roll(v, 5, 0))
print("OK")
"""


@pytest.mark.parametrize("script", [OUTSIDE, TRANSFORMS], ids=["fields from outside data", "transforms"])
def test_arrays_span_processes(script):
    started = start_script(script, 2)
    codes, outputs, errors = finish(started, timeout=150)
    assert codes == [0, 0], errors
    assert all("OK" in o for o in outputs)
