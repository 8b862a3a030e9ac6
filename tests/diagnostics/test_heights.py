"""Spectra and densities of planes against the height, compared with NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line
from jax.sharding import AxisType

import solver as sw
from solver import diagnostics
from solver.outputs import PDFs, Statistics
from solver.outputs.line_spectra import LineSpectra
from solver.pictures import Recorded, View, records_figure
from solver.pictures.style import style


def by_numpy(u, axis, count):
    """E(k, z) of a plane's values without their mean, from the complex transform."""
    along = tuple(range(u.ndim - 1))
    u_hat = np.fft.fftn(u - u.mean(axis=along), axes=along) / np.prod(u.shape[:-1])
    energy = 0.5 * (np.abs(u_hat) ** 2).sum(axis=tuple(a for a in along if a != axis))
    numbers = np.abs(np.rint(np.fft.fftfreq(u.shape[axis]) * u.shape[axis])).astype(int)
    return np.stack([energy[numbers == n].sum(axis=0) for n in range(count)])


CASES = {
    "one device": ((9, 8, 7), {"devices": 1}),
    "slabs": ((9, 8, 7), {"devices": 3}),
    "pencils": ((9, 8, 7), {"mesh_shape": (3, 2)}),
    "explicit": ((9, 8, 7), {"devices": 3, "axis_type": AxisType.Explicit}),
    "a plane": ((9, 7), {"devices": 2}),
    "walls": ((9, 8, 13), {"devices": 3, "walls": "z"}),
    "a plane between walls": ((9, 13), {"devices": 2, "walls": "y"}),
    "all modes": ((8, 6, 7), {"devices": 2, "dealias": "none"}),
}


@pytest.mark.parametrize("case", CASES)
def test_spectra_of_planes(make_grid, case):
    shape, options = CASES[case]
    grid = make_grid(shape, lengths=(2.0, 3.0, 1.0)[-len(shape) :], **options)
    u = np.random.default_rng(3).normal(size=(2, *shape))
    made = diagnostics.line_spectra_by_height(jax.device_put(u, grid.physical_sharding(u.ndim)), grid)
    assert len(made) == grid.dimensions - 1
    for axis, spectra in enumerate(made):
        count = len(diagnostics.line_wavenumbers(grid, axis))
        expected = np.stack([by_numpy(part, axis, count) for part in u])
        np.testing.assert_allclose(spectra, expected, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 3])
def test_densities_of_planes(make_grid, devices):
    grid = make_grid((9, 8, 13), devices, walls="z")
    draws = np.random.default_rng(5).normal(size=(9, 8, 13))
    values = (2 + draws) * np.linspace(0.5, 2, 13)
    shares, outside, moments = diagnostics.density_by_height(jnp.asarray(values), grid, 7, 1.5)
    logs, beyond, _ = diagnostics.log_density_by_height(jnp.asarray(values), grid, 6, 0.5)
    for z in range(13):
        plane = values[..., z].ravel()
        scaled = (plane - plane.mean()) / plane.std()
        counts, edges = np.histogram(scaled, 7, (-1.5, 1.5))
        np.testing.assert_allclose(shares[z], counts / 72 / (edges[1] - edges[0]))
        assert float(outside[z]) == pytest.approx(1 - counts.sum() / 72)
        np.testing.assert_allclose(
            [m[z] for m in moments], [plane.mean(), plane.std(), (scaled**3).mean(), (scaled**4).mean()]
        )
        positive = plane[plane > 0] / plane.mean()
        counts, edges = np.histogram(np.log10(positive), 6, (-0.5, 0.5))
        np.testing.assert_allclose(logs[z], counts / 72 / (edges[1] - edges[0]))
        assert float(beyond[z]) == pytest.approx(1 - counts.sum() / 72)


@pytest.fixture(scope="module")
def convection(tmp_path_factory):
    """A run with spectra, densities and their means."""
    grid = sw.Grid((12, 9), (2.0, 1.0), walls="y", mesh=sw.device_mesh([0]))
    flow = sw.equations.RayleighBenard(grid, 1e4, 0.7, walls={"temperature": sw.walls.Value(1.0, 0.0)})
    stepper, folder = sw.steppers.Krogstad4(), tmp_path_factory.mktemp("heights")
    x, y = grid.coordinates()
    start = {
        "velocity": np.zeros((2, 12, 9)),
        "temperature": (1 - y + 0.1 * np.cos(np.pi * x) * np.sin(np.pi * y))[None],
    }
    state = sw.initial_state(flow, stepper, {name: jnp.asarray(values) for name, values in start.items()})
    outputs = [
        LineSpectra(by_height=True, every_steps=2),
        PDFs(by_height=True, bins=11, every_steps=2),
        Statistics(of=("line-spectra", "pdfs"), sample_steps=2, every_steps=8),
    ]
    sw.run(flow, stepper, state, end=0.08, step=0.01, directory=folder / "run", outputs=outputs)
    return sw.open_run(folder / "run")


@pytest.mark.slow
def test_planes_of_a_run_between_walls(convection):
    """Means over time, and the correlations that follow."""
    rows, means = convection.records["line-spectra"], convection.statistics["line-spectra"]
    assert rows["temperature_x"].dims == ("t", "kx", "y")
    assert rows["temperature_x"].shape == (5, 4, 9)
    over_time = rows["velocity_x_x"].values[1:].mean(axis=0)
    np.testing.assert_allclose(means["velocity_x_x"][-1], over_time, rtol=1e-12, atol=1e-20)
    made = sw.two_point_correlations(means.isel(t=-1))
    assert set(made.data_vars) == set(rows.data_vars)  # none of the variances in time
    r = made["separation_x"].values
    assert r[-1] == pytest.approx(1.0)  # half of the period
    spectrum = means["temperature_x"].values[-1]
    direct = sum(2 * spectrum[n] * np.cos(np.pi * n * r[:, None]) for n in range(4)) / (2 * spectrum.sum(axis=0))
    np.testing.assert_allclose(made["temperature_x"], direct, atol=1e-14)
    with refused_in_one_line("spectra along t, kx, y: spectra by height at one time are needed"):
        sw.two_point_correlations(means)


@pytest.mark.slow
def test_the_variance_in_the_plane_and_its_density(convection):
    spectra, densities = (convection.records[name].isel(t=-1) for name in ("line-spectra", "pdfs"))
    half = densities["temperature_std"].values ** 2 / 2
    np.testing.assert_allclose(spectra["temperature_x"].sum("kx"), half, rtol=1e-10)
    assert densities["temperature"].dims == ("deviation", "y")
    width = float(densities["deviation"][1] - densities["deviation"][0])
    total = densities["dissipation"].sum("log10_of_mean").values * 12 / 11 + densities["dissipation_outside"].values
    assert width == pytest.approx(20 / 11)
    np.testing.assert_allclose(total, 1)


@pytest.mark.slow
def test_spectra_by_height_are_drawn(convection):
    """Premultiplied spectra, then correlations; densities as images."""
    for output, first in ((LineSpectra, "k E / variance of temperature along x"), (PDFs, "dissipation")):
        recorded = Recorded.read(output.file(convection.directory))
        with style(View()):
            figure = records_figure(recorded, View())
        titles = [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes]
        assert titles[0].replace("\n", " ").startswith(first), titles


def test_planes_are_refused_where_there_are_none(make_grid):
    line = sw.equations.Burgers(make_grid((16,), 1), 0.1)
    for output in (LineSpectra(by_height=True), PDFs(by_height=True)):
        with refused_in_one_line(f"output {output.name}: one dimension; two or three are needed"):
            output.check(line)
    flow = sw.equations.NavierStokes(make_grid((8, 13), 1, walls="y"), 0.1)
    with refused_in_one_line("unknown quantity 'velocity'; did you mean 'velocity_"):
        PDFs(by_height=True, quantities=("velocity",)).check(flow)
    with refused_in_one_line("Fourier modes of a periodic box are needed"):
        LineSpectra().check(flow)
