"""Texts with an operator inside dt(…), with unknowns that no equation gives on whole planes of modes, with ramps."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import refused_in_one_line

import solver as sw
from solver.written import WrittenError
from solver.written.symbols import ramp

BBM = sw.write("dt(u - dx(dx(u))) = -dx(u) - u*dx(u)", {"u": "scalar"})
KP = ["dt(u) = -6*u*dx(u) - dx(dx(dx(u))) - 3*s*w", "dx(w) = dy(dy(u))"]
GAUGE = "mean(w, x) = 0"


def after(equation, start, step, steps):
    state = sw.initial_state(equation, sw.steppers.ETDRK4(), {"u": start[None]})
    state = sw.integrate(equation, sw.steppers.ETDRK4(), state, step=step, steps=steps)
    return np.asarray(equation.to_physical(state.field)["u"][0])


def kp(lines=(*KP, GAUGE), **more):
    return sw.write(list(lines), {"u": "scalar"}, unknowns={"w": "scalar"}, **more)


@pytest.mark.thorough  # tests/reference/test_texts.py sees the same
@pytest.mark.slow
def test_a_solitary_wave_of_benjamin_bona_and_mahony_keeps_its_shape(make_grid):
    """u = 3(c − 1) sech²(½ √((c − 1)/c) (x − ct))."""
    grid, c = make_grid((192,), devices=1, lengths=90.0), 2.0
    place = lambda t: (grid.coordinates()[0] - c * t + 45.0) % 90.0 - 45.0  # noqa: E731
    wave = lambda t: 3 * (c - 1) / jnp.cosh(0.5 * np.sqrt((c - 1) / c) * place(t)) ** 2  # noqa: E731
    np.testing.assert_allclose(after(BBM(grid), wave(0.0), 0.05, 100), wave(5.0), rtol=0, atol=1e-6)  # height 3


@pytest.mark.parametrize("a", [0.25, 0.04])
def test_a_rate_of_change_whose_operator_vanishes_is_refused(make_grid, a):
    equation = sw.write("dt(u + a*dx(dx(u))) = -dx(u)", {"u": "scalar"})(make_grid((32,), devices=1), a=a)
    with refused_in_one_line(r"dt\(…\) of u: the operator inside it vanishes for 1 of the modes that this grid stores"):
        sw.initial_state(equation, sw.steppers.ETDRK4(), {"u": jnp.zeros((1, 32))})


@pytest.mark.thorough  # tests/reference/test_texts.py sees the same
@pytest.mark.slow
def test_a_line_soliton_of_kadomtsev_and_petviashvili_travels_obliquely(make_grid):
    """U = 2κ² sech²(κ(x + y − (4κ² + 3)t)), without its mean along x, which slows it down."""
    grid, kappa, length = make_grid((128, 128), devices=2, lengths=40.0), 0.6, 40.0
    mean = 4 * kappa / length
    speed = 4 * kappa**2 + 3 - 6 * mean
    x, y = grid.coordinates()
    place = lambda t: (x + y - speed * t) % length - length / 2  # noqa: E731
    soliton = lambda t: 2 * kappa**2 / jnp.cosh(kappa * place(t)) ** 2 - mean  # noqa: E731
    computed = after(kp(means={"u": "x"})(grid, s=1.0), soliton(0.0), 0.02, 50)
    np.testing.assert_allclose(computed, soliton(1.0), rtol=0, atol=5e-6)  # height 0.72, moved by 4.1
    np.testing.assert_allclose(computed.mean(axis=0), 0, atol=1e-15)


@pytest.mark.slow
def test_a_modulated_line_soliton_of_kadomtsev_and_petviashvili_grows_at_the_exact_rate(make_grid):
    """KP-I (s = −1): 2∂xx(e^{κx} cos(Ky)/cosh x), κ² = 1 − K, on 2/cosh² x grows as exp(4Kκt) (Zakharov 1975).

    It is the mode of the exact solution 2∂xx log(e^x + e^−x + ε e^{κx + iKy + 4Kκt}) in the frame of the soliton.
    """
    growing, length, end = 0.91, 40.0, 0.4
    kappa, grid = np.sqrt(1 - growing), make_grid((192, 6), devices=2, lengths=(length, 2 * np.pi / growing))
    x, y = (np.asarray(axis) for axis in grid.coordinates())
    x = x - length / 2
    soliton = 2 / np.cosh(x) ** 2
    mean = np.mean(soliton)  # taken away, the soliton travels more slowly by six times as much
    mode = np.exp(kappa * x) / np.cosh(x) * ((kappa - np.tanh(x)) ** 2 - 1 / np.cosh(x) ** 2)
    start = jnp.asarray(soliton - mean + 1e-6 * mode * np.cos(growing * y))
    equation = kp(means={"u": "x"})(grid, s=-1.0)
    u = after(equation, start, step=0.004, steps=100)
    found = 2 * np.fft.fft(u, axis=1)[:, 1].real / 6
    k = 2 * np.pi / length * np.fft.fftfreq(192, 1 / 192)
    moved = np.fft.ifft(np.fft.fft(mode[:, 0]) * np.exp(-1j * k * (4 - 6 * mean) * end)).real
    expected = 1e-6 * np.exp(4 * growing * kappa * end) * moved
    np.testing.assert_allclose(found, expected, atol=5e-5 * np.max(np.abs(expected)))


@pytest.mark.slow
def test_means_along_an_axis_are_taken_from_the_start(make_grid):
    equation = kp(means={"u": "x"})(make_grid((16, 12), devices=1), s=-1.0)
    x, y = equation.grid.coordinates()
    with pytest.warns(sw.ChangedStart, match="50 % of its mean square is its mean along x, which"):
        state = sw.initial_state(equation, sw.steppers.ETDRK4(), {"u": (jnp.sin(x) + jnp.cos(2 * y))[None]})
    np.testing.assert_allclose(equation.to_physical(state.field)["u"][0], jnp.sin(x) + 0 * y, atol=1e-15)


@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        (KP, {"means": {"u": "x"}}, r"modes that are constant along x; mean\(…, x\) = 0 leaves them out"),
        ([*KP, GAUGE], {}, r"the mean of 'u' along x vanishes: means = { u = 'x' } keeps it zero"),
        ([*KP, GAUGE], {"means": {"u": "y"}}, r"the mean of 'u' along x vanishes: means = { u = 'x' } keeps it zero"),
        ([*KP, GAUGE], {"means": {"u": 0}}, r"the mean of 'u' along x vanishes: means = { u = 'x' } keeps it zero"),
        ([*KP, GAUGE], {"means": {"u": 2}}, "means: 2 of 'u', where 0 is needed, or an axis"),
        ([*KP, GAUGE], {"means": {"u": "w"}}, "means: 'w' of 'u', where 0 is needed, or an axis"),
        ([KP[0], "dx(w) = u*u", GAUGE], {}, r"the mean of a product along x vanishes: - mean\(…, x\) takes it away"),
        ([KP[0], "lap(w) = u", GAUGE], {}, r"of an unknown whose equation gives its modes that are constant along x"),
        (["dt(u) = -s*dx(w) - dy(w)", "dy(u) = 0", GAUGE], {}, "'w' is given by no equation without dt"),
    ],
)
def test_a_gauge_that_leaves_something_open_is_refused(lines, more, message):
    with pytest.raises(WrittenError, match=message):
        kp(lines, **more)


def test_a_gauge_and_what_is_kept_are_said(make_grid):
    lines = kp(means={"u": "x"})(make_grid((8, 8), devices=1), s=1.0).derivation()
    assert ("means", "the mean of u along x is zero at every place, and kept so") in lines
    assert ("means", "the mean of w along x, which no equation gives, is zero") in lines


def test_between_walls_no_mean_along_an_axis_is_kept(make_grid):
    walls = {"u": sw.walls.Slope(lower=0.0, upper=0.0)}
    with refused_in_one_line("field u: between walls a mean along x that is zero cannot be kept"):
        sw.write("dt(u) = lap(u)", {"u": "scalar"}, means={"u": "x"})(
            make_grid((8, 8), devices=1, walls="y"), walls=walls
        )


@pytest.mark.thorough  # tests/reference/test_texts.py sees the same
@pytest.mark.slow
def test_a_diffusivity_that_is_a_ramp_of_time_damps_by_its_integral(make_grid):
    Heat = sw.write("dt(u) = nu*lap(u)", {"u": "scalar"}, define={"nu": "ramp(a, b, 1, 2)"}, units={"u": "length"})
    equation = Heat(make_grid((16,), devices=1), a=0.1, b=0.4)
    wave = jnp.sin(2 * equation.grid.coordinates()[0])
    np.testing.assert_allclose(after(equation, wave, 0.05, 60), np.exp(-4 * 0.75) * wave, rtol=0, atol=1e-7)
    assert equation.derived.plan.transforms == (0, 0)
    reason = (
        "its coefficient depends on time; exact with ifrk2, ifrk3, ifrk4, lsrk3 and splittings, explicit with others"
    )
    assert ("", f"not in L: ν∇²u: {reason}") in equation.derivation()


def test_a_ramp_between_equal_times_is_a_jump():
    np.testing.assert_array_equal([ramp(np, 2.0, 3.0, 1.0, 1.0, t) for t in (0.0, 1.0, 1.1)], [2.0, 2.0, 3.0])
