"""Engines, chunks, fields per exchange, and functions of fields in one operation: the same result another way."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import all_to_all_bytes, collectives, random_field
from jax.test_util import check_grads

import solver as sw
from solver.fft import loops
from solver.grid import Layout
from solver.mesh import across_hosts

pytestmark = pytest.mark.slow

MESHES = {"slab": (4, 1), "pencil": (4, 2)}


PAIRS = [  # every two of mesh, dealiasing and kind meet
    (mesh, *rest)
    for i, mesh in enumerate(MESHES)
    for rest in ([("two-thirds", True), ("none", False)] if i % 2 else [("none", True), ("two-thirds", False)])
]


@pytest.mark.parametrize(("mesh", "dealias", "real"), PAIRS, ids=str)
def test_engines_agree_to_round_off(make_grid, mesh, dealias, real):
    grid = make_grid((16, 24, 8), mesh_shape=MESHES[mesh], dealias=dealias, real=real)
    ours = sw.fft.Transform(grid)
    u = random_field(grid)
    u_hat, weights = ours.forward(u), jax.random.normal(jax.random.key(1), grid.spectral_shape)

    def energy(v, transform):
        return jnp.sum(weights * jnp.abs(transform.forward(v)) ** 2)

    gradient = jax.grad(energy)(u, ours)
    for engine in ("shard_map", "jaxdecomp"):
        other = sw.fft.Transform(grid, sw.fft.Method(engine))
        np.testing.assert_allclose(other.forward(u), u_hat, atol=1e-16)
        np.testing.assert_allclose(other.inverse(u_hat), ours.inverse(u_hat), atol=1e-14)
        np.testing.assert_allclose(jax.grad(energy)(u, other), gradient, atol=1e-16)
        np.testing.assert_allclose(jax.vmap(other.forward)(u), u_hat, atol=1e-16)


def test_the_engine_is_the_one_asked_for(make_grid):
    grid = make_grid((16, 24, 8), mesh_shape=(4, 1))
    u = random_field(grid, ())
    lowered = {
        engine: jax.jit(sw.fft.Transform(grid, sw.fft.Method(engine)).forward).lower(u).as_text()
        for engine in sw.fft.ENGINES
    }
    assert "CustomSPMDPartitioning" in lowered["slabwave"]
    assert "CustomSPMDPartitioning" not in lowered["shard_map"]
    assert "manual_computation" in lowered["shard_map"]
    # jaxdecomp moves all modes, before they are truncated, and splits others than we do
    assert sum(all_to_all_bytes(jax.jit(sw.fft.Transform(grid).forward).lower(u).compile().as_text())) * 2 < sum(
        all_to_all_bytes(
            jax.jit(sw.fft.Transform(grid, sw.fft.Method("jaxdecomp")).forward).lower(u).compile().as_text()
        )
    )


def test_jaxdecomp_refuses_what_it_cannot_do(make_grid):
    with pytest.raises(ValueError, match=r"device_mesh\(shape=\(4, 1\)\)"):
        sw.fft.Transform(make_grid((16, 16, 16), devices=4), sw.fft.Method("jaxdecomp"))
    with pytest.raises(ValueError, match=r"it must divide \[10\]; the engine 'slabwave' pads"):
        sw.fft.Transform(make_grid((16, 16, 10), mesh_shape=(4, 1)), sw.fft.Method("jaxdecomp"))
    with pytest.raises(ValueError, match="three dimensions only"):
        sw.fft.Transform(make_grid((16, 16), devices=4), sw.fft.Method("jaxdecomp"))


# ---- exchanges --------------------------------------------------------------------------------------------------


def test_fields_per_exchange(make_grid):
    whole = make_grid((16, 12, 10), devices=4)
    u = random_field(whole, (5,))
    expected = sw.fft.Transform(whole).forward(u)
    for fields, exchanges in ((1, 5), (2, 3), (5, 1), (7, 1)):
        transform = sw.fft.Transform(whole, sw.fft.Method(fields=fields))
        np.testing.assert_array_equal(transform.forward(u), expected)
        text = jax.jit(transform.forward).lower(u).compile().as_text()
        sent = all_to_all_bytes(text)
        assert len(sent) == exchanges
        assert sum(sent) * 4 * 3 // 4 == 5 * whole.layout.exchange_bytes()
        assert collectives(transform.inverse, expected) == {"all-to-all": exchanges}


@pytest.mark.parametrize(("fields", "exchanges"), [("auto", 4), (2, 10), (1, 16)])
def test_exchanges_of_waves(make_grid, fields, exchanges):
    """Three fields and five products in two waves; each sends what it would, and as much altogether."""
    grid = make_grid((16, 12, 10), devices=4)
    u_hat = sw.fft.Transform(grid).forward(random_field(grid, (3,)))

    def products(u):
        return jnp.stack([u[0] * u[0] - u[1] * u[1], u[0] * u[1], u[1] * u[2], u[2] * u[0], jnp.sin(u[2])])

    expected = sw.fft.Transform(grid).pointwise(products, u_hat)
    transform = sw.fft.Transform(grid, sw.fft.Method(fields=fields, waves=2))
    run = jax.jit(lambda v: transform.pointwise(products, v))
    np.testing.assert_allclose(run(u_hat), expected, atol=1e-15)
    sent = all_to_all_bytes(run.lower(u_hat).compile().as_text())
    assert len(sent) == exchanges
    assert sum(sent) * 4 * 3 // 4 == 8 * grid.layout.exchange_bytes()
    calls = sw.fft.transforms_in(jax.make_jaxpr(run)(u_hat))
    assert sum(call.exchanges for call in calls) == exchanges


def test_what_auto_means_on_gpus():
    """Many points or few on each device, of one host or of several."""
    many, few = Layout((256, 256, 256), "two-thirds", True, 16), Layout((128, 128, 128), "two-thirds", True, 16)
    auto = sw.fft.Method()
    assert [auto.most_fields(layout, gpu) for layout in (many, few) for gpu in (True, False)] == [1, None, None, None]
    assert [auto.waves_on(layout, across) for layout in (many, few) for across in (True, False)] == [2, 1, 1, 1]
    assert auto.waves_on(Layout((256, 256, 256), "two-thirds", True, 4, 4), across=True) == 3
    assert sw.fft.Method(waves=99).waves_on(few, across=False) == 8, "as many as a device has planes"
    for method in (sw.fft.Method(chunks=2), sw.fft.Method("jaxdecomp")):
        assert method.waves_on(many, across=True) == 1
    assert auto.waves_on(Layout((256, 256, 256), "two-thirds", True), across=True) == 1, "nothing is exchanged"


def test_hosts_are_told_apart_by_their_links():
    def mesh(platform, groups, names=("slab",), told_by="partition_index"):
        device = lambda i, group: types.SimpleNamespace(platform=platform, id=i, **{told_by: group})  # noqa: E731
        mesh = object.__new__(jax.sharding.Mesh)
        of_groups = np.array([device(i, int(group)) for i, group in enumerate(np.ravel(groups))])
        object.__setattr__(mesh, "devices", of_groups.reshape(np.shape(groups)))
        object.__setattr__(mesh, "axis_names", names)
        return mesh

    assert across_hosts(mesh("gpu", [0, 0, 1, 1]))
    assert across_hosts(mesh("gpu", [0, 0, 1, 1], told_by="slice_index"))
    assert not across_hosts(mesh("gpu", [1, 1]))
    assert not across_hosts(mesh("gpu", [0, 1], told_by="something"))
    assert not across_hosts(mesh("cpu", [0, 1])), "processes on CPUs have no kernels to put beside"
    assert not across_hosts(sw.device_mesh())
    of_members = [[0, 0], [1, 1]]
    assert not across_hosts(mesh("gpu", of_members, ("member", "slab"))), "each on a host of its own"
    assert across_hosts(mesh("gpu", of_members, ("slab", "member")))


@pytest.mark.parametrize(
    "options", [{"waves": 0}, {"waves": 2, "chunks": 2}, {"waves": 2, "engine": "jaxdecomp"}], ids=str
)
def test_waves_that_cannot_be(make_grid, options):
    grid = make_grid((16, 16, 16), mesh_shape=(4, 1))
    with pytest.raises(ValueError, match="one or more are needed" if len(options) == 1 else "waves=1 or chunks=1 is"):
        sw.fft.Transform(grid, sw.fft.Method(**options))


@pytest.mark.parametrize("shape", [(16, 12, 10), (13, 11, 9)], ids=str)
@pytest.mark.parametrize("engine", ["slabwave", "shard_map"])
def test_chunks_change_no_bit(make_grid, shape, engine):
    grid = make_grid(shape, devices=2)
    u = random_field(grid)
    whole, chunked = sw.fft.Transform(grid), sw.fft.Transform(grid, sw.fft.Method(engine, chunks=3))
    u_hat = whole.forward(u)
    np.testing.assert_array_equal(chunked.forward(u), u_hat)
    np.testing.assert_array_equal(chunked.inverse(u_hat), whole.inverse(u_hat))


def real_fields(transform, argument):
    """Output and scratch of one device, in real fields of its share."""
    memory = jax.jit(transform).lower(argument).compile().memory_analysis()
    grid = transform.__self__.grid
    share = 8 * np.prod(grid.physical_shape) / grid.mesh.size
    return (memory.output_size_in_bytes + memory.temp_size_in_bytes) / share


@pytest.mark.parametrize("devices", [2, 8])
def test_memory_of_an_unbatched_transform(make_grid, devices, monkeypatch):
    monkeypatch.setattr(loops, "BLOCK_BYTES", 2**17)  # blocks small beside a device's share, as on larger grids
    pruned = sw.fft.Transform(make_grid((128, 128, 128), devices=devices))
    u = jax.ShapeDtypeStruct(pruned.grid.physical_shape, float, sharding=pruned.grid.physical_sharding())
    u_hat = jax.ShapeDtypeStruct(pruned.grid.spectral_shape, complex, sharding=pruned.grid.spectral_sharding())
    assert real_fields(pruned.forward, u) < 1.5
    assert real_fields(pruned.inverse, u_hat) < 2.1
    whole = sw.fft.Transform(
        make_grid((128, 128, 128), devices=devices, dealias="none"), sw.fft.Method(chunks=64 // devices)
    )
    u_hat = jax.ShapeDtypeStruct(whole.grid.spectral_shape, complex, sharding=whole.grid.spectral_sharding())
    assert real_fields(whole.forward, u) < 2.4
    assert real_fields(whole.inverse, u_hat) < 2.4


@pytest.mark.parametrize("shape", [(14, 12, 10), (42, 36)], ids=str)
def test_blocks_of_any_size_give_the_same(make_grid, monkeypatch, shape):
    """Blocks that do not divide the planes overlap; so small a grid is otherwise one block.

    To round-off: jax 0.12 transforms what is left of the lines of a block by other instructions.
    """
    grid = make_grid(shape, devices=2)
    u = random_field(grid)
    results = []
    for size in (1, 2000, 7000, 2**30):
        monkeypatch.setattr(loops, "BLOCK_BYTES", size)
        transform = sw.fft.Transform(grid)
        forward, inverse = jax.jit(lambda v: transform.forward(v)), jax.jit(lambda v: transform.inverse(v))  # noqa: B023
        u_hat = results[0][0] if results else forward(u)
        results.append((forward(u), inverse(u_hat), jax.jit(lambda v: transform.pointwise(_square, v))(u_hat)))  # noqa: B023
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=3e-15)


# ---- functions of fields ----------------------------------------------------------------------------------------


def _square(u):
    return u * u


def _products(u):
    return jnp.stack([u[0] * u[1], jnp.sin(u[0]), u[1]])


@pytest.mark.parametrize(
    ("shape", "mesh", "real"),
    [((16, 12, 10), (2, 2), True), ((12, 10), (2, 1), False)],
    ids=["pencils", "2-D, complex"],
)
def test_a_function_of_fields_equals_the_three_calls(make_grid, shape, mesh, real):
    options = {"devices": mesh[0]} if mesh[1] == 1 else {"mesh_shape": mesh}
    grid = make_grid(shape, real=real, **options)
    transform = sw.fft.Transform(grid)
    u_hat = transform.forward(random_field(grid))

    def composed(v):
        return transform.forward(_products(transform.inverse(v)))

    def whole(v):
        return transform.pointwise(_products, v)

    expected = composed(u_hat)
    np.testing.assert_allclose(whole(u_hat), expected, atol=1e-16)
    np.testing.assert_allclose(jax.jit(whole)(u_hat), expected, atol=1e-16)
    exchanges = 2 * (2 if mesh[1] > 1 else 1)
    assert collectives(whole, u_hat) == {"all-to-all": exchanges}
    batch = jnp.stack([u_hat, 2 * u_hat])
    np.testing.assert_allclose(jax.vmap(whole)(batch)[1], composed(2 * u_hat), atol=1e-16)
    assert collectives(jax.vmap(whole), batch) == {"all-to-all": exchanges}
    direction = transform.forward(random_field(grid, seed=1))
    np.testing.assert_allclose(
        jax.jvp(whole, (u_hat,), (direction,))[1], jax.jvp(composed, (u_hat,), (direction,))[1], atol=1e-15
    )
    np.testing.assert_allclose(
        jax.vjp(whole, u_hat)[1](expected)[0], jax.vjp(composed, u_hat)[1](expected)[0], atol=1e-15
    )


def test_gradient_of_a_function_of_fields(make_grid):
    grid = make_grid((6, 4, 5), devices=2, dealias="none")
    transform = sw.fft.Transform(grid)
    to_modes = lambda v: transform.pointwise(_products, transform.forward(v))  # noqa: E731
    check_grads(to_modes, (random_field(grid),), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)


def test_a_function_that_changes_the_points_is_refused(make_grid):
    transform = sw.fft.Transform(make_grid((16, 12, 10), devices=4))
    u_hat = transform.forward(random_field(transform.grid))
    with pytest.raises(ValueError, match="sum is not pointwise: its operation reduce_sum mixes points"):
        transform.pointwise(jnp.sum, u_hat)
    with pytest.raises(ValueError, match="the same points and float64 are needed"):
        transform.pointwise(jnp.isfinite, u_hat)
