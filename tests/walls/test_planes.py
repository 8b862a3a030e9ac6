"""A plane between walls on several devices: x is split at the points, kx in the modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import all_to_all_bytes
from written_runs import convection
from zygote import slabwave

import solver as sw
from solver import walls
from solver.fft import transforms_in
from solver.steppers import Krogstad4

RUN = convection(
    [18, 13],
    1e5,
    0.3,
    """
[time]
stepper = "krogstad4"
step = 0.05
end = 0.6

[output]
spectra = false
series = { every_steps = 2 }
vertical-profiles = { every_steps = 6 }
wall-slopes = { every_steps = 6 }
pdfs = { every_steps = 6, by_height = true }
points = { every_steps = 2, at = [[0.3, 0.2]] }
snapshots = { every_steps = 6, fields = ["temperature", "pressure"] }
checkpoints = { every_steps = 6 }
""",
)


def convection(make_grid, devices, x=11, **options):
    grid = make_grid((x, 13), devices, lengths=(2.0, 1.0), walls="y", **options)
    return sw.equations.RayleighBenard(grid, 1e4, 0.71, walls={"temperature": walls.Value(1.0)})


@pytest.mark.slow
def test_devices_agree_and_exchange_twice_for_each_transform(make_grid):
    """N on 1 to 4 devices, which share 4 wavenumbers of 11 points; on an odd and an even number of fields."""
    nonlinear = jax.jit(lambda flow, fields: flow.to_manifold(flow.nonlinear(flow.to_manifold(fields), 0.0)))
    changes, fields = [], {}
    for devices in (1, 2, 3, 4):
        flow = convection(make_grid, devices)
        random = np.random.default_rng(0)
        for name, field in flow.spaces.items():
            u_hat = np.zeros(field.coefficients.shape, complex)
            u_hat[:, :4] = random.normal(size=(*u_hat[:, :4].shape, 2)).view(complex)[..., 0]
            fields[name] = jnp.asarray(u_hat)
        changes.append({name: np.asarray(c)[:, :4] for name, c in nonlinear(flow, fields).items()})
    for name, one in changes[0].items():
        for other in changes[1:]:
            np.testing.assert_allclose(other[name], one, atol=1e-14 * np.abs(one).max())
    program = nonlinear.lower(flow, fields).compile().as_text()
    calls = transforms_in(jax.make_jaxpr(nonlinear)(flow, fields))
    assert sum(call.exchanges for call in calls) == program.count(" all-to-all(") == 4
    assert "all-gather" not in program
    received = sum(all_to_all_bytes(program))  # by each of four, its own part included
    assert sum(call.exchanged_bytes for call in calls) == 3 * received


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("devices", [3])
def test_gradients_on_several_devices_are_those_on_one(make_grid, devices):
    def heat(value, grid):
        x, y = grid.coordinates()
        start = value * (1 - y) + 0.1 * np.cos(np.pi * x) * np.sin(np.pi * y)
        flow = sw.equations.RayleighBenard(grid, 1e4 * value, walls={"temperature": walls.Value(value)})
        fields = {"velocity": jnp.zeros((2, *grid.physical_shape)), "temperature": start[None]}
        state = sw.initial_state(flow, Krogstad4(), fields)
        return flow.report.columns(sw.integrate(flow, Krogstad4(), state, step=0.1, steps=2).field)["heat_flux"]

    found = [jax.jit(jax.grad(heat), static_argnums=1)(1.1, convection(make_grid, n).grid) for n in (1, devices)]
    assert float(found[0]) == pytest.approx(float(found[1]), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("x", "devices"), [(11, 3), pytest.param(12, 2, marks=pytest.mark.thorough)])
def test_particles_move_as_on_one_device(make_grid, x, devices):
    """Of sides that the devices divide, and of others."""
    found = []
    for count in (1, devices):
        grid = make_grid((x, 13), count, lengths=(2.0, 1.0), walls="y")
        carried = {"drops": sw.particles.Inertial(count=5, response_time=0.2)}
        flow = sw.equations.RayleighBenard(grid, 1e5, walls={"temperature": walls.Value(1.0)}, particles=carried)
        along, up = grid.coordinates()
        start = 1 - up + 0.3 * np.sin(np.pi * along) * np.sin(np.pi * up)
        fields = {"velocity": jnp.zeros((2, *grid.physical_shape)), "temperature": start[None]}
        state = sw.initial_state(flow, Krogstad4(), fields, seed=1)
        found.append(sw.integrate(flow, Krogstad4(), state, step=0.1, steps=8).field)
    moved = np.asarray(found[0]["drops"])
    np.testing.assert_allclose(np.asarray(found[1]["drops"])[:, : moved.shape[1]], moved, atol=1e-13)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_continues_on_other_devices(tmp_path):
    (tmp_path / "run.toml").write_text(RUN)

    def run(name, devices, end):
        words = [f"output.directory={name}", f"devices.virtual={devices}", f"time.end={end}", "--resume"]
        done = slabwave("run", "run.toml", *words, folder=tmp_path)
        assert done.returncode == 0, done.stderr

    run("one", 1, 0.6)
    run("several", 4, 0.3)
    run("several", 3, 0.6)
    one, several = (sw.open_run(tmp_path / name) for name in ("one", "several"))
    for name, column in one.series.items():
        if not name.startswith("wall_"):
            np.testing.assert_allclose(several.series[name], column, rtol=1e-9, atol=1e-12, err_msg=name)
    for kind in ("vertical-profiles", "wall-slopes", "points", "pdfs"):
        assert several.records[kind].sizes["t"] == one.records[kind].sizes["t"]
        for name, values in one.records[kind].items():
            np.testing.assert_allclose(several.records[kind][name], values, rtol=1e-8, atol=1e-10, err_msg=name)
    for name, values in one.snapshots.items():
        np.testing.assert_allclose(several.snapshots[name], values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(("x", "devices", "message"), [
    (8, 4, r"4 slabs of the grid \[8, 13\], which has 8 planes along x and 3 retained kx; possible are 1 to 3"),
])  # fmt: skip
def test_too_many_devices_are_refused(make_grid, x, devices, message):
    with pytest.raises(ValueError, match=message):
        convection(make_grid, devices, x)
