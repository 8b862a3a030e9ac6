"""What viscosity takes away at the points, of flows without divergence and with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.dynamics.derived import derived_quantities, dissipates, kinematic_viscosity

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


@pytest.mark.slow
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


def test_scales_of_a_gas_in_a_program_that_takes_the_viscosity(make_grid):
    """As a run computes them: the numbers of an equation are arguments of its programs."""
    grid = make_grid((16, 12), devices=2)
    gas = lambda nu: sw.equations.IsothermalFlow(grid, viscosity=nu)  # noqa: E731
    u, log_density = sw.sample(gradient, grid), jnp.zeros((1, 16, 12))
    fields = gas(NU).from_physical({"velocity": u, "log_density": log_density})
    scales = jax.jit(lambda nu: sw.outputs.Scales().values(gas(nu), fields))(NU)
    np.testing.assert_allclose(scales["dissipation"], FLOWS["isothermal-flow"][1], rtol=1e-12)


def means(equation, fields):
    """ε as `scales`, the densities and the field at the points have it."""
    scales = sw.outputs.Scales().values(equation, fields)
    pdfs = sw.outputs.PDFs(quantities=("dissipation",)).values(equation, fields)
    named = {"scales": scales["dissipation"], "pdfs": pdfs["dissipation_mean"]}
    made = derived_quantities(equation).get("dissipation")
    return named if made is None else named | {"points": np.mean(made.make(fields))}


def vortices_3d(x, y, z):
    return jnp.sin(x) * jnp.cos(y) * jnp.cos(z), -jnp.cos(x) * jnp.sin(y) * jnp.cos(z), 0 * x * y * z


def named_otherwise(grid):
    text = "dt(u) = -u@grad(u) - grad(p) + friction*lap(u) - 0.7*u - nu_6*lap(lap(lap(-u)))"
    return sw.write([text, "div(u) = 0"], {"u": "vector"}, unknowns={"p": "scalar"})(grid, friction=NU, nu_6=1e-3)


HYPER = {"hyperviscosity": 1e-3, "hyper_order": 3}
VELOCITIES = {  # of one |k|² = 2 or 3: rates of decay of u, without drag
    "a text": (named_otherwise, 3, 3 * NU + 27e-3),
    "reduced-mhd": (lambda g: sw.equations.ReducedMHD(g, viscosity=NU, **HYPER), 3, 2 * NU + 27e-3),
    "surface-quasi-geostrophic": (lambda g: sw.equations.SurfaceQuasiGeostrophic(g, NU, exponent=0.5), 2, NU * 2**0.5),
}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", VELOCITIES)
def test_a_run_has_one_dissipation_and_one_smallest_eddy(make_grid, name):
    """ε = r⟨|u|²⟩ for a mode that decays at the rate r but for drag, in every file; η is that of ν = ε/⟨|∇u|²⟩."""
    make, d, rate = VELOCITIES[name]
    grid = make_grid((12, 14, 10)[:d], devices=2)
    equation = make(grid)
    scalar = lambda *at: (jnp.sin(at[0]) * jnp.sin(at[1]) * (jnp.cos(at[2]) if d == 3 else 1),)  # noqa: E731
    own = list(equation.fields)
    start = vortices_3d if equation.fields[own[0]].rank == "vector" else scalar
    values = {n: sw.sample(start, grid) if n == own[0] else jnp.zeros((1, *grid.shape)) for n in own}
    fields = equation.from_physical(values)
    [velocity, *_] = equation.report.vectors(fields).values()
    u = np.asarray(equation.transform.inverse(velocity))
    square = np.mean(np.sum(u**2, axis=0))
    for which, mean in means(equation, fields).items():
        np.testing.assert_allclose(mean, rate * square, rtol=1e-11, err_msg=which)
    scales = sw.outputs.Scales().values(equation, fields)
    nu = rate / d
    chi = nu * d**2 * square
    eta = (nu**3 / (rate * square)) ** 0.25 if d == 3 else (nu**3 / chi) ** (1 / 6)
    expected = {"kolmogorov_length": eta, "kolmogorov_time": eta**2 / nu, "kmax_eta": grid.k_max * eta}
    expected["reynolds_taylor"] = np.sqrt(square / d) * scales["taylor_scale"] / nu
    for which, value in expected.items():
        np.testing.assert_allclose(scales[which], value, rtol=1e-11, err_msg=which)
    row = equation.series(fields, 0.1)
    for which in ("dissipation", "kmax_eta") if name == "navier-stokes" else ():
        np.testing.assert_allclose(row[which], scales[which], rtol=1e-12, err_msg=which)


def test_a_viscosity_is_known_by_what_it_does(make_grid):
    """ν of −ν|k|² whatever it is called; one in planes alone, or of a stress between components, is none."""
    grid = make_grid((8, 8, 8), devices=1)
    assert kinematic_viscosity(named_otherwise(grid)) == NU
    assert kinematic_viscosity(sw.equations.ReducedMHD(grid, viscosity=NU)) is None
    text = sw.write("dt(u) = -u@grad(u) + viscosity*dx(dx(u)) - nu*u", {"u": "vector"})
    assert kinematic_viscosity(text(grid, viscosity=1.0, nu=1.0)) is None
    gas = sw.write("dt(u) = -u@grad(u) + eta*(lap(u) + 3*grad(div(u)))", {"u": "vector"})(grid, eta=NU)
    assert kinematic_viscosity(gas) == NU
    assert not dissipates(gas)
    stream = sw.write(
        "dt(lap(psi)) = -perp(psi)@grad(lap(psi)) + eps*lap(lap(psi)) - mu*lap(psi)",
        {"psi": "scalar"},
        vectors={"u": "perp(psi)"},
    )(make_grid((8, 8), devices=1), eps=NU, mu=3.0)
    assert float(kinematic_viscosity(stream)) == pytest.approx(NU, rel=1e-14)
