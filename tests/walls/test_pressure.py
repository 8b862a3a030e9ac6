"""The pressure, in a periodic box and between walls, against exact flows; the budget of the energy closes with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import walls
from solver.dynamics.derived import derived_quantities
from solver.outputs import VerticalProfiles

NU = 0.1


def pressure_at_points(flow, fields):
    return np.asarray(jax.jit(derived_quantities(flow)["pressure"].make)(fields))


def start(flow, *parts):
    u = np.stack([np.broadcast_to(part, flow.grid.physical_shape) for part in parts])
    return flow.from_physical({"velocity": jnp.asarray(u)})


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 3])
def test_vortices_of_taylor_and_green(make_grid, devices):
    """16 p = (cos 2y + cos 2z)(2 + cos 2x). The plan of few products leaves out the gradient of w²."""
    flow = sw.equations.NavierStokes(make_grid((8, 9, 10), devices), NU)
    x, y, z = flow.grid.coordinates()
    fields = start(flow, 0 * x, np.sin(y) * np.cos(z) * np.cos(x), -np.cos(y) * np.sin(z) * np.cos(x))
    exact = (np.cos(2 * y) + np.cos(2 * z)) * (2 + np.cos(2 * x)) / 16
    np.testing.assert_allclose(pressure_at_points(flow, fields), exact, atol=1e-14)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 3])
def test_cells_between_free_walls(make_grid, devices):
    """4 p = cos 2πx + cos 2πz of u = sin πx cos πz, w = −cos πx sin πz; 18 polynomials resolve it to 1e-11."""
    flow = cells(make_grid((8, 9, 26), devices, lengths=(2.0, 3.0, 1.0), walls="z"))
    x, _, z = flow.grid.coordinates()
    exact = np.broadcast_to((np.cos(2 * np.pi * x) + np.cos(2 * np.pi * z)) / 4, flow.grid.physical_shape)
    np.testing.assert_allclose(pressure_at_points(flow, cell(flow)), exact, atol=1e-11)


def cells(grid):
    return sw.equations.NavierStokes(grid, NU, walls={"velocity": walls.FreeSlip()})


def cell(flow):
    x, z = flow.grid.coordinates()[0], flow.grid.coordinates()[-1]
    u, w = np.sin(np.pi * x) * np.cos(np.pi * z), -np.cos(np.pi * x) * np.sin(np.pi * z)
    return start(flow, u, *[0 * z] * (flow.grid.dimensions - 2), w)


@pytest.mark.slow
def test_the_momentum_equation_holds_at_rigid_walls(make_grid):
    """A mode of Stokes decays by itself: ν∇²u − ∇p = −λu at each point, with twice the pressure in the text."""
    text = sw.Text(
        write=["dt(velocity) = -2*grad(p) + nu*lap(velocity)", "div(velocity) = 0"],
        fields={"velocity": "vector"}, unknowns={"p": "scalar"}, parameters={"nu": "scalar"},
    )  # fmt: skip

    class Stokes(sw.Equation):
        """Creeping flow."""

        fields = {"velocity": sw.Field("vector", "length/time", solenoidal=True)}  # noqa: RUF012
        nu: float = NU

    Stokes.text = text
    flow = Stokes(make_grid((8, 35), 1, lengths=(2.0, 1.0), walls="y"), walls={"velocity": walls.NoSlip()})
    space = flow.space("velocity")
    mode = jnp.zeros(space.coefficients.shape, space.coefficients.dtype).at[0, 1, 0].set(1.0)
    c = space.series(mode)
    pressure = flow.report.velocity_pressure()
    gradient = pressure.space.gradient(pressure.coefficients({"velocity": mode}))[:, 0]
    changes = space.at_points(NU * space.laplacian_of(c)) - 2 * gradient
    np.testing.assert_allclose(changes, NU * space.inverse(space.laplacian() * mode), atol=1e-9)
    assert float(jnp.max(jnp.abs(gradient))) > 1


@pytest.mark.slow
def test_the_energy_budget_closes_in_each_plane(make_grid):
    """Cells decay as exp(−4π²νt): all terms sum up to the change of ½⟨|u'|²⟩ at each height."""
    xarray = pytest.importorskip("xarray")
    flow = cells(make_grid((8, 34), 1, lengths=(2.0, 1.0), walls="y"))
    columns = jax.jit(lambda fields: VerticalProfiles().values(flow, fields))(cell(flow))
    z = flow.grid.coordinates()[-1].ravel()
    along = {name: (("y",) if column.ndim else (), np.asarray(column)) for name, column in columns.items()}
    made = sw.turbulence(xarray.Dataset(along, {"y": z}))  # with the recorded viscosity
    cos, sin = np.cos(np.pi * z) ** 2, np.sin(np.pi * z) ** 2
    np.testing.assert_allclose(made["kinetic_energy"], (cos + sin) / 4, atol=1e-13)
    np.testing.assert_allclose(made["rest"], 4 * np.pi**2 * NU * made["kinetic_energy"], atol=1e-10)
    np.testing.assert_allclose(made["pressure_strain_xx"], 0, atol=1e-11)  # round-off: 3e-13 to 9e-12
    np.testing.assert_allclose(made["velocity_y_pressure"], 0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.thorough
def test_the_energy_budget_closes_in_convection(make_grid):
    """A roll that grows between rigid walls: production, all transports, buoyancy, dissipation and ∂/∂t add up."""
    xarray = pytest.importorskip("xarray")
    grid = make_grid((24, 33), 1, lengths=(2.0, 1.0), walls="y")
    flow = sw.equations.RayleighBenard(grid, 2e3, 0.7, walls={"temperature": walls.Value(1.0, 0.0)})
    x, z = grid.coordinates()
    u = np.zeros((2, *grid.physical_shape))
    u[0] = z * (1 - z) + np.cos(np.pi * x) * 2 * z * (1 - z) * (1 - 2 * z)
    u[1] = np.pi * np.sin(np.pi * x) * z**2 * (1 - z) ** 2
    temperature = 1 - z + 0.3 * np.sin(np.pi * z) * np.sin(np.pi * x)
    stepper = sw.steppers.Krogstad4()
    state = sw.initial_state(flow, stepper, {"velocity": 5 * jnp.asarray(u), "temperature": temperature[None]})
    fields = sw.integrate(flow, stepper, state, step=0.05, steps=200).field
    columns = VerticalProfiles().values(flow, fields)
    along = {name: (("y",) if column.ndim else (), np.asarray(column)) for name, column in columns.items()}
    made = sw.turbulence(xarray.Dataset(along, {"y": z.ravel()}))
    change = flow.linear().apply(fields)["velocity"] + flow.nonlinear(fields, 0.0)["velocity"]
    rates = np.asarray(flow.space("velocity").inverse_of_change(change))
    values = np.asarray(flow.to_physical(fields)["velocity"])
    apart = values - values.mean(axis=1, keepdims=True)
    growth = (apart * rates).sum(axis=0).mean(axis=0)
    assert np.abs(made["pressure_transport"]).max() > 1e-3
    np.testing.assert_allclose(made["rest"], made["velocity_y_temperature"] - growth, atol=1e-9)


def test_there_is_no_pressure_where_a_text_does_not_give_one(make_grid):
    assert "pressure" not in derived_quantities(sw.equations.Burgers(make_grid((8, 8), 1), NU))

    class OwnN(sw.equations.NavierStokes):
        def nonlinear(self, fields, t):
            return super().nonlinear(fields, t)

    assert "pressure" not in derived_quantities(OwnN(make_grid((8, 8), 1), NU))
