"""A trajectory of `rollout` as an xarray dataset: axes, coordinates, names of components, units."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw

xarray = pytest.importorskip("xarray")


def trajectory(make_grid, devices=2):
    grid = make_grid((6, 4), devices, lengths=(3.0, 2.0))
    return sw.equations.Burgers(grid, 0.1), jnp.asarray([0.0, 0.5, 1.0])


def test_axes_coordinates_and_units(make_grid):
    equation, t = trajectory(make_grid)
    u = jnp.arange(3 * 2 * 24.0).reshape(3, 2, 6, 4)
    data = sw.to_xarray(equation, t, {"velocity": u, "energy": t, "w": u[:, :1], "spectrum": jnp.ones((3, 5))})
    assert data.velocity.dims == ("t", "component", "x", "y")
    assert data.velocity.sel(t=0.5, component="y", x=1.5, y=0.5).item() == u[1, 1, 3, 1]
    np.testing.assert_array_equal(data.y, [0, 0.5, 1, 1.5])
    assert data.velocity.attrs["units"] == "length/time"
    assert (data.w.dims, data.energy.dims, data.spectrum.dims) == (("t", "x", "y"), ("t",), ("t", "spectrum_0"))


def test_components_that_are_no_directions_have_an_axis_of_their_own(make_grid):
    grid = make_grid((6, 4), 1)
    species = sw.write("dt(c) = lap(c)", fields={"c": "vector"}, components={"c": ("prey", "hunter")})(grid)
    data = sw.to_xarray(species, [0.0], {"c": np.zeros((1, 2, 6, 4)), "other": np.zeros((1, 3, 6, 4))})
    assert data.c_component.values.tolist() == ["prey", "hunter"]
    assert data.other_component.values.tolist() == ["0", "1", "2"]


def test_rows_and_times_must_be_as_many(make_grid):
    equation, t = trajectory(make_grid)
    with refused_in_one_line(r"velocity of shape \[2, 2, 6, 4\] with 3 times"):
        sw.to_xarray(equation, t, {"velocity": jnp.zeros((2, 2, 6, 4))})
    with refused_in_one_line(r"times of shape \[3, 1\]"):
        sw.to_xarray(equation, t[:, None], {})


def test_without_xarray_the_message_says_how_to_install_it(make_grid, monkeypatch):
    equation, t = trajectory(make_grid)

    def missing(name, *_):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("solver.reading.optional.importlib.import_module", missing)
    with refused_in_one_line(r"to_xarray needs xarray: pip install '.\[analysis\]'", ModuleNotFoundError):
        sw.to_xarray(equation, t, {})
