"""Texts between walls: N against the equations at the points, what is conserved, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import walls
from solver.dynamics.budget import Changes
from solver.walls.conditions import AtSlope, AtValue, Rigid, StressFree

RAYLEIGH, PRANDTL, ROTATION = 1e3, 0.7, 0.3


def convection(make_grid, dimensions, devices=1, **options):
    shape, lengths = ((12, 10, 17), (2.0, 3.0, 1.0)) if dimensions == 3 else ((12, 17), (2.0, 1.0))
    grid = make_grid(shape, devices, lengths=lengths, walls="xyz"[dimensions - 1])
    turned = {"rotation": ROTATION} if dimensions == 3 else {}
    given = {"temperature": walls.Value(1.0, -0.5), **options}
    return sw.equations.RayleighBenard(grid, RAYLEIGH, PRANDTL, walls=given, **turned)


def random_fields(equation, seed=0):
    return {name: space.random(jax.random.key(seed + i)) for i, (name, space) in enumerate(equation.spaces.items())}


def dot(equation, a, b):
    return {
        name: float(jnp.sum(jnp.asarray(equation.grid.mode_weights()) * jnp.sum((a[name] * jnp.conj(b[name])).real, 0)))
        for name in equation.fields
    }


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"velocity": walls.FreeSlip()}, {"temperature": walls.Slope(-1.0, -0.4)}])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_n_is_the_equation_tested_with_any_field(make_grid, dimensions, options):
    """⟨v · N⟩ = ⟨v · (−u·∇u + T ẑ − f ẑ×u)⟩ and ⟨s N_T⟩ = −⟨s u·∇T⟩, from products at the points."""
    equation = convection(make_grid, dimensions, **options)
    fields, others = random_fields(equation), random_fields(equation, 10)
    found = dot(equation, others, equation.nonlinear(fields, 0.0))
    velocity, temperature = equation.space("velocity"), equation.space("temperature")
    u_series, t_series = velocity.series(fields["velocity"]), temperature.series(fields["temperature"])
    u, t = velocity.at_points(u_series), temperature.at_points(t_series)[0]
    slopes = lambda c: [*(1j * k * c for k in velocity.wavenumbers()), velocity.across(c)]  # noqa: E731
    gradient = [velocity.at_points(c) for c in slopes(u_series)]
    force = -sum(u[j] * gradient[j] for j in range(dimensions))
    force = force.at[-1].add(t)
    if dimensions == 3:
        force = force.at[0].add(ROTATION * u[1]).at[1].add(-ROTATION * u[0])
    v = velocity.at_points(velocity.without_lifting(others["velocity"]))
    s = temperature.at_points(temperature.without_lifting(others["temperature"]))[0]
    carried = -sum(u[j] * temperature.at_points(c)[0] for j, c in enumerate(slopes(t_series)))
    size = float(jnp.sqrt(jnp.mean(force**2) * jnp.mean(v**2)))
    assert abs(float(jnp.sum(velocity.mean(v * force))) - found["velocity"]) < 1e-12 * size
    if options.get("temperature"):  # between two slopes the profile at rest is a parabola, which diffuses
        carried = carried + 0.6 * equation.numbers()["diffusivity"]
    size = float(jnp.sqrt(jnp.mean(carried**2) * jnp.mean(s**2)))
    assert abs(float(velocity.mean(s * carried)) - found["temperature"]) < 1e-12 * size


@pytest.mark.slow
@pytest.mark.parametrize("rigid", [True, False])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_products_conserve_energy(make_grid, dimensions, rigid):
    grid = convection(make_grid, dimensions).grid
    of = {"velocity": walls.NoSlip() if rigid else walls.FreeSlip(), "c": walls.Slope()}
    equation = sw.equations.NavierStokes(grid, 0.1, scalars={"c": sw.PassiveScalar(0.1)}, walls=of)
    fields = random_fields(equation)
    change = equation.nonlinear(fields, 0.0)
    for name, power in dot(equation, fields, change).items():
        size = np.prod([np.sqrt(dot(equation, f, f)[name]) for f in (fields, change)])
        assert abs(power) < 1e-15 * size, (name, power / size)


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 3])
def test_budgets_close_with_what_passes_through_the_walls(make_grid, dimensions):
    moving = walls.Moving(upper=[1.0, 0.5][: dimensions - 1])
    equation = convection(make_grid, dimensions, velocity=moving)
    fields = random_fields(equation)
    linear, nonlinear = equation.linear().apply(fields), equation.nonlinear(fields, 0.0)
    budget = equation.report.budget(fields, Changes(linear, nonlinear, {}))
    total = {name: linear[name] + nonlinear[name] for name in fields}
    step = 1e-6
    energies = [
        equation.report.energies({name: fields[name] + sign * step * total[name] for name in fields})
        for sign in (-1, 1)
    ]
    for name, causes in budget.items():
        rate = float(energies[1][name] - energies[0][name]) / (2 * step)
        assert float(sum(causes.values())) == pytest.approx(rate, rel=1e-8), name
    assert {"buoyancy", "viscosity"} <= budget["kinetic_energy"].keys()


@pytest.mark.slow
@pytest.mark.parametrize("signal", [walls.Slope(0.4, -0.3), walls.Walls(AtSlope(0.4), AtValue(1.0))])
def test_a_flux_that_does_not_vanish_at_the_walls(make_grid, signal):
    """⟨v N⟩ = ⟨∇v · n∇c⟩ − [v n ∂c/∂z]/H on noise. Where both walls give a slope, n times it passes them, else n times
    the slope of the field as it is."""
    grid = make_grid((12, 17), 1, lengths=(2.0, 1.3), walls="y")
    of = {"cells": walls.Slope(), "signal": signal}
    equation = sw.equations.KellerSegel(grid, sensitivity=1.0, growth=0.0, walls=of)
    fields, others = random_fields(equation), random_fields(equation, 10)
    change, space = equation.nonlinear(fields, 0.0)["cells"], equation.space("cells")
    n, c = (equation.space(name).series(fields[name]) for name in ("cells", "signal"))
    v = space.without_lifting(others["cells"])
    given = [getattr(side, "slope", None) for side in signal]
    passing, along = 0.0, lambda c, wall: jnp.fft.irfft(space.at_wall(c, wall)[0, :, 0], 64) * 64
    for wall, sign in enumerate((-1, 1)):
        slope = along(space.across(c), wall) if None in given else given[wall]
        passing += sign * float(jnp.mean(along(v, wall) * along(n, wall) * slope)) / space.height
    inside, kx = 0.0, space.wavenumbers()[0]
    for a, b in ((1j * kx * v, 1j * kx * c), (space.across(v), space.across(c))):
        inside += float(jnp.sum(space.mean(space.at_points(a) * space.at_points(n) * space.at_points(b))))
    found = dot(equation, others, {"cells": change, "signal": change})["cells"]
    assert found == pytest.approx(inside - passing, rel=1e-11)
    if None not in given:
        below, above = (float(jnp.mean(along(n, wall))) * given[wall] for wall in (0, 1))
        assert float(space.means(change)[0]) == pytest.approx((below - above) / space.height, rel=1e-10)


REFUSED = {
    "no gradient": (
        ["dt(u) = -u@grad(u) - grad(psi) - psi*up + lap(u)", "div(u) = 0"],
        {"u": "vector"},
        "'psi' does not act as a gradient",
    ),
    "unknown": (["dt(w) = lap(w) - lap(psi)", "lap(psi) = w"], {"w": "scalar"}, "psi"),
    "three dimensions": (["dt(c) = lap(c) + dz(c)"], {"c": "scalar"}, "dz in 2 dimensions: there is no such axis"),
    "no diffusion": (["dt(c) = -c*c"], {"c": "scalar"}, "c does not diffuse"),
    "fourth order": (["dt(c) = lap(c) - fraclap(c, 2)"], {"c": "scalar"}, "0 is needed, since"),
    "negative diffusion": (["dt(c) = -lap(c)"], {"c": "scalar"}, "diffusion -1 of c"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_text_cannot_have_is_refused(make_grid, name):
    lines, fields, message = REFUSED[name]
    grid = make_grid((12, 17), 1, walls="y")
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        sw.write(lines, fields, {"psi": "scalar"} if "psi" in str(lines) else {})(
            grid, walls={} if "u" in fields else dict.fromkeys(fields, walls.Value())
        )
    assert "\n" not in str(caught.value).strip() or "    " in str(caught.value)


def test_conditions_that_do_not_fit_are_refused(make_grid):
    grid, box = make_grid((12, 17), 1, walls="y"), make_grid((12, 17), 1)
    flow = lambda **of: sw.equations.NavierStokes(grid, 0.1, scalars={"c": sw.PassiveScalar(0.1)}, walls=of)  # noqa: E731
    given = {
        "field c has no condition": {},
        "the fields velocity, c": {"c": walls.Value(), "d": walls.Value()},
        "no-slip, free-slip or moving": {"c": walls.Value(), "velocity": walls.Value()},
        "a value, a slope or robin": {"c": walls.NoSlip()},
        r"moving = \[1.0, 2.0\]: 1 number": {"c": walls.Value(), "velocity": walls.Moving(upper=[1.0, 2.0])},
        "would feed": {"c": walls.Robin((1.0, 1.0, 0.0), (1.0, 1.0, 0.0))},
        "slope = c/b is needed": {"c": walls.Robin((1e-17, -1.0, 0.0), (1.0, 1.0, 0.0))},
        "value = c/a is needed": {"c": walls.Robin((1.0, -1.0, 0.0), (1.0, 1e-30, 0.0))},
    }
    for message, of in given.items():
        with pytest.raises(ValueError, match=message):
            flow(**of)
    with pytest.raises(ValueError, match="in a periodic box"):
        sw.equations.NavierStokes(box, 0.1, walls={"velocity": walls.NoSlip()})
    equation = flow(c=walls.Value(1.0))
    free = {"velocity": walls.FreeSlip()}
    for one in (equation, sw.equations.NavierStokes(grid, 0.1, walls=free)):
        with pytest.raises(TypeError, match=r"stepper ifrk4 between walls.*krogstad4"):
            sw.steppers.IFRK4().check(one)
    start = {"velocity": jnp.zeros((2, 12, 17)), "c": jnp.zeros((1, 12, 17))}
    with pytest.raises(ValueError, match="does not have the values that walls"):
        sw.initial_state(equation, sw.steppers.Krogstad4(), start)


@pytest.mark.thorough
@pytest.mark.slow
def test_conditions_may_be_lines_of_the_text(make_grid):
    grid = make_grid((12, 10, 17), 1, walls="z")
    lines = [
        "dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + b*up", "div(u) = 0", "dt(b) = -u@grad(b) + kappa*lap(b)",
        "u(bottom) = 0", "dz(u)(top) = 0", "b(bottom) = 2/4", "dz(b)(top) = -1",
    ]  # fmt: skip
    fields, unknowns = {"u": "vector", "b": "scalar"}, {"p": "scalar"}
    made = sw.write(lines, fields, unknowns)(grid, nu=0.1, kappa=0.2)
    of = {"u": walls.Walls(Rigid(), StressFree()), "b": walls.Walls(AtValue(0.5), AtSlope(-1.0))}
    given = sw.write(lines[:3], fields, unknowns)(grid, nu=0.1, kappa=0.2, walls=of)
    assert jax.tree.structure(made.walls) == jax.tree.structure(given.walls)
    assert jax.tree.leaves(made.walls) == jax.tree.leaves(given.walls)
    state = random_fields(made)
    for name, change in made.nonlinear(state, 0.0).items():
        np.testing.assert_array_equal(change, given.nonlinear(state, 0.0)[name])


DEDALUS = [  # examples/ivp_2d_rayleigh_benard of Dedalus 3.0
    "trace(grad_u) + tau_p = 0",
    "dt(b) - kappa*div(grad_b) + lift(tau_b2) = - u@grad(b)",
    "dt(u) - nu*div(grad_u) + grad(p) - b*ez + lift(tau_u2) = - u@grad(u)",
    "b(z=0) = Lz", "u(z=0) = 0", "b(z=Lz) = 0", "u(z=Lz) = 0",
    "integ(p) = 0",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_the_lines_of_dedalus(make_grid, dimensions):
    """With its tau terms, as they stand: N and L of `rayleigh-benard`, in a plane x, z and in three dimensions."""
    shape, lengths = {2: ((12, 17), (4.0, 1.0)), 3: ((12, 6, 17), (4.0, 3.0, 1.0))}[dimensions]
    grid = make_grid(shape, 1, lengths=lengths, walls="xyz"[dimensions - 1])
    unknowns = {name: "scalar" for name in ("p", "tau_p", "tau_b1", "tau_b2")}
    unknowns |= {"tau_u1": "vector", "tau_u2": "vector"}
    define = {"Lz": "1", "grad_u": "grad(u) + ez*lift(tau_u1)", "grad_b": "grad(b) + ez*lift(tau_b1, -1)"}
    theirs = sw.write(DEDALUS, {"b": "scalar", "u": "vector"}, unknowns, define)(grid, kappa=1e-3, nu=2e-3)
    ours = sw.equations.RayleighBenard(grid, 5e5, 2.0, walls={"temperature": walls.Value(1.0, 0.0)})
    u, b = (ours.space(name).random(jax.random.key(0)) for name in ("velocity", "temperature"))
    mine, known = {"u": u, "b": b}, {"velocity": u, "temperature": b}
    for made, wanted in [
        (theirs.nonlinear(mine, 0.0), ours.nonlinear(known, 0.0)),
        (theirs.linear().apply(mine), ours.linear().apply(known)),
    ]:
        for name, other in {"u": "velocity", "b": "temperature"}.items():
            np.testing.assert_allclose(made[name], wanted[other], atol=1e-13 * float(jnp.abs(made[name]).max()))


def test_a_plane_of_x_and_z(make_grid):
    """`dz` of Dedalus' lines crosses the walls of a plane, whose second direction is y here."""
    grid = make_grid((12, 17), 1, lengths=(2.0, 1.0), walls="y")
    theirs = ["dt(b) = lap(b) - 3*dz(b*(b + dz(b))) + dx(b)", "b(z=0) = 1", "dz(b)(z=Lz) = -2"]
    ours = ["dt(b) = lap(b) - 3*dy(b*(b + dy(b))) + dx(b)", "b(bottom) = 1", "dy(b)(top) = -2"]
    one = sw.write(theirs, {"b": "scalar"}, {}, {"Lz": "1"})(grid)
    other = sw.write(ours, {"b": "scalar"})(grid)
    fields = random_fields(other)
    np.testing.assert_array_equal(one.nonlinear(fields, 0.0)["b"], other.nonlinear(fields, 0.0)["b"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b(z=0) = 1 +", "no expression"),
        ("b(z=Lz) = 0", "at a wall a number is needed, or a definition: define = "),
        ("b(z=2) = 0", "the walls are at 0 and 6.28319, and not at 2"),
        ("b(x=0) = 0", "z is needed, the direction across the walls"),
        ("b(bottom) + dz(b)(bottom) = 0", r"T\(z=0\) = 1 or dz\(T\)\(top\) = 0 is needed"),
        ("q(bottom) = 0", "'q' is no field"),
        ("dx(b)(bottom) = 0", "the derivative dz, across the walls"),
        ("b(top) = 1", "a second condition of b"),
        ("b(bottom) = 1", "the text has a condition of b at this wall, too"),
    ],
)
def test_lines_of_walls_that_do_not_fit_are_refused(make_grid, line, message):
    grid = make_grid((12, 10, 17), 1, walls="z")
    lines = ["dt(b) = lap(b)", "b(top) = 0", line]
    given = {"b": {"lower": {"value": 0.0}}}
    with pytest.raises(ValueError, match=message):
        sw.write(lines, {"b": "scalar"})(grid, walls=given)


def test_lines_of_walls_in_a_periodic_box_are_refused(make_grid):
    with pytest.raises(ValueError, match="in a periodic box"):
        sw.write(["dt(b) = lap(b)", "b(top) = 0"], {"b": "scalar"})(make_grid((12, 16), 1))


def test_the_derivation_shows_the_plan_that_is_carried_out(make_grid):
    text = sw.write(["dt(q) = lap(q) + dx(m*m)", "dt(m) = lap(m) + q*dx(q)"], fields={"q": "scalar", "m": "scalar"})
    flow = text(make_grid((10,), 1, walls="x"), walls={"q": walls.Slope(), "m": walls.Value(1.0, 0.0)})
    lines = [line for heading, line in flow.derivation() if heading in ("plan", "rate")]
    assert lines[0].startswith("4 inverse and 2 forward transforms")
    assert lines[1:3] == ["to the points: ∂x m, m, ∂x q, q", "and back: (∂x m) m, (∂x q) q"]
    assert lines[3] == "of a CFL number: speeds sqrt(|m q 2|) along x"


def test_linear_terms_outside_of_l_count_in_the_rate(make_grid):
    """A wave between two fields, in any units, and a wind along the walls; both are evaluated with N."""
    grid = make_grid((12, 17), 1, lengths=(2.0, 1.0), walls="y")
    of = dict.fromkeys(("a", "b"), walls.Value())
    wave = sw.write(["dt(a) = lap(a) + 1e8*b", "dt(b) = lap(b) - 9e-8*a"], dict.fromkeys(of, "scalar"))
    assert float(wave(grid, walls=of).rate(random_fields(wave(grid, walls=of)))) == pytest.approx(3.0, rel=0.02)
    wind = sw.write(["dt(a) = lap(a) - 5*dx(a)"], {"a": "scalar"})(grid, walls={"a": walls.Value()})
    assert float(wind.rate(random_fields(wind))) == pytest.approx(5 / grid.spacing[0], rel=0.02)
    fine = make_grid((12, 49), 1, lengths=(2.0, 1.0), walls="y")  # where ∂/∂z of modes is steeper than 1/spacing
    across = sw.write(["dt(a) = lap(a) - 5*dx(a) + dy(a)"], {"a": "scalar"})(fine, walls={"a": walls.Value()})
    rate = 5 / fine.spacing[0] + 0.08 * 49**2
    assert float(across.rate(random_fields(across))) == pytest.approx(rate, rel=0.02)


def test_alfven_waves_count_once_in_the_rate(make_grid):
    grid = make_grid((12, 17), 1, lengths=(2.0, 1.0), walls="y")
    of = {"magnetic_field": walls.FreeSlip()}
    flow = sw.equations.MHD(grid, 0.1, 0.1, mean_field=(0.3, 0.0), walls=of)
    rest = {name: jnp.zeros_like(field) for name, field in random_fields(flow).items()}
    assert float(flow.rate(rest)) == pytest.approx(0.3 / grid.spacing[0], rel=0.02)


def test_each_field_has_its_own_modes(make_grid):
    grid = make_grid((12, 17), 1, lengths=(2.0, 1.0), walls="y")
    x, z = grid.coordinates()
    of = {"a": walls.Value(1.0, 0.5), "b": walls.Slope(1.0, -0.5)}
    equation = sw.write(["dt(a) = lap(a) - a*b", "dt(b) = lap(b) + a*b"], dict.fromkeys(of, "scalar"))(grid, walls=of)
    start = {"a": 1 - 0.5 * z + 0 * x, "b": z - 0.75 * z**2 + 0.1 * np.cos(np.pi * x) + 0 * z}
    state = sw.initial_state(
        equation, sw.steppers.Krogstad4(), {name: jnp.asarray(u)[None] for name, u in start.items()}
    )
    for name, u in start.items():
        np.testing.assert_allclose(equation.space(name).inverse(state.field[name])[0], u, atol=1e-12)
        np.testing.assert_allclose(equation.to_physical(state.field)[name][0], u, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_gradients_and_variances_with_given_values(make_grid):
    """Enstrophy ½(∂u/∂z)² and dissipation of Couette flow; the variance over time of a field with a lifting."""
    grid = make_grid((8, 17), 1, lengths=(2.0, 1.0), walls="y")
    flow = sw.equations.NavierStokes(grid, 0.1, walls={"velocity": walls.Moving(1.0, -1.0)})
    couette = sw.initial.Conduction().for_equation(flow, "velocity")(grid, flow.fields["velocity"])
    columns = flow.series(flow.from_physical({"velocity": couette}), 0.1)
    assert float(columns["enstrophy"]) == pytest.approx(2.0)
    assert float(columns["dissipation"]) == pytest.approx(0.4)
    space, z = flow.space("velocity"), grid.coordinates()[1]
    two = [space.forward(couette.at[0].add(a * jnp.asarray(np.sin(np.pi * z)))) for a in (0.1, 0.3)]
    change = space.inverse_of_change(two[1] - two[0])[0]
    np.testing.assert_allclose(change, np.broadcast_to(0.2 * np.sin(np.pi * z), change.shape), atol=1e-8)
    of = {"velocity": walls.Moving(1.0, -1.0), "buoyancy": walls.Value()}
    stratified = sw.equations.Boussinesq(grid, 0.1, 0.1, 2.0, walls=of)
    rest = {name: jnp.zeros(shape.shape, shape.dtype) for name, shape in stratified.field_shapes().items()}
    columns = jax.jit(stratified.report.columns)(rest)
    expected = {"enstrophy": 2.0, "dissipation": 0.4, "froude": 0.4 / (2.0 / 3), "buoyancy_reynolds": 1.0}
    assert {name: float(columns[name]) for name in expected} == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"its column .* is not known where walls give velocity"):
        sw.equations.MHD(grid, 0.1, 0.1, walls={"velocity": of["velocity"], "magnetic_field": walls.FreeSlip()})


@pytest.mark.slow
def test_places_times_and_values_at_the_points(make_grid):
    grid = make_grid((8, 17), 1, lengths=(2.0, 1.0), walls="y")
    x, z = grid.coordinates()
    of = {"b": walls.Slope()}
    made = sw.write(["dt(b) = lap(b) + sin(pi*x)*y + s*b"], {"b": "scalar"}, at_points=["s"])
    equation = made(grid, s=jnp.asarray(np.cos(np.pi * z)), walls=of)
    space = equation.space("b")
    b = space.forward(jnp.asarray(1 + 0 * x + 0 * z)[None])
    found = space.inverse(equation.nonlinear({"b": b}, 0.0)["b"])[0]
    np.testing.assert_allclose(found, np.sin(np.pi * x) * z + np.cos(np.pi * z), atol=1e-9)


def test_high_derivatives_and_means_that_no_mode_has_are_refused(make_grid):
    grid = make_grid((8, 17), 1, lengths=(2.0, 1.0), walls="y")
    with pytest.raises(ValueError, match="a derivative of order 4 between walls"):
        sw.write(["dt(b) = lap(b) - lap(lap(b))"], {"b": "scalar"})(grid, walls={"b": walls.Value()})
    with pytest.raises(ValueError, match="slopes at both walls are needed"):
        sw.write(["dt(b) = lap(b)"], {"b": "scalar"}, means={"b": 0})(grid, walls={"b": walls.Value()})


@pytest.mark.slow
def test_means_along_axes_and_of_products(make_grid):
    grid = make_grid((12, 23), 1, lengths=(2.0, 1.0), walls="y")
    x, z = grid.coordinates()
    terms = "mean(b*c, x) + 2*mean(b*c, y) + mean(b*b)*c + (c - mean(c, x))*b + dy(mean(b*c, x)) + mean(c, y)"
    of = dict.fromkeys(("b", "c"), walls.Value())
    equation = sw.write([f"dt(b) = lap(b) + {terms}", "dt(c) = lap(c)"], dict.fromkeys(of, "scalar"))(grid, walls=of)
    values = {"b": z * (1 - z) * (1 + np.cos(np.pi * x)), "c": z * (1 - z) * (1 + z) * (2 - np.cos(np.pi * x))}
    fields = {name: equation.space(name).forward(jnp.asarray(u)[None]) for name, u in values.items()}
    # ⟨(1 + cos)(2 − cos)⟩ = 3/2 and ⟨(1 + cos)²⟩ = 3/2 over x; ∫z²(1−z)²(1+z) = 1/20, ∫z²(1−z)² = 1/30, ∫z(1−z²) = 1/4
    b, c = values.values()
    product, slope = z**2 * (1 - z) ** 2 * (1 + z), 2 * z - 3 * z**2 - 4 * z**3 + 5 * z**4
    expected = (
        1.5 * product + (1 + np.cos(np.pi * x)) * (2 - np.cos(np.pi * x)) / 10 + 0.05 * c
        + (c - 2 * z * (1 - z**2)) * b + 1.5 * slope + (2 - np.cos(np.pi * x)) / 4
    )  # fmt: skip
    space = equation.space("b")
    np.testing.assert_allclose(
        equation.nonlinear(fields, 0.0)["b"], space.forward(jnp.asarray(expected)[None]), atol=1e-13
    )


def test_zero_diffusion_needs_walls_that_ask_for_nothing(make_grid):
    grid = make_grid((12, 17), 1, walls="y")
    fluid = lambda kappa, of: sw.equations.OldroydB(grid, stress_diffusivity=kappa, walls={"stress": of})  # noqa: E731
    for of in (walls.Value(), walls.Slope(1.0, 0.0), walls.Robin((1.0, -1.0, 0.0), (1.0, 1.0, 0.0))):
        fluid(0.1, of)
        with pytest.raises(ValueError, match=r"stress does not diffuse.* slope = 0.0 at both walls"):
            fluid(0.0, of)
    fluid(0.0, walls.Slope())
    with pytest.raises(ValueError, match="free-slip at both walls"):
        sw.equations.NavierStokes(grid, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("a", [1e-14, 1e-9, 1e-3])
def test_mixtures_that_are_nearly_slopes(make_grid, a):
    """κT'' of a parabola with fluxes through both walls, whose lifting must not have a mean of 1/a."""
    grid, (below, above) = make_grid((17,), 1, lengths=(2.0,), walls="x"), (0.3, 0.5)
    z = jnp.asarray(grid.coordinates()[0])
    parabola = -below * z + (above + below) * z**2 / 4  # T' = −0.3 and 0.5 at the walls
    at = [0.0, float(-below * 2 + (above + below))]
    of = walls.Robin((a, -1.0, below + a * at[0]), (a, 1.0, above + a * at[1]))
    equation = sw.write(["dt(c) = 0.1*lap(c)"], {"c": "scalar"})(grid, walls={"c": of})
    fields = equation.from_physical({"c": parabola[None]})
    np.testing.assert_allclose(equation.to_physical(fields)["c"][0], parabola, atol=1e-12)
    change = equation.linear().apply(fields)["c"] + equation.nonlinear(fields, 0.0)["c"]
    np.testing.assert_allclose(equation.space("c").inverse_of_change(change)[0], 0.1 * 0.4, rtol=1e-9)
