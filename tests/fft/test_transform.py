"""Distributed transforms against NumPy, and what the compiled program communicates."""

import re
import subprocess
import sys
from functools import partial

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import all_to_all_bytes, collectives, numpy_coefficients, random_field
from jax.test_util import check_grads

import solver as sw
from solver.fft import Method
from solver.fft.lowering import compiled
from solver.fft.primitive import forward_p, inverse_p, transform_traced
from solver.grid import Layout

pytestmark = pytest.mark.slow

CASES = [  # over all shapes each kind of numbers meets each rule
    pytest.param(shape, kind == "r2c", dealias, id=f"{'x'.join(map(str, shape))} {kind} {dealias}")
    for shape, *ways in [
        ((48, 32, 40), ("r2c", "three-halves"), ("c2c", "two-thirds"), ("c2c", "none")),
        ((16, 9, 7), ("r2c", "two-thirds"), ("r2c", "none"), ("c2c", "none")),
        ((16, 24), ("r2c", "two-thirds"), ("r2c", "none"), ("c2c", "three-halves")),
        ((24, 15), ("c2c", "two-thirds"), ("r2c", "none")),
        ((32,), ("r2c", "three-halves"), ("c2c", "none")),
        ((9,), ("r2c", "two-thirds"), ("r2c", "none"), ("c2c", "two-thirds")),
    ]
    for kind, dealias in ways
]


@pytest.mark.parametrize(("shape", "real", "dealias"), CASES)
def test_agrees_with_numpy(make_grid, shape, real, dealias):
    most = Layout(shape, dealias, real).max_slabs
    for devices in sorted({1, min(8, most)} if dealias == "two-thirds" else {min(8, most)}):
        grid = make_grid(shape, devices=devices, real=real, dealias=dealias)
        transform = sw.fft.Transform(grid)
        u = random_field(grid)
        u_hat = transform.forward(u)
        kept = grid.layout.logical_spectral_shape[0]
        expected = numpy_coefficients(u, grid)
        stored = np.moveaxis(np.asarray(u_hat), u_hat.ndim - grid.dimensions, 0)
        np.testing.assert_allclose(np.moveaxis(stored[:kept], 0, u_hat.ndim - grid.dimensions), expected, atol=1e-15)
        assert not stored[kept:].any(), "padding must be zero"
        # the inverse: transforming a retained field there and back changes nothing
        kept_field = transform.inverse(u_hat)
        np.testing.assert_allclose(transform.inverse(transform.forward(kept_field)), kept_field, atol=1e-14)
        if dealias == "none":
            np.testing.assert_allclose(kept_field, u, atol=1e-14)


@pytest.mark.parametrize(
    ("shape", "batch", "dealias", "real"),
    [
        ((48, 32, 40), (), "two-thirds", True),
        ((48, 32, 40), (2, 3), "two-thirds", False),
        ((48, 32, 40), (2, 3), "none", True),
        ((32, 48), (), "none", False),
        ((32, 48), (2, 3), "two-thirds", True),
    ],
    ids=str,
)
def test_one_exchange_per_batched_transform_and_no_gather(make_grid, shape, real, dealias, batch):
    grid = make_grid(shape, real=real, dealias=dealias)
    transform = sw.fft.Transform(grid)
    u = random_field(grid, batch)
    u_hat = transform.forward(u)
    assert collectives(transform.forward, u) == {"all-to-all": 1}
    assert collectives(transform.inverse, u_hat) == {"all-to-all": 1}
    assert collectives(jax.vmap(transform.forward), random_field(grid, (4, *batch))) == {"all-to-all": 1}
    how = {"layout": grid.layout, "mesh": grid.mesh, "method": transform.method, "factor": 1.0, "padded": True}
    outside_of_jit = compiled(transform_traced, grid.spectral_sharding(u.ndim), primitive=forward_p, **how)
    assert collectives(outside_of_jit, u) == {"all-to-all": 1}
    # neighbours in the same program do not make it move data again
    assert collectives(lambda v: transform.inverse(2 * transform.forward(jnp.sin(v))), u) == {"all-to-all": 2}


def test_the_exchange_moves_the_retained_modes_alone(make_grid):
    grid = make_grid((48, 32, 40))
    text = jax.jit(sw.fft.Transform(grid).forward).lower(random_field(grid, ())).compile().as_text()
    (sent,) = all_to_all_bytes(text)  # on one device
    assert sent * 8 * 7 // 8 == grid.layout.exchange_bytes()  # 8 devices, each keeps an eighth
    assert grid.layout.exchange_bytes() == 16 * 48 * 24 * 14 * 7 // 8


@pytest.mark.parametrize("shape", [(16, 12, 10), (16, 24)], ids=str)
def test_every_local_fft_is_row_major(make_grid, shape):
    """XLA's CPU kernel fails at run time on any other layout, and some versions choose one."""
    grid = make_grid(shape, devices=4)
    u = random_field(grid)
    for primitive, argument in ((forward_p, u), (inverse_p, sw.fft.Transform(grid).forward(u))):
        # bare, its result not pinned: what jaxlib 0.12 needs to choose another layout
        bare = jax.jit(partial(primitive.bind, layout=grid.layout, mesh=grid.mesh, method=Method(), factor=1.0))
        text = bare.lower(argument).compile().as_text()
        layouts = re.findall(r"= \w+\[[\d,]+\]\{([\d,]+)\} fft\(", text)
        assert len(layouts) == 2  # of three dimensions, two are transformed at once
        for layout in layouts:
            order = [int(axis) for axis in layout.split(",")]
            assert order == sorted(order, reverse=True)


def test_coefficients_do_not_depend_on_the_resolution(make_grid):
    def mode(*axes):
        return 3 + 2 * jnp.cos(axes[0] + 2 * axes[1])

    for shape in [(16, 12), (32, 48)]:
        grid = make_grid(shape, devices=2)
        u_hat = np.asarray(sw.fft.Transform(grid).forward(sw.sample(mode, grid)))
        np.testing.assert_allclose([u_hat[0, 0], u_hat[2, 1]], [3, 1], atol=1e-14)


def test_input_that_lies_otherwise_is_moved_not_misread(make_grid):
    grid = make_grid((16, 12, 10), devices=4)
    u = random_field(grid)
    expected = sw.fft.Transform(grid).forward(u)
    np.testing.assert_array_equal(sw.fft.Transform(grid).forward(np.asarray(u)), expected)
    for spec in (jax.P(), jax.P(None, None, "slab")):
        other = jax.device_put(u, jax.NamedSharding(grid.mesh, spec))
        np.testing.assert_array_equal(jax.jit(sw.fft.Transform(grid).forward)(other), expected)


@pytest.mark.parametrize(
    ("shape", "real", "dealias", "devices"),
    [
        ((4, 6, 5), True, "two-thirds", 2),
        ((4, 6, 5), True, "none", 1),
        ((4, 6, 5), False, "none", 2),
        ((4, 6, 5), False, "two-thirds", 1),
        ((8, 7), True, "none", 2),
        ((8, 7), False, "two-thirds", 2),
    ],
    ids=str,
)
def test_gradients_against_finite_differences(make_grid, shape, real, dealias, devices):
    grid = make_grid(shape, devices=devices, real=real, dealias=dealias)
    transform = sw.fft.Transform(grid)
    u = random_field(grid, ())
    check_grads(transform.forward, (u,), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)
    check_grads(transform.inverse, (transform.forward(u),), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)


def test_gradient_of_an_energy_equals_the_dense_one(make_grid):
    grid = make_grid((8, 12, 10), devices=4)
    u = random_field(grid, ())
    weights = jax.random.normal(jax.random.key(1), grid.spectral_shape)

    def energy(v):
        return jnp.sum(weights * jnp.abs(sw.fft.Transform(grid).forward(v)) ** 2)

    def dense(v):
        full = jnp.fft.rfftn(v) / v.size
        for axis in range(3):
            full = jnp.take(full, grid.layout.mode_numbers(axis), axis=axis)
        kept = grid.layout.logical_spectral_shape[0]
        return jnp.sum(weights[:kept] * jnp.abs(full.transpose(1, 2, 0)) ** 2)

    np.testing.assert_allclose(jax.grad(energy)(u), jax.grad(dense)(np.asarray(u)), atol=1e-14)


def test_inside_a_shard_map_the_global_transform_refuses_and_the_local_one_works(make_grid):
    grid = make_grid((16, 12, 10), devices=4)
    u = random_field(grid, ())
    spec = grid.physical_sharding().spec

    def mapped(fn):
        return jax.jit(jax.shard_map(fn, mesh=grid.mesh, in_specs=spec, out_specs=spec))

    with pytest.raises(ValueError, match="forward_local"):
        mapped(sw.fft.Transform(grid).forward)(u)
    local = mapped(lambda v: sw.fft.forward_local(v, grid.layout, "slab"))(u)
    np.testing.assert_allclose(local, sw.fft.Transform(grid).forward(u), atol=1e-16)


@pytest.mark.parametrize(
    ("shape", "norm"), [((16, 8, 10), None), ((16, 8, 10), "ortho"), ((8, 6), "forward"), ((8, 6), "backward")], ids=str
)
def test_free_functions_use_numpys_norms(shape, norm):
    mesh = sw.device_mesh([0, 1])
    order = (1, 2, 0) if len(shape) == 3 else (1, 0)
    axes = tuple(range(1, len(shape) + 1))
    u = np.random.default_rng(0).normal(size=(2, *shape))
    moved = (0, *(a + 1 for a in order))
    options = {"mesh": mesh, "norm": norm}
    last = tuple(range(1, len(shape) + 1))
    np.testing.assert_allclose(
        sw.fft.rfftn(u, axes=last, **options), np.fft.rfftn(u, axes=axes, norm=norm).transpose(moved), atol=1e-12
    )
    c = u + 1j * np.roll(u, 1)
    np.testing.assert_allclose(
        sw.fft.fftn(c, axes=last, **options), np.fft.fftn(c, axes=axes, norm=norm).transpose(moved), atol=1e-12
    )
    np.testing.assert_allclose(sw.fft.irfftn(sw.fft.rfftn(u, axes=last, **options), shape, **options), u, atol=1e-14)
    np.testing.assert_allclose(sw.fft.ifftn(sw.fft.fftn(c, axes=last, **options), axes=last, **options), c, atol=1e-14)


def test_wrong_input_is_named(make_grid):
    grid = make_grid((16, 12, 10), devices=4)
    transform = sw.fft.Transform(grid)
    with pytest.raises(ValueError, match=r"a field of shape \[16, 12, 11\] .* \[16, 12, 10\]"):
        transform.forward(jnp.zeros((16, 12, 11)))
    with pytest.raises(ValueError, match="complex128 on a grid for real fields"):
        transform.forward(jnp.zeros((16, 12, 10), complex))
    with pytest.raises(ValueError, match="coefficients of shape"):
        transform.inverse(jnp.zeros((16, 12, 10), complex))
    with pytest.raises(ValueError, match="norm 'orto'"):
        sw.fft.rfftn(jnp.zeros((16, 8, 8)), norm="orto")
    with pytest.raises(ValueError, match=r"8 slabs of the grid \[16, 5, 8\].*possible are 1 to 5"):
        sw.fft.rfftn(jnp.zeros((16, 5, 8)))


def test_free_functions_take_what_numpy_takes():
    u = [[1.0, 2.0], [3.0, 4.0]]
    mesh = sw.device_mesh([0])
    np.testing.assert_allclose(sw.fft.rfftn(u, mesh=mesh), np.fft.rfftn(u).T, atol=1e-15)
    np.testing.assert_allclose(sw.fft.ifftn(sw.fft.fftn(u, mesh=mesh).tolist(), mesh=mesh), u, atol=1e-15)


def test_float32_stays_float32(make_grid):
    grid = make_grid((16, 8, 8), devices=4, precision="float32")
    u_hat = sw.fft.Transform(grid).forward(random_field(grid))
    assert u_hat.dtype == jnp.complex64
    assert sw.fft.Transform(grid).inverse(u_hat).dtype == jnp.float32


# ---- arrays that lie elsewhere, and of other kinds --------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        lambda: sw.device_mesh(shape=(4, 2)),
        lambda: sw.device_mesh([7, 6, 5, 4, 3, 2, 1, 0]),
        lambda: sw.device_mesh([2, 3]),
        lambda: jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2),
    ],
    ids=["pencils", "another order", "a subset", "a user's mesh"],
)
def test_arrays_of_another_mesh_are_moved(make_grid, place):
    """Coefficients and fields, in `Transform`, `pointwise` and the free functions."""
    grid, mesh = make_grid((8, 16, 8)), place()
    u = random_field(grid)
    names = mesh.axis_names
    elsewhere = jax.device_put(u, jax.NamedSharding(mesh, jax.P(None, *names)))
    transform = sw.fft.Transform(grid)
    u_hat = transform.forward(u)
    np.testing.assert_allclose(transform.forward(elsewhere), u_hat, atol=1e-15)
    np.testing.assert_allclose(sw.fft.rfftn(elsewhere, axes=(1, 2, 3)), sw.fft.rfftn(u, axes=(1, 2, 3)), atol=1e-12)
    kept = tuple(slice(n) for n in grid.layout.logical_spectral_shape)
    whole = jax.device_put(np.asarray(u_hat), jax.NamedSharding(mesh, jax.P()))
    np.testing.assert_allclose(transform.inverse(whole), transform.inverse(u_hat), atol=1e-14)
    weighted = lambda v, by, w: by * w * v * v  # noqa: E731
    by, w = (jax.device_put(v, jax.NamedSharding(mesh, jax.P())) for v in (np.float64(2), np.asarray(u[0])))
    made = transform.pointwise(weighted, whole, by, at_points=w)
    expected = transform.pointwise(weighted, u_hat, 2.0, at_points=np.asarray(u[0]))
    np.testing.assert_allclose(np.asarray(made)[(..., *kept)], np.asarray(expected)[(..., *kept)], atol=1e-14)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_batch_of_no_field(make_grid, devices):
    grid = make_grid((8, 6, 4), devices=devices)
    empty = np.zeros((0, 8, 6, 4))
    transform = sw.fft.Transform(grid)
    u_hat = transform.forward(empty)
    assert (u_hat.shape, u_hat.dtype) == ((0, *grid.spectral_shape), complex)
    assert (transform.inverse(u_hat).shape, transform.inverse(u_hat).dtype) == (empty.shape, float)
    assert sw.fft.rfftn(empty, axes=(1, 2, 3), mesh=grid.mesh).shape == (0, 6, 3, 8)


@pytest.mark.parametrize(
    ("given", "found"),
    [(np.float16, np.complex64), (jnp.bfloat16, np.complex64), (np.longdouble, complex), (np.int8, complex)],
)
def test_numbers_of_other_kinds_are_transformed_in_the_next_larger_one(given, found):
    u = np.arange(16).reshape(4, 4)
    u_hat = sw.fft.rfftn(u.astype(given), mesh=sw.device_mesh([0, 1]))
    assert u_hat.dtype == found
    np.testing.assert_allclose(jnp.moveaxis(u_hat, -1, -2), np.fft.rfftn(u), atol=1e-5)


def test_arguments_of_other_types_are_refused_in_one_line():
    """In a process of its own, where no types are checked at run time."""
    calls = ["u, axes=1", "u, mesh='x'", "np.array([['a', 'b']] * 2)", "np.zeros((4, 4), 'datetime64[s]')"]
    lines = ["import numpy as np, solver as sw", "u = np.zeros((4, 4, 4))"]
    for call in calls:
        lines += ["try:", f"    sw.fft.rfftn({call})", "except TypeError as error:", "    print(error)"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "axes=1: a list of whole numbers is needed, such as [1]",
        "mesh='x': a mesh from solver.device_mesh is needed",
        "values of dtype <U1: numbers are needed",
        "values of dtype datetime64[s]: numbers are needed",
    ], done.stderr


@pytest.mark.parametrize(
    ("shape", "real", "devices"), [((12,), True, 1), ((12, 16), False, 4), ((12, 10, 8), True, 4)], ids=str
)
def test_a_batch_of_none_gives_none(make_grid, shape, real, devices):
    """Under `vmap` too, and for functions of fields and gradients."""
    grid = make_grid(shape, devices=devices, real=real)
    transform = sw.fft.Transform(grid)
    square = lambda u_hat: transform.pointwise(lambda u: u * u, u_hat)  # noqa: E731
    size = lambda u_hat: jnp.sum(jnp.abs(square(u_hat)) ** 2)  # noqa: E731
    u = jnp.zeros((0, 2, *grid.physical_shape), grid.physical_dtype)
    u_hat = jnp.zeros((0, 2, *grid.spectral_shape), grid.complex_dtype)
    for fn, given, needed in [
        (transform.forward, u, u_hat), (transform.inverse, u_hat, u), (square, u_hat, u_hat),
        (jax.grad(size), u_hat, u_hat),
    ]:  # fmt: skip
        for apply in (jax.vmap(fn), jax.jit(jax.vmap(fn))):
            result = apply(given)
            assert (result.shape, result.dtype) == (needed.shape, needed.dtype)


@pytest.mark.parametrize("devices", [1, 4])
def test_transforms_run_where_jit_is_disabled(make_grid, devices):
    grid = make_grid((12, 16), devices=devices)
    transform = sw.fft.Transform(grid)
    x, y = (np.arange(n) * 2 * np.pi / n for n in (12, 16))
    u = np.cos(x)[:, None] * np.sin(2 * y)
    with jax.disable_jit():
        u_hat = transform.pointwise(lambda u: u * u, transform.forward(jnp.asarray(u)[None]))
        np.testing.assert_allclose(transform.inverse(u_hat)[0], u**2, atol=1e-14)
        gradient = jax.grad(lambda u: jnp.sum(transform.inverse(transform.forward(u)) ** 2))(jnp.asarray(u))
    np.testing.assert_allclose(gradient, 2 * u, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(12, 10), (8, 6, 10)])
def test_a_batch_is_exported_without_its_size(make_grid, shape):
    """`jax.export` with a symbol for the number of fields in a batch: one program for any number."""
    transform = sw.fft.Transform(make_grid(shape, devices=1))
    square = lambda v: transform.pointwise(lambda u: u * u, transform.forward(v))  # noqa: E731
    program = jax.jit(jax.vmap(lambda v: transform.inverse(square(v))))
    (batch,) = jax.export.symbolic_shape("b")
    kept = jax.export.export(program)(jax.ShapeDtypeStruct((batch, 2, *shape), jnp.float64))
    for count in (1, 3):
        u = np.random.default_rng(count).standard_normal((count, 2, *shape))
        np.testing.assert_allclose(kept.call(u), program(u), atol=1e-12)


def test_a_batch_without_a_size_is_refused_on_several_devices(make_grid):
    transform = sw.fft.Transform(make_grid((12, 10), devices=2))
    (batch,) = jax.export.symbolic_shape("b")
    with pytest.raises(ValueError, match="on 2 devices: a program for one device may leave its size open"):
        jax.export.export(jax.jit(jax.vmap(transform.forward)))(jax.ShapeDtypeStruct((batch, 12, 10), jnp.float64))
