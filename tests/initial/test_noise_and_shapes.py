"""White noise, spots, balls and cosines: what they are, and that the devices do not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import VELOCITY

import solver as sw
from solver import equations, initial, operators
from solver.equations import KortewegDeVries, SineGordon

pytestmark = pytest.mark.slow

KEY = jax.random.key(3)


def largest_divergence(u, grid):
    transform = sw.fft.Transform(grid)
    return float(jnp.max(jnp.abs(transform.inverse(operators.divergence(transform.forward(u), grid)))))


@pytest.mark.parametrize("rank", ["scalar", "vector", "wavefunction"])
def test_noise_is_white_and_normal(make_grid, rank):
    grid = make_grid((64, 48), devices=4, real=rank != "wavefunction", dealias="none")
    u = np.asarray(initial.Noise(background=2.0, amplitude=0.3)(grid, sw.Field(rank), KEY))
    count = u.size
    assert abs(u.mean() - 2) < 4 * 0.3 / np.sqrt(count)
    assert np.mean(np.abs(u - 2) ** 2) == pytest.approx(0.09, rel=4 * np.sqrt(2 / count))
    # |û|² of white noise is alike on small and on large scales
    power = np.abs(np.fft.fft2(u - 2)) ** 2 / 64 / 48 / 0.09
    coarse = power[:, :16, :12].mean()
    fine = power[:, 16:48, 12:36].mean()
    assert coarse == pytest.approx(1, abs=0.3)
    assert fine == pytest.approx(1, abs=0.15)


def test_noise_of_a_flow_has_no_divergence(make_grid):
    grid = make_grid((24, 20, 28), devices=4)
    u = initial.Noise(background=1.0, amplitude=0.5)(grid, VELOCITY, KEY)
    assert largest_divergence(u, grid) < 1e-12
    np.testing.assert_allclose(u.mean(axis=(1, 2, 3)), 1.0, atol=0.05)


@pytest.mark.parametrize("start", [initial.Noise(), initial.Spots(count=3, width=0.4)], ids=lambda s: s.name)
def test_the_same_field_on_any_number_of_devices(make_grid, start):
    on_one, *others = (np.asarray(start(make_grid((24, 26), devices=n), key=KEY)) for n in (1, 3, 8))
    for other in others:
        np.testing.assert_allclose(other, on_one, atol=1e-15)
    assert np.abs(np.asarray(start(make_grid((24, 26), devices=1), key=jax.random.key(4))) - on_one).max() > 0.1


def test_spots_stand_in_the_same_places_on_every_grid(make_grid):
    spots = initial.Spots(background=-1.0, height=2.0, width=0.15, count=5)
    coarse, fine = (spots(make_grid((n, n), devices=4, lengths=6.0), key=KEY)[0] for n in (64, 128))
    np.testing.assert_array_equal(coarse, fine[::2, ::2])
    single = spots(make_grid((64, 64), devices=4, lengths=6.0, precision="float32"), key=KEY)[0]
    np.testing.assert_allclose(single, coarse, atol=1e-4)
    # each holds height · 2πσ², across the edges of the box too
    assert float(jnp.mean(fine) + 1) * 36 == pytest.approx(5 * 2.0 * 2 * np.pi * 0.15**2, rel=1e-10)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_ball_has_its_volume(make_grid, d):
    grid = make_grid((48,) * d, devices=min(d, 4), lengths=4.0)
    ball = initial.Ball(inside=3.0, outside=1.0, radius=1.2, width=0.15, centre=[0.3, 3.9, 2.0][:d])(grid)[0]
    volume = [2 * 1.2, np.pi * 1.2**2, 4 / 3 * np.pi * 1.2**3][d - 1]
    sampled = float(jnp.mean(ball) - 1) / 2 * 4.0**d
    # a wall tanh(s/w) adds (d − 1)(π²/12) w²/R² · d/2 of it
    wide = 1 + {1: 0, 2: 1, 3: 3}[d] * np.pi**2 / 12 * (0.15 / 1.2) ** 2
    assert sampled == pytest.approx(volume * wide, rel=2e-4)
    assert (float(ball.max()), float(ball.min())) == pytest.approx((3.0, 1.0), abs=1e-4)


def test_a_cosine(make_grid):
    grid = make_grid((16, 12), devices=2, lengths=[2.0, 3.0])
    x, y = grid.meshgrid()
    expected = 1 + 0.5 * np.cos(2 * np.pi * (2 * x / 2.0 - y / 3.0) + 0.3)
    np.testing.assert_allclose(initial.Cosine((2, -1), 1.0, 0.5, 0.3)(grid)[0], expected, atol=1e-14)


def test_solitons_take_the_coefficients_of_the_equation_unless_they_have_their_own(make_grid):
    line = make_grid((64,), devices=1, lengths=20.0)
    equation = KortewegDeVries(line, 2.0, 0.5)
    filled = initial.KdVSolitons([1.0], dispersion=3.0).for_equation(equation, "u")
    assert (filled.nonlinearity, filled.dispersion) == (2.0, 3.0)
    assert float(jnp.max(initial.KdVSolitons([1.5], [10.0])(line))) == pytest.approx(0.75)  # c/2
    kinks = initial.KinkPair(mass=2.0).for_equation(SineGordon(line, wave_speed=3.0), "phi")
    assert (kinks.wave_speed, kinks.mass) == (3.0, 2.0)


def test_the_rate_of_a_kink_pair_is_its_derivative_in_time(make_grid):
    """The kink moves with v c, the antikink with −v c."""
    line = make_grid((64,), devices=1, lengths=40.0)
    v, c, m, h = 0.4, 1.5, 0.7, 1e-5
    pair = lambda t, rate: initial.KinkPair(v, [12 + v * c * t, 26 - v * c * t], rate, c, m)(line)  # noqa: E731
    np.testing.assert_allclose(pair(0, True), (pair(h, False) - pair(-h, False)) / (2 * h), atol=1e-8)


def soliton_in(equation):
    return initial.NlsSoliton([1.0]).for_equation(equation, "wavefunction")


def test_a_start_knows_its_equation_by_its_terms(make_grid):
    """ψ_t = ½i∇²ψ − i g|ψ|²ψ of gross-pitaevskii focuses where g < 0; vortices need that it does not."""
    grid = make_grid((16, 16), 1, real=False, dealias="none")
    condensate = lambda g: equations.GrossPitaevskii(grid, coupling=g)  # noqa: E731
    wave = lambda g: equations.NonlinearSchroedinger(grid, coupling=g)  # noqa: E731
    assert soliton_in(condensate(-2.0)).coupling == soliton_in(wave(2.0)).coupling == 2.0
    vortices = initial.QuantisedVortices()
    for repulsive in (condensate(4.0), wave(-4.0)):
        assert vortices.for_equation(repulsive, "wavefunction").healing_length == 0.5
    for start, equation, message in [
        (initial.NlsSoliton(), condensate(1.0), "g = -1.0: a positive g"),
        (initial.NlsSoliton(), wave(-1.0), "g = -1.0: a positive g"),
        (initial.NlsSoliton(), equations.SchroedingerPoisson(grid), "schroedinger-poisson: a positive g"),
        (vortices, condensate(-1.0), "g = -1.0: a repulsive term"),
        (vortices, wave(1.0), "g = -1.0: a repulsive term"),
        (vortices, equations.SchroedingerPoisson(grid), "schroedinger-poisson: a repulsive term"),
        (initial.Solitons([1.0], [[0, 0]]), condensate(1.0), "schroedinger-poisson is needed"),
    ]:
        with pytest.raises(ValueError, match=message):
            start.for_equation(equation, "wavefunction")


def test_solitons_of_the_modified_equation_are_refused_in_the_other(make_grid):
    grid = make_grid((16,), 1)
    plain, modified = equations.KortewegDeVries(grid), equations.ModifiedKortewegDeVries(grid)
    for start, other in [(initial.KdVSolitons([1.0]), modified), (initial.MKdVSolitons([1.0]), plain)]:
        with pytest.raises(ValueError, match="has others"):
            start.check(other, "u")
    assert initial.Breather(0.5).for_equation(equations.KleinGordon(grid, mass=3.0), "phi").mass is None


@pytest.mark.parametrize(
    ("make", "number"),
    [
        (lambda c: initial.KdVSolitons(speeds=(c,)), 1.0),
        (lambda c: initial.MKdVSolitons(speeds=(c,)), 4.0),
        (lambda c: initial.Breather(mass=c), 1.0),
        (lambda c: initial.KinkPair(mass=c), 1.0),
        (lambda c: initial.NlsSoliton(amplitudes=(c,), coupling=1.0), 4.0),
    ],
)
def test_solitons_in_a_wide_box_have_derivatives_in_single_precision(make, number, make_grid):
    def total(c):
        start = make(c)
        grid = make_grid((64,), devices=1, lengths=400.0, precision="float32", real=start.ranks[0] != "wavefunction")
        return jnp.sum(jnp.abs(start(grid)) ** 2)

    slope = jax.grad(total)(jnp.float32(number))
    differences = (total(jnp.float32(number + 0.01)) - total(jnp.float32(number - 0.01))) / 0.02
    np.testing.assert_allclose(slope, differences, rtol=0.02)
