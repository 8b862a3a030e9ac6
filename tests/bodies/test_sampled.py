"""Shapes given at points and read from files."""

import shutil

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.assemble import read_run_file
from solver.bodies.body import Scene
from solver.cli.main import main
from solver.config import ConfigError

PLANE = Scene(0.1, (0.05, 0.05), (4.0, 3.0))
SPACE = Scene(0.1, (0.1, 0.1, 0.1), (4.0, 3.0, 2.0))


def cells(sides, counts):
    """Coordinates of the middles of cells about a centre."""
    axes = [(np.arange(n) + 0.5) * side / n - side / 2 for side, n in zip(sides, counts, strict=True)]
    return np.meshgrid(*axes, indexing="ij")


def points(scene):
    axes = [np.arange(0, length, h) for length, h in zip(scene.lengths, scene.spacing, strict=True)]
    return np.meshgrid(*axes, indexing="ij")


@pytest.mark.parametrize(
    ("scene", "centre", "moves"),
    [(PLANE, (3.6, 1.5), {"velocity": (0.5, 0.0), "rotation": 1.0}), (SPACE, (2.0, 1.5, 1.0), {})],
)
def test_a_sphere_given_at_points_is_a_sphere(scene, centre, moves):
    """Of a box smaller than the box, past whose edge the body has gone."""
    sides = (1.8,) * len(centre)
    distances = np.sqrt(sum(x**2 for x in cells(sides, [90] * len(centre)))) - 0.6
    given, known = sw.bodies.Sampled(centre, distances, sides, **moves), sw.bodies.Sphere(centre, 0.6, **moves)
    found, exact = (np.asarray(body.mask(points(scene), 1.3, scene)) for body in (given, known))
    np.testing.assert_allclose(found, exact, atol=5e-3)
    assert exact.max() > 0.95


def test_an_image_of_a_disc_is_a_disc():
    x, y = cells((2.0, 1.5), (200, 150))
    distances = sw.bodies.from_image(np.hypot(x, y) < 0.5, (2.0, 1.5))
    np.testing.assert_allclose(distances, np.hypot(x, y) - 0.5, atol=0.02)
    body = sw.bodies.Sampled((2.0, 1.5), distances, (2.0, 1.5))
    exact = sw.bodies.Cylinder((2.0, 1.5), 0.5).mask(points(PLANE), 0.0, PLANE)
    np.testing.assert_allclose(body.mask(points(PLANE), 0.0, PLANE), exact, atol=0.1)


def test_an_image_of_a_whole_box_goes_on_across_its_edges():
    """A disc about the corner of the box."""
    sides = PLANE.lengths
    x, y = cells(sides, (160, 120))
    apart = lambda s, length: s - length * np.round(s / length)  # noqa: E731
    image = np.hypot(apart(x - 2.0, 4.0), apart(y - 1.5, 3.0)) < 0.7
    made = [
        sw.bodies.Sampled((2.0, 1.5), sw.bodies.from_image(image, sides, periodic=p), sides, periodic=p)
        for p in (True, False)
    ]
    periodic, not_so = (np.asarray(body.mask(points(PLANE), 0.0, PLANE)) for body in made)
    exact = sw.bodies.Cylinder((0.0, 0.0), 0.7).mask(points(PLANE), 0.0, PLANE)
    np.testing.assert_allclose(periodic, exact, atol=0.15)
    assert periodic[0, 0] > 0.99
    assert np.abs(not_so - exact).max() > 0.3


def test_distances_are_those_from_the_sides_of_cells_and_go_on_across_the_edge():
    """A wall of cells of size 0.5 and 0.25: half a cell from the middle to the side."""
    wall = np.zeros((8, 4), int)
    wall[2:4] = 1
    alone = sw.bodies.from_image(wall, (2.0, 4.0))
    np.testing.assert_allclose(alone[:, 1], [0.375, 0.125, -0.125, -0.125, 0.125, 0.375, 0.625, 0.875])
    across = sw.bodies.from_image(wall, (2.0, 4.0), periodic=True)
    np.testing.assert_allclose(across[:, 1], [0.375, 0.125, -0.125, -0.125, 0.125, 0.375, 0.625, 0.625])
    for periodic, at_the_edge in ((True, 0.5), (False, 0.375)):
        body = sw.bodies.Sampled((1.0, 2.0), across, (2.0, 4.0), periodic=periodic)
        assert float(body.distance([-1.0, 0.0], 0.0)) == pytest.approx(at_the_edge)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_force_has_a_derivative_with_respect_to_the_points():
    sides = (1.5, 1.5)
    distances = jnp.asarray(np.hypot(*cells(sides, (30, 30))) - 0.5)
    grid, stepper = sw.Grid((32, 24), lengths=(4.0, 3.0), mesh=sw.device_mesh([0])), sw.steppers.ETDRK3()

    def drag(grown):
        body = sw.bodies.Sampled((2.0, 1.5), distances - grown, sides)
        flow = sw.equations.NavierStokes(grid, viscosity=0.1, bodies=body)
        start = sw.initial_state(flow, stepper, jnp.zeros((2, 32, 24)).at[0].set(1.0))
        state = sw.integrate(flow, stepper, start, step=0.02, steps=10)
        return flow.on_bodies(state.field, 0.2)["body_force_x"]

    slope = jax.jit(jax.grad(drag))(0.0)
    assert float(slope) == pytest.approx(float(drag(1e-4) - drag(-1e-4)) / 2e-4, rel=1e-4)


RUN = """
[grid]
shape = [32, 24]
lengths = [4.0, 3.0]
[equation]
name = "navier-stokes"
viscosity = 0.1
[initial]
name = "uniform"
value = [1.0, 0.0]
[body]
shape = "file"
path = "{path}"
dataset = "rock"
centre = [2.0, 1.5]
sides = [2.0, 1.5]
[time]
stepper = "etdrk3"
step = 0.02
end = 0.1
[output]
directory = "unnamed"
series = {{ every_steps = 5 }}
"""


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sampled")
    x, y = cells((2.0, 1.5), (80, 60))
    with h5py.File(folder / "rock.h5", "w") as file:
        file["rock"] = (np.hypot(x, y) < 0.6).astype(np.uint8)
        file["distance"] = np.hypot(x, y) - 0.6
        file["empty"] = np.zeros((4, 4), np.uint8)
        file["broken"] = np.full((4, 4), np.nan)
        file["line"] = np.zeros(4)
        file["fraction"] = np.eye(4)
    path = folder / "run.toml"
    path.write_text(RUN.format(path=folder / "rock.h5"))
    return path


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_with_a_shape_from_a_file_is_that_with_a_disc(run_file, tmp_path):
    forces = {}
    for name, words in {
        "image": [],
        "distance": ["body.dataset=distance"],
        "disc": ["body={ shape = 'cylinder', centre = [2.0, 1.5], radius = 0.6 }"],
    }.items():
        assert main(["run", str(run_file), f"output.directory={tmp_path / name}", *words]) == 0
        rows = np.genfromtxt(tmp_path / name / "series.csv", delimiter=",", names=True, skip_header=1)
        forces[name] = rows["body_force_x"][-1]
    assert forces["distance"] == pytest.approx(forces["disc"], rel=1e-2)
    assert forces["image"] == pytest.approx(forces["disc"], rel=2e-2)
    assert main(["resume", str(tmp_path / "image"), "time.end=0.2"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["body.path=none.h5"], "body.path: none.h5: no such file"),
        (["body.dataset=sand"], "body.path: .*rock.h5.*'?sand"),
        (["body.dataset=empty"], "body.dataset 'empty' of .*: an image without solid"),
        (["body.dataset=broken"], "body: distances that are not finite"),
        (["body.dataset=fraction"], "body: distances from 0 to 1: negative ones in the solid"),
        (
            ["body.periodic=true", "body.sides=[2.5, 1.5]"],
            r"body.periodic: a shape .*, \[2.5, 1.5\], .* a whole number of times",
        ),
        (["body.dataset=line"], "body.dataset 'line' of .* with 1 axes: 2 are needed"),
        (["body.sides=[2.0, -1.0]"], "body.sides .*: a positive length is needed"),
        (["body.sides=[9.0, 1.5]"], "body: 9 long along x, in a box of 4"),
    ],
)
def test_wrong_files_are_one_line(words, message, run_file):
    with refused_in_one_line(message, ConfigError):
        read_run_file(run_file, words)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_does_not_go_on_with_another_file(run_file, tmp_path):
    path, run = tmp_path / "rock.h5", tmp_path / "run"
    shutil.copy(run_file.parent / "rock.h5", path)
    words = [f"body.path={path}", f"output.directory={run}"]
    assert main(["run", str(run_file), *words]) == 0
    with h5py.File(path, "a") as file:
        file["rock"][0, 0] = 1
    with refused_in_one_line(f"body.sha256 .*{path} has other contents.*other physics", ConfigError):
        read_run_file(run / "config.toml", [])
    assert main(["resume", str(run), "time.end=0.2"]) == 2
    assert main(["run", str(run_file), "--resume", *words, "time.end=0.2"]) == 2
    branch = ["--branch", str(tmp_path / "branch"), "body.sha256=", "time.end=0.2"]
    assert main(["resume", str(run), *branch]) == 0
