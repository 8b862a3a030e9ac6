"""`[body]` and `[sponge]` in run files: read, refused, run, continued to the bit, told."""

import json
import subprocess
import sys

import numpy as np
import pytest
from helpers import read_checkpoint, refused_in_one_line
from written_runs import written

from solver.assemble import read_run_file
from solver.cli.main import main
from solver.config import ConfigError

RUN = """
[grid]
shape = [32, 24]
lengths = [8.0, 6.0]
[equation]
name = "navier-stokes"
viscosity = 0.1
[initial]
name = "uniform"
value = [1.0, 0.0]
[body.disc]
shape = "cylinder"
centre = [3.0, 3.0]
radius = 0.7
stream_speed = 2.0
[body.flap]
shape = "own.py:Leaf"
centre = [5.5, 3.0]
size = 0.8
velocity = [0.0, 0.3]
rotation = 1.0
frequency = 0.5
[sponge]
position = 0.0
width = 1.2
edge = 0.3
rate = 5.0
target = [1.0, 0.0]
[time]
stepper = "cnab2"
step = 0.02
end = 0.6
[output]
directory = "unnamed"
series = { every_steps = 5 }
checkpoints = { every_steps = 10, keep = 10 }
"""
OWN = '''
import equinox as eqx
import jax.numpy as jnp
import solver as sw


class Leaf(sw.bodies.Body):
    """Two arcs, as an own shape."""

    centre: tuple[float, ...]
    size: float

    def distance(self, r, t):
        return jnp.hypot(r[0], jnp.abs(r[1]) + self.size) - 2 * self.size

    def origin(self, dimensions):
        return self.centre


def drop(x, y, t):
    """A disc that grows."""
    return jnp.hypot(x, y) - 0.7 - 0.1 * t


def mixing(x, y, t):
    return jnp.sum(x)
'''


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    return written(tmp_path_factory.mktemp("bodies"), RUN, own=OWN)


@pytest.fixture(scope="module")
def whole(run_file):
    folder = run_file.parent / "whole"
    assert main(["run", str(run_file), f"output.directory={folder}"]) == 0
    return folder


def arrays_of(folder, step):
    return read_checkpoint(folder / "checkpoints" / f"step-{step:08d}")[0]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_that_is_continued_has_the_same_bits(run_file, whole, tmp_path):
    """A moving body is where time says."""
    assert main(["run", str(run_file), f"output.directory={tmp_path / 'run'}", "time.end=0.2"]) == 0
    assert main(["resume", str(tmp_path / "run"), "time.end=0.6"]) == 0
    first, second = (arrays_of(folder, 30) for folder in (whole, tmp_path / "run"))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    rows = [
        np.genfromtxt(f / "series.csv", delimiter=",", names=True, skip_header=1) for f in (whole, tmp_path / "run")
    ]
    assert rows[0].dtype == rows[1].dtype
    np.testing.assert_array_equal(rows[0][-1].tolist(), rows[1][-1].tolist())


@pytest.mark.slow
def test_the_series_has_forces_and_coefficients(whole):
    rows = np.genfromtxt(whole / "series.csv", delimiter=",", names=True, skip_header=1)
    np.testing.assert_allclose(rows["disc_drag"], rows["disc_force_x"] / (0.5 * 4.0 * 1.4), rtol=1e-12)
    np.testing.assert_allclose(rows["disc_lift"], rows["disc_force_y"] / (0.5 * 4.0 * 1.4), rtol=1e-12)
    assert rows["disc_drag"][-1] > 0.1
    assert "flap_torque" in rows.dtype.names
    assert "flap_drag" not in rows.dtype.names
    assert np.abs(rows["energy_imbalance"]).max() < 1e-3
    head = (whole / "series.csv").read_text().splitlines()[0]
    assert "disc_force_x [length^3/time^2], disc_force_y [length^3/time^2], disc_torque [length^4/time^2]" in head


@pytest.mark.slow
def test_bodies_count_as_physics_and_are_kept_with_the_run(whole, run_file, capsys):
    [copy] = whole.glob("own-*.py")
    config = read_run_file(whole / "config.toml", copies_only=True)
    assert config.bodies["flap"].name == f"{copy.name}:Leaf"
    assert read_run_file(run_file).to_table()["sponge"]["width"] == 1.2
    assert main(["run", str(run_file), f"output.directory={whole}", "--resume", "body.disc.radius=0.6"]) == 2
    assert "body.disc" in capsys.readouterr().err
    assert main(["info", str(whole)]) == 0
    told = capsys.readouterr().out
    assert "disc: cylinder (stream_speed = 2.0, centre = [3.0, 3.0], radius = 0.7, axis = z)" in told
    assert "sponge:" in told
    assert main(["list", "bodies"]) == 0
    assert "ellipsoid " in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_file_with_bodies_touches_no_device(run_file):
    """Processes could not join a job afterwards."""
    code = (
        "from solver import assemble; from solver.cli import jax_for; from jax._src import xla_bridge; "
        f"assemble.read_run_file({str(run_file)!r}, prepare=jax_for('auto')); print(len(xla_bridge._backends))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0", done.stderr


@pytest.mark.slow
def test_check_prints_the_transforms_with_bodies(run_file, capsys):
    assert main(["check", str(run_file)]) == 0
    told = capsys.readouterr().out
    assert "3 inverse and 2 forward transforms" in told
    assert "obstacle_strength is Σ χ/η" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["body.disc.shape=cube"], "body.disc.shape = 'cube': unknown"),
        (["body.disc.radius=-1.0"], "body.disc.radius -1.0: a positive length is needed"),
        (["body.disc.radius=0.1"], "body.disc: 0.2 thick, with a layer of 0.75"),
        (["body.disc.radius=3.5"], "body.disc: 7 long along y, in a box of 6"),
        (["body.disc.speed=1.0"], "body.disc.speed: unknown key"),
        (["body.disc.eta=1e-4"], "step 0.02 with cnab2: bodies draw the flow to theirs within 0.0001"),
        (["sponge.width=-1.0"], "sponge.width -1.0: a positive number is needed"),
        (["sponge.axis=z"], "sponge.axis 'z': this grid has x, y"),
        (["equation.viscosity=0.0"], "viscosity > 0 is needed"),
        (
            ["equation={ name = 'vorticity', viscosity = 0.1 }", "initial={ name = 'random-phase' }"],
            "of no velocity",
        ),
        (["grid.shape=[32]", "grid.lengths=[8.0]", "equation.name=burgers", "initial.value=1.0"], "burgers"),
        (["body.flap.shape=own.py:Twig"], "has no Twig; subclasses of Obstacle there: Leaf; functions: drop, mixing"),
        (["body.flap={ shape = 'own.py:mixing', centre = [1.0, 1.0] }"], r"mixing gives \[\] at three points"),
        (["body.flap={ centre = [1.0, 1.0] }"], "body.flap.shape is missing: one of box, cylinder"),
        (["body.flap={ shape = 'sponge' }"], r"\[sponge\] is a section of its own"),
    ],
)
def test_wrong_bodies_in_run_files_are_one_line(words, message, run_file):
    with refused_in_one_line(message, ConfigError):
        read_run_file(run_file, words)


def test_a_function_is_a_body_whose_shape_may_change(run_file):
    config = read_run_file(run_file, ["body.flap={ shape = 'own.py:drop', centre = [5.5, 3.0] }"])
    body = config.bodies["flap"].make()
    assert float(body.distance([0.8, 0.0], 0.0)) == pytest.approx(0.1)
    assert float(body.distance([0.8, 0.0], 1.0)) == pytest.approx(0.0)
    assert not body.is_at_rest


def test_one_body_needs_no_name(tmp_path, capsys):
    text = RUN.partition("[body.disc]")[0] + '[body]\nshape = "wall"\nposition = 0.0\nthickness = 1.5\n'
    path = tmp_path / "wall.toml"
    path.write_text(f"{text}[time]\nstepper = 'ifrk4'\ncfl = 0.5\nend = 0.1\n[output]\ndirectory = 'out'\n")
    config = read_run_file(path)
    assert config.to_table()["body"]["shape"] == "wall"
    assert list(config.bodies) == ["body"]


@pytest.mark.thorough
@pytest.mark.slow
def test_an_ensemble_over_radii_is_one_program(run_file, tmp_path):
    sweep = "ensemble={ sweep = { 'body.disc.radius' = [0.6, 0.8] }, together = 2 }"
    words = ["run", str(run_file), sweep, f"output.directory={tmp_path / 'many'}", "time.end=0.2"]
    assert main(words) == 0
    alone = ["run", str(run_file), "body.disc.radius=0.8", f"output.directory={tmp_path / 'one'}", "time.end=0.2"]
    assert main(alone) == 0
    first, second = (arrays_of(folder, 10) for folder in (tmp_path / "many" / "member-0001", tmp_path / "one"))
    np.testing.assert_allclose(first["field/velocity"], second["field/velocity"], atol=1e-12)
    assert "2 of 2 places of a batch" in (tmp_path / "many" / "log.txt").read_text()
    assert json.loads((tmp_path / "many" / "status.json").read_text())["state"] == "finished"
