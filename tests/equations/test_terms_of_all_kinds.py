"""Texts with terms that act on some modes alone, that are no products, or that are complex."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.dynamics.budget import Changes
from solver.written import WrittenError

FLOW = "dt(u) = -u@grad(u) - grad(p) + nu*lap(u)"
VELOCITY = {"u": "vector"}


def flow(grid, more, **parameters):
    """An incompressible flow with one term more."""
    return sw.write([FLOW + more, "div(u) = 0"], VELOCITY, unknowns={"p": "scalar"})(grid, nu=0.1, **parameters)


def noise(equation, seed=0):
    """Smooth fields with all modes up to the second one along each axis, that keep the constraints."""
    random = np.random.default_rng(seed)
    fields = {}
    for name, field in equation.fields.items():
        shape = equation.field_shapes()[name].shape[0], *equation.grid.physical_shape
        hat = random.normal(size=shape) + 1j * random.normal(size=shape)
        for axis, n in enumerate(equation.grid.physical_shape):
            sides = [1] * len(shape)
            sides[axis + 1] = n
            hat = hat * (np.abs(np.fft.fftfreq(n, 1 / n)) <= 2).reshape(sides)
        values = np.fft.ifftn(hat, axes=range(1, len(shape))) * np.sqrt(np.prod(shape[1:]))
        fields[name] = jnp.asarray(values.real if field.real else values)
    return equation.to_manifold(equation.from_physical(fields))


def rotated(angle):
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "exact"),
    [
        (" - a*u.x*ex", lambda mean: mean * [np.exp(-0.65), 1.0]),
        (" + a*(u.y*ex - u.x*ey)", lambda mean: rotated(0.65) @ mean),
        (" - a*mean(u.x)*ex", lambda mean: mean * [np.exp(-0.65), 1.0]),
        (" - a*mean(u)", lambda mean: mean * np.exp(-0.65)),
    ],
)
def test_the_mean_of_a_flow_follows_its_linear_terms(make_grid, more, exact):
    """The mean mode is not projected: for it 2-D rotation is no gradient, and drag of one component acts on that."""
    equation = flow(make_grid((8, 8), devices=2), more, a=1.3)
    mean = np.array([0.3, 0.5])
    start = {"u": jnp.broadcast_to(jnp.asarray(mean)[:, None, None], (2, 8, 8))}
    stepper = sw.steppers.ETDRK4()
    state = sw.integrate(equation, stepper, sw.initial_state(equation, stepper, start), step=0.05, steps=10)
    found = np.asarray(equation.to_physical(state.field)["u"]).mean(axis=(1, 2))
    np.testing.assert_allclose(found, exact(mean), atol=1e-12)


@pytest.mark.slow
def test_couplings_of_means_alone_are_kept(make_grid):
    text = ["dt(u) = lap(u) - a*mean(v)", "dt(v) = lap(v) + mean(u, x)"]
    equation = sw.write(text, {"u": "scalar", "v": "scalar"})(make_grid((12, 10), devices=2), a=0.5)
    fields = noise(equation)
    changes = equation.to_physical(equation.linear().apply(fields))
    plain = sw.write(["dt(u) = lap(u)", "dt(v) = lap(v)"], {"u": "scalar", "v": "scalar"})(
        make_grid((12, 10), devices=2)
    )
    laplacians, points = plain.to_physical(plain.linear().apply(fields)), equation.to_physical(fields)
    of_u, of_v = (np.asarray(changes[name] - laplacians[name])[0] for name in ("u", "v"))
    np.testing.assert_allclose(of_u, np.full_like(of_u, -0.5 * points["v"].mean()), atol=1e-12)
    np.testing.assert_allclose(of_v, np.asarray(points["u"])[0].mean(0, keepdims=True) + 0 * of_v, atol=1e-12)


CAUSED = {
    "a source": (" + a*sin(2*y)*ex", {"linear", "nonlinear"}),
    "a source of its own cause": (" + cause(f, a*sin(2*y)*ex)", {"linear", "nonlinear"}),
    "a number": (" + a*ex", {"linear", "nonlinear"}),
    "kept out of L": (" - explicit(a*u)", {"linear", "nonlinear"}),
    "kept out of L, with a cause": (" - cause(drag, explicit(a*u))", {"linear", "drag"}),
    "at its place": (" - cause(drag, a*sin(x)**2*u)", {"linear", "nonlinear"}),
    "at its time": (" - a*cos(t)*u", {"linear", "nonlinear"}),
    "on means": (" - cause(drag, a*mean(u))", {"linear", "drag"}),
    "on means along x": (" - cause(drag, a*mean(u, x))", {"linear", "drag"}),
    "towards a number": (" - cause(drag, a*(u - ex))", {"linear", "drag", "nonlinear"}),
    "nothing more": ("", {"linear"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CAUSED)
def test_budgets_have_all_that_changes_an_energy(make_grid, case):
    """The sum of the causes is the derivative of the energy along L u + N."""
    more, causes = CAUSED[case]
    equation = flow(make_grid((12, 10), devices=2), more, **({"a": 0.8} if more else {}))
    fields = noise(equation)
    linear, nonlinear = equation.linear().apply(fields), equation.nonlinear(fields, 0.3)
    budget = equation.report.budget(fields, Changes(linear, nonlinear, {}))["energy"]
    whole = {name: linear[name] + nonlinear[name] for name in fields}
    _, change = jax.jvp(equation.report.energies, (fields,), (whole,))
    assert budget.keys() == causes
    np.testing.assert_allclose(sum(budget.values()), change["energy"], rtol=1e-10)


@pytest.mark.parametrize("term", ["- explicit(a*u)", "+ a", "+ a*cos(t)"])
def test_budgets_of_texts_without_products_have_what_stands_outside_of_l(make_grid, term):
    equation = sw.write(f"dt(u) = lap(u) {term}", {"u": "scalar"})(make_grid((16,), devices=1), a=0.8)
    fields = noise(equation)
    linear, nonlinear = equation.linear().apply(fields), equation.nonlinear(fields, 0.3)
    budget = equation.report.budget(fields, Changes(linear, nonlinear, {}))["energy"]
    _, change = jax.jvp(equation.report.energies, (fields,), ({"u": linear["u"] + nonlinear["u"]},))
    assert budget.keys() == {"linear", "nonlinear"}
    np.testing.assert_allclose(sum(budget.values()), change["energy"], rtol=1e-10)


def test_a_number_as_a_source_takes_any_step(make_grid):
    equation = sw.write("dt(u) = lap(u) + a", {"u": "scalar"})(make_grid((16,), devices=1), a=0.8)
    assert equation.why_no_rate == ""
    assert float(equation.rate(noise(equation))) == 0


@pytest.mark.parametrize("name", ["linear", "nonlinear", "forcing"])
def test_a_cause_has_a_name_of_its_own(name):
    with pytest.raises(WrittenError, match="a budget has this name"):
        sw.write(f"dt(u) = lap(u) - cause({name}, u)", {"u": "scalar"})


@pytest.mark.slow
def test_complex_factors_of_columns_count(make_grid):
    grid = make_grid((16,), devices=1, real=False)
    series = {"momentum": "1j*conj(A)*dx(A)", "mixed": "conj(A)*B*(1 + 2j)"}
    text = ["dt(A) = 1j*lap(A)", "dt(B) = 1j*lap(B)"]
    made = sw.write(text, {"A": "wavefunction", "B": "wavefunction"}, series=series, invariants=series)
    equation = made(grid)
    fields = noise(equation)
    a, b = (np.asarray(equation.to_physical(fields)[name])[0] for name in ("A", "B"))
    slope = np.fft.ifft(1j * np.fft.fftfreq(16, 1 / 16) * np.fft.fft(a))
    exact = {"momentum": (1j * a.conj() * slope).mean().real, "mixed": (a.conj() * b * (1 + 2j)).mean().real}
    columns, spectra = equation.report.columns(fields), equation.spectra(fields)
    for name, value in exact.items():
        np.testing.assert_allclose(columns[name], value, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(spectra[name]).sum(), value, rtol=1e-12)
    moved = equation.report.invariants(fields)["mixed"]
    derivative = {name: np.vdot(np.asarray(moved[name]), np.asarray(fields[name])).real for name in ("A", "B")}
    for value in derivative.values():  # the form is linear in each of both
        np.testing.assert_allclose(value, exact["mixed"], rtol=1e-12)


RATES = {
    "kept out of L": ("dt(u) = -u*dx(u) - explicit(a*u)", "speeds |u| along x, and reactions |a|"),
    "with a parameter": ("dt(u) = -a*u*dx(u)", "speeds |a u| along x"),
    "linear alone": ("dt(u) = -explicit(a*u)", "no CFL number, since what stands outside L is linear"),
    "long waves": ("dt(u - lap(u)) = -u*dx(u) - a*dx(u)", "no CFL number, since terms outside L act on long waves"),
}


@pytest.mark.parametrize("case", RATES)
def test_linear_terms_outside_of_l_count_in_the_rate(make_grid, case):
    text, said = RATES[case]
    equation = sw.write(text, {"u": "scalar"})(make_grid((16,), devices=1), a=50.0)
    [rate] = [line for head, line in equation.derivation() if head == "rate"]
    assert said in rate


@pytest.mark.parametrize(("term", "more", "carried"), [("explicit(a*u)", 50.0, 0.0), ("explicit(a*dx(u))", 0.0, 50.0)])
def test_the_rate_has_the_numbers_of_terms_kept_out_of_l(make_grid, term, more, carried):
    equation = sw.write(f"dt(u) = -u*dx(u) - {term}", {"u": "scalar"})(make_grid((16,), devices=1), a=50.0)
    fields = noise(equation)
    speed = np.abs(np.asarray(equation.to_physical(fields)["u"]) + carried).max()
    np.testing.assert_allclose(equation.rate(fields), speed / equation.grid.spacing[0] + more, rtol=1e-12)


def test_fields_that_act_on_each_other_through_l_alone_have_no_rate(make_grid):
    text = ["dt(E) = 1j*lap(E) - 1j*n*E", "dt(n) = v", "dt(v) = lap(n) + lap(abs(E)**2)"]
    made = sw.write(text, {"E": "wavefunction", "n": "scalar", "v": "scalar"})
    assert "its fields act on each other through L" in made(make_grid((16,), devices=1)).why_no_rate


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_text_whose_rate_is_zero_takes_any_step(make_grid, precision):
    equation = sw.write("dt(u) = lap(u) + sin(x)", {"u": "scalar"})(make_grid((16,), devices=1, precision=precision))
    stepper = sw.steppers.IFRK4()
    start = sw.initial_state(equation, stepper, {"u": jnp.zeros((1, 16), equation.grid.dtype)})
    *_, state = sw.evolve(equation, stepper, start, end=0.5, cfl=0.5, max_step=0.05)
    exact = (1 - np.exp(-0.5)) * np.sin(np.arange(16) * np.pi / 8)
    np.testing.assert_allclose(equation.to_physical(state.field)["u"][0], exact, atol=1e-6)


def test_columns_of_places_and_of_fields_of_both_kinds(make_grid):
    series = {"first": "x*u*u", "second": "mean(x*u)*mean(u)"}
    equation = sw.write("dt(u) = lap(u) - u*dx(u)", {"u": "scalar"}, series=series)(make_grid((16,), devices=1))
    fields = noise(equation)
    u, x = np.asarray(equation.to_physical(fields)["u"])[0], np.arange(16) * np.pi / 8
    columns = equation.report.columns(fields)
    np.testing.assert_allclose(columns["first"], (x * u * u).mean(), rtol=1e-12)
    np.testing.assert_allclose(columns["second"], (x * u).mean() * u.mean(), rtol=1e-12)
    text, both = ["dt(A) = 1j*lap(A)", "dt(u) = lap(u)"], {"A": "wavefunction", "u": "scalar"}
    mixed = sw.write(text, both, series={"both": "conj(A)*u"})(make_grid((16,), devices=1))
    fields = noise(mixed)
    points = {name: np.asarray(of)[0] for name, of in mixed.to_physical(fields).items()}
    exact = (points["A"].conj() * points["u"]).mean().real
    np.testing.assert_allclose(mixed.report.columns(fields)["both"], exact, rtol=1e-12)


WRONG = {
    "dt(u) = lap(u) - u/0": ({}, "a division by zero"),
    "dt(u) = lap(u) - fraclap(u, u)": ({}, "the second argument of fraclap: a number for the whole box is needed"),
    "dt(u) = lap(u) - derived*u": ({}, "parameter 'derived': equations have an attribute of this name"),
    "dt(u) = lap(u)": ({"spectra": ["q"]}, "spectra of 'q'"),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_texts_are_refused_in_one_line(text):
    more, said = WRONG[text]
    with pytest.raises(WrittenError, match=said):
        sw.write(text, {"u": "scalar"}, **more)


CHOSEN = {  # by hand at t = 0.7, a = 0.3: of u, its second derivative, and x
    "where(t < 1, 2, 3)*lap(u)": lambda u, curved, x: 2 * curved,
    "where(t >= 0.7, 2, 3)*sin(x)": lambda u, curved, x: 2 * np.sin(x),
    "where(a > 0.5, 1, 0)*u": lambda u, curved, x: 0 * u,
    "where(a <= 0.5, 1, 0)*u + u*u": lambda u, curved, x: u + u * u,
    "max(a, 0.5)*lap(u)": lambda u, curved, x: 0.5 * curved,
    "(max(a, 0.5) - a)*lap(u)": lambda u, curved, x: 0.2 * curved,
    "cause(drag, (min(2, a) - 2)*u)": lambda u, curved, x: -1.7 * u,
    "min(t, 1)*u": lambda u, curved, x: 0.7 * u,
    "max(1 - t, 0)": lambda u, curved, x: 0.3 + 0 * u,
    "max(a, t)*u*u": lambda u, curved, x: 0.7 * u * u,
    "-fraclap(u, max(a, 1))": lambda u, curved, x: curved,
}


@pytest.mark.parametrize("term", CHOSEN)
def test_numbers_that_are_chosen_between(term):
    grid = sw.Grid((16,), mesh=sw.device_mesh([0]))
    equation = sw.write(f"dt(u) = {term}", {"u": "scalar"}, parameters={"a": "scalar"})(grid, a=0.3)
    [x] = map(np.asarray, grid.coordinates())
    u, curved = 0.4 + np.sin(x) + np.cos(2 * x), -np.sin(x) - 4 * np.cos(2 * x)
    fields = equation.from_physical({"u": jnp.asarray(u)[None]})
    rate = jax.jit(lambda fields, t: equation.linear().apply(fields)["u"] + equation.nonlinear(fields, t)["u"])
    found = equation.transform.inverse(rate(fields, 0.7))[0]
    np.testing.assert_allclose(found, CHOSEN[term](u, curved, x), rtol=1e-12, atol=1e-13)
