"""Korteweg–de Vries, modified Korteweg–de Vries and sine-Gordon: exact solitons, their collisions, and what is kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver import initial
from solver.equations import KortewegDeVries, ModifiedKortewegDeVries, SineGordon
from solver.plan import transforms_in_step
from solver.steppers import ETDRK4, IFRK4

pytestmark = pytest.mark.slow


def after(equation, start, end, step, stepper=None):
    stepper = stepper or ETDRK4()
    *_, state = sw.evolve(equation, stepper, sw.initial_state(equation, stepper, start), end=end, step=step)
    return {name: np.asarray(u[0]) for name, u in equation.to_physical(state.field).items()}


def line(make_grid, n, length):
    return make_grid((n,), devices=1, lengths=length)


def centred(grid):
    """x, with 0 in the middle of the box."""
    return np.asarray(grid.coordinates()[0]) - grid.lengths[0] / 2


@pytest.mark.thorough
@pytest.mark.parametrize("stepper", [ETDRK4(), IFRK4()], ids=lambda s: s.name)
def test_a_soliton_travels_at_its_speed(make_grid, stepper):
    """Of any coefficients, across the end of the box, without changing its shape."""
    grid = line(make_grid, 256, 40.0)
    equation = KortewegDeVries(grid, nonlinearity=2.0, dispersion=0.5)
    at = lambda x: initial.KdVSolitons([1.5], [x]).for_equation(equation, "u")(grid)  # noqa: E731
    computed = after(equation, at(35.0), 6.0, 0.002, stepper)["u"]
    np.testing.assert_allclose(computed, at(44.0)[0], rtol=0, atol=5e-8)  # height 2.25
    assert computed.max() > 2.2


def two_kdv_solitons(x, t, k, shift=(0.0, 0.0)):
    """2 ∂xx ln(1 + e^θ1 + e^θ2 + A e^(θ1+θ2)), θ = kx − k³t."""
    (k1, k2), a = k, ((k[0] - k[1]) / (k[0] + k[1])) ** 2
    e1, e2 = (np.exp(q * x - q**3 * t + s) for q, s in zip(k, shift, strict=True))
    tau = 1 + e1 + e2 + a * e1 * e2
    first = k1 * e1 + k2 * e2 + a * (k1 + k2) * e1 * e2
    second = k1**2 * e1 + k2**2 * e2 + a * (k1 + k2) ** 2 * e1 * e2
    return 2 * (second * tau - first**2) / tau**2


@pytest.mark.thorough
def test_two_solitons_collide_as_in_the_exact_solution(make_grid):
    grid, k = line(make_grid, 512, 60.0), (2.0, 1.2)
    x = centred(grid)
    computed = after(KortewegDeVries(grid), jnp.asarray(two_kdv_solitons(x, -2.0, k))[None], 4.0, 0.001)["u"]
    expected = two_kdv_solitons(x, 2.0, k)
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-7)  # heights 2 and 0.72
    assert expected[np.abs(x - 8) < 2].max() > 1.9, "the tall one must have passed"


def two_mkdv_solitons(x, t, k, signs):
    """2 ∂x arctan(g/f) with g = ±e^θ1 ± e^θ2 and f = 1 − A e^(θ1+θ2)."""
    (k1, k2), a = k, ((k[0] - k[1]) / (k[0] + k[1])) ** 2
    e1, e2 = (s * np.exp(q * x - q**3 * t) for q, s in zip(k, signs, strict=True))
    g, f = e1 + e2, 1 - a * e1 * e2
    g_x, f_x = k1 * e1 + k2 * e2, -a * (k1 + k2) * e1 * e2
    return 2 * (g_x * f - g * f_x) / (f**2 + g**2)


@pytest.mark.thorough
@pytest.mark.parametrize("signs", [(1, 1), (1, -1)], ids=["alike", "opposite"])
def test_solitons_of_the_modified_equation_collide_as_in_the_exact_solution(make_grid, signs):
    grid, k = line(make_grid, 512, 60.0), (1.5, 0.9)
    x = centred(grid)
    start = jnp.asarray(two_mkdv_solitons(x, -2.0, k, signs))[None]
    computed = after(ModifiedKortewegDeVries(grid), start, 4.0, 0.0005)["u"]
    # of opposite signs they reach the height 2.4 when they meet, of equal ones 1.5
    np.testing.assert_allclose(computed, two_mkdv_solitons(x, 2.0, k, signs), atol=1e-5 if -1 in signs else 2e-8)


@pytest.mark.thorough
def test_a_kink_of_the_defocusing_equation_between_walls(make_grid):
    """σ = −1: k tanh(k(x + 2k²t)), in a periodic pair too far apart to feel each other."""
    grid, k = line(make_grid, 512, 60.0), 1.0
    wall = lambda s: np.tanh(k * s)  # noqa: E731
    pair = lambda x: k * (wall(x + 15) - wall(x - 15) - 1)  # noqa: E731
    computed = after(ModifiedKortewegDeVries(grid, sign=-1), jnp.asarray(pair(centred(grid)))[None], 2.0, 0.001)["u"]
    np.testing.assert_allclose(computed, pair(centred(grid) + 2 * k**2 * 2.0), atol=1e-7)


@pytest.mark.thorough
@pytest.mark.parametrize("polarity", [1, -1])
def test_modified_solitons_of_either_sign_travel_to_the_right(make_grid, polarity):
    grid = line(make_grid, 384, 40.0)
    at = lambda x: initial.MKdVSolitons([2.25], [x], [polarity])(grid)  # noqa: E731
    computed = after(ModifiedKortewegDeVries(grid), at(38.0), 2.0, 0.002)["u"]
    np.testing.assert_allclose(computed, at(42.5)[0], atol=2e-6)
    assert polarity * computed[np.abs(computed).argmax()] > 1.4


@pytest.mark.thorough
def test_a_breather_oscillates(make_grid):
    """4 arctan((η/ω) cos(ωmt) / cosh(ηmx/c)), of any wave speed and mass."""
    grid, omega, mass, speed = line(make_grid, 512, 60.0), 0.6, 1.5, 1.2
    equation = SineGordon(grid, wave_speed=speed, mass=mass)
    start = initial.Breather(omega).for_equation(equation, "phi")(grid)
    t, eta = 5.0, 0.8
    computed = after(equation, {"phi": start, "rate_of_phi": 0 * start}, t, 0.01, IFRK4())
    ratio = eta / omega / np.cosh(eta * mass / speed * centred(grid))
    c, s = np.cos(omega * mass * t), np.sin(omega * mass * t)
    np.testing.assert_allclose(computed["phi"], 4 * np.arctan(ratio * c), rtol=0, atol=2e-7)
    rate = -4 * ratio * omega * mass * s / (1 + (ratio * c) ** 2)
    np.testing.assert_allclose(computed["rate_of_phi"], rate, rtol=0, atol=2e-7)


@pytest.mark.thorough
def test_kink_and_antikink_pass_through_each_other(make_grid):
    """−4 arctan(sinh(γvt) / (v cosh γx)), which is a kink pair long before t = 0."""
    grid, v = line(make_grid, 512, 80.0), 0.5
    gamma = 1 / np.sqrt(1 - v**2)
    exact = lambda t: -4 * np.arctan(np.sinh(gamma * v * t) / (v * np.cosh(gamma * centred(grid))))  # noqa: E731
    # far apart, each is at ±(v|t| + ln(v)/γ): cosh γx meets sinh(γvt)/v there
    apart = v * 24.0 - np.log(v) / gamma
    pair = [initial.KinkPair(v, [40 - apart, 40 + apart], rate=rate)(grid) for rate in (False, True)]
    np.testing.assert_allclose(pair[0][0], exact(-24.0), atol=2e-5)  # the tails' product
    computed = after(SineGordon(grid), {"phi": pair[0], "rate_of_phi": pair[1]}, 48.0, 0.04, IFRK4())["phi"]
    np.testing.assert_allclose(computed, exact(24.0), atol=3e-4)  # undisturbed, they would be 1.2 behind


def waves(grid, components=1):
    """A smooth field that the grid resolves far beyond what its powers need."""
    k = [2 * np.pi / length for length in grid.lengths]
    shape = lambda i, *x: 0.7 * jnp.cos(k[0] * x[0] + i) + 0.4 * jnp.sin(2 * k[-1] * x[-1] - i) + 0.2  # noqa: E731
    return sw.sample(lambda *x: tuple(shape(i, *x) for i in range(components)), grid)


EQUATIONS = {
    "korteweg-de-vries": lambda g: KortewegDeVries(g, 1.3, 0.7),
    "focusing": lambda g: ModifiedKortewegDeVries(g),
    "defocusing": lambda g: ModifiedKortewegDeVries(g, sign=-1),
    "sine-gordon": lambda g: SineGordon(g, 1.2, 0.8),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", EQUATIONS)
def test_what_is_conserved_does_not_change_along_the_right_hand_side(make_grid, name):
    equation = EQUATIONS[name](line(make_grid, 96, 7.0))
    fields = equation.from_physical({n: waves(equation.grid) * (i + 1) for i, n in enumerate(equation.fields)})
    moving = {
        n: a + b for n, a, b in zip(fields, equation.linear().apply(fields).values(),
                                    equation.nonlinear(fields, 0.0).values(), strict=True)
    }  # fmt: skip
    value, change = jax.jvp(equation.conserved, [fields], [moving])
    assert value
    speed = max(float(jnp.max(jnp.abs(v))) for v in moving.values())
    assert speed > 0.1
    for what in value:
        assert abs(float(value[what])) > 0.01
        assert abs(float(change[what])) < 1e-13 * max(1, speed), what


@pytest.mark.parametrize("name", EQUATIONS)
def test_one_transform_each_way(make_grid, name):
    equation = EQUATIONS[name](line(make_grid, 32, 7.0))
    state = sw.initial_state(equation, IFRK4(), {n: waves(equation.grid) for n in equation.fields})
    calls = transforms_in_step(equation, IFRK4(), state)
    assert [(c.forward, c.batch) for c in calls] == [(False, 1), (True, 1)] * 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: KortewegDeVries(g, dispersion=np.nan), "dispersion nan: a finite number"),
        (lambda g: ModifiedKortewegDeVries(g, sign=2), r"sign 2: 1 \(focusing\) or -1"),
        (lambda g: SineGordon(g, mass=0.0), "mass 0.0: a positive number"),
        (lambda g: initial.KdVSolitons([1.0, 2.0], [3.0]), "2 speeds and 1 positions: as many of each"),
        (lambda g: initial.KdVSolitons([]), "no speeds"),
        (lambda g: initial.KdVSolitons([1.0], nonlinearity=0.0), "nonlinearity 0: the equation's is needed"),
        (lambda g: initial.MKdVSolitons([-1.0]), "speeds .*-1.0.*: a positive number for each"),
        (lambda g: initial.MKdVSolitons([1.0], polarities=[2]), r"polarities \[2\]: 1 or -1"),
        (lambda g: initial.MKdVSolitons().check(ModifiedKortewegDeVries(g, sign=-1), "u"), "sign -1 has no solitons"),
        (lambda g: initial.Breather(1.0), "frequency 1.0: a number between 0 and 1"),
        (lambda g: initial.KinkPair(-1.5), "speed -1.5: a number between -1 and 1"),
        (lambda g: initial.KinkPair(positions=[1.0]), r"positions \[1.0\]: two numbers"),
    ],
)
def test_wrong_parameters_are_refused(make_grid, make, message):
    with pytest.raises(ValueError, match=message):
        make(line(make_grid, 16, 1.0))
