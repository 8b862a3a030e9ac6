"""Equations that are text against those of the library that are written by hand: values, operators, run files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.equations import (
    MHD,
    Boussinesq,
    ComplexGinzburgLandau,
    GrayScott,
    KuramotoSivashinsky,
    NavierStokes,
    Vorticity,
)
from solver.equations.budget import Changes
from solver.equations.write import write

FLOW = "-u@grad(u) - grad(p) + nu*lap(u)"
PRESSURE = {"p": "scalar"}

# name: class of the text, its parameters; equation by hand, its parameters; names of fields there and here; grids
CASES = {
    "Navier–Stokes": (
        write([f"dt(u) = {FLOW}", "div(u) = 0"], {"u": "vector"}, PRESSURE), {"nu": 0.1},
        NavierStokes, {"viscosity": 0.1}, {"velocity": "u"}, [(9, 14), (8, 7, 10)],
    ),
    "vorticity": (
        write("dt(w) = -u@grad(w) - beta*u.y + nu*lap(w)", {"w": "scalar"}, define={"u": "perp(inverse_lap(w))"},
              means={"w": 0}),
        {"nu": 0.1, "beta": 0.3}, Vorticity, {"viscosity": 0.1, "beta": 0.3}, {"vorticity": "w"}, [(9, 14)],
    ),
    "Boussinesq": (
        write([f"dt(u) + f*cross(ez, u) = {FLOW} + b*up", "div(u) = 0", "dt(b) = -u@grad(b) - n*n*u.up + kappa*lap(b)"],
              {"u": "vector", "b": "scalar"}, PRESSURE),
        {"nu": 0.1, "kappa": 0.2, "n": 1.3, "f": 0.7},
        Boussinesq, {"viscosity": 0.1, "diffusivity": 0.2, "buoyancy_frequency": 1.3, "rotation": 0.7},
        {"velocity": "u", "buoyancy": "b"}, [(8, 7, 10)],
    ),
    "MHD": (
        write([f"dt(u) = {FLOW} + (b0 + b)@grad(b)", "div(u) = 0", "div(b) = 0",
               "dt(b) = curl(cross(u, b0 + b)) + eta*lap(b)"],
              {"u": "vector", "b": "vector"}, PRESSURE, parameters={"nu": "scalar", "eta": "scalar", "b0": "vector"}),
        {"nu": 0.1, "eta": 0.2, "b0": (1.0, 0.5, -0.3)},
        MHD, {"viscosity": 0.1, "resistivity": 0.2, "mean_field": (1.0, 0.5, -0.3)},
        {"velocity": "u", "magnetic_field": "b"}, [(8, 7, 10)],
    ),
    "Gray–Scott": (
        write(["dt(u) = du*lap(u) - u*v**2 + f*(1 - u)", "dt(v) = dv*lap(v) + u*v**2 - (f + k)*v"],
              {"u": "scalar", "v": "scalar"}),
        {"du": 0.1, "dv": 0.2, "f": 0.3, "k": 0.4},
        GrayScott, {"diffusivity_u": 0.1, "diffusivity_v": 0.2, "feed": 0.3, "kill": 0.4}, {"u": "u", "v": "v"},
        [(16,), (9, 14), (6, 7, 5)],
    ),
    "Kuramoto–Sivashinsky": (
        write("dt(u) = -lap(u) - lap(lap(u)) - grad(u)@grad(u)/2", {"u": "scalar"}, means={"u": 0}), {},
        KuramotoSivashinsky, {}, {"u": "u"}, [(16,), (9, 14), (6, 7, 5)],
    ),
    "Ginzburg–Landau": (
        write("dt(a) = a + (1 + 1j*alpha)*lap(a) - (1 + 1j*beta)*abs(a)**2*a", {"a": "wavefunction"}),
        {"alpha": 0.5, "beta": 1.5},
        ComplexGinzburgLandau, {"linear_dispersion": 0.5, "nonlinear_dispersion": 1.5}, {"amplitude": "a"},
        [(16,), (9, 14)],
    ),
}  # fmt: skip
EACH = [pytest.param(name, shape, id=f"{name}-{len(shape)}") for name, case in CASES.items() for shape in case[-1]]


def both(name, shape, **options):
    cls, parameters, by_hand, its_parameters, names, _ = CASES[name]
    lengths = tuple(2.0 + i for i in range(len(shape)))
    grid = sw.Grid(shape, lengths=lengths, mesh=sw.device_mesh(range(min(2, len(shape)))), **options)
    hand = by_hand(grid, **its_parameters)
    rng = np.random.default_rng(3)
    values = {}
    for field, of in hand.values_at_points().items():
        imaginary = 1j * rng.normal(size=of.shape) if np.issubdtype(of.dtype, complex) else 0
        values[field] = jnp.asarray(rng.normal(size=of.shape) + imaginary, of.dtype)
    fields = hand.from_physical(values)
    return hand, cls(grid, **parameters), fields, {names[n]: v for n, v in fields.items()}, names


# other forms of a quadratic term are equal where products of two are free of aliasing
ALIASED = [case for case in EACH if case.values[0] in ("Gray–Scott", "Ginzburg–Landau")]


@pytest.mark.parametrize(
    ("name", "shape", "dealias"),
    [pytest.param(*case.values, dealias, id=f"{case.id}-{dealias}")
     for dealias, cases in (("two-thirds", EACH), ("none", ALIASED)) for case in cases],
)  # fmt: skip
def test_values_are_those_of_the_equation_by_hand(name, shape, dealias):
    hand, text, fields, renamed, names = both(name, shape, dealias=dealias)
    by_hand = jax.jit(lambda fields: (hand.at_step().nonlinear(fields, 0.0), hand.linear().apply(fields)))(fields)
    by_text = jax.jit(lambda fields: (text.at_step().nonlinear(fields, 0.0), text.linear().apply(fields)))(renamed)
    for one, other in zip(by_hand, by_text, strict=True):
        for field in fields:
            size = float(jnp.abs(one[field]).max())
            np.testing.assert_allclose(other[names[field]], one[field], atol=1e-13 * max(size, 1e-3), err_msg=field)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), [case for case in EACH if case.values[0] not in ("Kuramoto–Sivashinsky",)])
def test_the_linear_operator_is_of_the_same_kind(name, shape):
    hand, text, *_ = both(name, shape)
    assert type(text.linear()) is type(hand.linear())
    assert text.linear().spectrum == hand.linear().spectrum
    text.check()


def test_what_has_no_divergence_is_read_off_the_text():
    assert CASES["MHD"][0].fields["b"] == sw.Field("vector", solenoidal=True)
    assert not CASES["Boussinesq"][0].fields["b"].solenoidal
    assert CASES["vorticity"][0].fields["w"].zero_mean


def test_the_same_text_is_the_same_class():
    again = write("dt(u) = -u*dx(u) + nu*lap(u)", {"u": "scalar"})
    assert again is write("dt(u) = -u*dx(u) + nu*lap(u)", {"u": "scalar"})
    assert again is not write("dt(u) = -u*dx(u)/2 + nu*lap(u)", {"u": "scalar"})


class Dragged(sw.Equation):
    text = sw.Text(
        write=["dt(u) = -u@grad(u) - grad(p) + nu*lap(u) - drag*u", "div(u) = 0"],
        fields={"u": "vector"},
        unknowns={"p": "scalar"},
    )
    drag = 0.5


@pytest.mark.slow
def test_a_class_attribute_is_a_text_too():
    made = write(Dragged.text.write, dict(Dragged.text.fields), unknowns={"p": "scalar"})
    grid = sw.Grid((16, 16), mesh=sw.device_mesh([0]))
    own, same = Dragged(grid, nu=0.1), made(grid, nu=0.1, drag=0.5)
    fields = own.from_physical({"u": jnp.asarray(np.random.default_rng(3).normal(size=(2, 16, 16)))})
    np.testing.assert_array_equal(own.nonlinear(fields, 0.0)["u"], same.nonlinear(fields, 0.0)["u"])
    np.testing.assert_array_equal(own.linear().entries["u"], same.linear().entries["u"])
    assert jax.tree.leaves(own) == [0.1, 0.5]
    assert Dragged.__doc__ == made.__doc__


def test_a_parent_may_lie_between_a_text_and_equation():
    class Named(sw.Equation):
        nu: float
        name = "named"

    class Heat(Named):
        text = sw.Text(write="dt(u) = nu*lap(u) - drag*u", fields={"u": "scalar"})

    heat = Heat(sw.Grid((16,), mesh=sw.device_mesh([0])), nu=0.1, drag=2.0)
    assert heat.name == "named"
    np.testing.assert_allclose(heat.linear().entries["u"][:2], [-2.0, -2.1], rtol=1e-15)


@pytest.mark.slow
def test_a_parameter_is_a_leaf():
    """∂/∂ν of the energy after one step, by differentiation and by differences."""
    grid = sw.Grid((16, 16), mesh=sw.device_mesh(range(2)))
    cls, u = CASES["Navier–Stokes"][0], np.random.default_rng(4).normal(size=(2, 16, 16))
    stepper = sw.steppers.IFRK4()

    def energy(nu):
        equation = cls(grid, nu=nu)
        start = sw.initial_state(equation, stepper, {"u": jnp.asarray(u)})
        state = sw.integrate(equation, stepper, start, step=0.01, steps=2)
        return equation.energies(dict(state.field))["energy"]

    slope = (energy(0.1 + 1e-5) - energy(0.1 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(energy)(0.1), slope, rtol=1e-6)


def test_coordinates_and_time():
    """u_t = cos(t) sin(x) u_x + t, against the derivative at the points."""
    grid = sw.Grid((32,), mesh=sw.device_mesh([0]))
    equation = write("dt(u) = sin(x)*dx(u)*a + t", {"u": "scalar"})(grid, a=2.0)
    [x] = grid.coordinates()
    change = equation.nonlinear(equation.from_physical({"u": jnp.sin(2 * x)[None]}), 0.5)
    values = equation.transform.inverse(change["u"])[0]
    np.testing.assert_allclose(values, 4 * np.sin(x) * np.cos(2 * x) + 0.5, atol=1e-13)


def test_a_name_that_equations_have_is_no_parameter():
    with pytest.raises(ValueError, match="'forcing'"):
        write("dt(u) = forcing*lap(u)", {"u": "scalar"})
    with pytest.raises(ValueError, match="'grid'"):
        write("dt(u) = grid*lap(u)", {"u": "scalar"})


# ---- rates ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), [case for case in EACH if case.values[0] != "Ginzburg–Landau"])
def test_the_rate_is_that_of_the_equation_by_hand(name, shape):
    hand, text, fields, renamed, _ = both(name, shape)
    expected = hand.rate(fields)
    if name == "Gray–Scott":  # where what is in L counts, too
        expected = expected - hand.feed - hand.kill
    if name == "MHD":  # where the mean field counts, which is in L
        hand = MHD(hand.grid, viscosity=0.1, resistivity=0.2)
        expected = hand.rate(fields)
    np.testing.assert_allclose(text.rate(renamed), expected, rtol=1e-12)
    _, together = jax.jit(lambda fields: text.change_and_rate(fields, 0.0))(renamed)
    np.testing.assert_allclose(together, expected, rtol=1e-12)


def test_speeds_that_parameters_decide():
    """u_t = −a u u_x + c ∂x(−∇²)^½ ∇⁻² u u_x: the first alone is of leading order.

    Both are one product in the plan, whose coefficient is taken at a large wavenumber, where the other is 1e-6 of it.
    """
    grid = sw.Grid((32,), mesh=sw.device_mesh([0]))
    equation = write("dt(u) = -a*dx(u**2)/2 + c*dx(fraclap(u*dx(u), -1))", {"u": "scalar"})(grid, a=3.0, c=2.0)
    [x] = grid.coordinates()
    rate = equation.rate(equation.from_physical({"u": jnp.sin(x)[None]}))
    np.testing.assert_allclose(rate, 3.0 * np.abs(np.sin(x)).max() / grid.spacing[0], rtol=1e-5)


def test_a_text_without_a_cfl_number_takes_fixed_steps_alone():
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    equation = write("dt(c) = lap(c**3)", {"c": "scalar"})(grid)
    stepper = sw.steppers.IFRK4()
    start = sw.initial_state(equation, stepper, {"c": 0.1 * jnp.cos(grid.coordinates()[0])[None]})
    assert list(equation.series(start.field, 0.1)) == ["energy"] == list(equation.series_units())
    sw.integrate(equation, stepper, start, step=1e-4, steps=1)
    with pytest.raises(ValueError, match="act on a wavenumber k as k\\^2; a fixed step or a tolerance is needed"):
        sw.integrate(equation, stepper, start, cfl=0.5, end=1.0, max_steps=3)


# ---- energies and series --------------------------------------------------------------------------------------------

STRATIFIED = write(
    ["dt(u) + f*cross(ez, u) = -u@grad(u) - grad(p) + cause(viscosity, nu*lap(u)) + cause(buoyancy, b*up)",
     "div(u) = 0", "dt(b) = -u@grad(b) - cause(buoyancy, n2*u.up) + cause(diffusion, kappa*lap(b))"],
    {"u": "vector", "b": "scalar"}, PRESSURE, define={"w": "curl(u)"},
    energies={"energy": "(u@u + b*b/n2)/2", "kinetic": "u@u/2", "helicity": "u@w", "slope": "mean(grad(b)@grad(b))"},
    series={"enstrophy": "mean(w@w)/2", "buoyancy_flux": "u.up*b", "skewness": "b**3 + 2*nu", "mean_b": "mean(b)**2"},
)  # fmt: skip


def stratified():
    grid = sw.Grid((8, 9, 10), lengths=(2.0, 3.0, 4.0), mesh=sw.device_mesh(range(2)))
    equation = STRATIFIED(grid, nu=0.1, kappa=0.2, n2=1.7, f=0.6)
    rng = np.random.default_rng(6)
    shapes = equation.physical_shapes()
    return equation, equation.from_physical({n: jnp.asarray(rng.normal(size=s) + 0.3) for n, s in shapes.items()})


@pytest.mark.slow
def test_the_causes_of_a_budget_add_up_to_the_rate_of_change():
    equation, fields = stratified()
    changes = Changes(equation.linear().apply(fields), equation.nonlinear(fields, 0.0), {})
    both = {name: changes.linear[name] + changes.nonlinear[name] for name in fields}
    _, derivatives = jax.jvp(equation.energies, (fields,), (both,))
    budget = equation.budget(fields, changes)
    for name, derivative in derivatives.items():
        size = max(abs(float(rate)) for rate in budget[name].values())
        np.testing.assert_allclose(sum(budget[name].values()), derivative, atol=1e-12 * size, err_msg=name)


@pytest.mark.slow
def test_causes_that_change_nothing_are_left_out():
    """Rotation changes no energy; buoyancy moves it between its parts and leaves the sum."""
    equation, fields = stratified()
    columns = equation.budget_columns()
    assert not {"energy_from_linear", "kinetic_from_linear", "energy_from_buoyancy"} & set(columns)
    assert {"energy_from_viscosity", "energy_from_diffusion", "kinetic_from_buoyancy"} <= set(columns)
    assert "kinetic_from_diffusion" not in columns
    np.testing.assert_allclose(
        equation.budget(fields, Changes(fields, fields, {}))["kinetic"]["viscosity"],
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
    change = jax.jvp(equation.energies, (state,), (equation.linear().apply(state),))[1]["both"]
    size = equation.energies(state)["both"]
    assert bool(abs(change) > 1e-3 * size) is changed
    assert ("both_from_linear" in equation.budget_columns()) is changed
    if changed:
        zeros = jax.tree.map(jnp.zeros_like, state)
        found = equation.budget(state, Changes(equation.linear().apply(state), zeros, {}))["both"]["linear"]
        np.testing.assert_allclose(found, change, rtol=1e-12)


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
    assert list(row) == list(expected) == list(equation.series_units())
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
    with pytest.raises(ValueError, match=r"real\(…\) is not, and stands in columns"):
        equation(sw.Grid((16,), mesh=sw.device_mesh([0]))).check()


@pytest.mark.parametrize("density", ["b**3", "u@u*b", "b", "exp(b)", "u"])
def test_an_energy_is_quadratic(density):
    with pytest.raises(ValueError, match=r"quadratic|a scalar is needed"):
        write("dt(b) = lap(b)*u.x", {"b": "scalar"}, {}, parameters={"u": "vector"}, energies={"e": density})(
            sw.Grid((8, 8), mesh=sw.device_mesh([0])), u=(1.0, 2.0)
        ).check()


def test_a_linear_term_that_depends_on_time_stays_out_of_the_linear_part():
    """u_t = cos(t) u_xx − u: the first is evaluated at each time, and the derivative of t itself is that of t."""
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    equation = write("dt(u) = cos(t)*lap(u) - u + lap(t*u)/2", {"u": "scalar"})(grid)
    [x] = grid.coordinates()
    fields = equation.from_physical({"u": jnp.sin(2 * x)[None]})
    assert dict(equation.linear().apply(fields)).keys() == {"u"}
    np.testing.assert_allclose(equation.linear().apply(fields)["u"], -fields["u"], atol=1e-14)
    change = equation.transform.inverse(equation.nonlinear(fields, 0.7)["u"])[0]
    np.testing.assert_allclose(change, -4 * (np.cos(0.7) + 0.35) * np.sin(2 * x), atol=1e-13)
    assert any("depends on time" in line for _, line in equation.derivation())


def test_a_speed_that_depends_on_time_tells_no_cfl_number():
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    assert "depend on time" in write("dt(u) = cos(t)*u*dx(u)", {"u": "scalar"})(grid).why_no_rate
    with pytest.raises(ValueError, match="t beside the equations"):
        write("dt(u) = lap(u)", {"u": "scalar"}, series={"a": "t*u"})(grid).check()


WIND = write("dt(c) = kappa*lap(c) - U@grad(c)", {"c": "scalar"}, parameters={"kappa": "scalar", "U": "vector"})


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"U": (1.0, 0.5, 3.0)}, r"U \(1.0, 0.5, 3.0\): 2 numbers are needed"),
        ({"U": (1.0,)}, r"U \(1.0,\): 2 numbers are needed"),
        ({"U": ()}, r"U \(\): 2 numbers are needed"),
        ({"U": 1.0}, "U 1.0: 2 numbers are needed"),
        ({"U": np.ones((2, 2))}, "(?s)U .*: 2 numbers are needed"),
        ({"kappa": (0.1, 0.2)}, r"kappa \(0.1, 0.2\): one number is needed"),
        ({"kappa": "0.1"}, "kappa 0.1: one number is needed"),
        ({"kappa": 0.1 + 0.2j}, r"kappa \(0.1\+0.2j\): a finite number is needed, which is not complex"),
        ({"U": (1j, 0.0)}, r"U \(1j, 0.0\): .* not complex"),
    ],
    ids=str,
)
def test_parameters_of_another_shape_or_kind_are_refused(make_grid, numbers, message):
    with pytest.raises(ValueError, match=message):
        WIND(make_grid((8, 8), devices=1), **{"kappa": 0.1, "U": (1.0, 0.5), **numbers})


@pytest.mark.parametrize("wind", [(1.0, 0.5), [1.0, 0.5], np.array([1.0, 0.5]), (jnp.asarray(1.0), 0.5)], ids=repr)
def test_vectors_may_be_given_as_any_sequence(make_grid, wind):
    assert WIND(make_grid((8, 8), devices=1), kappa=0.1, U=wind).grid.dimensions == 2


def test_complex_fields_may_have_complex_parameters(make_grid):
    damped = write("dt(psi) = 1j*s*lap(psi)", {"psi": "wavefunction"}, parameters={"s": "scalar"})
    grid = make_grid((8, 8), devices=1, real=False)
    assert np.isfinite(complex(damped(grid, s=0.5 - 0.1j).s))


def test_real_fields_may_take_the_parts_of_complex_parameters(make_grid):
    parts = write("dt(u) = real(a)*lap(u)", {"u": "scalar"}, parameters={"a": "scalar"})
    assert complex(parts(make_grid((8, 8), devices=1), a=1 + 1j).a) == 1 + 1j


def test_library_equations_refuse_complex_parameters(make_grid):
    for make in (lambda g: NavierStokes(g, 0.1 + 0.2j), lambda g: Vorticity(g, 0.1, beta=1j)):
        with pytest.raises(ValueError, match="which is not complex"):
            make(make_grid((8, 8), devices=1))
