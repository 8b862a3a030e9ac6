"""Real fields in complex expressions: what `real`, `imag` and `abs` make of them, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations import Equation
from solver.written import Text, WrittenError

Q = {"q": "u + 1j*v"}


def equation(write, grid, fields=("u", "v"), **others):
    ranks = {name: "wavefunction" if name == "E" else "scalar" for name in fields}
    of_text = type("OfText", (Equation,), {"text": Text(write=write, fields=ranks, **others)})
    return of_text(grid)


def change_and_columns(of, seed=2):
    """L u + N, and the columns, of random fields."""
    rng, waves = np.random.default_rng(seed), {}
    for name, field in of.fields.items():
        values = rng.normal(size=of.physical_shapes()[name])
        waves[name] = jnp.asarray(values if field.real else values + 1j * rng.normal(size=values.shape))
    fields = of.from_physical(waves)
    linear, nonlinear = of.linear().apply(fields), of.nonlinear(fields, 0.0)
    return {name: np.asarray(linear[name] + nonlinear[name]) for name in fields}, of.report.columns(fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("complex_text", "real_text"),
    [
        (
            ["dt(u) = -abs(q)**2*u", "dt(v) = -abs(lap(q))**2"],
            ["dt(u) = -(u*u + v*v)*u", "dt(v) = -lap(u)**2 - lap(v)**2"],
        ),
        (["dt(u) = real(1j*lap(q))", "dt(v) = imag(1j*lap(q))"], ["dt(u) = -lap(v)", "dt(v) = lap(u)"]),
        (
            ["dt(u) = real(dx(q*q))", "dt(v) = imag(conj(q)*dx(q))"],
            ["dt(u) = dx(u*u - v*v)", "dt(v) = u*dx(v) - v*dx(u)"],
        ),
        (["dt(u) = real(u/(2 + 1j))", "dt(v) = real(q**3)"], ["dt(u) = 0.4*u", "dt(v) = u**3 - 3*u*v*v"]),
        (["dt(u) = abs(q)", "dt(v) = imag(exp(1j*u)*v)"], ["dt(u) = sqrt(u*u + v*v)", "dt(v) = sin(u)*v"]),
        (
            ["dt(u) = real(mean(q)*helmholtz(q, 2))", "dt(v) = u"],
            ["dt(u) = mean(u)*helmholtz(u, 2) - mean(v)*helmholtz(v, 2)", "dt(v) = u"],
        ),
    ],
)
def test_complex_expressions_of_real_fields_are_what_they_are_in_real_ones(make_grid, complex_text, real_text):
    grid = make_grid((12, 12), devices=1)
    found, _ = change_and_columns(equation(complex_text, grid, define=Q))
    expected, _ = change_and_columns(equation(real_text, grid))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=1e-13 * np.abs(values).max(), err_msg=name)


@pytest.mark.slow
def test_beside_a_wavefunction_too(make_grid):
    grid = make_grid((16,), devices=1)
    found, _ = change_and_columns(equation(["dt(u) = -abs(u + 1j*dx(u))**2", "dt(E) = 1j*lap(E)"], grid, ("u", "E")))
    expected, _ = change_and_columns(equation(["dt(u) = -u*u - dx(u)**2", "dt(E) = 1j*lap(E)"], grid, ("u", "E")))
    np.testing.assert_allclose(found["u"], expected["u"], atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("energy", ["abs(u + 1j*dx(v))**2/2", "(u + 1j*dx(v))*conj(u + 1j*dx(v))/2"])
def test_energies_and_columns_hold_both_parts(make_grid, energy):
    lines, grid = ["dt(u) = lap(u) - v", "dt(v) = lap(v) + u"], make_grid((16,), devices=1)
    mean = {"c": "abs(u + 1j*dx(v))**2", "largest": "max(abs(u + 1j*dx(v)))"}
    _, found = change_and_columns(equation(lines, grid, energies={"e": energy}, series=mean))
    in_reals = {"c": "u*u + dx(v)**2", "largest": "max(sqrt(u*u + dx(v)**2))"}
    _, expected = change_and_columns(equation(lines, grid, energies={"e": "u*u/2 + dx(v)**2/2"}, series=in_reals))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-13, err_msg=name)


@pytest.mark.parametrize("write", ["dt(u) = real(dx(sin(1j*u)*u))", "dt(u) = abs(lap(sin(1j*u)))"])
def test_an_operator_on_what_has_no_plain_parts_is_refused(make_grid, write):
    of = equation(write, make_grid((8,), devices=1), ("u",))
    with pytest.raises(WrittenError, match=r"is complex though its fields are real.*its real and its imaginary part"):
        of.check()


@pytest.mark.parametrize(
    ("write", "fields"),
    [
        ("dt(u) = a*lap(u) - abs(u)*u", ("u",)),
        ("dt(u) = lap(u) - a*abs(u)*u", ("u",)),
        ("dt(u) = real(dx(a*u*u))", ("u",)),
        (["dt(u) = a*lap(u)", "dt(E) = 1j*lap(E)"], ("u", "E")),
        (["dt(u) = lap(u) - a*u*abs(E)**2", "dt(E) = 1j*lap(E)"], ("u", "E")),
    ],
)
def test_complex_parameters_that_real_fields_hold_as_they_are_are_refused(make_grid, write, fields):
    ranks = {name: "wavefunction" if name == "E" else "scalar" for name in fields}
    of_text = type("OfText", (Equation,), {"text": Text(write=write, fields=ranks)})
    assert of_text(make_grid((8,), devices=1), a=0.5).a == 0.5
    with pytest.raises(ValueError, match=r"a 0.1j: a finite number is needed, which is not complex"):
        of_text(make_grid((8,), devices=1), a=0.1j)


@pytest.mark.parametrize(
    "reported",
    [
        {"energies": {"e": "a*conj(E)*dx(E)"}},
        {"energies": {"e": "conj(E)*dx(a*E)"}},
        {"series": {"s": "a*conj(E)*dx(E)"}},
        {"series": {"s": "a*max(abs(E))"}},
        {"invariants": {"e": "a*abs(E)**2"}},
        {"conserved": {"e": "a*abs(E)**2"}},
    ],
)
def test_complex_parameters_of_what_is_reported_stand_behind_real_or_imag(make_grid, reported):
    """The real part of a mean is taken, and that of a number alone would be another one."""
    text = sw.write("dt(E) = a*lap(E)", {"E": "wavefunction"}, **reported)
    assert text(make_grid((8,), devices=1), a=0.5).a == 0.5
    with pytest.raises(ValueError, match=r"a 0.1j: a finite number is needed, which is not complex"):
        text(make_grid((8,), devices=1), a=0.1j)


@pytest.mark.slow
def test_parts_of_complex_parameters_in_what_is_reported(make_grid):
    parts = "real(a)*conj(E)*dx(E) + 1j*imag(a)*conj(E)*dx(E)"
    columns = {"whole": "real(a*conj(E)*dx(E))"}
    text = sw.write("dt(E) = a*lap(E)", {"E": "wavefunction"}, energies={"e": parts}, series=columns)
    equation = text(make_grid((16,), devices=1), a=0.3 + 0.7j)
    [x] = map(np.asarray, equation.grid.coordinates())
    E = np.exp(2j * x) + 0.3 * np.sin(x)
    slope = 2j * np.exp(2j * x) + 0.3 * np.cos(x)
    row = equation.report.columns(equation.from_physical({"E": jnp.asarray(E[None])}))
    for name in ("e", "whole"):
        np.testing.assert_allclose(row[name], ((0.3 + 0.7j) * E.conj() * slope).mean().real, rtol=1e-12)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("t*n", r"'n' in a linear term for 'E': one is real, the other complex"),
        ("cos(t)*dx(n)", r"'n' in a linear term for 'E': one is real, the other complex"),
        ("dx(n + E)*E", r"∂x\(.*\) takes real and complex fields through one operator"),
    ],
)
def test_real_and_complex_fields_are_not_taken_together_mode_by_mode(make_grid, term, message):
    text = sw.write([f"dt(E) = 1j*lap(E) + {term}", "dt(n) = lap(n)"], {"E": "wavefunction", "n": "scalar"})
    with pytest.raises(WrittenError, match=message):
        text(make_grid((8,), devices=1)).check()


def test_columns_take_real_and_complex_fields_through_the_points(make_grid):
    text = sw.write(
        ["dt(E) = 1j*lap(E)", "dt(n) = lap(n)"],
        {"E": "wavefunction", "n": "scalar"},
        series={"together": "abs(E + 1j*n)**2"},
    )
    equation = text(make_grid((16,), devices=1))
    [x] = map(np.asarray, equation.grid.coordinates())
    E, n = np.exp(2j * x), np.sin(2 * x) + 0.3
    row = equation.report.columns(equation.from_physical({"E": jnp.asarray(E[None]), "n": jnp.asarray(n[None])}))
    np.testing.assert_allclose(row["together"], (abs(E + 1j * n) ** 2).mean(), rtol=1e-12)


def test_the_axes_of_an_operator_are_no_place(make_grid):
    text = sw.write("dt(u) = lap(u)", {"u": "scalar"}, energies={"of_means": "mean(u, x)*u", "slope": "-u*lap(u, x)/2"})
    equation = text(make_grid((12, 10), devices=1))
    x, y = map(np.asarray, equation.grid.coordinates())
    u = np.sin(x) * (1 + np.cos(y)) + 0.5 * np.cos(y) + 0 * x
    row = equation.report.columns(equation.from_physical({"u": jnp.asarray(u[None])}))
    np.testing.assert_allclose(row["of_means"], (u.mean(0) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(row["slope"], ((np.cos(x) * (1 + np.cos(y))) ** 2).mean() / 2, rtol=1e-12)


def test_complex_fields_beside_real_ones_may_hold_complex_parameters(make_grid):
    write = ["dt(u) = -abs(a*u)*u", "dt(E) = a*lap(E)"]
    of_text = type("OfText", (Equation,), {"text": Text(write=write, fields={"u": "scalar", "E": "wavefunction"})})
    assert of_text(make_grid((8,), devices=1), a=1 + 1j).a == 1 + 1j


BOTH = {"E": "wavefunction", "n": "scalar"}


@pytest.mark.parametrize("rule", ["phase-shift-random", "phase-shift-alternating"])
@pytest.mark.parametrize(
    "texts",
    [
        ["dt(E) = 1j*lap(E) - 1j*sin(x)*E", "dt(n) = -n"],
        ["dt(E) = 1j*lap(E)", "dt(n) = -n + cos(x)"],
        ["dt(E) = 1j*lap(E) - 1j*f(x)*E", "dt(n) = -n"],
    ],
)
def test_places_beside_real_and_complex_fields_refuse_moved_points(make_grid, texts, rule):
    """The values lie on the moved points, x on those at rest: n(k = 1) of −n + cos x was 0.312 − 0.046i for 0.316."""
    cls = sw.write(texts, BOTH, functions={"f": jnp.sin})
    with pytest.raises(ValueError, match=f"dealias '{rule}': arrays over points cannot follow the points"):
        cls(make_grid((32,), devices=1, dealias=rule)).check()
    cls(make_grid((32,), devices=1)).check()


@pytest.mark.parametrize("function", [lambda n: jnp.sum(n), lambda n: n[::-1], lambda n: n - jnp.roll(n, 1)])
def test_functions_that_mix_points_are_refused_beside_real_and_complex_fields(make_grid, function):
    cls = sw.write(["dt(E) = 1j*lap(E) - 1j*n*E", "dt(n) = f(n)"], BOTH, functions={"f": function})
    with pytest.raises(ValueError, match="which calls f, is not pointwise"):
        cls(make_grid((16, 12), devices=1)).check()


@pytest.mark.slow
def test_functions_of_a_point_serve_real_and_complex_fields(make_grid):
    text = ["dt(E) = -1j*f(n)*E", "dt(n) = f(n) - g(abs(E), x)"]
    functions = {"f": lambda n: n / (1 + n**2), "g": lambda a, x: a * jnp.cos(x)}
    equation = sw.write(text, BOTH, functions=functions)(make_grid((16, 12), devices=2, dealias="none"))
    x, y = map(np.asarray, equation.grid.coordinates())
    psi, n = np.exp(1j * x) + 0.3 * np.sin(y), 0.5 + 0.2 * np.cos(y) + 0 * x
    fields = equation.from_physical({"E": jnp.asarray(psi)[None], "n": jnp.asarray(n)[None]})
    found = equation.nonlinear(fields, 0.0)
    wanted = equation.from_physical(
        {
            "E": jnp.asarray(-1j * n / (1 + n**2) * psi)[None],
            "n": jnp.asarray(n / (1 + n**2) - abs(psi) * np.cos(x))[None],
        }
    )
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-14)
