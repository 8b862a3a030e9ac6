"""Exchanges that send fewer bits than the grid's numbers have: how much they round, and what they leave alone."""

import functools
import re

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import all_to_all_bytes, numpy_coefficients, random_field, refused_in_one_line
from jax.sharding import AxisType

import solver as sw
from solver.fft import Method, forward_local, wire

ROUNDING = {"float32": 2.0**-24, "float16": 2.0**-11}  # of one number, relative to it, at most
SENT = [("float64", "float32"), ("float64", "float16"), ("float32", "float16")]  # the grid's precision, what is sent
MESHES = {"slabs": (4, 1), "pencils": (2, 2)}


def relative(u, reference):
    return np.linalg.norm(np.asarray(u) - reference) / np.linalg.norm(reference)


def is_rounded(error, precision, exchanges=1):
    """Whether an L2 error is that of so many roundings: on average one is 0.2 to 0.6 of the largest."""
    return 0.15 * ROUNDING[precision] < error < 0.8 * ROUNDING[precision] * np.sqrt(exchanges)


def exchange_on(devices, pieces, precision):
    """What `devices` devices receive: `[receiver, sender, …]` of pieces `[sender, receiver, …]`."""
    run = jax.shard_map(
        lambda p: wire.all_to_all(p[0], "slab", precision, 3)[None],
        mesh=sw.device_mesh(range(devices)), in_specs=jax.P("slab"), out_specs=jax.P("slab"),
    )  # fmt: skip
    return np.asarray(jax.jit(run)(pieces))


# ---- how much is rounded ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grid_precision", "sent", "mesh", "real"),
    [
        ("float64", "float32", "slabs", True), ("float64", "float16", "pencils", True),
        ("float64", "float16", "slabs", True), ("float32", "float16", "pencils", False),
    ],
    ids=str,
)  # fmt: skip
def test_transforms_are_rounded_once_for_each_exchange(make_grid, grid_precision, sent, mesh, real):
    grid = make_grid((14, 12, 10), mesh_shape=MESHES[mesh], precision=grid_precision, real=real)
    transform, exact = sw.fft.Transform(grid, Method(precision=sent)), sw.fft.Transform(grid)
    u = random_field(grid)
    u_hat = numpy_coefficients(np.asarray(u, np.complex128 if not real else np.float64), grid)
    n = grid.layout.logical_spectral_shape
    exchanges = 1 if mesh == "slabs" else 2
    ours = np.asarray(transform.forward(u))[:, : n[0], : n[1], : n[2]]
    assert is_rounded(relative(ours, u_hat), sent, exchanges)
    coefficients = exact.forward(u)
    back = np.asarray(exact.inverse(coefficients))
    assert is_rounded(relative(transform.inverse(coefficients), back), sent, exchanges)


WAYS = {
    "shard_map": ((12, 10, 8), Method("shard_map"), AxisType.Auto),
    "chunks": ((12, 10, 8), Method(chunks=2), AxisType.Auto),
    "waves": ((16, 10, 8), Method(waves=2), AxisType.Auto),
    "two dimensions": ((12, 10), Method(), AxisType.Auto),
    "Explicit axes": ((12, 10, 8), Method(), AxisType.Explicit),
}


def square(u):
    return u * u


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_exchanging_sends_what_it_is_asked_for(make_grid, way):
    shape, method, axis_type = WAYS[way]
    grid = make_grid(shape, devices=4, axis_type=axis_type)
    sends = {p: sw.fft.Transform(grid, Method(**{**vars(method), "precision": p})) for p in ("grid", "float16")}
    u_hat = sends["grid"].forward(random_field(grid))
    results = {p: np.asarray(transform.pointwise(square, u_hat)) for p, transform in sends.items()}
    assert is_rounded(relative(results["float16"], results["grid"]), "float16", 3)  # the square doubles the first
    program = jax.jit(lambda v: sends["float16"].pointwise(square, v)).lower(u_hat).compile().as_text()
    assert set(re.findall(r"%all-to-all\S* = \(*(\w+)\[", program)) == {"u32"}


def test_what_is_exported_sends_the_same(make_grid):
    grid = make_grid((8, 8, 8), devices=4)
    transform, u = sw.fft.Transform(grid, Method(precision="float16")), random_field(grid)
    kept = jax.export.export(jax.jit(transform.forward))(u)
    assert "xui32>" in re.search(r"all_to_all.*", kept.mlir_module())[0]
    np.testing.assert_array_equal(kept.call(u), transform.forward(u))


# ---- what is not rounded ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", ROUNDING)
def test_one_device_rounds_nothing(make_grid, sent):
    grid = make_grid((8, 10, 6), devices=1)
    u = random_field(grid)
    transform = sw.fft.Transform(grid, Method(precision=sent))
    np.testing.assert_array_equal(transform.forward(u), sw.fft.Transform(grid).forward(u))


def test_float32_on_a_float32_grid_is_the_grids_own(make_grid):
    grid = make_grid((8, 10, 6), devices=4, precision="float32")
    u, narrow = random_field(grid), sw.fft.Transform(grid, Method(precision="float32"))
    np.testing.assert_array_equal(narrow.forward(u), sw.fft.Transform(grid).forward(u))
    assert narrow.method.rounding(8, grid.layout) is None


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_infinities_and_nan_arrive_as_such_and_harm_no_neighbour(dtype):
    pieces = np.random.default_rng(0).normal(size=(2, 2, 1, 2, 3, 4)).astype(dtype)
    pieces[0, 1, 0, 0, 0, :3] = [complex(np.nan, 1), complex(2, np.inf), complex(-np.inf, 3)]
    received = exchange_on(2, pieces, "float16")
    expected = np.swapaxes(pieces, 0, 1)
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(received), part(expected), rtol=ROUNDING["float16"])


def test_zeros_stay_zeros_beside_blocks_of_any_size():
    """Each block has a scale of its own, whose power of two is itself a number: 2^1031 would not be one."""
    pieces = np.ones((2, 2, 1, 1, 1, 3), np.complex128) * np.array([1, 0.1 - 0.3j, 0])
    sizes = np.array([[0.0, 1e300], [1e-306, 1.0]]).reshape(2, 2, 1, 1, 1, 1)
    received = exchange_on(2, pieces * sizes, "float16")
    expected = np.swapaxes(pieces * sizes, 0, 1)
    np.testing.assert_array_equal(received[0, 0], 0)
    np.testing.assert_allclose(received.real, expected.real, rtol=ROUNDING["float16"])
    np.testing.assert_allclose(received.imag, expected.imag, rtol=ROUNDING["float16"])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_numbers_far_below_the_largest_keep_their_digits(dtype):
    """Those down to 2^-28 of the largest are normal numbers of float16."""
    small = np.logspace(0, -8.4, 24).astype(dtype).reshape(1, 1, 1, 24) * (1 + 0.7j)
    pieces = np.broadcast_to(3e4 * small, (2, 2, 1, 1, 1, 24)).astype(dtype)
    received = exchange_on(2, pieces, "float16")
    np.testing.assert_allclose(received.real, np.swapaxes(pieces, 0, 1).real, rtol=ROUNDING["float16"])
    np.testing.assert_allclose(received.imag, np.swapaxes(pieces, 0, 1).imag, rtol=ROUNDING["float16"])


@pytest.mark.slow
def test_fields_and_members_have_scales_of_their_own(make_grid):
    grid = make_grid((8, 8, 8), devices=4)
    transform = sw.fft.Transform(grid, Method(precision="float16"))
    u = random_field(grid, (3,))
    others = u * jnp.array([1.0, 1e9, 0.0]).reshape(3, 1, 1, 1)
    alone = np.asarray(jax.jit(transform.forward)(u))
    for together in (jax.jit(transform.forward)(others), jax.jit(jax.vmap(transform.forward))(others)):
        np.testing.assert_array_equal(together[0], alone[0])
    squares = jax.jit(jax.vmap(lambda v: transform.pointwise(square, v)))
    np.testing.assert_array_equal(squares(jnp.asarray(alone))[0], squares(transform.forward(others))[0])


# ---- bytes ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "itemsize", "scales"), [("grid", 16, 0), ("float32", 8, 0), ("float16", 4, 1)])
@pytest.mark.parametrize("mesh", MESHES)
def test_bytes_in_the_program_are_those_counted(make_grid, mesh, sent, itemsize, scales):
    grid = make_grid((16, 12, 8), mesh_shape=MESHES[mesh])
    method, u = Method(precision=sent), random_field(grid)
    transform = sw.fft.Transform(grid, method)
    (call,) = sw.fft.transforms_in(jax.make_jaxpr(transform.forward)(u))
    assert call.exchanged_bytes == 2 * grid.layout.exchange_bytes(itemsize)
    handled = all_to_all_bytes(jax.jit(transform.forward).lower(u).compile().as_text())
    members, exchanges = MESHES[mesh][0], 1 if mesh == "slabs" else 2
    assert len(handled) == call.exchanges == exchanges, "no message more than without scales"
    data = sum(handled) - 4 * scales * 2 * members * exchanges  # 4 bytes for each of two fields of each piece
    assert data * 4 * (members - 1) // members == call.exchanged_bytes


# ---- derivatives ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("grid_precision", "sent"), SENT, ids=str)
def test_gradients_are_rounded_like_transforms(make_grid, grid_precision, sent):
    grid = make_grid((8, 12, 10), devices=4, precision=grid_precision)
    u = random_field(grid, (1,))

    def loss(v, method):
        transform = sw.fft.Transform(grid, method)
        return jnp.sum(jnp.abs(transform.pointwise(square, transform.forward(v))) ** 2)

    exact, ours = (np.asarray(jax.grad(loss)(u, Method(precision=p))) for p in ("grid", sent))
    assert 0.3 * ROUNDING[sent] < relative(ours, exact) < 4 * ROUNDING[sent]


def test_gradients_of_the_local_steps_pass_through_float16(make_grid):
    grid = make_grid((8, 8, 8), devices=4)
    u = random_field(grid, ())

    def loss(v, precision):
        run = functools.partial(forward_local, layout=grid.layout, axis_name="slab", precision=precision)
        modes = jax.shard_map(run, mesh=grid.mesh, in_specs=jax.P("slab"), out_specs=jax.P("slab"), check_vma=False)(v)
        return jnp.sum(jnp.abs(modes) ** 4)

    exact, ours = (np.asarray(jax.jit(jax.grad(loss), static_argnums=1)(u, p)) for p in ("grid", "float16"))
    assert 0.3 * ROUNDING["float16"] < relative(ours, exact) < 4 * ROUNDING["float16"]


# ---- runs -------------------------------------------------------------------------------------------------------


@pytest.fixture
def advance(make_grid, tmp_path):
    def run(end, devices=4, precision="float16", directory="whole", step=0.01, **options):
        grid = make_grid((12, 10), devices=devices)
        flow = sw.equations.NavierStokes(grid, 0.02, method=Method(precision=precision))
        stepper, noise = sw.steppers.IFRK2(), np.random.default_rng(0).normal(size=(2, 12, 10))
        return sw.run(
            flow, stepper, sw.initial_state(flow, stepper, jnp.asarray(noise)), end=end, step=step,
            outputs=[sw.outputs.Checkpoints(every_steps=5)], directory=tmp_path / directory, **options,
        )  # fmt: skip

    return run


@pytest.mark.slow
def test_a_continued_run_has_the_bits_of_the_undisturbed_one(advance, tmp_path):
    whole = advance(0.1)
    advance(0.05, directory="parts")
    parts = advance(0.1, directory="parts", resume=True)
    np.testing.assert_array_equal(parts.field["velocity"], whole.field["velocity"])
    log = (tmp_path / "parts" / "log.txt").read_text()
    assert log.count("exchanges in float16 on 4 devices: results depend on the number of devices") == 2
    assert "comes from" not in log


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "goes_on"),
    [
        ({"devices": 2}, "exchanges in float16 on 2 devices"),
        ({"precision": "grid"}, "exchanges in the grid's precision"),
    ],
    ids=str,
)
def test_a_run_continued_with_other_exchanges_says_so_once(advance, tmp_path, change, goes_on):
    advance(0.05)
    advance(0.1, resume=True, **change)
    log = (tmp_path / "whole" / "log.txt").read_text()
    assert log.count("comes from") == 1
    assert f"step-00000005 comes from exchanges in float16 on 4 devices; this run goes on with {goes_on}" in log


@pytest.mark.slow
def test_the_start_and_fields_at_the_points_are_not_rounded(make_grid):
    grid = make_grid((12, 10), devices=4)
    values = {"velocity": random_field(grid, (2,))}
    flows = [sw.equations.NavierStokes(grid, 0.02, method=Method(precision=p)) for p in ("grid", "float16")]
    exact, ours = (flow.from_physical(values)["velocity"] for flow in flows)
    np.testing.assert_array_equal(ours, exact)
    exact, ours = (flow.to_physical({"velocity": exact})["velocity"] for flow in flows)
    np.testing.assert_array_equal(ours, exact)


def test_what_results_depend_on_is_the_split_of_several_devices(make_grid):
    method = Method(precision="float16")
    layouts = [make_grid((8, 8, 8), mesh_shape=shape).layout for shape in ((4, 1), (2, 2))]
    assert method.rounding(16, layouts[0]) != method.rounding(16, layouts[1])
    assert method.rounding(16, make_grid((8, 8, 8), devices=1).layout) is None
    assert Method(precision="float32").rounding(8, layouts[0]) is None


@pytest.mark.thorough
@pytest.mark.slow
def test_a_tolerance_below_the_rounding_is_refused(advance):
    with refused_in_one_line("tolerance 1e-06 with exchanges in float16.*0.0001 or more is needed"):
        advance(0.05, step=None, tolerance=1e-6)
    advance(0.01, step=None, tolerance=1e-3)


# ---- errors -----------------------------------------------------------------------------------------------------


def test_other_precisions_and_engines_are_refused(make_grid):
    with refused_in_one_line("precision 'bfloat16' of what is sent: grid, float32, float16 are there"):
        sw.fft.Transform(make_grid((8, 8, 8), devices=4), Method(precision="bfloat16"))
    with refused_in_one_line("engine 'jaxdecomp': it sends numbers as they are; precision='grid' or the engine"):
        sw.fft.Transform(make_grid((8, 8, 8), mesh_shape=(4, 1)), Method("jaxdecomp", precision="float16"))
