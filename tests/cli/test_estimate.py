"""Estimates that `check` prints, against compiled programs."""

import re
from pathlib import Path

import jax
import pytest
from helpers import all_to_all_bytes

import solver as sw
from solver import assemble
from solver.cli.estimate_lines import estimate_lines
from solver.cli.main import main
from solver.cli.target_report import least_time
from solver.config import load
from solver.io.files import in_words
from solver.loop import FixedStep, trace_advance
from solver.plan import Target, make_estimate
from solver.plan.timing import transform_time
from solver.plan.trace import _advice

RUNS = Path(__file__).parents[2] / "runs"
CASES = {
    "taylor_green": ["grid.shape=[48,32,40]", "initial={name='random-phase'}"],
    "fuzzy_dark_matter": ["grid.shape=[32,32,24]"],
    "kuramoto_sivashinsky": ["grid.shape=[32,24,24]", "grid.lengths=[9,9,9]"],
}


def compiled_and_estimate(case, devices):
    config = assemble.resolve(load(RUNS / f"{case}.toml", assemble.schema(), CASES[case]))
    estimate = make_estimate(*_problem(config, devices), assemble.dry_run(config, devices))
    run = assemble.Assembly(config, sw.device_mesh(range(devices)))
    state = run.start()
    return trace_advance(run.equation, run.stepper, state, FixedStep(0.1)).lower().compile(), estimate


def _problem(config, devices):
    run = assemble.abstract_assembly(config, devices)
    return run.equation, run.stepper


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_exchanges_and_bytes_are_those_of_the_compiled_step(case):
    devices = 4
    compiled, estimate = compiled_and_estimate(case, devices)
    text = compiled.as_text()
    assert text.count(" all-to-all(") + text.count(" all-to-all-start(") == estimate.exchanges
    received_by_all = sum(all_to_all_bytes(text)) * devices
    assert received_by_all * (devices - 1) // devices == estimate.exchanged_bytes


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("precision", "part"), [("float32", 2), ("float16", 4)])
def test_fewer_bits_are_counted_and_named(precision, part):
    file = RUNS / "taylor_green_512.toml"
    configs = [assemble.resolve(load(file, assemble.schema(), words)) for words in (
        [], [f"devices.exchange_precision={precision}"],
    )]  # fmt: skip
    whole, estimate = (make_estimate(*_problem(config, 16), assemble.dry_run(config, 16)) for config in configs)
    assert estimate.exchanged_bytes * part == whole.exchanged_bytes
    (line,) = (line for line in estimate_lines(estimate) if "exchanged" in line)
    assert line.endswith(f"MB per step by all devices together, in {precision}")
    assert not any("precision" in line or precision in line for line in estimate_lines(whole))


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize("case", CASES)
def test_memory_is_estimated_within_a_third(case, devices):
    compiled, estimate = compiled_and_estimate(case, devices)
    analysis = compiled.memory_analysis()
    used = analysis.argument_size_in_bytes + analysis.temp_size_in_bytes
    assert estimate.state_bytes == pytest.approx(analysis.argument_size_in_bytes, abs=200)
    assert estimate.peak_bytes == pytest.approx(used, rel=1 / 3), (estimate.peak_bytes, used)


@pytest.mark.slow
def test_a_plan_touches_no_device(monkeypatch):
    def touched(*arguments, **options):
        raise AssertionError("a device was asked for")

    monkeypatch.setattr(jax, "devices", touched)
    config = assemble.resolve(load(RUNS / "taylor_green_512.toml", assemble.schema()))
    estimate = make_estimate(*_problem(config, 256), assemble.dry_run(config, 256))
    assert estimate.physical_block == (2, 512, 512)
    assert estimate.spectral == (341, 171, 341)
    assert estimate.transforms == {False: 12, True: 20}
    assert estimate.exchanged_bytes == 32 * 16 * 512 * 512 * 171 * 255 // 256


@pytest.mark.slow
@pytest.mark.parametrize("case", ["taylor_green", "fuzzy_dark_matter"])
def test_the_engine_of_a_run_file_carries_out_every_transform_of_the_step(case):
    config = assemble.resolve(
        load(RUNS / f"{case}.toml", assemble.schema(), [*CASES[case], "devices.engine='shard_map'"])
    )
    equation, stepper = _problem(config, 4)
    state, dt = assemble.dry_run(config, 4), 0.1
    driven = equation.at_step(state.forcing, state.key, 0)
    step = lambda e, field, h: stepper.step(e, field, h, 0.0, dt, stepper.coefficients(e, dt))  # noqa: E731
    text = str(jax.make_jaxpr(step)(driven, state.field, state.history))
    assert "engine='shard_map'" in text
    assert "engine='slabwave'" not in text


@pytest.mark.slow
def test_a_run_file_says_how_many_fields_share_an_exchange():
    overrides = [*CASES["taylor_green"], "devices.fields_per_exchange=1"]
    config = assemble.resolve(load(RUNS / "taylor_green.toml", assemble.schema(), overrides))
    estimate = make_estimate(*_problem(config, 4), assemble.dry_run(config, 4))
    assert estimate.exchanges == 32


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "of_real", "of_complex"),
    [("taylor_green", 32, 0), ("fuzzy_dark_matter", 2, 2)],
    ids=["real", "both kinds"],
)
def test_transforms_of_complex_fields_count_twice_in_the_least_time(case, of_real, of_complex):
    config = assemble.resolve(load(RUNS / f"{case}.toml", assemble.schema(), CASES[case]))
    estimate, target = make_estimate(*_problem(config, 4), assemble.dry_run(config, 4)), Target.of("h200", 4)
    assert (sum(estimate.transforms.values()), estimate.complex_transforms) == (of_real + of_complex, of_complex)
    times = [transform_time(target.rates, estimate.physical, 16, slabs=4, real=real) for real in (True, False)]
    assert least_time(estimate, target, 8) == pytest.approx(of_real * times[0] + of_complex * times[1])


FILLING = """
grid = { shape = [32, 16], precision = "float32" }
equation = { name = "vorticity", viscosity = 0.01 }
initial = { name = "random-phase", peak = 3.0 }
time = { stepper = "ifrk2", step = 0.1, end = 2.05 }
[output]
directory = "filled"
series = { every_steps = 4 }
spectra = { every_time = 0.5 }
snapshots = { every_time = 0.5, fields = ["vorticity", "velocity"] }
slices = { every_steps = 10, at = ["x = 0", "y = 1"], fields = ["vorticity"] }
checkpoints = { every_steps = 3, keep = 2 }
"""


@pytest.mark.slow
def test_the_disk_is_that_of_the_numbers_written(tmp_path, monkeypatch, capsys):
    """21 steps, the last of them shorter: 2.05/0.5 and 21/10 multiples with both ends, four checkpoints at most."""
    monkeypatch.chdir(tmp_path)
    Path("filled.toml").write_text(FILLING)
    assert main(["check", "filled.toml", "--devices", "1"]) == 0
    said = capsys.readouterr().out
    assert "# steps:        21 of 0.1, until t = 2.05\n" in said
    snapshot, planes = 32 * 16 * 3 * 4, (16 + 32) * 4
    assert f"snapshots 6 × {in_words(snapshot)}" in said
    assert f"slices 4 × {in_words(planes)}" in said
    state = 21 * 6 * 8  # (ky, kx) of two thirds of the modes
    ((count, size),) = re.findall(r"checkpoints (\d+) × ([\d.]+) KiB", said)
    assert count == "4"
    assert state < 1024 * float(size) < state + 1000


def test_what_depends_on_the_steps_is_told_by_the_state(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("filled.toml").write_text(FILLING.replace("step = 0.1", "cfl = 0.5"))
    assert main(["check", "filled.toml", "--devices", "1"]) == 0
    said = capsys.readouterr().out
    assert "# steps:" not in said
    assert "snapshots 6 × 6 KiB" in said
    assert re.search(r"# disk: +and series \d+ bytes, slices 192 bytes with every state", said)
    assert re.search(rf"# disk: +[\d.]+ \w+ are free in {tmp_path}, which is enough for", said)


@pytest.mark.slow
def test_the_files_of_a_run_are_as_many_as_planned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("filled.toml").write_text(FILLING)
    assert main(["run", "filled.toml", "devices.use=[0]"]) == 0
    folder = sw.io.RunDirectory(tmp_path / "filled").path
    assert len(list((folder / "snapshots").glob("*.h5"))) == 6
    assert len(list((folder / "slices").glob("*.h5"))) == 4
    assert len((folder / "series.csv").read_text().splitlines()) == 2 + 7
    assert len(list((folder / "checkpoints").glob("step-*"))) <= 4


def test_a_grid_of_a_single_mode_is_not_called_one_dimensional():
    assert _advice(sw.Grid((2, 2, 2), mesh=sw.device_mesh([0]))) == "one device: too few modes are kept to split them"
    assert _advice(sw.Grid((8,), mesh=sw.device_mesh([0]))) == "one device: a one-dimensional grid is not split"
