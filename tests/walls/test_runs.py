"""Runs between walls: by command, stopped and continued, in pictures; on devices; gradients; orders of steppers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from written_runs import convection, written
from zygote import slabwave

import solver as sw
from solver import walls
from solver.io.from_run import FromRun
from solver.steppers import ETDRK5S4, Krogstad4
from solver.walls.conditions import AtValue

RUN = convection(
    [16, 17],
    1e4,
    0.01,
    """
[initial.velocity]
name = "noise"
amplitude = 1e-3

[time]
stepper = "krogstad4"
step = 0.1
end = 1.0

[devices]
use = [0]

[output]
spectra = false
series = { every_steps = 1 }
snapshots = { every_time = 1.0 }
""",
    prandtl=0.71,
)


@pytest.fixture
def run_file(tmp_path):
    written(tmp_path, RUN)
    return lambda *words: slabwave(*words, folder=tmp_path)


@pytest.mark.slow
def test_a_run_continues_with_its_bits_and_is_drawn_and_read(run_file, tmp_path):
    for words in (["output.directory=whole"], ["output.directory=halves", "time.end=0.5"]):
        done = run_file("run", "run.toml", *words)
        assert done.returncode == 0, done.stderr
    done = run_file("run", "run.toml", "output.directory=halves", "--resume")
    assert done.returncode == 0, done.stderr
    whole, halves = (tmp_path / name / "series.csv" for name in ("whole", "halves"))
    assert whole.read_text() == halves.read_text()
    assert run_file("plot", "whole").returncode == 0
    assert run_file("report", "whole").returncode == 0
    with xarray.open_dataset(tmp_path / "whole" / "snapshots" / "step-00000010.h5", engine="h5netcdf") as snapshot:
        heights = sw.Grid((16, 17), (2.0, 1.0), walls="y", mesh=sw.device_mesh([0])).coordinates()[1].ravel()
        np.testing.assert_array_equal(snapshot["y"], heights)
    assert len(list((tmp_path / "whole" / "snapshots").glob("*.hdf"))) == 2
    for start in ("whole", "whole/snapshots/step-00000010.h5"):
        starts_from(tmp_path / start, whole)


def starts_from(path, series):
    """Fields on more points have the energy and the heat flux of the end of another run; other boxes are refused."""
    grid = sw.Grid((20, 21), (2.0, 1.0), walls="y", mesh=sw.device_mesh([0]))
    flow = sw.equations.RayleighBenard(grid, 1e4, 0.71, walls={"temperature": walls.Value(1.0)})
    start = {n: FromRun(str(path)).for_equation(flow, n)(grid, field) for n, field in flow.fields.items()}
    fields, removed = flow.start_from(start)
    assert all(float(share) < 1e-12 for parts in removed.values() for share in parts.values())
    names, last = (series.read_text().splitlines()[line].split(",") for line in (1, -1))
    for name, value in flow.report.columns(fields).items():
        assert float(value) == pytest.approx(float(last[names.index(name)]), rel=1e-10, abs=1e-15), name
    hot = sw.equations.RayleighBenard(grid, 1e4, 0.71, walls={"temperature": walls.Value(1.5)})
    begun = FromRun(str(path)).for_equation(hot, "temperature")
    shifted = FromRun(str(path), shift_to_walls=True).for_equation(hot, "temperature")
    if path.suffix != ".h5":  # whose values alone say what its walls gave
        with pytest.raises(ValueError, match=r"the value 1.0, here the value 1.5, .* shift_to_walls = true adds"):
            begun.check(hot, "temperature")
        shifted.check(hot, "temperature")
        profile = 0.5 * (1 - grid.coordinates()[1])
        found = shifted(grid, hot.fields["temperature"])
        np.testing.assert_allclose(found, start["temperature"] + profile, atol=1e-12)
    box = sw.equations.NavierStokes(sw.Grid((20, 21), (2.0, 1.0), mesh=grid.mesh), 0.1)
    with pytest.raises(ValueError, match="its box is between walls, this one periodic"):
        FromRun(str(path)).check(box, "velocity")


REFUSED = {
    "no condition": (["walls={}"], "field temperature has no condition at the walls"),
    "one wall": (["walls.temperature={lower={value=1.0}}"], "walls.temperature.upper is missing"),
    "another direction": (["grid.walls=x"], "'y', the last direction, is needed"),
    "a periodic box": (["grid.walls=none"], "walls"),
    "no field": (["walls.salt={lower='no-slip', upper='no-slip'}"], "walls.salt: unknown field"),
    "no condition of that name": (["walls.velocity.lower='slippery'"], '"no-slip", "free-slip"'),
    "two in one": (["walls.temperature.lower={value=1.0, slope=0.0}"], "is needed"),
    "an integrating factor": (["time.stepper=ifrk4"], "krogstad4"),
    "three points": (["grid.shape=[16, 3]"], "8 or more are needed"),
    "another rule": (["grid.dealias=smooth"], "two-thirds is needed"),
    "a start away from the walls": (["initial.temperature={name='uniform', value=0.5}"], "walls.temperature"),
    "shells": (["output.spectra={}"], "Fourier modes of a periodic box are needed"),
    "a forcing by modes": (["forcing.velocity={name='abc'}"], "forcing"),
    "a body": (["body={shape='cylinder', centre=[1.0, 0.5], radius=0.1}"], "bodies act on it"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_one_line_and_writes_nothing(run_file, tmp_path, case):
    words, message = REFUSED[case]
    done = run_file("run", "run.toml", "output.directory=out", *words)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out" / "series.csv").exists()


@pytest.mark.slow
def test_devices_agree_and_exchange_once_for_each_transform(make_grid):
    """N on 1, 2, 4 and 8 devices, which share 8 wavenumbers of 23 points, and 11 points; of fields put back as after
    a step."""
    changes = []
    nonlinear = jax.jit(lambda flow, fields: flow.to_manifold(flow.nonlinear(flow.to_manifold(fields), 0.0)))
    for devices in (1, 2, 4, 8):
        grid = make_grid((11, 23, 9), devices, lengths=(2.0, 3.0, 1.0), walls="z")
        flow = sw.equations.RayleighBenard(grid, 1e4, 0.71, rotation=0.5, walls={"temperature": walls.Value(1.0)})
        shapes = {name: field.coefficients.shape for name, field in flow.spaces.items()}
        draw = lambda shape: np.random.default_rng(0).normal(size=(shape[0], 8, *shape[2:]))  # noqa: E731
        fields = {n: jnp.asarray(draw(s) + 1j * draw(s)[::-1]) for n, s in shapes.items()}
        changes.append({name: np.asarray(c) for name, c in nonlinear(flow, fields).items()})
    for name, one in changes[0].items():
        for other in changes[1:]:
            np.testing.assert_allclose(other[name], one, atol=1e-14 * np.abs(one).max())
    program = nonlinear.lower(flow, fields).compile().as_text()
    assert program.count(" all-to-all(") == 2
    assert "all-gather" not in program


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_gradients(make_grid, devices):
    """With respect to Ra, Pr, a wall's value and an initial field, against differences."""
    grid = make_grid((6, 6, 11), devices, lengths=(2.0, 2.0, 1.0), walls="z")
    x, _, z = grid.meshgrid()
    wave = jnp.cos(np.pi * x) * jnp.sin(np.pi * z)

    def heat(numbers):
        rayleigh, prandtl, value, amplitude = numbers
        of = {"temperature": walls.Walls(AtValue(value), AtValue(0.0))}
        flow = sw.equations.RayleighBenard(grid, rayleigh, prandtl, walls=of)
        start = {
            "velocity": jnp.zeros((3, *grid.physical_shape)),
            "temperature": (value * (1 - z) + amplitude * wave)[None],
        }
        state = sw.integrate(flow, Krogstad4(), sw.initial_state(flow, Krogstad4(), start), step=0.1, steps=5)
        return flow.report.columns(state.field)["heat_flux"]

    at = np.array([1e4, 0.7, 1.1, 0.1])
    found = jax.jit(jax.grad(heat))(at)
    value = jax.jit(heat)
    for i, size in enumerate(at):
        step = np.zeros(4)
        step[i] = 1e-4 * size
        difference = (float(value(at + step)) - float(value(at - step))) / (2e-4 * size)
        assert float(found[i]) == pytest.approx(difference, rel=1e-5), i


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("stepper", [Krogstad4(), ETDRK5S4()], ids=lambda s: s.name)
def test_orders_at_rigid_walls(make_grid, stepper):
    """Convection at Ra = 10⁵: at least 3.3 in the mean and in the shear at the walls."""
    grid = make_grid((24, 47), 1, lengths=(2.0, 1.0), walls="y")
    of = {"temperature": walls.Value(1.0)}
    flow = sw.equations.RayleighBenard(grid, 1e5, 1.0, walls=of, energy_budget=False)
    x, z = grid.coordinates()
    wave = jnp.asarray(1 - z + 0.2 * np.cos(np.pi * x) * np.sin(np.pi * z))
    start = {"velocity": jnp.zeros((2, *grid.physical_shape)), "temperature": wave[None]}
    space = flow.space("velocity")

    def end(steps):
        state = sw.integrate(flow, ETDRK5S4(), sw.initial_state(flow, ETDRK5S4(), start), step=0.02, steps=100)
        state = sw.initial_state(flow, stepper, flow.to_physical(state.field))
        state = sw.integrate(flow, stepper, state, step=1.6 / steps, steps=steps)
        c = space.series(state.field["velocity"])
        ends = np.sqrt(2 * np.arange(c.shape[-1]) + 1.0)
        return np.asarray(c), np.asarray(jnp.einsum("n,c...n->c...", ends, space.across(c)))

    made = [end(steps) for steps in (8, 16, 32, 128)]
    for which in (0, 1):
        errors = [np.linalg.norm(one[which] - made[-1][which]) for one in made[:-1]]
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        assert np.all(orders > 3.3), (which, orders, errors)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_gradient_with_respect_to_the_height_by_scaling(make_grid):
    """x = H x', u = H u', b = H b' of convection between plates, against boxes of other heights of the same shape."""
    lines = [
        "dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + b*up", "div(u) = 0", "dt(b) = -u@grad(b) + kappa*lap(b)",
    ]  # fmt: skip
    convection = sw.write(lines, {"u": "vector", "b": "scalar"}, {"p": "scalar"})

    def energy(height, scale):
        """⟨|u|²⟩ after some time in a box of a height, in units of `scale`."""
        grid = make_grid((8, 13), 1, lengths=(2.0 * height, height), walls="y")
        x, z = (v / height for v in grid.coordinates())
        of = {"b": walls.Walls(AtValue(1.0 / scale), AtValue(0.0))}
        flow = convection(grid, nu=0.02 / scale**2, kappa=0.03 / scale**2, walls=of, energy_budget=False)
        start = {"u": jnp.zeros((2, 8, 13)), "b": (1 - z + np.cos(np.pi * x) * np.sin(np.pi * z))[None] / scale}
        state = sw.integrate(flow, Krogstad4(), sw.initial_state(flow, Krogstad4(), start), step=0.2, steps=10)
        return scale**2 * flow.space("u").mean_square(state.field["u"])

    slope = jax.jit(jax.grad(lambda height: energy(1.0, height)))(1.3)
    below, above = (float(energy(height, 1.0)) for height in (1.3 - 1e-4, 1.3 + 1e-4))
    assert float(slope) == pytest.approx((above - below) / 2e-4, rel=1e-6)
