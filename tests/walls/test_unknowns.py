"""Unknowns with conditions at walls, such as a stream function: exact waves, NumPy's solutions, what is conserved."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line
from numpy.polynomial import chebyshev

import solver as sw
from solver import walls
from solver.dynamics.budget import Changes
from solver.dynamics.derived import derived_quantities
from solver.steppers import Krogstad4
from solver.walls.conditions import AtSlope, AtValue

CHANNEL = ["dt(q) = -u@grad(q) - beta*v + cause(viscosity, nu*lap(q))", "lap(psi) - F*psi = q"]
NAMES = {
    "fields": {"q": "scalar"},
    "unknowns": {"psi": "scalar"},
    "define": {"u": "perp(psi)", "v": "dx(psi)"},
    "energies": {"energy": "(grad(psi)@grad(psi) + F*psi**2)/2", "enstrophy": "q**2/2"},
    "vectors": {"velocity": "u"},
}
ZERO = ["psi(bottom) = 0", "psi(top) = 0"]
GROUND, LID = ["q(bottom) = 0", "q(top) = 0"], ["dy(q)(bottom) = 0", "dy(q)(top) = 0"]
H = 1.5


def channel(grid, of=None, lines=(), **numbers):
    """Quasi-geostrophic flow in a channel, of which q meets nothing at the walls."""
    given = {"beta": 0.0, "nu": 0.0, "F": 0.0, **numbers}
    return sw.write([*CHANNEL, *lines], **NAMES)(
        grid, **given, walls={"q": walls.Slope(), **({"psi": of} if of else {})}
    )


def unknown_of(flow, fields, name="psi"):
    return derived_quantities(flow)[name].make(fields)


def unknown_at_points(flow, fields, name="psi"):
    return np.asarray(unknown_of(flow, fields, name))


# ---- waves ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("nu", "F"), [(0.0, 0.0), (1e-2, 2.0)])
def test_rossby_waves_have_their_dispersion(make_grid, nu, F):
    """ω = −βk/(k² + l² + F), and decay by ν(k² + l²), of a wave that is exact for products, too."""
    grid = make_grid((16, 25), 1, lengths=(2 * np.pi, H), walls="y")
    flow = sw.write([*CHANNEL, *ZERO, *(GROUND if nu else LID)], **NAMES)(grid, beta=8.0, nu=nu, F=F)
    (x, y), k, wave = grid.coordinates(), 2, np.pi / H
    exact = lambda t: (  # noqa: E731
        np.cos(k * x + 8.0 * k / (k**2 + wave**2 + F) * t) * np.sin(wave * y) * np.exp(-nu * (k**2 + wave**2) * t)
    )
    start = sw.initial_state(flow, Krogstad4(), {"q": jnp.asarray(exact(0.0))[None]})
    end = sw.integrate(flow, Krogstad4(), start, step=0.01, steps=100)
    found = flow.to_physical(end.field)["q"][0]
    np.testing.assert_allclose(found, exact(1.0), atol=2e-9)
    np.testing.assert_allclose(unknown_at_points(flow, end.field), -found / (k**2 + wave**2 + F), atol=1e-13)
    fastest = max(8.0 * kx / (kx**2 + wave**2 + F) for kx in range(1, 6))  # counts where nothing moves yet
    assert float(flow.rate({"q": 0 * end.field["q"]})) == pytest.approx(fastest, rel=1e-3)


def collocation(n, height):
    """Points, values of Chebyshev polynomials there, and their second derivatives."""
    points = np.cos(np.pi * np.arange(n) / (n - 1))
    values = chebyshev.chebvander(points, n - 1)
    derived = [
        np.stack([chebyshev.chebval(points, chebyshev.chebder(row, m)) for row in np.eye(n)], 1) * (2 / height) ** m
        for m in (1, 2)
    ]
    return 0.5 * height * (1 + points), values, *derived


# ---- the solution ---------------------------------------------------------------------------------------------------

SIDES = {  # conditions in Python, and a ψ + b ∂ψ/∂y = c at the lower and the upper wall
    "values": (walls.Value(0.3, -0.7), ((1, 0, 0.3), (1, 0, -0.7))),
    "slopes": (walls.Slope(0.3, -0.7), ((0, 1, 0.3), (0, 1, -0.7))),
    "a value and a slope": (walls.Walls(AtValue(0.3), AtSlope(-0.7)), ((1, 0, 0.3), (0, 1, -0.7))),
    "mixtures": (walls.Robin((1.0, -0.5, 0.3), (2.0, 0.4, -0.7)), ((1, -0.5, 0.3), (2, 0.4, -0.7))),
}


def solved(sides, k_squared, right, at, n=40):
    """ψ'' − k²ψ = right under these conditions, by collocation with NumPy."""
    y, values, slope, matrix = collocation(n, H)
    matrix, right = matrix - k_squared * values, right(y)
    for row, (a, b, c) in zip((-1, 0), sides, strict=True):
        matrix[row], right[row] = a * values[row] + b * slope[row], c
    return chebyshev.chebval(2 * at / H - 1, np.linalg.solve(matrix, right))


@pytest.mark.slow
@pytest.mark.parametrize("name", SIDES)
def test_an_unknown_solves_its_equation_under_its_own_conditions(make_grid, name):
    of, sides = SIDES[name]
    grid = make_grid((8, 49), 1, lengths=(2 * np.pi, H), walls="y")
    flow, (x, y) = channel(grid, of, F=2.0), grid.coordinates()
    fields = flow.from_physical({"q": jnp.asarray(np.cos(2 * x) * np.exp(-3 * y) + np.cos(y))[None]})
    at_rest = tuple((a, b, 0) for a, b, _ in sides)
    wanted = solved(sides, 2.0, np.cos, y) + np.cos(2 * x) * solved(at_rest, 6.0, lambda y: np.exp(-3 * y), y)
    np.testing.assert_allclose(unknown_at_points(flow, fields), wanted, atol=1e-13)


@pytest.mark.thorough  # the second program has such a text, too
@pytest.mark.slow
def test_unknowns_follow_from_each_other_products_and_places(make_grid):
    """A chain: ∇²φ = n² + sin x, ∇²χ − χ = ∂φ/∂y under conditions of another kind, and an unknown without any."""
    grid = make_grid((12, 49), 1, lengths=(2 * np.pi, H), walls="y")
    lines = ["dt(n) = chi", "lap(chi) - chi = dy(phi)", "2*slope = dx(phi)", "lap(phi) = n*n + sin(x)"]
    names = {"phi": "scalar", "chi": "scalar", "slope": "scalar"}
    made = sw.write([*lines, "dy(chi)(bottom) = 1"], {"n": "scalar"}, names, series={"slope": "slope**2"})
    of = {"n": walls.Slope(), "phi": walls.Value(0.0, 1.0), "chi": {"upper": {"value": "cos(2*t)"}}}
    flow, (x, y) = made(grid, walls=of).at_time(0.4), grid.coordinates()
    fields = flow.from_physical({"n": jnp.asarray(np.cos(x) * np.sin(y))[None]})  # n² = ½ (1 + cos 2x) sin² y
    zero, half = SIDES["values"][1], lambda y: 0.5 * np.sin(y) ** 2
    zero = tuple((a, b, 0.0) for a, b, _ in zero)
    parts = [
        (solved((zero[0], (1, 0, 1.0)), 0.0, half, y), 1.0 + 0 * x, 0),
        (solved(zero, 4.0, half, y), np.cos(2 * x), 4),
        (solved(zero, 1.0, np.ones_like, y), np.sin(x), 1),
    ]
    phi = sum(across * along for across, along, _ in parts)
    np.testing.assert_allclose(unknown_at_points(flow, fields, "phi"), phi, atol=1e-13)
    chi = unknown_at_points(flow, fields, "chi")
    space = flow.space("chi")
    ends = np.asarray(space.at_walls(space.polynomials_of(jnp.asarray(chi)[None])))[:, 0]
    np.testing.assert_allclose(ends[1], np.cos(0.8), atol=1e-13)
    whole = lambda f: space.polynomials_of(jnp.asarray(f)[None])  # noqa: E731
    left = space.at_points(space.laplacian_of(whole(chi)) - whole(chi) - space.across(whole(phi)))
    np.testing.assert_allclose(left, 0, atol=2e-8)  # rounding, of second derivatives at the walls
    np.testing.assert_allclose(space.at_wall(space.across(whole(chi)), 0)[0, 0], 1.0, atol=1e-11)
    slope = sum(0.25 * k2 * 0.5 * np.sum(grid_mean(grid) * across[0] ** 2) for across, _, k2 in parts)
    assert float(flow.report.columns(fields)["slope"]) == pytest.approx(slope, rel=1e-11)
    np.testing.assert_allclose(
        flow.nonlinear(fields, 0.4)["n"], flow.from_physical({"n": jnp.asarray(chi)[None]})["n"], atol=1e-13
    )


def grid_mean(grid):
    """Weights of the points across the walls in a mean."""
    return np.polynomial.legendre.leggauss(grid.shape[-1])[1] / 2


@pytest.mark.slow
def test_stratified_flow_between_two_plates(make_grid):
    """∂²ψ/∂x² + ∂²ψ/∂y² + S ∂²ψ/∂z² = q in three dimensions, with slopes: the mean, which is free, is zero."""
    grid = make_grid((6, 8, 33), 1, lengths=(2 * np.pi, 2 * np.pi, H), walls="z")
    lines = ["dt(q) = -u@grad(q)", "dx(dx(psi)) + dy(dy(psi)) + S*dz(dz(psi)) = q", "mean(psi) = 0"]
    made = sw.write(lines, {"q": "scalar"}, {"psi": "scalar"}, {"u": "cross(ez, grad(psi))"})
    flow, (x, y, z) = made(grid, S=0.3, walls={"q": walls.Slope(), "psi": walls.Slope()}), grid.coordinates()
    along, up = np.cos(x + 2 * y) + 0 * z, np.pi / H
    start = along * (1 + 2 * np.cos(up * z)) + 3 * np.cos(2 * up * z) + 0 * x + 0 * y
    fields = flow.from_physical({"q": jnp.asarray(start)[None]})
    wanted = -along * (1 / 5 + 2 * np.cos(up * z) / (5 + 0.3 * up**2)) - 3 * np.cos(2 * up * z) / (1.2 * up**2)
    np.testing.assert_allclose(unknown_at_points(flow, fields), wanted, atol=1e-12)


# ---- energies -------------------------------------------------------------------------------------------------------


def noise(flow, seed=3):
    return {name: space.random(jax.random.key(seed + i)) for i, (name, space) in enumerate(flow.spaces.items())}


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["-u@grad(q)", "-div(u*q)"])
def test_products_conserve_energy_and_enstrophy_on_noise(make_grid, transport):
    """With a mean flow through the channel, which the values at the walls hold, and with F, where they are 0."""
    grid = make_grid((12, 17), 1, lengths=(2 * np.pi, H), walls="y")
    lines = [f"dt(q) = {transport} - beta*dx(psi)", "lap(psi) - F*psi = q"]
    for F, through in ((0.0, -0.5 * H), (2.0, 0.0)):
        of = {"q": walls.Slope(), "psi": walls.Value(0.0, through)}
        flow = sw.write(lines, **NAMES)(grid, beta=0.0, F=F, walls=of)
        if "div" in transport:  # the derivative acts on the modes, since no flow crosses the walls
            assert flow.dynamics.on_grid.between.plan.transforms == (3, 2)
        fields = noise(flow)
        change = flow.nonlinear(fields, 0.0)
        budget = flow.report.budget(fields, Changes(flow.linear().apply(fields), change, {}))
        for name, value in flow.report.energies(fields).items():
            size = float(value) * float(
                jnp.sqrt(jnp.sum(jnp.abs(change["q"]) ** 2) / jnp.sum(jnp.abs(fields["q"]) ** 2))
            )
            assert abs(float(sum(budget[name].values()))) < 1e-13 * size, name
        mean_flow = flow.space("q").mean(derived_quantities(flow)["velocity"].make(fields))
        np.testing.assert_allclose(mean_flow, [-through / H, 0.0], atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("of", [walls.Value("sin(t)", 0.4), walls.Slope(0.3, "cos(3*t)")])
def test_budgets_close_where_conditions_of_an_unknown_move(make_grid, of):
    """dE/dt along the exact rate of change at one time, by differences."""
    grid = make_grid((12, 17), 1, lengths=(2 * np.pi, H), walls="y")
    lines = ["dt(q) = -u@grad(q) - cause(planet, beta*v) + cause(viscosity, nu*lap(q))", CHANNEL[1]]
    moving = {"q": walls.Value("0.2*cos(t)", 0.1), "psi": of}
    flow = sw.write(lines, **NAMES)(grid, beta=3.0, nu=0.1, F=1.5, walls=moving)
    fields, t, step = noise(flow), 0.3, 1e-5
    linear, nonlinear = flow.linear().apply(fields), flow.nonlinear(fields, t)
    budget = flow.at_time(t).report.budget(fields, Changes(linear, nonlinear, {}))
    before, after = (
        flow.at_time(t + sign * step).report.energies({"q": fields["q"] + sign * step * (linear["q"] + nonlinear["q"])})
        for sign in (-1, 1)
    )
    assert {"planet", "viscosity", "nonlinear"} <= budget["energy"].keys()
    for name, causes in budget.items():
        rate = float(after[name] - before[name]) / (2 * step)
        assert float(sum(causes.values())) == pytest.approx(rate, rel=1e-7), (name, causes)


@pytest.mark.slow
def test_the_energy_of_an_unknown_that_its_walls_alone_change(make_grid):
    text = sw.write(
        ["dt(q) = lap(q) + psi*q", "lap(psi) - 4*psi = 0.5"], fields={"q": "scalar"}, unknowns={"psi": "scalar"},
        energies={"energy": "psi**2", "enstrophy": "q**2/2"},
    )  # fmt: skip
    moving = {"q": walls.Slope(), "psi": walls.Value("sin(2*t)", 0.4)}
    flow = text(make_grid((12,), 1, lengths=(H,), walls="x"), walls=moving)
    fields, t, step = noise(flow), 0.3, 1e-5
    budget = flow.at_time(t).report.budget(fields, Changes(flow.linear().apply(fields), flow.nonlinear(fields, t), {}))
    before, after = (float(flow.at_time(t + h).report.energies(fields)["energy"]) for h in (-step, step))
    assert {name: float(rate) for name, rate in budget["energy"].items()} == {
        "nonlinear": pytest.approx((after - before) / (2 * step), rel=1e-7)
    }


# ---- the time, and what a CFL number counts -------------------------------------------------------------------------


@pytest.mark.slow
def test_an_unknown_whose_equation_holds_the_time_is_reported_at_its_time(make_grid):
    """Its values, the CFL number, a cause with it, and the pressure that it needs: p = S cos x h(y)."""
    grid, t = make_grid((16, 33), 1, lengths=(2 * np.pi, 1.0), walls="y"), 0.7
    lines = ["dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + cause(buoyancy, T*up)", "div(u) = 0"]
    made = sw.write([*lines, "dt(c) = -v@grad(c)", "lap(T) = 50*sin(t)*cos(x)"], {"u": "vector", "c": "scalar"},
                    {"p": "scalar", "T": "scalar"}, {"v": "perp(T)"})  # fmt: skip
    bare = made(grid, nu=0.1, walls={"T": walls.Value(), "c": walls.Slope()})
    flow, (x, y) = bare.at_time(t), grid.coordinates()

    @jax.jit
    def reported(flow, c):
        fields = flow.from_physical({"u": jnp.zeros((2, *grid.physical_shape)), "c": c})
        change, rate = flow.change_and_rate(fields, t)
        values = derived_quantities(flow)["T"].make(fields), flow.report.velocity_pressure().at_points(fields)
        rising = {**fields, "u": 1e-3 * change["u"]}
        changes = Changes(flow.linear().apply(rising), flow.nonlinear(rising, t), {})
        causes = flow.report.budget(rising, changes)["u_energy"]
        return *values, rate, flow.rate(fields), flow.to_physical(rising)["u"][1], causes["buoyancy"]

    size, middle = 50 * np.sin(t), y - 0.5
    temperature = size * np.cos(x) * (np.cosh(middle) / np.cosh(0.5) - 1)
    a = -(1 + 0.5 * np.tanh(0.5)) / (2 * np.cosh(0.5))
    pressure = size * np.cos(x) * (a * np.sinh(middle) + middle * np.cosh(middle) / (2 * np.cosh(0.5)))
    found, of_pressure, of_step, rate, rising, cause = reported(flow, jnp.asarray(np.cos(x + y))[None])
    np.testing.assert_allclose(found, temperature, atol=1e-11)
    np.testing.assert_allclose(of_pressure, pressure, atol=1e-11)
    assert float(rate) == pytest.approx(float(of_step), rel=1e-12)
    assert float(rate) > 10.0
    assert float(cause) == pytest.approx(
        np.sum(grid_mean(grid) * np.mean(np.asarray(rising) * temperature, 0)), rel=1e-10
    )
    with refused_in_one_line(r"holds t: equation.at_time\(t\) of the time of the fields is needed"):
        reported(bare, jnp.asarray(np.cos(x + y))[None])


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["dt(q) = -dx(psi)", "lap(psi) = cos(x)*q"], "psi acts by itself and follows from products"),
        (["dt(q) = -dx(psi)", "lap(psi) = sin(t)*q"], "psi acts by itself and follows from products"),
        (["dt(q) = explicit(3*dx(psi))", "lap(psi) = q"], "what stands outside L is linear"),
        (["dt(q) = -(1 + cos(t))*psi", "lap(psi) = q"], "what stands outside L is linear"),
        (["dt(q) = lap(q) + explicit(3*dx(psi))", "lap(psi) = cos(x)"], ""),
    ],
)
def test_a_text_tells_no_cfl_number_where_the_response_of_an_unknown_is_not_seen(make_grid, lines, reason):
    made = sw.write(lines, {"q": "scalar"}, {"psi": "scalar"})
    why = made(make_grid((8, 13), 1, walls="y"), walls={"q": walls.Slope(), "psi": walls.Value()}).why_no_rate
    assert reason in why if reason else not why


# ---- devices and gradients ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_devices_agree(make_grid):
    changes, fields = [], {}
    for devices in (1, 2, 4):
        flow = channel(
            make_grid((11, 13), devices, lengths=(2.0, H), walls="y"), walls.Value("1 + cos(pi*x)", 0.2), F=2.0
        )
        u_hat = np.zeros(flow.space("q").coefficients.shape, complex)
        u_hat[:, :4] = np.random.default_rng(0).normal(size=(*u_hat[:, :4].shape, 2)).view(complex)[..., 0]
        fields = flow.to_manifold({"q": jnp.asarray(u_hat)})
        changes.append(np.asarray(jax.jit(lambda flow, fields: flow.nonlinear(fields, 0.0))(flow, fields)["q"])[:, :4])
    for other in changes[1:]:
        np.testing.assert_allclose(other, changes[0], atol=1e-12 * np.abs(changes[0]).max())


@pytest.mark.slow
def test_gradients_reach_conditions_and_numbers_of_an_unknown(make_grid):
    """Of ⟨N²⟩, with respect to a value at a wall and to F, against differences."""
    grid = make_grid((8, 17), 1, lengths=(2 * np.pi, H), walls="y")
    fields = noise(channel(grid, walls.Value()))

    def square(numbers):
        flow = channel(grid, walls.Value(0.1, numbers[0]), beta=2.0, F=numbers[1])
        return jnp.sum(jnp.abs(flow.nonlinear(fields, 0.0)["q"]) ** 2)

    at, square = jnp.array([0.4, 1.5]), jax.jit(square)
    found = jax.grad(square)(at)
    for i, step in enumerate(1e-4 * np.eye(2)):
        difference = float(square(at + step) - square(at - step)) / 2e-4
        assert float(found[i]) == pytest.approx(difference, rel=1e-6)
        assert abs(difference) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("gauge", [["mean(psi) = 0"], []])
def test_a_gauge_is_known_while_numbers_are_traced(make_grid, gauge):
    """The largest ψ goes as 1/S, and its mean is open for each S."""
    grid = make_grid((8, 13), 1, lengths=(2 * np.pi, H), walls="y")
    made = sw.write(["dt(q) = -dx(psi)", "S*lap(psi) = q", *gauge], {"q": "scalar"}, {"psi": "scalar"})
    q = jnp.asarray(np.cos(grid.coordinates()[0]) + np.zeros(grid.shape))[None]

    def largest(number):
        flow = made(grid, S=number, walls={"q": walls.Slope(), "psi": walls.Slope()})
        return jnp.max(unknown_of(flow, flow.from_physical({"q": q})))

    if not gauge:
        with refused_in_one_line(r"slopes at both walls leave the mean of psi open"):
            jax.eval_shape(largest, 1.0)
        return
    np.testing.assert_allclose(jax.jit(jax.vmap(largest))(jnp.array([1.0, 2.0])), [1.0, 0.5], rtol=1e-12)
    assert float(jax.jit(jax.grad(largest))(2.0)) == pytest.approx(-0.25, rel=1e-12)


# ---- what is refused ------------------------------------------------------------------------------------------------

Q, LAYERS = "dt(q) = -dx(psi)*q", {"psi": "scalar", "chi": "scalar"}
COUPLED = ["lap(psi) + F*(chi - psi) = q", "lap(chi) + F*(psi - chi) = 2*q"]
REFUSED = {
    "no conditions": ([Q, "lap(psi) = q"], {}, r"'psi' between walls would need .* such as psi\(bottom\) = 0 and"),
    "one wall": ([Q, "lap(psi) = q", "psi(bottom) = 0"], {}, "walls.psi.upper is missing"),
    "two at one wall": ([Q, "lap(psi) = q", "psi(top) = 0", "dy(psi)(top) = 0"], {}, "a second condition of psi"),
    "in the text and beside it": ([Q, "lap(psi) = q", *ZERO], {"psi": walls.Value()}, "walls.psi"),
    "no derivative across": ([Q, "dx(dx(psi)) - psi = q", *ZERO], {}, "an equation of order 0 across"),
    "fourth order": ([Q, "lap(lap(psi)) = q", *ZERO], {}, "an equation of order 4 across"),
    "an odd derivative": ([Q, "lap(psi) + dy(psi) = q", *ZERO], {}, "an odd derivative across"),
    "an open mean": ([Q, "lap(psi) = q"], {"psi": walls.Slope()}, r"a line mean\(psi\) = 0"),
    "a mean that is given": ([Q, "lap(psi) = q", "mean(psi) = 0", *ZERO], {}, r"mean\(psi\) = 0, where"),
    "a field beside it": ([Q, "lap(psi) = q*psi", *ZERO], {}, "'psi' needs itself"),
    "a pressure": (["dt(q) = lap(q)", "dt(u) = -grad(p)", "div(u) = 0"], {"p": walls.Value()}, "'p' has conditions"),
    "a field at the wall": ([Q, "lap(psi) = q", "psi(bottom) = 0", "dy(psi)(top) = q"], {}, "the field 'q'"),
    "an inverse": (["dt(q) = inverse_lap(q)"], {}, r"lap\(psi\) = q with psi\(bottom\) = 0"),
    "a complex one": (["dt(q) = real(psi)", "lap(psi) = 1j*q"], {"psi": walls.Value()}, "has the fields q"),
    "two kinds": ([Q, *COUPLED], {"psi": walls.Value(), "chi": walls.Slope()}, "psi and chi are solved for together"),
    "coupled and open": ([Q, *COUPLED], dict.fromkeys(LAYERS, walls.Slope()), "a value at one wall is needed"),
    "one equation": ([Q, "lap(psi) + chi = q", *ZERO, "chi(top) = 0", "chi(bottom) = 0"], {}, "2 equation"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_unknown_cannot_have_is_refused(make_grid, name):
    lines, of, message = REFUSED[name]
    grid = make_grid((8, 13), 1, walls="y")
    fields = {"q": "scalar", **({"u": "vector"} if "div(u)" in str(lines) else {})}
    rank = "wavefunction" if "1j" in str(lines) else "scalar"
    unknowns = {n: rank for n in ("psi", "chi", "p") if re.search(rf"\b{n}\b", str(lines))}
    given = {"q": walls.Value() if "lap(q)" in str(lines) else walls.Slope(), **of}
    numbers = {"F": 1.0} if "F*" in str(lines) else {}
    with pytest.raises(ValueError, match=message) as caught:
        sw.write(lines, fields, unknowns)(grid, walls=given, **numbers)
    assert re.search(message, str(caught.value).split("\n    ")[0])
