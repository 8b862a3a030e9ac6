"""Outputs between walls: vorticity and what follows from gradients, profiles, pictures, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import walls
from solver.discovery import concrete_classes
from solver.dynamics.derived import derived_quantities
from solver.io import Variable, drop_snapshots, read_snapshot, snapshot_path, write_snapshot
from solver.outputs import Extremes, Snapshots, Statistics, ZonalMeans
from solver.outputs.at_points import variables
from solver.outputs.output import Output
from solver.pictures.derived_fields import Cut, derived_fields
from solver.pictures.drawn_slices import suiting_plane

K = np.pi  # of the waves along x


def flow_of(make_grid, dimensions, speed=0.0, **options):
    """Navier–Stokes between walls of which the upper one moves, and its places."""
    shape, lengths = {2: (8, 13), 3: (8, 6, 13)}[dimensions], (2.0, 3.0, 1.0)[-dimensions:]
    grid = make_grid(shape, 1, lengths=(2.0, *lengths[1:]), walls="xyz"[dimensions - 1])
    moving = walls.Moving(upper=(speed,) * (dimensions - 1))
    return sw.equations.NavierStokes(grid, 0.1, walls={"velocity": moving}, **options)


def velocity(x, z, speed, dimensions):
    """u = ∂_z ψ + speed z with ψ = cos(kx) z²(1−z)², w = −∂_x ψ; in three dimensions v = cos(kx) z(1−z) + speed z."""
    profile, slope = z**2 * (1 - z) ** 2, 2 * z * (1 - z) * (1 - 2 * z)
    u, w = np.cos(K * x) * slope + speed * z, K * np.sin(K * x) * profile
    v = np.cos(K * x) * z * (1 - z) + speed * z
    return [u, v, w] if dimensions == 3 else [u, w]


def gradients(x, z, speed):
    """∂_x u, ∂_z u, ∂_x v, ∂_z v, ∂_x w, ∂_z w of it."""
    profile, slope, bend = z**2 * (1 - z) ** 2, 2 * z * (1 - z) * (1 - 2 * z), 2 - 12 * z + 12 * z**2
    cos, sin = np.cos(K * x), np.sin(K * x)
    along = -K * sin * slope, cos * bend + speed, -K * sin * z * (1 - z), cos * (1 - 2 * z) + speed
    return *along, K**2 * cos * profile, K * sin * slope


@pytest.mark.slow
def test_gradients_are_exact(make_grid):
    flow = flow_of(make_grid, 3, speed=0.5)
    places = flow.grid.coordinates()
    x, z, whole = places[0], places[-1], flow.grid.physical_shape
    u = [np.broadcast_to(part, whole) for part in velocity(x, z, 0.5, 3)]
    fields = flow.from_physical({"velocity": jnp.asarray(np.stack(u))})
    ux, uz, vx, vz, wx, wz = (np.broadcast_to(part, whole) for part in gradients(x, z, 0.5))
    expected = {
        "vorticity": np.stack([-vz, uz - wx, vx]),
        "q_criterion": -0.5 * (ux**2 + wz**2 + 2 * uz * wx),
        "dissipation": 0.1 * (2 * (ux**2 + wz**2) + (uz + wx) ** 2 + vx**2 + vz**2),
    }
    made = derived_quantities(flow)
    assert made.keys() == {*expected, "pressure"}
    for name, values in expected.items():
        np.testing.assert_allclose(made[name].make(fields), values, atol=1e-12, err_msg=name)
    largest = Extremes().values(flow, fields)
    omega = np.sqrt(np.sum(expected["vorticity"] ** 2, axis=0))
    assert float(largest["vorticity_max"]) == pytest.approx(omega.max())
    assert float(largest["speed_max"]) == pytest.approx(np.sqrt(sum(part**2 for part in u)).max())


@pytest.mark.slow
def test_profiles_and_pictures(make_grid, tmp_path):
    """Means over x, and their mean over time; a picture's vorticity is that of the run."""
    flow = flow_of(make_grid, 2, speed=0.5)
    x, z = flow.grid.coordinates()
    u = [np.broadcast_to(part, flow.grid.physical_shape) for part in velocity(x, z, 0.5, 2)]
    outputs = [Snapshots(fields=("velocity", "vorticity")), ZonalMeans(), Statistics(of=("zonal-means",))]
    stepper = sw.steppers.Krogstad4()
    state = sw.initial_state(flow, stepper, jnp.asarray(np.stack(u)))
    sw.run(flow, stepper, state, end=0.02, step=0.002, directory=tmp_path / "run", outputs=outputs)
    opened = sw.open_run(tmp_path / "run")
    means = opened.records["zonal-means"]
    np.testing.assert_array_equal(means["y"], z.ravel())
    np.testing.assert_allclose(means["velocity_x"][0], 0.5 * z.ravel(), atol=1e-14)
    over_time = opened.statistics["zonal-means"]["velocity_x"][0]
    np.testing.assert_allclose(over_time, means["velocity_x"][-1], rtol=1e-12)
    snapshot = read_snapshot(tmp_path / "run" / "snapshots" / "step-00000000.h5")
    curl, stored = derived_fields(snapshot), snapshot.values("vorticity")
    assert "vorticity" not in curl  # it is stored
    for index in ((slice(None), slice(None)), (3, slice(None)), (slice(None), 5)):
        cut = Cut(snapshot, index)
        made = cut.derivative("velocity", 0, 1) - cut.derivative("velocity", 1, 0)
        np.testing.assert_allclose(made, stored[index], atol=1e-12)


@pytest.mark.slow
def test_every_output_is_written_or_refused_in_one_line(make_grid):
    flow = flow_of(make_grid, 3)
    refused = {}
    for name, cls in concrete_classes("solver.outputs", Output).items():
        try:
            cls().check(flow)
        except ValueError as error:
            refused[name] = str(error)
    assert all(text.startswith("output") and "needed" in text and "\n" not in text for text in refused.values())
    of_modes = {name for name, text in refused.items() if text.endswith("Fourier modes of a periodic box are needed")}
    assert of_modes == {
        "binned-spectra", "correlations", "cospectra", "domain-length", "elsasser", "helicity", "line-spectra", "modes",
        "plane-spectra", "scales", "spectra", "structure-functions", "transfer", "wave-vortex",
    }  # fmt: skip
    assert "points that count alike are needed" in refused["pdfs"]
    assert "output.statistics.of: output spectra: field velocity is of Stokes modes" in refused["statistics"]
    of_particles = {"particles", "particle-counts", "particle-pdfs"}
    assert refused.keys() - of_modes - of_particles == {"pdfs", "statistics", "points", "profile", "virial", "well"}
    assert refused.keys() >= of_particles


@pytest.mark.parametrize("name", ["random-phase", "gaussian-random", "vortex-ring", "vortex-tubes"])
def test_starts_of_fourier_modes_are_refused(make_grid, name):
    grid = make_grid((8, 6, 13), 1, walls="z")
    start = concrete_classes("solver.initial", sw.initial.Noise.__mro__[1])[name]()
    with pytest.raises(ValueError, match="between walls in z: Fourier modes of a periodic box are needed"):
        start(grid, sw.Field(start.ranks[0]))


@pytest.mark.thorough
@pytest.mark.slow
def test_a_coarser_snapshot_is_the_field_at_fewer_points(make_grid):
    """A velocity that the modes of both grids hold, and its vorticity."""
    grid = make_grid((24, 35), 1, lengths=(2.0, 1.0), walls="y")
    of = {"velocity": walls.Moving(upper=0.5), "temperature": walls.Value()}
    flow = sw.equations.RayleighBenard(grid, 1e4, walls=of)
    u = [np.broadcast_to(part, grid.physical_shape) for part in velocity(*grid.coordinates(), 0.5, 2)]
    fields = flow.from_physical({"velocity": jnp.asarray(np.stack(u)), "temperature": jnp.zeros((1, 24, 35))})
    selection = Snapshots(coarsen=3, fields=("velocity", "vorticity")).selection
    x, z = selection.grid(flow).coordinates()
    made = {name: variable.values for name, variable in variables(flow, selection, fields, 0.0).items()}
    assert made["velocity"].shape == (2, 8, 11)
    for found, expected in zip(made["velocity"], velocity(x, z, 0.5, 2), strict=True):
        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-12)
    _, uz, _, _, wx, _ = gradients(x, z, 0.5)
    np.testing.assert_allclose(made["vorticity"], wx - uz, atol=1e-11)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_paraview_sees_the_true_heights(make_grid, tmp_path, dimensions):
    vtk = pytest.importorskip("vtk", reason="vtk, ParaView's reader, is not installed")
    from vtk.util.numpy_support import vtk_to_numpy

    grid = make_grid((8, 6, 13)[-dimensions:], 1, lengths=(2.0, 3.0, 1.0)[-dimensions:], walls="xyz"[dimensions - 1])
    places, labels = jnp.stack(grid.meshgrid()), tuple("xyz"[:dimensions])
    variables = {"places": Variable(places, "length", labels), "height": Variable(places[-1], "length")}
    for step in (0, 5):
        write_snapshot(snapshot_path(tmp_path, step), variables, grid, step, 0.1 * step, {})
    assert len(list(tmp_path.glob("points-*.h5"))) == 1
    if dimensions == 3:
        assert suiting_plane(read_snapshot(snapshot_path(tmp_path, 0))) == "xz"
    vtk.vtkObject.GlobalWarningDisplayOff()
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "step-00000005.hdf"))
    reader.Update()
    curved = reader.GetOutput()
    assert curved.GetNumberOfPoints() == places[0].size
    at = np.array([curved.GetPoint(i) for i in range(curved.GetNumberOfPoints())])
    stored = [vtk_to_numpy(curved.GetPointData().GetArray(name)) for name in variables]
    np.testing.assert_allclose(stored[0], at[:, :dimensions], atol=1e-6)
    np.testing.assert_allclose(stored[1], at[:, dimensions - 1], atol=1e-6)
    drop_snapshots(tmp_path, -1)
    assert not list(tmp_path.iterdir())
