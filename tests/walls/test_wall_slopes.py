"""Wall shear and wall heat flux as fields, against a flow that is a polynomial across the walls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver import walls
from solver.outputs import Statistics
from solver.outputs.wall_slopes import WallSlopes
from solver.pictures import Recorded, View, records_figure
from solver.pictures.style import style


def convection(make_grid, dimensions, devices):
    """A flow, its slopes ∂u/∂z, ∂v/∂z and ∂T/∂z at the lower and the upper wall, without the axis across."""
    shape, lengths = {2: ((9, 13), (2.0, 1.0)), 3: ((9, 8, 13), (2.0, 3.0, 1.0))}[dimensions]
    grid = make_grid(shape, devices, lengths=lengths, walls="xyz"[dimensions - 1])
    flow = sw.equations.RayleighBenard(grid, 1e3, walls={"temperature": walls.Value(1.0, 0.0)})
    places = grid.coordinates()
    x, z = places[0], places[-1]
    y = places[1] if dimensions == 3 else 0.0
    u = np.cos(np.pi * x) * 2 * z * (1 - z) * (1 - 2 * z)
    v = np.sin(2 * np.pi * x) * z * (1 - z) * (2 + z)
    w = np.pi * np.sin(np.pi * x) * z**2 * (1 - z) ** 2
    temperature = 1 - z + np.cos(np.pi * x) * np.cos(2 * np.pi * y / 3) * z * (1 - z) * (1 + z)
    parts = [u, v, w] if dimensions == 3 else [u, w]
    whole = lambda part: np.broadcast_to(part, grid.physical_shape)  # noqa: E731
    start = {
        "velocity": jnp.asarray(np.stack([*map(whole, parts)])),
        "temperature": jnp.asarray(whole(temperature))[None],
    }
    x, y = x[..., 0], y[..., 0] if dimensions == 3 else 0.0
    shape = np.zeros(grid.physical_shape[:-1])
    along, across = 2 * np.cos(np.pi * x) + shape, np.sin(2 * np.pi * x) + shape
    heat = np.cos(np.pi * x) * np.cos(2 * np.pi * y / 3) + shape
    slopes = {"velocity_x": (along, along), "temperature": (heat - 1, -2 * heat - 1)}
    return flow, start, slopes | ({"velocity_y": (2 * across, -3 * across)} if dimensions == 3 else {})


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "devices"), [(2, 2), (3, 1), (3, 2)])
def test_slopes_at_the_walls(make_grid, dimensions, devices):
    flow, start, slopes = convection(make_grid, dimensions, devices)
    made = jax.jit(lambda start: WallSlopes().values(flow, flow.from_physical(start)))(start)
    for name, both in slopes.items():
        for side, expected in zip(("lower", "upper"), both, strict=True):
            np.testing.assert_allclose(made[f"{name}_slope_{side}"], expected, atol=1e-12)
            assert float(made[f"{name}_slope_{side}_max"]) == pytest.approx(expected.max())
            assert float(made[f"{name}_slope_{side}_min"]) == pytest.approx(expected.min())
            assert float(made[f"{name}_slope_{side}_mean"]) == pytest.approx(expected.mean(), abs=1e-13)
    if dimensions == 3:
        size = np.sqrt(slopes["velocity_x"][1] ** 2 + slopes["velocity_y"][1] ** 2)
        np.testing.assert_allclose(made["velocity_shear_upper"], size, atol=1e-12)
        assert float(made["velocity_shear_upper_mean"]) == pytest.approx(size.mean())
    WallSlopes().check(flow)
    WallSlopes(planes=False).check(flow)


@pytest.mark.slow
def test_wall_slopes_of_a_run(make_grid, tmp_path):
    """Rows that xarray reads, their means over time, and a picture along both walls."""
    flow, start, slopes = convection(make_grid, 2, 1)
    stepper = sw.steppers.Krogstad4()
    outputs = [WallSlopes(every_steps=1), Statistics(of=("wall-slopes",), sample_steps=1)]
    state = sw.initial_state(flow, stepper, start)
    sw.run(flow, stepper, state, end=0.02, step=0.01, directory=tmp_path / "run", outputs=outputs)
    opened = sw.open_run(tmp_path / "run")
    rows = opened.records["wall-slopes"]
    assert rows["temperature_slope_lower"].dims == ("t", "x")
    np.testing.assert_allclose(rows["temperature_slope_lower"][0], slopes["temperature"][0], atol=1e-12)
    mean = opened.statistics["wall-slopes"]["velocity_x_slope_lower_max"][-1]
    assert float(mean) == pytest.approx(float(rows["velocity_x_slope_lower_max"][1:].mean()))
    with style(View()):
        figure = records_figure(Recorded.read(WallSlopes.file(opened.directory)), View())
    titles = [(axis.get_title(loc="left") or axis.get_title()).replace("\n", " ") for axis in figure.axes]
    assert {"temperature slope lower", "velocity x slope upper"} <= {*titles}


def test_wall_slopes_need_walls(make_grid):
    flow = sw.equations.NavierStokes(make_grid((8, 8), 1), 0.1)
    with refused_in_one_line("two or three dimensions and walls are needed"):
        WallSlopes().check(flow)
