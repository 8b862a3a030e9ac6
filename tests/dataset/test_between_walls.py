"""A data set of convection between walls: uneven points, and walls among the boundaries."""

import h5py
import numpy as np
import pytest
from written_runs import convection, written

import solver as sw
from solver.cli.main import main
from solver.walls.legendre import gauss_points

pytestmark = pytest.mark.slow

RUN = convection(
    [8, 9],
    1e4,
    0.1,
    """
[ensemble]
members = 2
draw = { "equation.rayleigh" = { log_uniform = [1e3, 1e4] } }
[time]
stepper = "etdrk2"
step = 0.01
end = 0.02
[devices]
use = [0]
[output]
series = false
[output.well]
every_time = 0.01
fields = ["velocity", "temperature", "pressure"]
split = [0.5, 0.5, 0.0]
dataset = "convection"
""",
)


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    path = written(tmp_path_factory.mktemp("convection"), RUN)
    assert main(["run", str(path), f"output.directory={path.parent / 'runs'}"]) == 0
    return path


@pytest.fixture
def training(run_file):
    return run_file.parent / "runs" / "convection" / "data" / "train" / "convection-train-0000.hdf5"


@pytest.mark.thorough
def test_walls_are_boundaries(run_file, training):
    """As in The Well's rayleigh_benard: x periodic, and a wall at both ends of the other axis."""
    assert main(["dataset", "check", str(training.parents[2])]) == 0
    with h5py.File(training) as file:
        boundaries = file["boundary_conditions"]
        assert {name: group.attrs["bc_type"] for name, group in boundaries.items()} == {
            "x_periodic": "PERIODIC",
            "y_wall": "WALL",
        }
        assert list(boundaries["y_wall"].attrs["associated_dims"]) == ["y"]
        assert list(np.flatnonzero(boundaries["y_wall/mask"][:])) == [0, 8]
        np.testing.assert_allclose(file["dimensions/y"][:], 0.5 * (1 + gauss_points(9)[0]), rtol=1e-6)
        assert set(file["t0_fields"]) == {"temperature", "pressure"}
        assert file["t1_fields/velocity"].shape == (1, 3, 8, 9, 2)
        assert 1e3 < file["scalars/rayleigh"][0] < 1e4
        stored = file["t0_fields/temperature"][0]
    [member] = sw.dataset.stream(run_file, part="train")
    np.testing.assert_allclose(stored, member.fields["temperature"], atol=1e-6)


def test_another_kind_of_boundary_is_a_fault(run_file, training, capsys):
    with h5py.File(training, "r+") as file:
        file["boundary_conditions/y_wall"].attrs["bc_type"] = "HOLE"
    assert main(["dataset", "check", str(training.parents[2])]) == 1
    assert "boundary_conditions/y_wall: bc_type is 'HOLE'; PERIODIC or WALL is needed" in capsys.readouterr().out
