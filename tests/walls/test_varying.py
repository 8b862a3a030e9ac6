"""Conditions that depend on time and on the place along the wall, against exact solutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver import walls
from solver.dynamics.spaces_between_walls import walls_of_run
from solver.dynamics.start_changes import warn_of_changes
from solver.steppers import ETDRK5S4, IMEXRK3, Krogstad4
from solver.walls.conditions import value_of

FLOW = ["dt(u) = -u@grad(u) - grad(p) + cause(viscosity, nu*lap(u))", "div(u) = 0"]
PLATE, FIELD, PRESSURE = "u(bottom) = a*cos(omega*t)*ex", {"u": "vector"}, {"p": "scalar"}
NU, OMEGA, KAPPA = 0.1, 2.0, 0.3
PLATES = {"nu": NU, "a": 1.0, "omega": OMEGA}


def wave_of(z, t, rate, k=0.0, *, of_slope=False):
    """cos ωt at z = 0, 0 at z = 1, diffused; or with these slopes: ratios of hyperbolic functions."""
    inverse = np.sqrt(k**2 + 1j * OMEGA / rate)
    shape = -np.cosh(inverse * (1 - z)) / inverse if of_slope else np.sinh(inverse * (1 - z))
    return (np.exp(1j * OMEGA * t) * shape / np.sinh(inverse)).real


def plate(make_grid):
    """A fluid between a plate that swings along itself and one at rest, and its exact velocity."""
    grid = make_grid((4, 33), 1, lengths=(1.0, 1.0), walls="y")
    made = sw.write([*FLOW, PLATE], FIELD, PRESSURE, energies={"energy": "u@u/2"})
    along = lambda t: wave_of(grid.coordinates()[1], t, NU) + np.zeros(grid.shape)  # noqa: E731
    return made(grid, **PLATES), lambda t: {"u": jnp.asarray(np.stack([along(t), 0 * along(t)]))}


def spread(make_grid):
    """A scalar that diffuses from cos x cos ωt at the lower wall to 0 at the upper one, and its exact values."""
    grid = make_grid((8, 33), 1, lengths=(2 * np.pi, 1.0), walls="y")
    lines = ["dt(b) = kappa*lap(b)", "b(bottom) = a*cos(x)*cos(omega*t)", "b(top) = 0"]
    x, z = grid.coordinates()
    exact = lambda t: {"b": jnp.asarray(np.cos(x) * wave_of(z, t, KAPPA, 1.0))[None]}  # noqa: E731
    return sw.write(lines, {"b": "scalar"})(grid, kappa=KAPPA, a=1.0, omega=OMEGA), exact


def heated(make_grid):
    """A scalar in one dimension with the slope cos ωt at the lower wall, as a function, and its exact values."""
    grid = make_grid((33,), 1, lengths=(1.0,), walls="x")
    of = walls.Slope(lower=lambda t: jnp.cos(OMEGA * t))
    exact = lambda t: {"b": jnp.asarray(wave_of(grid.coordinates()[0], t, KAPPA, of_slope=True))[None]}  # noqa: E731
    return sw.write(["dt(b) = kappa*lap(b)"], {"b": "scalar"})(grid, kappa=KAPPA, walls={"b": of}), exact


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "stepper", "least", "error"),
    [
        (plate, Krogstad4(), 3.6, 5e-8),
        (spread, Krogstad4(), 3.2, 3e-8),
        pytest.param(heated, Krogstad4(), 3.8, 2e-8, marks=pytest.mark.thorough),
        pytest.param(plate, ETDRK5S4(), 3.6, 5e-8, marks=pytest.mark.thorough),
        pytest.param(spread, ETDRK5S4(), 3.2, 3e-8, marks=pytest.mark.thorough),
        pytest.param(plate, IMEXRK3(), 1.9, 1e-3, marks=pytest.mark.thorough),
    ],
    ids=lambda v: getattr(v, "name", getattr(v, "__name__", "")),
)
def test_exact_solutions_to_the_order_of_the_stepper(make_grid, made, stepper, least, error):
    """Stokes' second problem, and scalars whose value or slope at a wall varies. The budget of energy closes."""
    equation, exact = made(make_grid)
    start, errors, gained = sw.initial_state(equation, stepper, exact(0.0)), [], 0.0
    for steps in (10, 20):
        *_, state = sw.evolve(equation, stepper, start, end=1.0, step=1 / steps)
        now = equation.at_time(state.t)
        [found], [known] = now.to_physical(state.field).values(), exact(1.0).values()
        gained = float(now.report.columns(state.field)["energy"] - state.energies["energy"])
        missing = sum(float(part) for part in state.budget.values()) - gained
        errors.append([float(jnp.abs(found - known).max()), abs(missing)])
    assert errors[1][0] < error, errors
    assert errors[1][1] < 2e-3 * abs(gained), (errors, gained)
    orders = np.log2(np.array(errors[0]) / errors[1])
    assert orders[0] > least, (orders, errors)
    assert orders[1] > 2.5, (orders, errors)


FORMS = {  # the same condition of c at the lower wall
    "a text": lambda: "a*cos(omega*t) + cos(x)*sin(t)",
    "a function": lambda: lambda x, t: 0.3 * jnp.cos(OMEGA * t) + jnp.cos(x) * jnp.sin(t),
}


@pytest.mark.thorough
@pytest.mark.slow
def test_lines_texts_and_functions_are_the_same_conditions(make_grid):
    """N of a flow over a plate that swings, with a scalar whose value varies, for each notation."""
    grid, t = make_grid((8, 13), 1, lengths=(2 * np.pi, 1.0), walls="y"), 0.7
    lines = [*FLOW, "dt(c) = -u@grad(c) + nu*lap(c) + 0*a*omega"]
    fields = {**FIELD, "c": "scalar"}
    numbers = {"nu": NU, "a": 0.3, "omega": OMEGA}

    def change(more, of):
        flow = sw.write([*lines, *more], fields, PRESSURE)(grid, **numbers, walls=of)
        return flow.nonlinear({n: space.random(jax.random.key(1)) for n, space in flow.spaces.items()}, t)

    wanted = change([PLATE, f"c(bottom) = {FORMS['a text']()}", "c(top) = omega"], None)
    for form, moving in (("a text", "a*cos(omega*t)"), ("a function", lambda t: 0.3 * jnp.cos(OMEGA * t))):
        of = {"u": walls.Moving(lower=moving), "c": walls.Value(FORMS[form](), OMEGA)}
        for name, found in change([], of).items():
            np.testing.assert_allclose(found, wanted[name], atol=1e-13 * float(jnp.abs(wanted[name]).max()))
    at_rest = change([], {"u": walls.Moving(lower=0.3 * np.cos(OMEGA * t)), "c": walls.Value(0.0, OMEGA)})
    assert all(float(jnp.abs(at_rest[name] - wanted[name]).max()) > 1e-2 for name in wanted)


@pytest.mark.slow
def test_devices_agree(make_grid):
    """N in three dimensions on 1 and 4 devices, under a value that varies along both directions and in time."""
    changes = []
    for devices in (1, 4):
        grid = make_grid((8, 12, 9), devices, lengths=(2 * np.pi, 2 * np.pi, 1.0), walls="z")
        of = walls.Walls(walls.Value("1 + sin(x + t)*cos(y)").lower, walls.Slope(upper="t*cos(y)").upper)
        equation = sw.write(["dt(b) = lap(b) - b*dx(b)"], {"b": "scalar"})(grid, walls={"b": of})
        change = jax.jit(lambda equation, b: equation.nonlinear({"b": b}, 0.6)["b"])
        space = equation.space("b")
        changes.append(np.asarray(space.inverse_of_change(change(equation, space.random(jax.random.key(0))))))
    np.testing.assert_allclose(changes[1], changes[0], atol=1e-13 * np.abs(changes[0]).max())


@pytest.mark.slow
def test_a_continued_run_has_the_bits_of_the_undisturbed_one(make_grid, tmp_path):
    equation, exact = spread(make_grid)
    go = lambda state, end: [*sw.evolve(equation, Krogstad4(), state, end=end, step=0.05)][-1]  # noqa: E731
    start = sw.initial_state(equation, Krogstad4(), exact(0.0))
    path = sw.io.save_checkpoint(tmp_path, go(start, 0.2), equation.grid)
    again = go(sw.io.load_checkpoint(path, equation, Krogstad4()), 0.4)
    for one, other in zip(*(jax.tree.leaves((s.field, s.budget)) for s in (again, go(start, 0.4))), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_walls_of_another_run_are_as_its_text_says(make_grid):
    """Its definitions and parameters count, and not those of this run; a field may have another name there."""
    here = sw.write([*FLOW, "u(bottom) = speed*ex"], FIELD, PRESSURE, {"speed": "a*cos(t)"})
    equation = here(make_grid((4, 9), 1, walls="y"), nu=NU, a=1.0)
    there = {"write": ["v(bottom) = speed*ex"], "define": {"speed": "half*cos(2*t)", "half": "a/2"}}
    table = {"equation": {**there, "parameters": {"a": 3.0}}, "walls": {"v": {"upper": {"moving": ["half"]}}}}
    lower, upper = walls_of_run(table, equation, "u", "v", 0.3)
    assert float(value_of(lower.velocity[0])) == pytest.approx(1.5 * np.cos(0.6), rel=1e-14)
    assert float(value_of(upper.velocity[0])) == 1.5


@pytest.mark.slow
def test_gradients_with_respect_to_parameters_of_conditions(make_grid):
    """With respect to amplitude and frequency of a wall's value, against differences."""
    grid = make_grid((4, 11), 1, lengths=(2 * np.pi, 1.0), walls="y")
    made = sw.write(["dt(b) = kappa*lap(b) - b**3", "b(bottom) = a*sin(omega*t)*cos(x)", "b(top) = 0"], {"b": "scalar"})

    def energy(numbers):
        equation = made(grid, kappa=KAPPA, a=numbers[0], omega=numbers[1], energy_budget=False)
        state = sw.initial_state(equation, Krogstad4(), {"b": jnp.zeros((1, 4, 11))})
        state = sw.integrate(equation, Krogstad4(), state, step=0.1, steps=5)
        return equation.at_time(0.5).report.columns(state.field)["energy"]

    at, value = np.array([1.3, OMEGA]), jax.jit(energy)
    found = jax.jit(jax.grad(energy))(at)
    for i, step in enumerate(np.diag([1e-4, 1e-4])):
        difference = (float(value(at + step)) - float(value(at - step))) / 2e-4
        assert float(found[i]) == pytest.approx(difference, rel=1e-6), i


@pytest.mark.slow
@pytest.mark.parametrize("wave", ["", "*cos(pi*x)"])
def test_exactly_the_flux_of_the_time_passes_a_wall(make_grid, wave):
    """c drifts along ∇q, whose slope at the upper wall is sin t, or a wave: its mean changes by −⟨c · slope⟩/H."""
    grid, t = make_grid((8, 17), 1, lengths=(2.0, 1.5), walls="y"), 0.8
    lines = ["dt(c) = lap(c) - div(c*grad(q))", "dt(q) = lap(q)"]
    of = {"c": walls.Slope(), "q": walls.Slope(upper=f"sin(t){wave}")}
    equation = sw.write(lines, dict.fromkeys(of, "scalar"))(grid, walls=of).at_time(t)
    x, z = grid.coordinates()
    along = np.cos(np.pi * x) if wave else 1 + 0 * x
    start = {"c": 2 + np.cos(np.pi * x) * z**2 * (4.5 - 2 * z), "q": np.sin(t) * along * (z**2 / 3 - 0.25)}
    fields = equation.from_physical({name: jnp.asarray(v)[None] for name, v in start.items()})
    change = equation.nonlinear(fields, t)["c"]
    space, at_the_wall = equation.space("c"), 2 + np.cos(np.pi * x) * 3.375
    mean = float(space.mean(space.inverse_of_change(change))[0])
    assert mean == pytest.approx(-np.sin(t) * np.mean(at_the_wall * along) / 1.5, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_kept_mean_velocity_stays_where_walls_move(make_grid):
    grid = make_grid((4, 13), 1, lengths=(1.0, 1.0), walls="y")
    forced = sw.forcing.FlowRate(velocity=(0.5, 0.0))
    flow = sw.equations.NavierStokes(grid, NU, forcing=forced, walls={"velocity": walls.Moving("cos(5*t)")})
    begun = sw.initial.Conduction().for_equation(flow.at_time(0.0), "velocity")(grid, flow.fields["velocity"])
    state = sw.initial_state(flow, Krogstad4(), {"velocity": begun})
    *_, end = sw.evolve(flow, Krogstad4(), state, end=0.2, step=0.05)
    now = flow.at_time(end.t)
    means = now.space("velocity").means(end.field["velocity"])
    assert float(means[0]) == pytest.approx(0.5, abs=1e-14)
    assert now.to_physical(end.field)["velocity"][0, 0, 0] == pytest.approx(float(np.cos(1.0)), abs=0.1)


@pytest.mark.slow
def test_the_force_that_keeps_a_mean_velocity_counts_with_a_force_in_time(make_grid):
    """Of a parabola under 3 cos t: 2 ν u'' is what the walls take."""
    grid = make_grid((8, 17), 1, walls="y", lengths=(1.0, 1.0))
    kept = sw.forcing.FlowRate(velocity=(0.5, 0.0))
    flow = sw.write([FLOW[0] + " + 3*cos(t)*ex", *FLOW[1:]], FIELD, PRESSURE)(grid, nu=NU, forcing=kept)
    y = grid.coordinates()[1]
    u = jnp.asarray(np.stack([3 * y * (1 - y) + np.zeros((8, 1)), np.zeros((8, 17))]))
    columns = jax.jit(lambda flow, u: flow.report.columns(flow.from_physical({"u": u})))
    for t in (0.0, 2.0):
        assert float(columns(flow.at_time(t), u)["pressure_force_x"]) == pytest.approx(
            6 * NU - 3 * np.cos(t), rel=1e-11
        )
    with refused_in_one_line("holds t: equation"):
        columns(flow, u)


@pytest.mark.slow
def test_fields_without_a_time_are_refused_in_one_line(make_grid):
    """What looks at whole fields needs the time of its conditions; a start is compared with those of its own time."""
    flow, exact = plate(make_grid)
    state = sw.initial_state(flow, Krogstad4(), exact(0.5), t=0.5)
    with refused_in_one_line(r"a wall with .* depends on time: equation.at_time\(t\)"):
        flow.series(state.field, 0.1)
    with refused_in_one_line(r"a wall with .* depends on time: equation.at_time\(t\)"):
        flow.to_physical(state.field)
    np.testing.assert_allclose(flow.at_time(0.5).to_physical(state.field)["u"], exact(0.5)["u"], atol=1e-9)
    with refused_in_one_line("initial field u does not have the values that walls.u gives"):
        sw.initial_state(flow, Krogstad4(), exact(0.5))
    steady = sw.write(FLOW, FIELD, PRESSURE)(flow.grid, nu=NU)
    assert steady.at_time(0.5) is steady


@pytest.mark.parametrize("given", ["cos(3*x)", "t*cos(3*x)"])
def test_a_condition_beyond_the_modes_along_the_wall_is_said(make_grid, given):
    """cos 3x is lost on eight points: half of the value's mean square, or all of its rate's."""
    grid = make_grid((8, 9), 1, lengths=(2 * np.pi, 1.0), walls="y")
    of = {"b": walls.Value(f"cos(x) + {given}")}
    equation = sw.write(["dt(b) = lap(b)"], {"b": "scalar"})(grid, walls=of).at_time(0.0)
    removed = {"b": {"along_walls": equation.space("b").lost_along_walls()}}
    with pytest.warns(
        sw.ChangedStart, match=f"walls.b: {100 if 't' in given else 50} % of the mean square of a condition"
    ):
        warn_of_changes(removed, equation.spaces)


REFUSED = {  # lines of walls, walls, message
    "across": (["b(bottom) = y*cos(t)"], {}, "y in a condition at a wall: y is the direction across the walls"),
    "a field": (["b(bottom) = b*cos(t)"], {}, "the field 'b' in a condition at a wall"),
    "a derivative": (["b(bottom) = dx(a)"], {}, "a derivative in a condition at a wall"),
    "a jump": (["b(bottom) = where(t < a, 0, 1)"], {}, "where of t in a condition at a wall: it may jump"),
    "a ramp that jumps": (["b(bottom) = ramp(0, 1, 2, 1 + 1)"], {}, "t1 later than t0 is needed"),
    "a vector": (["b(bottom) = cos(t)*ex"], {}, "at a wall a real number is needed"),
    "a complex number": (["b(bottom) = 1j*t"], {}, "at a wall a real number is needed"),
    "an unknown name": (
        [],
        {"b": walls.Value("cos(t) + frequency")},
        "walls.b.lower: .*'frequency' at a wall; known",
    ),
    "no text": ([], {"b": walls.Value(upper="1 +")}, "walls.b.upper: .*no expression"),
    "a function of more": ([], {"b": walls.Value(lambda x, y, t: t)}, r"a function <lambda>\(x, t\) or <lambda>\(t\)"),
    "normal to itself": (["u(bottom) = cos(t)*up"], {}, "a wall moves along itself, and not along y"),
    "a number": (["u(bottom) = cos(t)"], {}, r"a vector along the wall, such as cos\(t\)\*ex, is needed"),
    "a stress": (["dy(u)(bottom) = cos(t)*ex"], {}, "0 is needed, a wall without stress"),
    "a wall that bends": (["u(bottom) = cos(x)*ex"], {}, "a wall that moves is needed to move as a whole"),
    "without diffusion": (["q(bottom) = 0", "q(top) = t"], {}, "q does not diffuse"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_conditions_that_cannot_be_are_refused_in_one_line(make_grid, case):
    lines, of, message = REFUSED[case]
    fields = {"q": "scalar"} if "q" in message[:2] else {**FIELD, "b": "scalar"}
    text = ["dt(q) = -q"] if "q" in fields else [*FLOW, "dt(b) = lap(b) + a"]
    given = {"b": walls.Value()} if "b" in fields and not any(line[0] == "b" for line in lines) else {}
    given |= {"b": {"upper": {"value": 0.0}}} if any(line[0] == "b" for line in lines) else {}
    made = sw.write([*text, *lines], fields, {} if "q" in fields else PRESSURE)
    numbers = {} if "q" in fields else {"nu": NU, "a": 1.0}
    with pytest.raises(ValueError, match=message):
        made(make_grid((4, 9), 1, walls="y"), **numbers, walls={**given, **of})


def test_a_function_that_gives_other_values_is_refused(make_grid):
    grid = make_grid((4, 9), 1, walls="y")
    equation = sw.write(["dt(b) = lap(b)"], {"b": "scalar"})(grid, walls={"b": walls.Value(lambda x, t: jnp.zeros(3))})
    with refused_in_one_line(r"a wall with <lambda>: it gives .*\[3\]; real values of shape \[4\] are needed"):
        equation.check()


class Own(sw.Equation):
    """A text with an N of its own, which does not count with walls."""

    text = sw.Text(["dt(b) = lap(b)"], {"b": "scalar"})

    def nonlinear(self, fields, t):
        return super().nonlinear(fields, t)


def test_an_own_right_hand_side_is_refused(make_grid):
    with refused_in_one_line(r"walls.b of Own: a number at each wall is needed, since its own nonlinear\(\)"):
        Own(make_grid((4, 9), 1, walls="y"), walls={"b": walls.Value("cos(t)")})
