"""Energies, their budgets, and columns of the series that a text has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.dynamics.budget import Changes
from solver.dynamics.energy_budget import budget_columns
from solver.dynamics.write import write

STRATIFIED = write(
    ["dt(u) + f*cross(ez, u) = -u@grad(u) - grad(p) + cause(viscosity, nu*lap(u)) + cause(buoyancy, b*up)",
     "div(u) = 0", "dt(b) = -u@grad(b) - cause(buoyancy, n2*u.up) + cause(diffusion, kappa*lap(b))"],
    {"u": "vector", "b": "scalar"}, {"p": "scalar"}, define={"w": "curl(u)"},
    energies={"energy": "(u@u + b*b/n2)/2", "kinetic": "u@u/2", "helicity": "u@w", "slope": "mean(grad(b)@grad(b))"},
    series={"enstrophy": "mean(w@w)/2", "buoyancy_flux": "u.up*b", "skewness": "b**3 + 2*nu", "mean_b": "mean(b)**2"},
)  # fmt: skip


def stratified():
    grid = sw.Grid((8, 9, 10), lengths=(2.0, 3.0, 4.0), mesh=sw.device_mesh(range(2)))
    equation = STRATIFIED(grid, nu=0.1, kappa=0.2, n2=1.7, f=0.6)
    rng = np.random.default_rng(6)
    shapes = equation.physical_shapes()
    return equation, equation.from_physical({n: jnp.asarray(rng.normal(size=s) + 0.3) for n, s in shapes.items()})


@pytest.mark.thorough
@pytest.mark.slow
def test_the_causes_of_a_budget_add_up_to_the_rate_of_change():
    equation, fields = stratified()
    changes = Changes(equation.linear().apply(fields), equation.nonlinear(fields, 0.0), {})
    both = {name: changes.linear[name] + changes.nonlinear[name] for name in fields}
    _, derivatives = jax.jvp(equation.report.energies, (fields,), (both,))
    budget = equation.report.budget(fields, changes)
    for name, derivative in derivatives.items():
        size = max(abs(float(rate)) for rate in budget[name].values())
        np.testing.assert_allclose(sum(budget[name].values()), derivative, atol=1e-12 * size, err_msg=name)


@pytest.mark.thorough
@pytest.mark.slow
def test_causes_that_change_nothing_are_left_out():
    """Rotation changes no energy; buoyancy moves it between its parts and leaves the sum."""
    equation, fields = stratified()
    columns = budget_columns(equation)
    assert not {"energy_from_linear", "kinetic_from_linear", "energy_from_buoyancy"} & set(columns)
    assert {"energy_from_viscosity", "energy_from_diffusion", "kinetic_from_buoyancy"} <= set(columns)
    assert "kinetic_from_diffusion" not in columns
    np.testing.assert_allclose(
        equation.report.budget(fields, Changes(fields, fields, {}))["kinetic"]["viscosity"],
        -0.1 * 2 * equation.series(fields, 0.0)["enstrophy"], rtol=1e-12,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "fields", "changed"),
    [
        ("dt(a) = 1j*lap(a) - dx(a) + 2j*a", {"a": "wavefunction"}, False),
        ("dt(a) = 1j*dx(a)", {"a": "wavefunction"}, True),  # i times i k is real
        ("dt(a) = (1 + 2j)*lap(a)", {"a": "wavefunction"}, True),
        (["dt(a) = 1j*dx(b)", "dt(b) = -1j*dx(a)"], {"a": "wavefunction", "b": "wavefunction"}, False),
        (["dt(a) = 1j*dx(b)", "dt(b) = 1j*dx(a)"], {"a": "wavefunction", "b": "wavefunction"}, True),
        ("dt(a) = dx(a) + dx(dx(dx(a)))", {"a": "scalar"}, False),
        (["dt(a) = b", "dt(b) = -a"], {"a": "scalar", "b": "scalar"}, False),
    ],
)
def test_linear_terms_that_change_no_energy_have_no_column(lines, fields, changed):
    square = " + ".join(f"abs({name})**2/2" for name in fields)
    if "scalar" in fields.values():
        square = " + ".join(f"{name}**2/2" for name in fields)
    kind = write(lines, fields, energies={"both": square}, unbounded=True)
    equation = kind(sw.Grid((8, 8), mesh=sw.device_mesh([0])))
    rng = np.random.default_rng(1)
    values = {}
    for name, of in equation.values_at_points().items():
        imaginary = 1j * rng.normal(size=of.shape) if np.issubdtype(of.dtype, complex) else 0
        values[name] = jnp.asarray(rng.normal(size=of.shape) + imaginary, of.dtype)
    state = equation.from_physical(values)
    change = jax.jvp(equation.report.energies, (state,), (equation.linear().apply(state),))[1]["both"]
    size = equation.report.energies(state)["both"]
    assert bool(abs(change) > 1e-3 * size) is changed
    assert ("both_from_linear" in budget_columns(equation)) is changed
    if changed:
        zeros = jax.tree.map(jnp.zeros_like, state)
        found = equation.report.budget(state, Changes(equation.linear().apply(state), zeros, {}))["both"]["linear"]
        np.testing.assert_allclose(found, change, rtol=1e-12)


@pytest.mark.slow
def test_columns_are_the_means_that_the_text_says():
    equation, fields = stratified()
    row, values = equation.series(fields, 0.01), equation.to_physical(fields)
    u, b = values["velocity" if "velocity" in values else "u"], values["b"][0]
    rotation = equation.transform.inverse(sw.operators.curl(fields["u"], equation.grid))
    slope = equation.transform.inverse(sw.operators.gradient(fields["b"][0], equation.grid))
    expected = {
        "energy": (u**2).sum(0).mean() / 2 + (b**2).mean() / 3.4,
        "kinetic": (u**2).sum(0).mean() / 2,
        "helicity": (u * rotation).sum(0).mean(),
        "slope": (slope**2).sum(0).mean(),
        "enstrophy": (rotation**2).sum(0).mean() / 2,
        "buoyancy_flux": (u[2] * b).mean(),
        "skewness": (b**3).mean() + 0.2,
        "mean_b": b.mean() ** 2,
        "cfl": 0.01 * equation.rate(fields),
    }
    assert list(row) == list(expected) == list(equation.report.units())
    for name, value in expected.items():
        np.testing.assert_allclose(row[name], value, rtol=1e-12, atol=1e-14, err_msg=name)


PARTS = {  # of a complex field f, and of a real one, by hand
    "abs(real(f))**2": lambda f, slope: f.real**2,
    "abs(imag(f))**2": lambda f, slope: f.imag**2,
    "abs(f + conj(f))**2": lambda f, slope: 4 * f.real**2,
    "conj(f)*real(f)": lambda f, slope: f.real**2,
    "abs(dx(real(f)))**2": lambda f, slope: slope.real**2,
    "1j*f*dx(f) + f**2": lambda f, slope: (1j * f * slope + f**2).real,
}


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["scalar", "wavefunction"])
@pytest.mark.parametrize("density", PARTS)
def test_columns_of_parts_and_with_complex_numbers(density, rank):
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    equation = write("dt(f) = lap(f)", {"f": rank}, series={"of_parts": density})(grid)
    [x] = map(np.asarray, grid.coordinates())
    f, slope = 0.3 + np.sin(x), np.cos(x)
    if rank == "wavefunction":
        f, slope = f + 1j * (np.cos(2 * x) + 0.2 * np.sin(x)), slope + 1j * (0.2 * np.cos(x) - 2 * np.sin(2 * x))
    row = equation.series(equation.from_physical({"f": jnp.asarray(f)[None]}), 0.01)
    np.testing.assert_allclose(row["of_parts"], PARTS[density](f, slope).mean(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("max(f)", r"max of complex numbers, which have no order: abs, real or imag"),
        ("min(1j*abs(f))", r"min of complex numbers"),
        ("max(abs(f)) + 2j", r"a column that is complex: abs, real or imag of it is needed"),
        ("mean(abs(f)**2)*3j + max(abs(f))", r"a column that is complex"),
    ],
)
def test_columns_are_real(column, message):
    equation = write("dt(f) = lap(f)", {"f": "wavefunction"}, series={"of_all": column})
    with pytest.raises(ValueError, match=message):
        equation(sw.Grid((16,), mesh=sw.device_mesh([0]))).check()


def test_parts_of_a_field_are_no_energy():
    equation = write("dt(f) = lap(f)", {"f": "wavefunction"}, energies={"e": "abs(real(f))**2"})
    with pytest.raises(ValueError, match=r"real\(…\) is not: it may be used in columns"):
        equation(sw.Grid((16,), mesh=sw.device_mesh([0]))).check()


@pytest.mark.parametrize("density", ["b**3", "u@u*b", "b", "exp(b)", "u"])
def test_an_energy_is_quadratic(density):
    with pytest.raises(ValueError, match=r"quadratic|a scalar is needed"):
        write("dt(b) = lap(b)*u.x", {"b": "scalar"}, {}, parameters={"u": "vector"}, energies={"e": density})(
            sw.Grid((8, 8), mesh=sw.device_mesh([0])), u=(1.0, 2.0)
        ).check()
