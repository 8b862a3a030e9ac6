"""Less than whole snapshots: chosen and derived quantities, parts of the grid, fewer points, other precision, gzip."""

from typing import ClassVar

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.config import ConfigError
from solver.diagnostics.points import at_places
from solver.dynamics.derived import derived_quantities
from solver.fft import Transform
from solver.io import Variable, own_rows, write_snapshot
from solver.io.subgrid import Subgrid
from solver.outputs import Correlations, Points, Slices, Snapshots, Statistics, ZonalMeans
from solver.spaces.field import Field
from tests.helpers import random_field

SHAPE = (12, 14, 9)


def run(directory, *outputs, devices=2, shape=SHAPE, steps=2, **grid):
    grid = sw.Grid(shape, mesh=sw.device_mesh(range(devices)), **grid)
    flow = sw.equations.NavierStokes(grid, viscosity=0.02)
    stepper = sw.steppers.IFRK2()
    state = sw.initial_state(flow, stepper, 0.1 * random_field(grid, (grid.dimensions,)))
    last = sw.run(flow, stepper, state, end=0.01 * steps, step=0.01, directory=directory, outputs=outputs)
    return flow, last


def vector(grid, *components):
    """A field from one function of the coordinates for each component."""
    return jnp.stack([sw.sample(lambda *at, f=f: f(*at) + 0 * sum(at), grid) for f in components])


def carried(name):
    """A class of equations, not of a text, of a velocity and a scalar of this name that both rest."""

    class Resting(sw.Equation):
        fields: ClassVar = {"velocity": Field("vector", "length/time", solenoidal=True), name: Field()}

        def linear(self):
            return sw.operators.Diagonal(dict.fromkeys(self.fields, jnp.zeros(self.grid.spectral_shape)))

        def nonlinear(self, fields, t):
            return {name: jnp.zeros_like(u) for name, u in fields.items()}

        def rate(self, fields):
            return jnp.zeros((), self.grid.dtype)

    return Resting


def read(directory, kind, step):
    with h5py.File(directory / kind / f"step-{step:08d}.h5") as file:
        return {name: (file[name][()], dict(file[name].attrs), file[name].dims) for name in file if name != "time"}


# ---- parts of the grid ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [(1,), (7,), (2, 3)], ids=["one device", "slabs", "pencils"])
def test_every_part_holds_the_values_of_the_whole(tmp_path, split):
    mesh = sw.device_mesh(range(int(np.prod(split))), shape=split if len(split) > 1 else None)
    grid = sw.Grid(SHAPE, lengths=(1.0, 2.0, 3.0), mesh=mesh)
    u = random_field(grid, (3,))
    subgrids = {
        "x = 0.5": np.s_[6, :, :],
        "y = 1.99": np.s_[:, 0, :],  # nearest across the end of the box
        "z = 1": np.s_[:, :, 3],
        "y = 0.5, z = 0": np.s_[:, 4, 0],
        "x = 0.25, y = 1, z = 2": np.s_[3, 7, 6],
        "x = 0.25:0.5, z = 1:3": np.s_[3:6, :, 3:9],
    }
    for text, index in subgrids.items():
        subgrid = Subgrid.of(text, grid)
        variables = {"u": Variable(u, "1", ("x", "y", "z"), subgrid), "p": Variable(u[0], "1", (), subgrid)}
        write_snapshot(tmp_path / "part.h5", variables, grid, 0, 0.0, {}, "gzip")
        with h5py.File(tmp_path / "part.h5") as file:
            np.testing.assert_array_equal(file["p"][()], np.asarray(u)[0][index])
            np.testing.assert_array_equal(file["u"][()], np.moveaxis(np.asarray(u), 0, -1)[index])
    with h5py.File(tmp_path / "part.h5") as file:
        np.testing.assert_allclose(file["x_3_5"][:], np.arange(3, 6) / 12)
        assert [dim.label for dim in file["u"].dims] == ["x_3_5", "y", "z_3_8", "component"]
    assert not (tmp_path / "part.hdf").exists()


def test_positions_are_multiples_of_pi_as_lengths_are():
    grid = sw.Grid((8, 16, 32), mesh=sw.device_mesh([0]))
    for words, label in (("z = pi", "z16"), ("y = 0.5 pi, x = 1.5*pi", "x6_y4"), ("z = 0.25 pi:pi", "z4-15")):
        assert Subgrid.of(words, grid).label(grid.physical_shape) == label


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (("q = 1",), "'q = 1': words such as 'z = 0.5'"),
        (("z = 7",), "z = 7 lies outside 0 ≤ z < 6.28319"),
        (("z = one",), "'z = one' has no number"),
        (("z = 3 pi",), "z = 9.42478 lies outside 0 ≤ z < 6.28319"),
        (("z = pie",), "and no multiple of pi such as '0.5 pi'"),
        (("z = 1, z = 2",), "z is there twice"),
        (("x = 0.1:0.2",), "no point lies in 0.1 ≤ x < 0.2; they are 0.524 apart"),
        (("z = 1", "z = 1.01"), "z1 is there twice"),
        ((), "one part or more is needed"),
    ],
)
def test_parts_that_are_none_are_refused_before_anything_is_written(tmp_path, at, message):
    with pytest.raises((ValueError, ConfigError), match=message):
        run(tmp_path / "run", Slices(at=at))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_slices_of_a_run_are_those_of_its_snapshots(tmp_path):
    outputs = (Slices(every_steps=1, at=("z = 1", "x = 0, y = 2"), fields=("velocity", "vorticity")), Snapshots())
    run(tmp_path, *outputs)
    assert sorted(path.name for path in (tmp_path / "slices").iterdir()) == [f"step-{n:08d}.h5" for n in range(3)]
    parts, whole = read(tmp_path, "slices", 2), read(tmp_path, "snapshots", 2)
    velocity, attributes, _ = parts["velocity_z1"]
    assert velocity.dtype == np.float32
    assert attributes["z"] == pytest.approx(2 * np.pi / 9)
    assert attributes["units"] == "length/time"
    np.testing.assert_array_equal(velocity, whole["velocity"][0][:, :, 1].astype(np.float32))
    line = parts["velocity_x0_y4"][0]
    np.testing.assert_array_equal(line, whole["velocity"][0][0, 4].astype(np.float32))
    with h5py.File(tmp_path / "slices" / "step-00000002.h5") as file:
        assert file["velocity_z1"].compression == "gzip"
        assert file["velocity_z1"].shuffle
        assert file["vorticity_z1"].shape == (12, 14, 3)


@pytest.mark.slow
def test_a_run_that_continues_drops_the_slices_beyond_its_checkpoint(tmp_path):
    run(tmp_path, Slices(every_steps=1))
    from solver.io import RunDirectory

    Slices.drop_after(RunDirectory(tmp_path), 1)
    assert sorted(path.name for path in (tmp_path / "slices").iterdir()) == [f"step-{n:08d}.h5" for n in range(2)]
    assert all(not problems for problems in Slices.verify(RunDirectory(tmp_path)).values())


# ---- fewer points, other numbers --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
def test_fewer_points_keep_the_modes_that_they_have(tmp_path, devices):
    """Modes |n| ≤ 2 live on six points: every second value is that of the fine grid."""
    grid = sw.Grid((12, 12, 12), mesh=sw.device_mesh(range(devices)))
    flow = sw.equations.NavierStokes(grid, viscosity=0.1)
    sin, cos = jnp.sin, jnp.cos
    u = vector(grid, lambda x, y, z: sin(2 * y + z), lambda x, y, z: cos(x), lambda x, y, z: sin(x - y))
    high = vector(grid, lambda x, y, z: cos(3 * y), lambda x, y, z: 0 * x, lambda x, y, z: 0 * x)
    state = sw.initial_state(flow, sw.steppers.IFRK2(), u + high)
    coarse = Snapshots(coarsen=2, precision="float32", compression="gzip")
    sw.run(flow, sw.steppers.IFRK2(), state, end=0.01, step=0.01, directory=tmp_path, outputs=[coarse])
    values, _, _ = read(tmp_path, "snapshots", 0)["velocity"]
    assert values.shape == (6, 6, 6, 3)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, np.moveaxis(np.asarray(u), 0, -1)[::2, ::2, ::2], atol=1e-6)
    assert (tmp_path / "snapshots" / "step-00000000.hdf").exists()


def test_a_wavefunction_on_fewer_points(tmp_path):
    grid = sw.Grid((8, 8, 1), dealias="none", mesh=sw.device_mesh(range(2)))  # one point along z stays one
    flow = sw.equations.GrossPitaevskii(grid, coupling=1.0)
    psi = sw.sample(lambda x, y, z: jnp.exp(1j * x) + 0.5 * jnp.exp(-1j * y) + 0 * z, grid)
    state = sw.initial_state(flow, sw.steppers.Strang(), psi)
    out = Snapshots(coarsen=2, fields=("density", "phase"))
    sw.run(flow, sw.steppers.Strang(), state, end=0.01, step=0.01, directory=tmp_path, outputs=[out])
    snapshot = read(tmp_path, "snapshots", 0)
    exact = np.asarray(psi).reshape(8, 8, 1)[::2, ::2]
    np.testing.assert_allclose(snapshot["density"][0], np.abs(exact) ** 2, atol=1e-12)
    np.testing.assert_allclose(snapshot["phase"][0], np.angle(exact), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coarsen": 0}, "one or more is needed"),
        (
            {"coarsen": 8},
            r"output.snapshots.coarsen = 8: \[12, 14, 9\] points become \[1, 1, 1\]: .* at most 7 is needed",
        ),
        (
            {"fields": ("speed",)},
            "navier-stokes has no 'speed'; known are dissipation, pressure, q_criterion, velocity, vorticity",
        ),
    ],
)
def test_snapshots_that_cannot_be_made_are_refused(tmp_path, options, message):
    with pytest.raises((ValueError, ConfigError), match=message):
        run(tmp_path / "run", Snapshots(**options))
    assert not (tmp_path / "run").exists()


# ---- derived ----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 8])
def test_vorticity_q_and_dissipation_of_an_abc_flow(devices):
    """∇×u = u; Q = ½(½|ω|² − s:s), worked out by hand from the gradients."""
    grid = sw.Grid((16, 18, 15), mesh=sw.device_mesh(range(devices)))
    flow = sw.equations.NavierStokes(grid, viscosity=0.3)
    a, b, c = 1.0, 0.7, 0.4
    u = vector(
        grid,
        lambda x, y, z: a * jnp.sin(z) + c * jnp.cos(y),
        lambda x, y, z: b * jnp.sin(x) + a * jnp.cos(z),
        lambda x, y, z: c * jnp.sin(y) + b * jnp.cos(x),
    )
    fields = flow.from_physical({"velocity": u})
    made = {name: np.asarray(jax.jit(d.make)(fields)) for name, d in derived_quantities(flow).items()}
    x, y, z = (np.asarray(v) for v in grid.coordinates())
    zero = 0 * (x + y + z)
    tensor = np.array(  # ∂u_i/∂x_j
        [
            [zero, -c * np.sin(y) + zero, a * np.cos(z) + zero],
            [b * np.cos(x) + zero, zero, -a * np.sin(z) + zero],
            [-b * np.sin(x) + zero, c * np.cos(y) + zero, zero],
        ]
    )
    strain, spin = (tensor + tensor.swapaxes(0, 1)) / 2, (tensor - tensor.swapaxes(0, 1)) / 2
    np.testing.assert_allclose(made["vorticity"], np.asarray(u), atol=1e-12)
    np.testing.assert_allclose(made["q_criterion"], 0.5 * ((spin**2).sum((0, 1)) - (strain**2).sum((0, 1))), atol=1e-12)
    np.testing.assert_allclose(made["dissipation"], 2 * 0.3 * (strain**2).sum((0, 1)), atol=1e-12)


@pytest.mark.slow
def test_a_velocity_that_is_no_field_is_derived(tmp_path):
    """u = (−ψ_y, ψ_x) of ω = ∇²ψ = cos x + cos y: ψ = −ω."""
    grid = sw.Grid((16, 14), mesh=sw.device_mesh(range(2)))
    flow = sw.equations.Vorticity(grid, viscosity=0.1)
    omega = sw.sample(lambda x, y: jnp.cos(x) + jnp.cos(y), grid)
    fields = flow.from_physical({"vorticity": omega[None]})
    x, y = (np.asarray(v) for v in grid.coordinates())
    velocity = np.stack(np.broadcast_arrays(-np.sin(y) + 0 * x, np.sin(x) + 0 * y))
    np.testing.assert_allclose(derived_quantities(flow)["velocity"].make(fields), velocity, atol=1e-13)
    shear = np.cos(x) - np.cos(y)  # ∂x v + ∂y u
    np.testing.assert_allclose(derived_quantities(flow)["dissipation"].make(fields), 0.1 * shear**2, atol=1e-13)
    assert "vorticity" not in derived_quantities(flow)


# ---- places -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize(("shape", "devices"), [((12, 14, 9), 7), ((12, 14, 9), 1), ((10, 9), 3), ((11,), 1)])
def test_a_field_at_places_is_its_series(shape, devices, real):
    grid = sw.Grid(shape, mesh=sw.device_mesh(range(devices)), real=real, lengths=[1.5, 2.0, 3.0][: len(shape)])
    u = random_field(grid, (2,))
    u_hat = Transform(grid).forward(u)
    smooth = np.asarray(Transform(grid).inverse(u_hat))
    index = [(3, 5, 7)[: len(shape)], (0, 0, 0)[: len(shape)]]
    places = [[i * dx for i, dx in zip(at, grid.spacing, strict=True)] for at in index]
    values = np.asarray(jax.jit(lambda v: at_places(v, places, grid))(u_hat))
    for row, at in zip(values, index, strict=True):
        np.testing.assert_allclose(row, smooth[(slice(None), *at)], atol=1e-13)
    (x, *_), (k, *_) = grid.spacing, grid.fundamental
    wave = sw.sample(lambda *at: jnp.cos(k * at[0] + 0.3) + 0 * sum(at), grid)[None]
    between = [[0.37 * x, *[0.0] * (len(shape) - 1)]]
    values = at_places(Transform(grid).forward(wave), between, grid)
    np.testing.assert_allclose(np.asarray(values), [[np.cos(0.37 * k * x + 0.3)]], atol=1e-13)


@pytest.mark.slow
def test_points_of_a_run(tmp_path):
    places = ((0.0, 0.0, 0.0), (0.3, 1.1, 2.0))
    flow, last = run(tmp_path, Points(every_steps=1, at=places))
    file = own_rows(tmp_path / "points.h5")
    assert [row.step for row in file.table().rows] == [0, 1, 2]
    expected = np.asarray(at_places(last.field["velocity"], places, flow.grid))
    np.testing.assert_allclose(file.table().rows[-1].values["velocity_y"], expected[:, 1], rtol=1e-12)
    text = Points(at=places).programs(flow, last)["points"].lower().compile().as_text()
    assert "all-gather" not in text
    assert "all-to-all" not in text
    with pytest.raises(ValueError, match="places of 3 numbers are needed"):
        Points(at=((0.0, 1.0),)).check(flow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "name"),
    [
        (Points(at=((0.1, 0.2),)), "t"),
        (Points(at=((0.1, 0.2),)), "point"),
        (ZonalMeans(), "y"),
        (Correlations(), "r"),
        (Snapshots(), "time"),
        (Snapshots(), "x"),
        (Snapshots(), "component"),
        (Statistics(of=("points",)).with_siblings([Points(at=((0.1, 0.2),))]), "since"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_field_called_as_an_axis_of_the_file_is_refused(output, name):
    """Otherwise the first write fails, or what is in the file is the axis."""
    grid = sw.Grid((8, 10), mesh=sw.device_mesh([0]))
    output.check(carried("dye")(grid))
    with pytest.raises(ValueError, match=rf"called '{name}'.*another name than .*{name}"):
        output.check(carried(name)(grid))


@pytest.mark.parametrize("precision", ["grid", "float32"])
def test_a_snapshot_of_complex_numbers_is_refused(precision):
    class Own(sw.equations.ComplexGinzburgLandau):
        def snapshot(self, fields):
            return self.to_physical(fields)

    with pytest.raises(ValueError, match=r"snapshot\(\) gives .* as complex numbers"):
        Snapshots(precision=precision).check(Own(sw.Grid((8, 10), mesh=sw.device_mesh([0]))))
