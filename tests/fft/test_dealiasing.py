"""What each dealiasing rule keeps, and what it leaves aliased of products whose convolution is known."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import random_field, series

import solver as sw
from solver.fft import Transform
from solver.spaces.field import Field
from solver.steppers import IFRK2

SHAPE = (12, 16, 12)


def square(u):
    return u * u


def cube(u):
    return u * u * u


def product_without_aliases(u_hat, grid, power):
    """Coefficients of a power of the field with these coefficients, formed on four times as many points per axis."""
    fine = tuple(4 * n for n in grid.shape)
    whole = np.zeros(fine, complex)
    numbers = np.ix_(*[grid.layout.mode_numbers(a) for a in range(grid.dimensions)])
    order = [grid.layout.order.index(a) for a in range(grid.dimensions)]
    whole[numbers] = np.asarray(u_hat)[0][tuple(map(slice, grid.layout.logical_spectral_shape))].transpose(order)
    values = np.fft.ifftn(whole) * whole.size
    return (np.fft.fftn(values**power) / whole.size)[numbers].transpose(grid.layout.order)


def error(grid, fn, shifts=(None,)):
    """Largest error of a product's coefficients against the convolution, relative to the largest coefficient."""
    u_hat = Transform(grid).forward(random_field(grid, (1,)))
    computed = np.mean([Transform(grid, shift=shift).pointwise(fn, u_hat) for shift in shifts], axis=0)[0]
    expected = product_without_aliases(u_hat, grid, 2 if fn is square else 3)
    kept = np.asarray(grid.is_kept())[tuple(map(slice, expected.shape))]
    computed = computed[tuple(map(slice, expected.shape))]
    assert np.all(computed[~kept] == 0)
    return np.abs(computed - expected)[kept].max() / np.abs(expected).max()


@pytest.fixture
def complex_grid(make_grid):
    return lambda rule, shape=SHAPE: make_grid(shape, devices=4, real=False, dealias=rule)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "fn", "shape"),
    [
        ("two-thirds", square, SHAPE), ("three-halves", square, SHAPE), ("one-half", square, SHAPE),
        ("one-half", cube, SHAPE), ("three-halves", square, (9, 11, 1)),
    ],
    ids=lambda p: getattr(p, "__name__", str(p)),
)  # fmt: skip
def test_a_rule_leaves_no_aliases(complex_grid, rule, fn, shape):
    assert error(complex_grid(rule, shape), fn) < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "fn"),
    [("two-thirds", cube), ("none", square), ("smooth", square)],
    ids=lambda p: getattr(p, "__name__", p),
)
def test_a_rule_leaves_aliases(complex_grid, rule, fn):
    assert error(complex_grid(rule), fn) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("shape", [SHAPE, (16, 12)], ids=str)
def test_products_on_points_half_a_spacing_apart_cancel_their_aliases(complex_grid, shape):
    """Aliases of one and of three axes change their sign; those of two lie outside the ellipsoid."""
    grid = complex_grid("phase-shift-random", shape)
    first = jnp.asarray([0.31, 0.77, 0.12][: len(shape)])
    assert error(grid, square, [first]) > 1e-3
    assert error(grid, square, [first, first + 0.5]) < 1e-13


def test_phase_shifts_keep_an_ellipsoid_of_modes(make_grid):
    grid = make_grid((24, 36, 30), devices=8, dealias="phase-shift-alternating")
    numbers = np.meshgrid(*[grid.layout.mode_numbers(a) for a in (1, 2, 0)], indexing="ij")  # as stored: ky, kz, kx
    square = sum((n / m) ** 2 for n, m in zip(numbers, (36, 30, 24), strict=True))
    inside = square < 2 / 9 - 1e-9  # (8, 12, 0) lies on the surface itself
    assert np.any(np.abs(square - 2 / 9) < 1e-9)
    kept = np.asarray(grid.is_kept())[tuple(map(slice, inside.shape))]
    np.testing.assert_array_equal(kept, inside)
    u_hat = Transform(grid).forward(random_field(grid, (1,)))
    np.testing.assert_array_equal(np.asarray(u_hat[0])[tuple(map(slice, inside.shape))] != 0, inside)
    assert grid.k_max == pytest.approx(11)  # below √2/3 · 24 = 11.3


def test_shifted_transforms_are_values_at_shifted_points(make_grid):
    grid = make_grid((16, 12, 10), devices=4, dealias="phase-shift-random", lengths=[2.0, 3.0, 1.0])
    shift = np.array([0.25, 0.4, -0.3])
    moved = Transform(grid, shift=jnp.asarray(shift))
    x, y, z = (c + s * d for c, s, d in zip(grid.coordinates(), shift, grid.spacing, strict=True))
    values = jnp.asarray(np.cos(np.pi * x + 2 * np.pi / 3 * 2 * y) + np.sin(2 * np.pi * 3 * z))[None]
    plain = [c for c in grid.coordinates()]
    at_points = np.cos(np.pi * plain[0] + 2 * np.pi / 3 * 2 * plain[1]) + np.sin(2 * np.pi * 3 * plain[2])
    u_hat = Transform(grid).forward(jnp.asarray(at_points)[None])
    np.testing.assert_allclose(moved.inverse(u_hat), values, atol=1e-13)
    np.testing.assert_allclose(moved.forward(values), u_hat, atol=1e-14)


def test_the_smooth_filter_leaves_the_lower_half_and_removes_the_highest_modes(make_grid):
    grid = make_grid((64,), devices=1, dealias="smooth")
    factor = np.asarray(grid.mode_filter())
    n = grid.layout.mode_numbers(0)
    assert np.all(np.abs(factor[n <= 16] - 1) < 1e-9)
    assert factor[n == 31] < 1e-4
    spike = np.zeros(64)
    spike[5] = 1
    unfiltered = np.fft.rfft(spike)[: len(n)] / 64
    np.testing.assert_allclose(Transform(grid).forward(jnp.asarray(spike)), factor * unfiltered, atol=1e-16)


def test_arrays_over_points_cannot_follow_shifted_points(make_grid):
    grid = make_grid((12, 12, 12), devices=2, dealias="phase-shift-random")
    u_hat = Transform(grid).forward(random_field(grid, (1,)))
    with pytest.raises(ValueError, match=r"phase-shift-random.*cannot follow the points"):
        Transform(grid, shift=jnp.zeros(3)).pointwise(with_map, u_hat, at_points=grid.coordinates()[0])


def with_map(u, x):
    return u * x


def flow(make_grid, shape, rule, devices=4, viscosity=0.01):
    grid = make_grid(shape, devices=devices, dealias=rule)
    return sw.equations.NavierStokes(grid, viscosity)


def advanced(equation, state, end, step=0.02):
    *_, state = sw.evolve(equation, IFRK2(), state, end=end, step=step)
    return state


def taylor_green(equation):
    return sw.initial_state(equation, IFRK2(), sw.initial.TaylorGreen()(equation.grid), seed=3)


REFERENCES = {}  # the same for both rules


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("rule", ["phase-shift-random", "phase-shift-alternating"])
def test_phase_shifted_flow_is_the_unshifted_one_of_equal_resolved_modes(make_grid, rule):
    """24 points with phase shifts reach as far as 34 with two-thirds: k_max = 11; and 24 with it do not."""
    ends = {}
    for name, shape, dealias in (("shifted", 24, rule), ("finer", 34, "two-thirds"), ("coarser", 24, "two-thirds")):
        if dealias == rule or name not in REFERENCES:
            equation = flow(make_grid, (shape,) * 3, dealias, 2)
            ends[name] = series(equation, advanced(equation, taylor_green(equation), 2.0, 0.04))
    REFERENCES.update({name: row for name, row in ends.items() if name != "shifted"})
    ends |= REFERENCES
    error = {name: abs(ends[name]["enstrophy"] / ends["finer"]["enstrophy"] - 1) for name in ends}
    assert error["shifted"] < 0.1 * error["coarser"], error
    assert ends["shifted"]["max_divergence"] < 1e-11


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("rule", ["phase-shift-random", "phase-shift-alternating"])
def test_phase_shifts_take_aliases_out_of_a_flow(make_grid, rule):
    """Ideal flow keeps its energy up to the step's error; aliased products on the same modes do not."""
    start = lambda x, y: (jnp.sin(7 * x + 6 * y) * 6 + jnp.sin(5 * y), -7 * jnp.sin(7 * x + 6 * y) + jnp.cos(7 * x))  # noqa: E731
    drift = {}
    for dealias in (rule, "none"):
        equation = flow(make_grid, (16, 16), dealias, 2, 0.0)
        state = sw.initial_state(equation, IFRK2(), sw.sample(start, equation.grid), seed=0)
        end = advanced(equation, state, 0.02, 0.001)
        drift[dealias] = abs(float(equation.report.energies(end.field)["energy"] / state.energies["energy"]) - 1)
    assert drift[rule] < 0.05 * drift["none"], drift


@pytest.mark.slow
def test_shifts_are_the_same_on_any_devices_in_any_chunks_and_after_a_restart(make_grid, tmp_path):
    ends = []
    for devices in (1, 3):
        equation = flow(make_grid, (12, 14, 12), "phase-shift-random", devices)
        state = taylor_green(equation)
        ends.append(equation.to_physical(advanced(equation, state, 0.12).field)["velocity"])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-13)
    path = sw.io.save_checkpoint(tmp_path, advanced(equation, state, 0.06), equation.grid)
    again = advanced(equation, sw.io.load_checkpoint(path, equation, IFRK2()), 0.12)
    np.testing.assert_array_equal(equation.to_physical(again.field)["velocity"], ends[1])


def test_random_shifts_need_a_seed(make_grid):
    equation = flow(make_grid, (12, 12, 12), "phase-shift-random")
    with pytest.raises(ValueError, match=r"phase-shift-random.*needs a seed"):
        sw.initial_state(equation, IFRK2(), sw.initial.TaylorGreen()(equation.grid))


class Trapped(sw.Equation):
    """Its right-hand side has a map over the points."""

    name = "trapped"
    fields = {"u": Field()}  # noqa: RUF012

    def linear(self):
        return sw.Diagonal({"u": jnp.zeros(self.grid.spectral_shape)})

    def nonlinear(self, fields, t):
        return {"u": self.transform.pointwise(with_map, fields["u"], at_points=self.grid.coordinates()[0])}

    def rate(self, fields):
        return jnp.ones(())


def test_an_equation_with_maps_over_the_points_refuses_shifts(make_grid):
    Trapped(make_grid((8, 8), devices=2)).check()
    with pytest.raises(ValueError, match="cannot follow the points"):
        Trapped(make_grid((8, 8), devices=2, dealias="phase-shift-alternating")).check()
