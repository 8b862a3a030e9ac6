"""What `check` says that particles exchange, against the formula and the compiled program."""

import math
import re

import jax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from solver.cli.main import main
from solver.mesh import split_axes
from solver.particles.exchange import FEW, capacity, interpolated_on
from solver.plan.program import ARRAY, SIZES
from solver.plan.trace import exchanges_in

RUN = """
[grid]
shape = [12, 12, 12]
[equation]
name = "navier-stokes"
viscosity = 0.01
[initial]
name = "taylor-green"
[particles.tracers]
count = 600
order = 4
[time]
stepper = "ifrk4"
step = 0.01
end = 0.1
[devices]
use = [0, 1, 2]
"""


def bytes_in(text, kind):
    """Bytes of the results of a collective in a compiled program."""
    lines = re.findall(rf"= (.*?) {kind}(?:-start)?\(", text)
    return sum(
        math.prod(int(n) for n in sides.split(",") if n) * SIZES[dtype]
        for line in lines
        for dtype, sides in ARRAY.findall(line)
    )


@pytest.mark.slow
def test_exchanges_are_those_of_the_formula_and_of_the_compiled_program(make_grid):
    devices, count, order, components, d = 3, 1200, 4, 2, 3
    grid = make_grid((12, 12, 10), devices=devices)
    c = jax.ShapeDtypeStruct((components, 12, 12, 10), grid.dtype, sharding=grid.physical_sharding(4))
    sharding = NamedSharding(grid.mesh, PartitionSpec(None, split_axes(grid.mesh)))
    x = jax.ShapeDtypeStruct((d, count), grid.dtype, sharding=sharding)
    program = jax.jit(lambda c, x: interpolated_on(grid, c, x, order))
    found = exchanges_in(program.trace(c, x).jaxpr)
    of_particles = [e for e in found if e.kind == "all_to_all"]
    slots = capacity(count, devices)
    assert slots == math.ceil(1200 / 9 + 4 * math.sqrt(1200 / 9) + 4)
    assert sum(e.sent for e in of_particles) == (devices - 1) * slots * (8 * d + 1 + 8 * components)
    planes = [e for e in found if e.kind == "ppermute"]
    assert sum(e.sent for e in planes) == (order - 1) * 12 * 10 * components * 8
    assert {e.kind for e in found} == {"all_to_all", "ppermute"}
    text = program.lower(c, x).compile().as_text()
    further = 2  # the loop of further rounds has the same
    assert bytes_in(text, "all-to-all") == further * sum(e.held for e in of_particles)
    assert bytes_in(text, "collective-permute") == sum(e.held for e in planes)
    few = jax.ShapeDtypeStruct((d, FEW // devices * devices), grid.dtype, sharding=sharding)
    assert "while" in str(program.trace(c, x).jaxpr)
    assert "while" not in str(program.trace(c, few).jaxpr)


@pytest.mark.slow
def test_check_says_what_particles_exchange(tmp_path, capsys):
    """Four evaluations of three components, in addition to the transforms; nothing on one device."""
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    assert main(["check", str(path)]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("# particles:")]
    slots = capacity(600, 3)
    each = 3 * 2 * slots * (24 + 1 + 24) + 3 * 3 * 144 * 3 * 8
    assert f"{4 * each / 1e6:.6g} MB more per step by all devices together (12 all-to-all, 4 planes)" in line
    assert main(["check", str(path), "devices.use=[0]"]) == 0
    assert "# particles" not in capsys.readouterr().out
