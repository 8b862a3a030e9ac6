"""Equations of text under everything that takes equations: derivatives, batches, devices, precisions, dealiasing."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evaluation import Box, directly
from test_search import SYSTEMS, differences

import solver as sw
from solver.steppers import IFRK2, IFRK4
from solver.written import read_line, read_system
from solver.written.elimination import reduce_system
from solver.written.plan import plan_as_written
from solver.written.search import cheapest_plan

# name: class of the text, parameters, dimensions
FLOW = sw.write(
    ["dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + b*up - f*cross(ez, u)", "div(u) = 0",
     "dt(b) = -u@grad(b) - n2*u.up + nu*lap(b)"], {"u": "vector", "b": "scalar"}, {"p": "scalar"},
)  # fmt: skip
DRIFT = sw.write(
    ["dt(q) = -perp(a)@grad(q) + alpha*(a - n) + nu*lap(q)", "lap(a) = q",
     "dt(n) = -perp(a)@grad(n) + alpha*(a - n) - g*dy(a) + nu*lap(n)"],
    {"q": "scalar", "n": "scalar"}, {"a": "scalar"}, means={"q": 0},
)  # fmt: skip
FIELD = sw.write(
    ["dt(u) = -u@grad(u) - grad(p) + (b + b0)@grad(b) + nu*lap(u)", "div(u) = 0", "div(b) = 0",
     "dt(b) = curl(cross(u - di*curl(b), b + b0)) + nu*lap(b)"],
    {"u": "vector", "b": "vector"}, {"p": "scalar"},
    parameters={"nu": "scalar", "di": "scalar", "b0": "vector"},
)  # fmt: skip
WAVE = sw.write("dt(a) = a + (1 + 1j*c)*lap(a) - (1 - nu*1j)*abs(a)**2*a", {"a": "wavefunction"})
DYE = sw.write(
    ["dt(u) = -u@grad(u) - grad(p) + nu*lap(u)", "div(u) = 0", "dt(c) = -u@grad(c) + nu*lap(c) - explicit(g*u.x)"],
    {"u": "vector", "c": "scalar"}, {"p": "scalar"},
)  # fmt: skip
CASES = {
    "dye": (DYE, {"nu": 0.1, "g": 0.4}, 2),
    "flow": (FLOW, {"nu": 0.1, "f": 0.7, "n2": 1.3}, 3),
    "drift waves": (DRIFT, {"nu": 0.1, "alpha": 0.8, "g": 0.6}, 2),
    "Hall": (FIELD, {"nu": 0.1, "di": 0.3, "b0": (0.4, 0.2, -0.3)}, 3),
    "complex": (WAVE, {"nu": 0.1, "c": 0.5}, 2),
}
SHAPES = {1: (15,), 2: (9, 14), 3: (7, 8, 10)}
LENGTHS = (6.0, 7.0, 5.0)


def made(name, mesh=None, shape=None, **options):
    cls, parameters, d = CASES[name]
    grid = sw.Grid(shape or SHAPES[d], lengths=LENGTHS[:d], mesh=mesh or sw.device_mesh([0]), **options)
    return cls(grid, **parameters)


def random_values(equation, seed=1):
    """The same values at the points for any devices, as smooth as the grid keeps them."""
    draws = np.random.default_rng(seed)
    values = {}
    for name, of in equation.values_at_points().items():
        imaginary = 1j * draws.normal(size=of.shape) if np.issubdtype(of.dtype, np.complexfloating) else 0
        values[name] = jnp.asarray(draws.normal(size=of.shape) + imaginary, of.dtype)
    return values


def size(fields):
    return sum(jnp.sum(jnp.abs(u) ** 4) for u in fields.values())


# ---- derivatives and batches ----------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stepper"),
    [
        ("dye", IFRK2()),
        ("complex", IFRK4()),
        ("drift waves", IFRK2()),
    ],
    ids=str,
)
def test_second_derivatives_through_several_steps(name, stepper):
    """Along the viscosity, which L holds (N in the complex one), and towards another start."""
    equation = made(name)
    start = sw.initial_state(equation, stepper, random_values(equation))
    other = equation.from_physical(random_values(equation, 2))

    def loss(amount):
        moved = start.replace(field=jax.tree.map(lambda u, v: u + amount * v, start.field, other))
        changed = dataclasses.replace(equation, nu=0.1 + 0.7 * amount)
        final = sw.integrate(changed, stepper, moved, step=0.01, steps=3)
        return size(equation.to_physical(final.field))

    first, h = jax.jit(jax.value_and_grad(loss)), 1e-3
    (values, slopes) = zip(*(first(0.3 + n * h) for n in (-2, -1, 0, 1, 2)), strict=True)
    along = lambda f: (8 * (f[3] - f[1]) - f[4] + f[0]) / (12 * h)  # noqa: E731
    second = jax.jit(jax.grad(jax.grad(loss)))(0.3)
    assert min(abs(slopes[2]), abs(second)) > 0
    np.testing.assert_allclose(slopes[2], along(values), rtol=1e-8)
    np.testing.assert_allclose(second, along(slopes), rtol=1e-8)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("name", "key"), [("Hall", "b0"), ("drift waves", "alpha")])
def test_a_batch_over_a_parameter_is_separate_runs(name, key):
    equation, stepper = made(name), IFRK2()
    start = sw.initial_state(equation, stepper, random_values(equation))
    values = jnp.asarray([1.0, 0.5, 0.1]).reshape(3, *[1] * np.ndim(CASES[name][1][key])) * jnp.asarray(
        CASES[name][1][key]
    )

    def end(value):
        final = sw.integrate(dataclasses.replace(equation, **{key: value}), stepper, start, step=0.01, steps=3)
        return equation.to_physical(final.field)

    together, alone = jax.jit(jax.vmap(end))(values), list(map(jax.jit(end), values))
    for field in equation.fields:
        scale = np.abs(together[field]).max()
        assert np.abs(together[field][0] - together[field][2]).max() > 1e-4 * scale, "the parameter must count"
        for i, each in enumerate(alone):
            np.testing.assert_allclose(together[field][i], each[field], rtol=0, atol=1e-13 * scale)


# ---- devices and precision ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("name", "parts"), [("flow", (2, 4)), ("flow", (4, 2)), ("Hall", (8,))], ids=str)
def test_slabs_and_pencils_of_eight_devices_give_what_one_gives(name, parts):
    ends = []
    for mesh in (sw.device_mesh([0]), sw.device_mesh(range(8), shape=parts if len(parts) > 1 else None)):
        equation, stepper = made(name, mesh, (9, 14, 10)), IFRK2()
        start = sw.initial_state(equation, stepper, random_values(equation))
        final = sw.integrate(equation, stepper, start, step=0.02, steps=3)
        row = jax.jit(lambda fields, equation=equation: equation.series(fields, 0.02))(final.field)
        ends.append((equation.to_physical(final.field), {**row, **final.energies}))
    (one, row), (eight, other) = ends
    for field, values in one.items():
        assert len(eight[field].sharding.device_set) == 8
        np.testing.assert_allclose(eight[field], values, rtol=0, atol=1e-13 * np.abs(values).max())
    for column, value in row.items():
        np.testing.assert_allclose(other[column], value, rtol=1e-12, err_msg=column)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flow", "complex"])
def test_single_precision_stays_single_and_is_the_double_one_to_rounding(name):
    ends = {}
    for precision in ("float32", "float64"):
        equation, stepper = made(name, precision=precision), IFRK2()
        start = sw.initial_state(equation, stepper, random_values(equation))
        final = sw.integrate(equation, stepper, start, step=0.01, steps=3)
        row = jax.jit(lambda fields, equation=equation: equation.series(fields, 0.01))(final.field)
        sides = jax.jit(lambda f, equation=equation: (equation.nonlinear(f, 0.0), equation.linear().apply(f)))
        parts = [final.field, sides(final.field), row]
        ends[precision] = (equation.to_physical(final.field), parts)
    for leaf in jax.tree.leaves(ends["float32"]):
        assert leaf.dtype in (np.float32, np.complex64)
    for field, values in ends["float64"][0].items():
        difference = np.abs(ends["float32"][0][field] - values).max() / np.abs(values).max()
        assert 0 < difference < 3e-6


# ---- dealiasing -----------------------------------------------------------------------------------------------------

PLAIN = ["dt(u) = -u@grad(u) - grad(p) + b*grad(b)", "div(u) = 0", "dt(b) = -u@grad(b) + dx(inverse_lap(b*b))"]
ADVECTED = sw.write(PLAIN, {"u": "vector", "b": "scalar"}, {"p": "scalar"})
EXACT = ("two-thirds", "three-halves", "one-half")  # products of two have no aliases
RULES = (*EXACT, "smooth", "none", "phase-shift-random", "phase-shift-alternating")


def kept_modes(rule, shape, points):
    """Factor of each mode of arrays of points after a transform to coefficients, by the table of conventions.md."""
    numbers = np.meshgrid(*(np.abs(np.fft.fftfreq(n, 1 / n)) for n in points), indexing="ij")
    per_axis = zip(numbers, shape, strict=True)
    if rule.startswith("phase-shift"):
        return sum((n / m) ** 2 for n, m in per_axis) < 2 / 9 - 1e-9
    if rule == "smooth":
        damped = [np.where(n < m / 2, np.exp(-36 * (2 * n / m) ** 36), 0) for n, m in per_axis]
        return np.prod(damped, axis=0)
    share = {"two-thirds": 1 / 3, "three-halves": 1 / 2, "one-half": 1 / 4, "none": 1}[rule]
    return np.all([n < m * share for n, m in per_axis], axis=0)


def resampled(values, box, points):
    """The same Fourier series at other points, more of them or fewer."""
    modes = np.fft.fftn(values, axes=box.space(values), norm="forward")
    for axis, n in zip(box.space(values), points, strict=True):
        count = modes.shape[axis]
        numbers = np.fft.fftfreq(count, 1 / count).astype(int)
        numbers = numbers[np.abs(numbers) < min(n, count) / 2]
        wider = np.zeros((*modes.shape[:axis], n, *modes.shape[axis + 1 :]), complex)
        np.moveaxis(wider, axis, 0)[numbers] = np.moveaxis(modes, axis, 0)[numbers]
        modes = wider
    return np.fft.ifftn(modes, axes=box.space(modes), norm="forward").real


def moved(values, box, shift):
    """Values at points that are moved by parts of the spacing."""
    if shift is None:
        return values
    turns = [np.fft.fftfreq(n, 1 / n) * s / n for n, s in zip(box.shape, shift, strict=True)]
    phase = np.exp(2j * np.pi * sum(np.meshgrid(*turns, indexing="ij")))
    return box.points(box.modes(values) * phase).real


def right_sides(lines, values, box):
    """What stands on the right of each line with a rate of change, without the pressure."""
    sides = {line.left.arguments[0].name: line.right for line in map(read_line, lines) if line.left.function == "dt"}
    known = {**values, "p": np.zeros(box.shape)}
    return {
        field: np.broadcast_to(directly(side, known, box), np.shape(values[field])).real
        for field, side in sides.items()
    }


def without_divergence(values, box):
    modes, k2 = box.modes(values), sum(k * k for k in box.k)
    k2 = np.where(k2 > 0, k2, 1)
    return box.points(modes - np.stack(box.k) * sum(k * u for k, u in zip(box.k, modes, strict=True)) / k2).real


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "shape"),
    [*((rule, (16, 12)) for rule in RULES if rule != "two-thirds"), ("phase-shift-random", (10, 12, 8))],
    ids=str,
)
def test_every_dealiasing_rule_against_plain_transforms(rule, shape):
    grid = sw.Grid(shape, lengths=LENGTHS[: len(shape)], dealias=rule, mesh=sw.device_mesh(range(2)))
    equation, shift = ADVECTED(grid), None
    if rule.startswith("phase-shift"):
        shift = (0.3, 0.8, 0.1)[: len(shape)]
        equation = eqx.tree_at(lambda e: e.shift, equation, jnp.asarray(shift), is_leaf=lambda leaf: leaf is None)
    fields = equation.from_physical(random_values(equation))
    by_text = jax.jit(lambda fields: equation.to_physical(equation.nonlinear(fields, 0.0)))(fields)
    values = {name: np.asarray(u) for name, u in equation.to_physical(fields).items()}
    values["b"] = values["b"][0]
    points = values["b"].shape
    box = Box(points, LENGTHS[: len(shape)])
    numbers = np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in points), indexing="ij")
    box.k2 = sum((2 * np.pi * n / length) ** 2 for n, length in zip(numbers, LENGTHS, strict=False))  # Nyquist's, too
    if rule in EXACT:
        fine = tuple(2 * n for n in points)
        wide = Box(fine, LENGTHS[: len(shape)])
        sides = right_sides(PLAIN, {name: resampled(v, box, fine) for name, v in values.items()}, wide)
        sides = {name: resampled(v, wide, points) for name, v in sides.items()}
    else:  # aliases as they are: on the very points, which are moved, or not
        sides = right_sides(PLAIN, values, box)
    factor = kept_modes(rule, shape, points)
    for name, side in sides.items():
        still = moved(side, box, None if shift is None else [-s for s in shift])
        expected = box.points(box.modes(still) * factor).real
        expected = moved(without_divergence(expected, box) if name == "u" else expected, box, shift)
        found = np.asarray(by_text[name]) if name == "u" else np.asarray(by_text[name])[0]
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-13 * np.abs(expected).max(), err_msg=name)


# ---- random systems -------------------------------------------------------------------------------------------------

TERMS = ["{a}*{b}", "{a}*{d}({b})", "{d}({a}*{b})", "lap({a}*{b})", "grad({a})@grad({b})", "{a}*lap({b})",
         "g*{a}*{e}({b})", "inverse_lap({a}*{d}({b}))", "{d}({a})*inverse_lap({e}({b}))",
         "nu*{d}({e}({a}*{b}))"]  # fmt: skip


def random_system(seed, d):
    """Two scalars; in every other system a flow without divergence carries them, or in one dimension an unknown."""
    rng = np.random.default_rng([seed, d])
    slopes, names = ["dx", "dy", "dz"][:d], ["b", "c"]
    constrained = bool(seed % 2)
    names += ["u.x" if d > 1 else "a"] if constrained else []

    def term():
        a, b = rng.choice(names, 2)
        first, second = rng.choice(slopes, 2)
        return f"{rng.integers(1, 4)}/2*" + str(rng.choice(TERMS)).format(a=a, b=b, d=first, e=second)

    lines = [f"dt({name}) = {term()} - {term()}" for name in ("b", "c")]
    fields = {"b": "scalar", "c": "scalar"}
    if not constrained:
        return lines, fields, {}
    if d == 1:
        return [*lines, "a - g*lap(a) = b"], fields, {"a": "scalar"}
    return (
        [*lines, f"dt(u) = -u@grad(u) - grad(p) + ({term()})*ex", "div(u) = 0"],
        fields | {"u": "vector"},
        {"p": "scalar"},
    )


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "d"), [(0, 1), (1, 1), (2, 3), (3, 3)])
def test_random_systems_are_planned_as_the_text_says_and_never_with_more_transforms(seed, d):
    """In two dimensions they are in test_search.py."""
    lines, fields, unknowns = random_system(seed, d)
    reduced = reduce_system(read_system(lines, fields, unknowns), d)
    plan, written = cheapest_plan(reduced), plan_as_written(reduced.rest, fields)
    assert sum(plan.transforms) <= sum(written.transforms)
    assert differences(reduced, plan) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "d"), [(0, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_random_systems_on_devices_are_what_the_text_says(seed, d):
    """N and L together, on odd and unequal sizes, against the text on twice as many points."""
    lines, fields, unknowns = random_system(seed, d)
    grid = sw.Grid(SHAPES[d], lengths=LENGTHS[:d], mesh=sw.device_mesh(range(min(2, d))))
    numbers = {"nu": 0.3, "g": 0.7}
    cls = sw.write(lines, fields, unknowns, parameters=["nu", "g"])
    equation = cls(grid, **numbers)
    start = equation.from_physical(random_values(equation))
    change = jax.jit(lambda f: jax.tree.map(jnp.add, equation.nonlinear(f, 0.0), equation.linear().apply(f)))(start)
    found = {name: np.asarray(v) for name, v in equation.to_physical(change).items()}
    values = {name: np.asarray(v) for name, v in equation.to_physical(start).items()}
    values = {name: v if fields[name] == "vector" else v[0] for name, v in values.items()}
    points = values["b"].shape
    box, fine = Box(points, LENGTHS[:d]), tuple(2 * n for n in points)
    wide = Box(fine, LENGTHS[:d])
    inside = {name: resampled(v, box, fine) for name, v in values.items()} | numbers
    sides = right_sides(lines, inside, wide)
    factor = kept_modes("two-thirds", SHAPES[d], points)
    for name, side in sides.items():
        expected = box.points(box.modes(resampled(side, wide, points)) * factor).real
        expected = without_divergence(expected, box) if name == "u" else expected
        here = found[name] if name == "u" else found[name][0]
        np.testing.assert_allclose(here, expected, rtol=0, atol=1e-12 * np.abs(expected).max(), err_msg=name)


# ---- long runs ------------------------------------------------------------------------------------------------------

NAVIER_STOKES = sw.write(*SYSTEMS["convective"][0])
FORCINGS = {
    "none": None,
    "random": sw.forcing.OrnsteinUhlenbeck(0.3, 0.5),
    "ABC": sw.forcing.ABC((0.1, 0.2, 0.1)),
}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", FORCINGS)
def test_round_off_does_not_grow_in_thousands_of_steps(name):
    """Divergence, mean flow, and what is not the spectrum of a real field, of the state at the end and of N there.

    Steps put a state back to its constraints, so that N alone tells whether the text's projection keeps them.
    """
    grid = sw.Grid((8, 8, 8), mesh=sw.device_mesh([0]))
    equation, stepper = NAVIER_STOKES(grid, nu=0.02, forcing=FORCINGS[name]), IFRK2()
    start = random_values(equation)["u"]
    state = sw.initial_state(equation, stepper, {"u": start - start.mean((1, 2, 3), keepdims=True)}, seed=3)
    before = float(state.energies["energy"])
    final = sw.integrate(equation, stepper, state, step=0.002, steps=3000)
    u_hat = final.field["u"]
    assert abs(float(equation.report.energies(final.field)["energy"]) / before - 1) > 0.05, "the flow must change"
    for coefficients in (u_hat, equation.nonlinear(final.field, 0.0)["u"]):
        scale = float(jnp.abs(coefficients).max())
        assert scale > 1e-4
        assert float(jnp.abs(sw.operators.divergence(coefficients, grid)).max()) < 1e-14 * scale * grid.k_max
        real = equation.transform.forward(equation.transform.inverse(coefficients))
        np.testing.assert_allclose(coefficients, real, rtol=0, atol=1e-14 * scale)
        mean = equation.transform.inverse(coefficients).mean((1, 2, 3))
        assert float(jnp.abs(mean).max()) < 1e-14 * scale
