"""Programs compiled for GPUs that are not here. They need JAX's plug-in, not a GPU: `pip install -e '.[test,cuda12]'`,
then `JAX_PLATFORMS=cpu python -m pytest tests/plan/test_compiled.py`."""

import math
import re
from pathlib import Path

import pytest

from solver import assemble
from solver.cli.main import main
from solver.fft import has_few_points
from solver.mesh import PENCIL, SLAB
from solver.plan import Target, gpu
from solver.plan.recorded import recorded_words

RUNS = Path(__file__).parents[2] / "runs"
pytestmark = pytest.mark.skipif(
    not gpu._installed("xla_cuda12") and not gpu._installed("xla_cuda13"),
    reason="JAX's plug-in for CUDA is not installed: pip install -e '.[cuda12]' (5.5 GB, no GPU is needed)",
)


def compiled(case, devices, *overrides, target="h200", hosts=None):
    """Configuration, target and programs of a case, and the bytes of one word at each point of one device."""
    config = assemble.read_run_file(str(RUNS / f"{case}.toml"), list(overrides))
    where = Target.of(target, devices, hosts)
    run = assemble.target_assembly(config, where)
    unit = math.prod(run.grid.layout.points) / devices * run.grid.dtype.itemsize
    return config, where, assemble.target_programs(run, where, steps_alone=True), unit


def steps(case, devices, *overrides, **where):
    """Of the steps alone: program, target, and the bytes of a word at each point."""
    _, target, parts, unit = compiled(case, devices, *overrides, **where)
    return parts[0].program, target, unit


NAVIER_STOKES = ("grid.precision='float32'", "equation.energy_budget=false")


@pytest.mark.parametrize(("devices", "moved"), [(1, 300), (8, 325)])
def test_what_a_step_of_navier_stokes_moves_and_holds(devices, moved):
    """At 512³, nothing copied and nothing scaled; with real FFTs 282 and 310 and 24 for that, 9 held."""
    program, target, unit = steps("taylor_green", devices, *NAVIER_STOKES, "grid.shape=[512,512,512]")
    assert program.moved / unit < moved
    assert program.copied_and_scaled == 0
    assert program.held / unit < 11.5
    assert len(program.exchanges) == (0 if devices == 1 else 32)
    if devices == 8:
        assert target.timeline(program).covered > 0.6


@pytest.mark.parametrize(
    "split", [[], ["devices.decomposition='pencil'", "devices.mesh=[4,4]"]], ids=["slabs", "pencils"]
)
def test_across_hosts_planes_of_x_go_in_waves(split):
    """At 512³ on 16 devices of two hosts; 46 % of the work was beside exchanges, and 8.2 ms were predicted of slabs."""
    overrides = [*NAVIER_STOKES, "grid.shape=[512,512,512]", *split]
    program, target, unit = steps("taylor_green", 16, *overrides)
    before, _, _ = steps("taylor_green", 16, *overrides, "devices.waves=1")
    assert len(program.exchanges) == (2 * 24 if split else 16)
    assert program.exchanged == before.exchanged, "no byte more is sent"
    assert program.moved < 1.02 * before.moved
    assert program.held / unit < 10
    time, time_before = target.timeline(program), target.timeline(before)
    assert time.placed > 0.65  # 22 % where the kernels of both waves were merged
    assert time.total < (1 if split else 0.92) * time_before.total


@pytest.mark.parametrize(("precision", "part"), [("float32", 2), ("float16", 4)])
def test_exchanges_in_fewer_bits_send_as_much_less_and_move_little_more(precision, part):
    """At 512³ in float64 on 16 devices of two hosts; a step has 32 transforms, and moves 328 words with `grid`."""
    overrides = ["equation.energy_budget=false", "grid.shape=[512,512,512]"]
    whole, target, unit = steps("taylor_green", 16, *overrides)
    narrow, _, _ = steps("taylor_green", 16, *overrides, f"devices.exchange_precision={precision}")
    assert len(narrow.exchanges) == len(whole.exchanges)
    scales = 4 * 16 * 32 * 2  # of 32 fields in two waves
    assert 0 <= narrow.exchanged - whole.exchanged / part <= scales
    assert narrow.moved / unit < whole.moved / unit + (0 if precision == "float32" else 32)
    assert target.timeline(narrow).total < 0.7 * target.timeline(whole).total


def test_few_points_go_together():
    """128³ on eight devices: kernels of one field would take no longer than their launch."""
    program, target, _ = steps("taylor_green", 8, *NAVIER_STOKES, "grid.shape=[128,128,128]")
    apart, _, _ = steps("taylor_green", 8, *NAVIER_STOKES, "grid.shape=[128,128,128]", "devices.fields_per_exchange=1")
    assert (len(program.exchanges), len(apart.exchanges)) == (8, 32)
    assert target.timeline(program).total < 0.6 * target.timeline(apart).total


@pytest.mark.parametrize("devices", [1, 8])
def test_the_energy_budget_holds_no_more_than_its_field(devices):
    """At 256³ in double precision."""
    without, _, _ = steps("taylor_green", devices, "grid.shape=[256,256,256]", "equation.energy_budget=false")
    program, _, unit = steps("taylor_green", devices, "grid.shape=[256,256,256]")
    assert (program.held - without.held) / unit < 2.5


def test_what_a_step_of_schroedinger_poisson_moves():
    program, _, unit = steps("fuzzy_dark_matter", 1, "grid.shape=[512,512,512]", "grid.precision='float32'")
    assert (program.moved + program.copied_and_scaled) / unit < 65


def test_no_call_of_an_fft_is_too_large():
    program, _, _ = steps("taylor_green", 1, *NAVIER_STOKES, "grid.shape=[1536,1536,1536]", target="b200")
    assert 2**30 < max(kernel.elements for kernel in program.work if kernel.lengths) < 2**31


@pytest.mark.parametrize("target", ["a100", "h100", "b200", "gh200"])
def test_every_cuda_target_compiles(target):
    program, _, unit = steps("taylor_green", 4, "grid.shape=[160,160,160]", target=target)
    assert 5 < program.held / unit < 15


@pytest.mark.parametrize("split", [{SLAB: 8}, {SLAB: 2, PENCIL: 4}], ids=["slabs", "pencils"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_exchanges_are_those_of_the_layout(split, precision):
    """Bytes that all devices hold ready for all-to-alls, their parts to themselves included."""
    pencil = ["devices.decomposition='pencil'", "devices.mesh=[2,4]"] if PENCIL in split else []
    words = [*NAVIER_STOKES[1:], f"grid.precision='{precision}'", "grid.shape=[96,96,96]", *pencil]
    program, target, _ = steps("taylor_green", 8, *words, hosts=2)
    itemsize = 8 if precision == "float32" else 16
    ky, kz = 64, 32  # 63 and 32 retained, padded to the parts
    sent = 32 * itemsize * 96 * ky * kz // 8
    sent += 32 * itemsize * 96 * 96 * kz // 8 if pencil else 0
    assert program.exchanged == sent
    near, far = target.bytes_sent(program)
    assert near + far == pytest.approx(sum(e.written * (e.members - 1) / e.members for e in program.exchanges), abs=2)


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("case", ["taylor_green", "gray_scott", "fuzzy_dark_matter"])
@pytest.mark.parametrize("few", [True, False], ids=["few points", "many"])
def test_recorded_numbers_are_those_of_other_sizes(case, devices, few):
    dimensions = 2 if case == "gray_scott" else 3
    sides = {2: {1: (640, 3072), 8: (1280, 3072)}, 3: {1: (72, 128), 8: (96, 192)}}
    side = sides[dimensions][devices][not few]
    config, _, parts, unit = compiled(case, devices, f"grid.shape={[side] * dimensions}")
    assert has_few_points(assemble.layout_of(config, devices)) == few
    said = recorded_words(assemble.kind_of(config), config.grid.precision, devices, few)["steps"]
    assert said == pytest.approx(parts[0].with_workspace / unit, rel=0.12)


def test_check_prints_what_the_programs_say(capsys):
    summed = "output.statistics={fields=['velocity']}"
    assert main(["check", str(RUNS / "taylor_green.toml"), summed, "--target", "h200", "--devices", "16"]) == 0
    out = capsys.readouterr().out
    assert "16 × NVIDIA H200 141 GB on 2 hosts; compiled by jax" in out
    for word in ("steps", "start", "series", "spectra", "snapshots", "statistics", "loading a checkpoint"):
        assert re.search(rf"# memory: .*{word} [\d.]+", out), word
    assert re.search(r"# smallest: +1 device would do", out)
    assert re.search(r"kernels move [\d.]+ words per point", out)
    assert re.search(r"# time: +[\d.]+ ms per step", out)
    assert re.search(r"# split: +slabs 16 × 1: .*; pencils", out)
