"""`slabwave run --profile N`: a trace that opens in Perfetto, and a run that does not notice it."""

import gzip
import json
from pathlib import Path

import jax
import numpy as np
import pytest
from helpers import last_of_each, read_checkpoint
from zygote import zygote

from solver.cli.main import main
from solver.cluster.addresses import free_port

ROOT = Path(__file__).parents[2]
DEMO = str(ROOT / "runs" / "taylor_green.toml")
SMALL = ["grid.shape=[24,16,20]", "time.end=0.12", "output.series.every_steps=2"]


@pytest.fixture
def run(tmp_path, capsys):
    """A run in a folder of its own on two of the eight devices: exit code, folder, lines, errors."""

    def run_named(name, *words):
        common = [*SMALL, "devices.use=[0,1]", f"output.directory={tmp_path / name}"]
        code = main(["run", DEMO, *last_of_each([*common, *words])])
        out, err = capsys.readouterr()
        return code, tmp_path / name, out, err

    return run_named


def events(path):
    with gzip.open(path) as file:
        return json.load(file)["traceEvents"]


def steps_in(trace):
    return [int(e["args"]["step_num"]) for e in trace if e.get("name") == "step" and e.get("ph") == "X"]


@pytest.mark.thorough
@pytest.mark.slow
def test_the_trace_has_the_steps_by_name_and_the_run_keeps_its_bits(run):
    code, folder, out, _ = run("traced", "--profile", "3")
    assert code == 0
    names = sorted(path.name for path in (folder / "profile").iterdir())
    assert names == [f"step-00000001-process-00000{ending}" for ending in (".json.gz", ".xplane.pb")]
    trace = events(folder / "profile" / names[0])
    assert steps_in(trace) == [2, 3, 4]
    named = {event.get("name", "") for event in trace}
    assert "outputs" in named
    assert any(name.startswith("fft") for name in named)
    assert any(name.startswith("all-to-all") for name in named)
    assert "profile/step-00000001-process-00000.json.gz" in out
    assert "ui.perfetto.dev" in out
    _, plain, out, _ = run("plain")
    assert not (plain / "profile").exists()
    assert (folder / "series.csv").read_bytes() == (plain / "series.csv").read_bytes()
    traced, other = (read_checkpoint(each / "checkpoints" / "step-00000012")[0] for each in (folder, plain))
    for name, values in traced.items():
        np.testing.assert_array_equal(values, other[name])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_continued_run_is_traced_too(run):
    run("continued", "time.end=0.06")
    code, folder, _, _ = run("continued", "--resume", "--profile", "2")
    assert code == 0
    assert steps_in(events(folder / "profile" / "step-00000007-process-00000.json.gz")) == [8, 9]


@pytest.mark.thorough
@pytest.mark.slow
def test_all_steps_but_the_first_can_be_traced(run):
    code, folder, _, _ = run("all", "--profile", "11")
    assert code == 0
    assert steps_in(events(folder / "profile" / "step-00000001-process-00000.json.gz")) == list(range(2, 13))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    {
        "none": (["--profile", "0"], "--profile 0: 1 or more steps are needed"),
        "negative": (["--profile=-2"], "--profile -2: 1 or more steps are needed"),
        "in words": (["--profile", "all"], "--profile"),
        "more than are left": (["--profile", "12"], "--profile 12: 12 steps to time.end = 0.12"),
        "a run without steps": (["--profile", "1", "time.end=0.0"], "none is left to be traced"),
    }.values(),
    ids=str,
)
def test_bad_input_is_one_line_and_leaves_nothing(run, words, message):
    code, folder, _, err = run("refused", *words)
    assert code == 2
    assert err.count("\n") == 1
    assert message in err
    assert not folder.exists()


@pytest.mark.thorough
@pytest.mark.slow
def test_fewer_steps_than_asked_for_is_said(run):
    code, folder, out, _ = run("cfl", "time.cfl=0.5", "--profile", "500")
    assert code == 0
    assert "warning: --profile 500: the run ended after" in out
    assert len(steps_in(events(next((folder / "profile").glob("*.json.gz"))))) >= 1


@pytest.mark.thorough
@pytest.mark.slow
def test_a_trace_that_cannot_be_written_does_not_stop_the_run(run, monkeypatch):
    def full():
        jax.profiler._stop()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jax.profiler, "_stop", jax.profiler.stop_trace, raising=False)
    monkeypatch.setattr(jax.profiler, "stop_trace", full)
    code, _, out, _ = run("full", "--profile", "2")
    assert code == 0
    assert "warning: the trace could not be written: [Errno 28] No space left on device" in out
    assert "finished: step 12" in out


@pytest.mark.multiprocess
@pytest.mark.slow
def test_every_process_writes_a_trace_of_its_own(tmp_path):
    words = ["run", DEMO, *SMALL, "devices.virtual=1", f"output.directory={tmp_path}/run", "--profile", "2"]
    words += ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process"]
    started = [zygote().start([*words, str(i)]) for i in range(2)]
    printed = [process.communicate(timeout=100) for process in started]
    assert [process.returncode for process in started] == [0, 0], printed
    traces = sorted((tmp_path / "run" / "profile").glob("*.json.gz"))
    assert [path.name for path in traces] == [f"step-00000001-process-0000{i}.json.gz" for i in range(2)]
    assert [steps_in(events(path)) for path in traces] == [[2, 3], [2, 3]]
