"""Values between the points: those of the Fourier series where there is one, and never beyond a step."""

import numpy as np
import pytest

from solver.pictures.interpolation import Side, factors, finer_side, fourier_series, on_finer_points

LX, LY = 3.0, 2 * np.pi


def plane(nx, ny):
    return Side("x", LX * np.arange(nx) / nx), Side("y", LY * np.arange(ny) / ny)


def wave(x, y):
    """A function whose modes end at 4 and 3."""
    return np.cos(2 * np.pi * 4 * x / LX + 0.3)[:, None] * np.sin(3 * y) + 0.2 * np.sin(2 * np.pi * x / LX)[:, None]


@pytest.mark.parametrize("shape", [(16, 12), (15, 11)], ids=["even", "odd"])
def test_a_band_limited_field_is_known_everywhere(shape):
    sides = plane(*shape)
    x, y = (finer_side(side, factor) for side, factor in zip(sides, factors(sides), strict=True))
    values = wave(sides[0].points, sides[1].points)
    (fine,) = on_finer_points([values], sides)
    assert fine.shape == (len(x.points), len(y.points))
    assert y.points[-1] == pytest.approx(LY)
    assert len(y.points) > 500
    np.testing.assert_allclose(fine, wave(x.points, y.points), atol=1e-12)
    i, j = factors(sides)
    np.testing.assert_allclose(fine[::i, ::j][:-1, :-1], values, atol=1e-12)


def test_the_last_mode_of_an_even_number_of_points_is_a_cosine():
    alternating = np.cos(np.pi * np.arange(8))
    np.testing.assert_allclose(fourier_series(alternating, 0, 4), np.cos(np.pi * np.arange(32) / 4), atol=1e-14)


def test_steps_do_not_overshoot_and_parts_end_at_their_points():
    sides = plane(32, 32)
    step = (sides[0].points < 1.0)[:, None] * np.ones(32)
    (fine,) = on_finer_points([step], sides)
    assert (fine.min(), fine.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(fine[:: factors(sides)[0], 0][:-1], step[:, 0])
    angles = np.where(step > 0, 3.1, -3.1)
    assert set(np.unique(on_finer_points([angles], sides, cyclic=True)[0])) == {-3.1, 3.1}
    part = Side("x", np.linspace(1.0, 2.0, 11), periodic=False)
    (fine,) = on_finer_points([part.points**2], [part])
    x = finer_side(part, *factors([part])).points
    assert (x[0], x[-1]) == pytest.approx((1.0, 2.0))
    np.testing.assert_allclose(fine, np.interp(x, part.points, part.points**2), atol=1e-12)


@pytest.mark.parametrize(("n", "factor"), [(16, 32), (64, 8), (100, 6), (399, 2), (400, 1), (1024, 1)])
def test_few_points_become_many(n, factor):
    assert factors([Side("x", np.arange(n) / n)]) == [factor]
