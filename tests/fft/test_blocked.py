"""Transforms in blocks against NumPy and against the same on whole arrays, in two and three dimensions."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import numpy_coefficients, random_field

import solver as sw
from solver.fft import loops
from solver.fft.blocked import Blocks
from solver.fft.point_function import FieldFunctions
from solver.fft.whole import WholeArrays
from solver.grid.layout import DEALIASING

SPLITS = [((14, 12), 1), ((15, 9), 2), ((18, 22), 4), ((17, 25), 8), ((15, 10, 8), 2), ((17, 19, 7), 4)]
CASES = [  # every rule, and every split with real and complex fields
    (*SPLITS[(i + shift) % len(SPLITS)], rule, real)
    for shift, real in ((0, True), (3, False))
    for i, rule in enumerate(DEALIASING)
]


def product(u, factor, weight):
    return jnp.stack([factor * u[0] * u[1], weight * u[0], u[1]])


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "devices", "dealias", "real"), CASES, ids=str)
def test_blocks_agree_with_whole_arrays_and_numpy(make_grid, monkeypatch, shape, devices, dealias, real):
    monkeypatch.setattr(loops, "BLOCK_BYTES", 2000)  # blocks of a few lines, the last of which overlaps
    if dealias in ("three-halves", "one-half"):
        shape = tuple(2 * (n // 2) + 4 for n in shape)  # even, and modes enough for every device
    grid = make_grid(shape, devices=devices, dealias=dealias, real=real)
    layout, d = grid.layout, grid.dimensions
    u, weight = random_field(grid), np.random.default_rng(1).normal(size=(layout.padded_points[0], *(1,) * (d - 1)))
    padded = jnp.pad(u, [(0, 0), (0, layout.padded_points[0] - layout.points[0]), *[(0, 0)] * (d - 1)])
    fields, points = jax.P(None, "slab"), jax.P("slab")

    def local(v, w):
        name = "slab" if devices > 1 else None
        ways = Blocks(), WholeArrays()
        coefficients = [way.forward(v, layout, name, 1 / math.prod(layout.points)) for way in ways]
        fields = [way.inverse(coefficients[0], layout, name, 1.0) for way in ways]
        functions, operands = FieldFunctions(product, parameters=1), [jnp.float64(0.5), w]
        products = [way.pointwise(coefficients[0], functions, layout, name, operands)[0] for way in ways]
        return coefficients, fields, products

    run = jax.shard_map(local, mesh=grid.mesh, in_specs=(fields, points), out_specs=fields, check_vma=False)
    (v_hat, whole_hat), points_of, products = jax.jit(run)(padded, weight)
    for blocked, whole in ((v_hat, whole_hat), points_of, products):
        assert blocked.shape == whole.shape
        np.testing.assert_allclose(blocked, whole, atol=1e-14)
    kept = layout.logical_spectral_shape[0]
    np.testing.assert_allclose(v_hat[:, :kept], numpy_coefficients(u, grid), atol=1e-15)
    assert not np.asarray(v_hat)[:, kept:].any(), "padding must be zero"


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(12, 9), (12, 10, 7)], ids=str)
def test_of_modes_that_belong_to_no_real_field_the_same_part_counts(make_grid, shape):
    """Pairs of planes would otherwise put one plane's imaginary part into the other."""
    grid, rng = make_grid(shape, devices=1), np.random.default_rng(0)
    of_space = (2, *grid.spectral_shape)
    u_hat = jnp.asarray(rng.normal(size=of_space) + 1j * rng.normal(size=of_space))
    ways = Blocks(), WholeArrays()
    blocked, whole = (way.pointwise(u_hat, FieldFunctions(lambda u: u), grid.layout, None, [])[0] for way in ways)
    np.testing.assert_allclose(blocked, whole, atol=1e-13)
    assert abs(blocked - u_hat).max() > 0.1, "nothing was left out"


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(15, 8), (15, 8, 8), (30, 8, 6)], ids=str)
def test_what_a_function_gives_on_padding_reaches_no_points(make_grid, shape):
    """On two devices the last plane of 15 stands beside one of padding, on four the last two of 30."""
    grid = make_grid(shape, devices=2 if shape[0] == 15 else 4)
    transform, u = sw.fft.Transform(grid), 2 + 0.1 * random_field(grid, (1,))
    inverse = transform.pointwise(lambda v: 1 / v, transform.forward(u))
    expected = transform.forward(1 / transform.inverse(transform.forward(u)))
    np.testing.assert_allclose(inverse, expected, atol=1e-14)


@pytest.mark.parametrize("chunks", [3, 4])
@pytest.mark.parametrize("direction", ["forward", "inverse"])
def test_an_exchange_is_cut_into_so_many_parts(make_grid, direction, chunks):
    """Blocks may be longer or shorter for the cache; what is sent may not."""
    transform = sw.fft.Transform(make_grid((16, 30, 8), devices=2, dealias="none"), sw.fft.Method(chunks=chunks))
    u_hat = jax.eval_shape(transform.forward, jnp.zeros((16, 30, 8)))
    u = jax.ShapeDtypeStruct((16, 30, 8), float) if direction == "forward" else u_hat
    text = jax.jit(getattr(transform, direction)).lower(u).compile().as_text()
    counts = [
        int(re.search(r'"known_trip_count":\{"n":"(\d+)"', line)[1])
        for line in text.splitlines()
        if (body := re.search(r" while\(.*body=%([\w.]+)", line))
        and " all-to-all(" in re.search(rf"(?ms)^%{re.escape(body[1])} .*?^\}}", text)[0]
    ]
    assert counts == [chunks]


@pytest.mark.parametrize("direction", ["forward", "inverse"])
@pytest.mark.parametrize(
    ("shape", "devices", "in_blocks"),
    [((32, 32, 32), 1, False), ((32, 32, 34), 1, True), ((32, 32, 32), 2, True)],
    ids=["few points", "more points", "two devices"],
)
def test_few_points_alone_on_one_device_are_not_cut_into_blocks(make_grid, direction, shape, devices, in_blocks):
    """Blocks are put into arrays; their programs take twice as long to compile (benchmarks/startup.md)."""
    transform = sw.fft.Transform(make_grid(shape, devices))
    u = jax.ShapeDtypeStruct(shape, float)
    u = u if direction == "forward" else jax.eval_shape(transform.forward, u)
    text = jax.jit(getattr(transform, direction)).lower(u).compile().as_text()
    assert ("dynamic-update-slice" in text) == in_blocks


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(16, 10), (16, 10, 8)], ids=str)
def test_a_field_has_the_same_bits_beside_any_number_of_others(make_grid, monkeypatch, shape):
    monkeypatch.setattr(loops, "BLOCK_BYTES", 4000)
    grid = make_grid(shape, devices=1)
    u_hat = sw.fft.Transform(grid).forward(random_field(grid, (5,)))
    u_hat = jnp.concatenate([u_hat, jnp.nan * u_hat[:1]])

    def squares(fields):
        functions = FieldFunctions(lambda u: u * u)
        return jax.jit(lambda v: Blocks().pointwise(v, functions, grid.layout, None, [])[0])(u_hat[:fields])

    assert (squares(6)[:2] == squares(2)).all()
    assert jnp.isfinite(squares(6)[:5]).all(), "a member that blew up must not reach the others"


@pytest.mark.parametrize("shape", [(40, 24), (12, 10, 8)], ids=str)
def test_small_fields_share_a_block(make_grid, shape):
    """The loop over rows takes whole fields at a time, not one turn for each."""
    grid = make_grid(shape, devices=1)
    u_hat = jax.ShapeDtypeStruct((5, *grid.spectral_shape), complex)
    text = jax.jit(lambda v: Blocks().inverse(v, grid.layout, None, 1.0)).lower(u_hat).as_text()
    assert text.count("stablehlo.while") == 0


def test_blocks_of_two_dimensions_hold_no_whole_field(make_grid):
    """A product's fields exist a few lines at a time: its program holds less than one more array of points."""
    grid = make_grid((1024, 1024), devices=2)
    layout = grid.layout
    u_hat = jax.ShapeDtypeStruct((2, *grid.spectral_shape), complex, sharding=grid.spectral_sharding(3))
    specs = jax.P(None, "slab")
    functions = FieldFunctions(lambda u: u * u)
    run = lambda v: Blocks().pointwise(v, functions, layout, "slab", [])[0]  # noqa: E731
    mapped = jax.jit(jax.shard_map(run, mesh=grid.mesh, in_specs=specs, out_specs=specs, check_vma=False))
    held = mapped.lower(u_hat).compile().memory_analysis().temp_size_in_bytes
    pieces = 2 * 16 * 512 * layout.spectral_shape[0]  # of two fields; as one block it holds 3.5 of them
    assert held < 2.5 * pieces


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 6), (8, 6, 4)], ids=str)
def test_numbers_without_a_precision_of_their_own_are_transformed_in_that_of_the_array(make_grid, shape):
    """`jnp.full` of a Python number is of a weak type, which promotion takes for single precision."""
    u = jnp.full(shape, 2.0)
    assert u.weak_type
    u_hat = sw.fft.Transform(make_grid(shape, devices=2)).forward(u)
    assert u_hat.dtype == jnp.complex128
    assert u_hat.ravel()[0] == 2.0
