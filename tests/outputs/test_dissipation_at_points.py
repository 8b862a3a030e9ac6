"""What viscosity takes away at the points, of flows without divergence and with it."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations.derived import derived_quantities

NU = 0.1
FLOWS = {
    "navier-stokes": (sw.equations.NavierStokes, 0.1),
    "burgers": (sw.equations.Burgers, 0.1),
    "isothermal-flow": (sw.equations.IsothermalFlow, 2 / 15),
}


def vortices(x, y):
    return -jnp.cos(x) * jnp.sin(y), jnp.sin(x) * jnp.cos(y)


def gradient(x, y):
    return -jnp.sin(x) * jnp.cos(y), -jnp.cos(x) * jnp.sin(y)


@pytest.mark.parametrize("name", FLOWS)
def test_its_mean_is_what_the_energy_loses(make_grid, name):
    """⟨−u·(what viscosity adds to u_t)⟩ at constant density: ν⟨|∇u|²⟩, and ⅓ν⟨(∇·u)²⟩ more in a gas."""
    cls, lost = FLOWS[name]
    velocity = vortices if name == "navier-stokes" else gradient
    grid = make_grid((16, 12), devices=2)
    equation = cls(grid, viscosity=NU)
    values = {"velocity": sw.sample(velocity, grid)}
    if name == "isothermal-flow":
        values["log_density"] = jnp.zeros((1, 16, 12))
    fields = equation.from_physical(values)
    made = derived_quantities(equation)["dissipation"].make(fields)
    np.testing.assert_allclose(np.mean(made), lost, rtol=1e-12)
