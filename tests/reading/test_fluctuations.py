"""Profiles of means over planes, and the turbulence that follows from them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.dynamics.derived import derived_quantities
from solver.io import Axis, Column, RecordsLayout
from solver.outputs import Statistics, VerticalProfiles
from solver.pictures import Recorded, View, records_figure
from solver.pictures.style import style
from solver.reading.fluctuations import at_walls, derivative
from solver.steppers import Krogstad4
from solver.walls.legendre import gauss_points

NU = 0.1


def channel(make_grid, devices=1):
    """Flow between a wall at rest and one that moves, and a scalar: waves that the points hold exactly."""
    grid = make_grid((9, 6, 17), devices, lengths=(2.0, 3.0, 1.0), walls="z")
    flow = sw.equations.NavierStokes(
        grid, NU, scalars={"dye": sw.PassiveScalar(0.3)},
        walls={"velocity": sw.walls.Moving(upper=(0.5, 0.0)), "dye": sw.walls.Value(1.0, 0.0)},
    )  # fmt: skip
    x, y, z = grid.coordinates()
    hump, slope = z**2 * (1 - z) ** 2, 2 * z * (1 - z) * (1 - 2 * z)
    u = [0.5 * z + np.cos(np.pi * x) * slope, 0 * z, np.pi * np.sin(np.pi * x) * hump]
    u = np.stack([np.broadcast_to(part, grid.physical_shape) for part in u])
    dye = np.broadcast_to(1 - z + np.sin(np.pi * x) * z * (1 - z) + np.cos(2 * np.pi * y / 3) * hump, u.shape[1:])
    return flow, u, dye


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run with profiles, and its flow at the start."""
    directory = tmp_path_factory.mktemp("channel") / "run"

    def make_grid(shape, devices, **options):
        return sw.Grid(shape, mesh=sw.device_mesh(range(devices)), **options)

    flow, u, dye = channel(make_grid, 2)
    stepper = Krogstad4()
    state = sw.initial_state(flow, stepper, {"velocity": jnp.asarray(u), "dye": jnp.asarray(dye)[None]})
    outputs = [
        VerticalProfiles(every_steps=2),
        Statistics(of=("vertical-profiles",), sample_steps=2, every_steps=4),
    ]
    sw.run(flow, stepper, state, end=0.008, step=0.001, directory=directory, outputs=outputs)
    return sw.open_run(directory), flow, u, dye


def over_planes(values):
    return np.asarray(values).mean(axis=(0, 1))


@pytest.mark.thorough
@pytest.mark.slow
def test_profiles_are_means_over_planes(run):
    opened, flow, u, dye = run
    first = opened.records["vertical-profiles"].isel(t=0)
    np.testing.assert_allclose(first["z"], flow.grid.coordinates()[2].ravel())
    np.testing.assert_allclose(first["velocity_x"], over_planes(u[0]), atol=1e-12)
    np.testing.assert_allclose(first["velocity_x_velocity_z"], over_planes(u[0] * u[2]), atol=1e-12)
    np.testing.assert_allclose(first["velocity_z_dye"], over_planes(u[2] * dye), atol=1e-12)
    np.testing.assert_allclose(first["dye_dye_dye"], over_planes(dye**3), atol=1e-12)
    np.testing.assert_allclose(first["velocity_transport"], over_planes(u[2] * (u**2).sum(0)) / 2, atol=1e-12)
    np.testing.assert_allclose(first["velocity_x_slope"], 0.5, atol=1e-11)
    later = opened.statistics["vertical-profiles"]
    assert later.sizes["t"] == 2
    rows = opened.records["vertical-profiles"]["dye"]
    np.testing.assert_allclose(later["dye"][-1], (rows[3] + rows[4]) / 2, rtol=1e-12)


@pytest.mark.slow
def test_fluctuations_and_their_budget(run):
    """Against sums over the points, with derivatives of the formula of the flow."""
    opened, flow, u, dye = run
    made = sw.turbulence(opened.records["vertical-profiles"].isel(t=0), viscosity=NU)
    z = flow.grid.coordinates()[2]
    apart = u - u.mean(axis=(1, 2), keepdims=True)
    spot = dye - dye.mean(axis=(0, 1))
    flat = z.ravel()
    np.testing.assert_allclose(made["velocity_x_velocity_z"], over_planes(apart[0] * apart[2]), atol=1e-12)
    np.testing.assert_allclose(made["dye_rms"], np.sqrt(over_planes(spot**2)), atol=1e-12)
    cubed = over_planes(spot**2) ** 1.5  # moments of a dye of one are rounded to some 1e-15
    assert np.all(np.abs(made["dye_skewness"] - over_planes(spot**3) / cubed) < 1e-14 / cubed)
    energy = over_planes((apart**2).sum(0)) / 2
    np.testing.assert_allclose(made["kinetic_energy"], energy, atol=1e-12)
    np.testing.assert_allclose(made["production"], -0.5 * over_planes(apart[0] * apart[2]), atol=1e-12)
    # ½⟨w'u'u'⟩ is odd in sin and cos of one wave: it vanishes
    np.testing.assert_allclose(made["transport"], 0, atol=1e-11)
    hump, slope, bend = flat**2 * (1 - flat) ** 2, 2 * flat * (1 - flat) * (1 - 2 * flat), 2 - 12 * flat + 12 * flat**2
    along, across = np.pi * slope, bend  # of u, of which half of the squares is the mean
    lost = along**2 + across**2 + (np.pi**2 * hump) ** 2 + (np.pi * slope) ** 2
    np.testing.assert_allclose(made["dissipation"], NU * lost / 2, atol=1e-11)
    gains = ("production", "transport", "pressure_transport", "viscous_diffusion", "rest")
    np.testing.assert_allclose(sum(made[name] for name in gains) - made["dissipation"], 0, atol=1e-14)
    curved = NU * derivative(derivative(energy, flat), flat)
    np.testing.assert_allclose(made["viscous_diffusion"], curved, atol=1e-10)


@pytest.mark.slow
def test_the_flux_of_energy_of_fluctuations(make_grid):
    """With a mean across the planes and fluctuations that are skewed; in a periodic box, where points are even."""
    grid = make_grid((16, 12), 2)
    flow = sw.equations.Burgers(grid, NU)
    draws = np.random.default_rng(2).normal(size=(2, 16, 12)) ** 2
    fields = flow.from_physical({"velocity": jnp.asarray(draws)})
    columns = VerticalProfiles().values(flow, fields)
    xarray = pytest.importorskip("xarray")
    y = grid.coordinates()[1].ravel()
    of_planes = {n: (("y",), np.asarray(c)) for n, c in columns.items() if n != "viscosity"}
    made = sw.turbulence(xarray.Dataset(of_planes, {"y": y}), NU)
    u = np.asarray(flow.to_physical(fields)["velocity"])
    apart = u - u.mean(axis=1, keepdims=True)
    flux = (apart[1] * (apart**2).sum(0)).mean(0) / 2
    np.testing.assert_allclose(made["transport"], -derivative(flux, y), atol=1e-11)
    np.testing.assert_allclose(derivative(np.cos(2 * y), y), -2 * np.sin(2 * y), atol=1e-12)


@pytest.mark.slow
def test_the_pressure_of_a_snapshot(run):
    """Its correlations with the velocity and with the strain, against NumPy at the points."""
    opened, flow, u, dye = run
    fields = flow.from_physical({"velocity": jnp.asarray(u), "dye": jnp.asarray(dye)[None]})
    make = derived_quantities(flow)["pressure"].make
    both = jax.jit(lambda fields: (make(fields), flow.space("velocity").gradient(fields["velocity"])))(fields)
    p, gradient = map(np.asarray, both)
    p = p - over_planes(p)
    gradient = gradient - over_planes(np.moveaxis(gradient, (0, 1), (-2, -1))).transpose(1, 2, 0)[:, :, None, None]
    made = sw.turbulence(opened.records["vertical-profiles"].isel(t=0))
    np.testing.assert_allclose(made["velocity_z_pressure"], over_planes(p * u[2]), atol=1e-13)
    for i, j in ((0, 0), (0, 2), (1, 1), (2, 2)):
        strain = over_planes(p * (gradient[i, j] + gradient[j, i]))
        np.testing.assert_allclose(made[f"pressure_strain_{'xyz'[i]}{'xyz'[j]}"], strain, atol=1e-13)
    assert np.abs(made["pressure_strain_xz"]).max() > 1e-4
    moved = -derivative(over_planes(p * u[2]), flow.grid.coordinates()[2].ravel())
    np.testing.assert_allclose(made["pressure_transport"], moved, atol=1e-12)
    plain = VerticalProfiles(pressure=False).layout(flow).columns
    assert not [name for name in plain if "pressure" in name]


@pytest.mark.slow
def test_wall_units_of_a_shear(run):
    opened, *_ = run
    units = sw.wall_units(opened.records["vertical-profiles"].isel(t=0), NU)
    np.testing.assert_allclose(units["friction_velocity"], np.sqrt(NU * 0.5))
    np.testing.assert_allclose(units["friction_reynolds"], np.sqrt(NU * 0.5) / (2 * NU))
    z = np.asarray(units["z"])
    np.testing.assert_allclose(units["wall_distance"].sel(wall="upper"), (1 - z) * np.sqrt(NU * 0.5) / NU)
    np.testing.assert_allclose(at_walls(np.stack([z**3, 2 - z**2]), z), [[0, 1], [2, 1]], atol=1e-13)
    with pytest.raises(KeyError, match=r"'velocity_q' was not recorded; did you mean 'velocity_"):
        sw.wall_units(opened.records["vertical-profiles"].isel(t=0), NU, along="velocity_q")
    with refused_in_one_line("profiles along t, z: profiles at one time are needed"):
        sw.turbulence(opened.records["vertical-profiles"])
    with pytest.raises(KeyError, match="'wind' was not recorded"):
        sw.turbulence(opened.records["vertical-profiles"].isel(t=0), NU, vector="wind")


@pytest.mark.slow
def test_the_law_of_the_wall_is_drawn_where_there_may_be_one():
    """Of U = S z + 1, which is U⁺ = y⁺ up to the middle of the layer; not where Re_τ is below 30."""
    z = 1.0 + gauss_points(17)[0]
    rows = {"velocity_x": 4 * z + 1, "velocity_x_slope": 4 + 0 * z, "velocity_z": 0 * z, "velocity_z_slope": 0 * z}
    rows |= {f"velocity_{a}_velocity_{a}": rows[f"velocity_{a}"] ** 2 for a in "xz"}
    rows |= {f"velocity_{a}_velocity_{a}_velocity_{a}": rows[f"velocity_{a}"] ** 3 for a in "xz"}
    rows |= {"velocity_x_velocity_z": 0 * z, "velocity_gradient_square": 16 + 0 * z, "velocity_transport": 0 * z}
    columns = {**{name: Column(("z",)) for name in rows}, "viscosity": Column()}
    layout = RecordsLayout({"z": Axis(z, "length")}, columns)
    for viscosity, drawn in ((1e-3, True), (1.0, False)):
        values = {name: row[None] for name, row in rows.items()} | {"viscosity": np.array([viscosity])}
        with style(View()):
            figure = records_figure(Recorded("vertical-profiles", np.zeros(1), layout, values), View())
        first = figure.axes[0]
        assert (first.get_xlabel() == "y⁺") is drawn
        if drawn:
            lower, upper = (line.get_xydata() for line in first.lines[2:4])  # after the two laws
            np.testing.assert_allclose(lower[:, 1], lower[:, 0])
            np.testing.assert_allclose(upper[:, 1], upper[:, 0])
            assert lower[:, 0].max() == pytest.approx(np.sqrt(4e-3) / 1e-3)  # Re_τ, at the point in the middle


def test_boundary_layers_of_known_profiles():
    """T = ½ + ½(1 − 2z)⁷; T'² and u'² are squares of z(1 − z)³ and z(1 − z)⁵, largest at 1/4 and 1/6 of the height."""
    xarray = pytest.importorskip("xarray")
    height = 2.0
    points, _ = gauss_points(33)
    z = 0.5 * height * (1 + points)
    x = z / height
    mean, slope = 0.5 + 0.5 * (1 - 2 * x) ** 7, -7 * (1 - 2 * x) ** 6 / height
    columns = {name: 0 * z for a in "xz" for name in (f"velocity_{a}", f"velocity_{a}_slope")}
    columns |= {f"velocity_{a}_velocity_{a}_velocity_{a}": 0 * z for a in "xz"}
    columns |= {"velocity_x_velocity_x": (x * (1 - x) ** 5) ** 2, "velocity_z_velocity_z": 0 * z}
    columns |= {"dye": mean, "dye_slope": slope, "dye_dye": mean**2 + (x * (1 - x) ** 3) ** 2, "dye_dye_dye": mean**3}
    made = sw.boundary_layers(xarray.Dataset({name: (("z",), v) for name, v in columns.items()}, {"z": z}))
    np.testing.assert_allclose(made["dye_slope_thickness"], height / 14)
    lower = made.sel(wall="lower")
    assert float(lower["dye_rms_thickness"]) == pytest.approx(height / 4, abs=1e-6)
    assert float(lower["velocity_rms_thickness"]) == pytest.approx(height / 6, abs=1e-6)
    assert float(lower["velocity_slope_thickness"]) == pytest.approx(height * (1 / 6) * (5 / 6) ** 5, rel=1e-9)
    upper = made.sel(wall="upper")  # where both grow up to the middle, and u' has no slope
    assert float(upper["dye_rms_thickness"]) == pytest.approx(height / 2, abs=1e-3)
    columns["velocity_x_velocity_x"] = 0.1 + x**2  # of a wall whose motion changes in time: no layer by slope there
    made = sw.boundary_layers(xarray.Dataset({name: (("z",), v) for name, v in columns.items()}, {"z": z}))
    assert np.isnan(made["velocity_slope_thickness"]).all()
    with pytest.raises(KeyError, match="'wind' was not recorded"):
        sw.boundary_layers(xarray.Dataset({name: (("z",), v) for name, v in columns.items()}, {"z": z}), vector="wind")


def test_the_error_of_a_mean_counts_correlation():
    """Of x_{n+1} = r x_n + noise the variance of the mean of N values is σ²(1 + r)/((1 − r)N)."""
    draws, n, r = np.random.default_rng(4), 40_000, 0.95
    column = np.zeros(n)
    for i, kick in enumerate(draws.normal(size=n - 1)):
        column[i + 1] = r * column[i] + kick
    mean, error = sw.mean_with_error(np.arange(n) * 0.1, 2 + column, after=10.0)
    exact = np.sqrt((1 + r) / ((1 - r) * n) / (1 - r * r))
    assert 0.8 < error / exact < 1.6
    assert abs(mean - 2) < 4 * error
    _, error = sw.mean_with_error(np.arange(n), draws.normal(size=n))
    assert 0.9 < error * np.sqrt(n) < 2
    with refused_in_one_line("20 times from t = 80 on: 32 or more are needed"):
        sw.mean_with_error(np.arange(100.0), np.ones(100), after=80.0)


def test_equations_without_planes_are_refused(make_grid):
    with refused_in_one_line("output vertical-profiles: one dimension; two or three are needed"):
        VerticalProfiles().check(sw.equations.Burgers(make_grid((16,), 1), NU))
    wave = sw.equations.NonlinearSchroedinger(make_grid((8, 8), 1), 1.0)
    with refused_in_one_line("output vertical-profiles: nonlinear-schroedinger has no real field; one is needed"):
        VerticalProfiles().check(wave)


def test_profiles_are_drawn_against_the_height(run, tmp_path):
    """Means, fluctuations, fluxes, skewness, and the budget with the recorded viscosity; none taken for a spectrum."""
    opened, *_ = run
    recorded = Recorded.read(VerticalProfiles.file(opened.directory))
    with style(View()):
        figure = records_figure(recorded, View())
    shown = [axis for axis in figure.axes if axis.get_visible()]
    titles = [axis.get_title(loc="left") or axis.get_title() for axis in shown]
    words = ["mean over planes", "fluctuation (rms)", "flux", "skewness", "turbulent energy budget", "pressure–strain"]
    assert [title.partition(",")[0] for title in titles] == words
    assert all(axis.get_ylabel().startswith("z") for axis in shown)
    labels = [line.get_label() for line in shown[2].lines]
    assert labels[:4] == ["velocity z dye", "velocity z pressure", "velocity x velocity z", "velocity y velocity z"]
    budget = sum(line.get_xdata() for line in shown[4].lines if line.get_label() != "_child6")
    np.testing.assert_allclose(budget, 0, atol=1e-12)
    height = shown[0].lines[0].get_ydata()
    np.testing.assert_allclose(height, opened.records["vertical-profiles"]["z"])


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
def test_single_precision_keeps_a_variance_beside_a_large_mean(make_grid, tmp_path, devices):
    """A temperature of 300 ± 0.01, whose square has seven digits in single precision."""
    grid = make_grid((12, 12, 10), devices, precision="float32")
    flow = sw.equations.NavierStokes(grid, NU, scalars={"T": sw.PassiveScalar(0.0)})
    u = jnp.zeros((3, *grid.physical_shape), np.float32)
    hot = sw.sample(lambda x, y, z: 300 + 0.01 * jnp.sin(x) * jnp.cos(y) * (1 + jnp.sin(x)) + 0 * z, grid)
    state = sw.initial_state(flow, Krogstad4(), {"velocity": u, "T": hot})
    outputs = [VerticalProfiles(every_steps=1), Statistics(of=("vertical-profiles",), sample_steps=1, every_steps=2)]
    sw.run(flow, Krogstad4(), state, end=0.002, step=0.001, directory=tmp_path / "run", outputs=outputs)
    found = sw.open_run(tmp_path / "run")
    for profiles in (found.records["vertical-profiles"].isel(t=0), found.statistics["vertical-profiles"].isel(t=0)):
        of_planes = sw.turbulence(profiles)
        np.testing.assert_allclose(of_planes["T_T"], 1e-4 * (1 / 4 + 3 / 16), rtol=5e-3)
        np.testing.assert_allclose(profiles["T_T"], 300**2 + 1e-4 * (1 / 4 + 3 / 16), atol=0.05)
