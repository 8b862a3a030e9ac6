"""Any sizes on any mesh: uneven sides, pencils, Explicit axes, input from elsewhere, NumPy's arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import all_to_all_bytes, collectives, numpy_coefficients, random_field
from jax.sharding import AxisType
from jax.test_util import check_grads

import solver as sw

pytestmark = pytest.mark.slow

SPLITS = [  # shape, sides of the mesh: unequal, odd and prime sides, and counts that divide nothing
    ((15, 9, 7), (3,)),
    ((13, 11, 17), (4,)),
    ((17, 19, 16), (8,)),
    ((15, 13), (4,)),
    ((16, 12, 10), (4, 2)),
    ((15, 9, 7), (2, 3)),
    ((13, 17, 11), (3, 2)),
    ((16, 12, 10), (1, 4)),
]


PAIRS = [  # every two of split, dealiasing and kind meet
    (*split, *rest)
    for i, split in enumerate(SPLITS)
    for rest in ([("two-thirds", True), ("none", False)] if i % 2 else [("none", True), ("two-thirds", False)])
]


def on_mesh(make_grid, shape, mesh, **options):
    return make_grid(shape, **({"devices": mesh[0]} if len(mesh) == 1 else {"mesh_shape": mesh}), **options)


@pytest.mark.parametrize(("shape", "mesh", "dealias", "real"), PAIRS, ids=str)
def test_any_sizes_on_any_mesh_agree_with_numpy(make_grid, shape, mesh, dealias, real):
    if dealias == "two-thirds" and mesh == (1, 4) and real:
        dealias = "three-halves"  # two-thirds keeps three kz of ten points: fewer than four pencils
    grid = on_mesh(make_grid, shape, mesh, dealias=dealias, real=real)
    transform = sw.fft.Transform(grid)
    u = random_field(grid)
    u_hat = np.asarray(transform.forward(u))
    inside = (..., *(slice(0, n) for n in grid.layout.logical_spectral_shape))
    np.testing.assert_allclose(u_hat[inside], numpy_coefficients(u, grid), atol=1e-15)
    assert np.abs(u_hat).sum() == pytest.approx(np.abs(u_hat[inside]).sum(), rel=1e-14), "padding must be zero"
    kept = transform.inverse(u_hat)
    assert kept.shape == u.shape
    np.testing.assert_allclose(transform.inverse(transform.forward(kept)), kept, atol=1e-14)
    if dealias == "none":
        np.testing.assert_allclose(kept, u, atol=1e-14)


@pytest.mark.parametrize(("shape", "mesh"), [((13, 11, 9), (3,)), ((15, 9, 7), (2, 3))], ids=str)
def test_gradients_of_uneven_sides(make_grid, shape, mesh):
    grid = on_mesh(make_grid, shape, mesh)
    transform = sw.fft.Transform(grid)
    u = random_field(grid, ())
    check_grads(transform.forward, (u,), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)
    check_grads(transform.inverse, (transform.forward(u),), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)


def test_garbage_in_padded_planes_is_never_seen(make_grid):
    """A function of fields may give anything on planes that do not exist: there the field is zero."""
    grid = make_grid((13, 12, 10), devices=4)
    u_hat = sw.fft.Transform(grid).forward(3 + random_field(grid, ()) / 10)
    transform = sw.fft.Transform(grid)
    np.testing.assert_allclose(
        transform.pointwise(_reciprocal, u_hat), transform.forward(1 / transform.inverse(u_hat)), atol=1e-15
    )


def _reciprocal(u):
    return 1 / u


def test_pencils_make_two_exchanges_of_the_bytes_in_the_formula(make_grid):
    grid = make_grid((48, 32, 40), mesh_shape=(4, 2))
    transform = sw.fft.Transform(grid)
    u = random_field(grid, ())
    assert collectives(transform.forward, u) == {"all-to-all": 2}
    assert collectives(transform.inverse, transform.forward(u)) == {"all-to-all": 2}
    assert collectives(transform.forward, random_field(grid, (3,))) == {"all-to-all": 2}, "a batch shares exchanges"
    sent = all_to_all_bytes(jax.jit(transform.forward).lower(u).compile().as_text())
    within, across = 16 * 48 * 32 * 14, 16 * 48 * 24 * 14  # of all modes kz; of kz and ky, padded to four parts
    assert sorted(sent) == [across // 8, within // 8]
    assert grid.layout.exchange_bytes() == within // 2 + across * 3 // 4


@pytest.mark.parametrize(("shape", "mesh"), [((15, 9, 7), (3,)), ((16, 12, 10), (4, 2))], ids=str)
def test_explicit_axes_give_the_same_with_the_same_exchanges(make_grid, shape, mesh):
    results = []
    for axis_type in (AxisType.Auto, AxisType.Explicit):
        grid = on_mesh(make_grid, shape, mesh, axis_type=axis_type)
        transform = sw.fft.Transform(grid)
        u = jax.device_put(np.random.default_rng(0).normal(size=shape), grid.physical_sharding())
        weights = jax.device_put(np.random.default_rng(1).normal(size=grid.spectral_shape), grid.spectral_sharding())

        def energy(v, transform=transform, weights=weights):
            return jnp.sum(weights * jnp.abs(transform.forward(v)) ** 2)

        with jax.set_mesh(grid.mesh):
            u_hat = transform.forward(u)
            assert u_hat.sharding.is_equivalent_to(grid.spectral_sharding(), 3)
            assert collectives(transform.forward, u) == {"all-to-all": len(mesh)}
            if len(set(grid.layout.padded_points) - set(shape)) == 0:  # uneven fields at rest are whole on each device
                assert collectives(transform.inverse, u_hat) == {"all-to-all": len(mesh)}
            twice = jax.vmap(transform.forward)(jnp.stack([u, u]))
            results.append([u_hat, transform.inverse(u_hat), jax.grad(energy)(u), jax.jit(jax.grad(energy))(u), twice])
    for automatic, explicit in zip(*results, strict=True):
        np.testing.assert_array_equal(automatic, explicit)


@pytest.mark.parametrize(("shape", "mesh"), [((16, 12), (4,)), ((15, 9, 7), (2, 2))], ids=str)
def test_other_grids_and_shells_over_explicit_axes(make_grid, shape, mesh):
    """What `resample` and `shell_spectrum` give over Auto axes, in `jit` and out of it, with no gather."""
    results = []
    for axis_type in (AxisType.Auto, AxisType.Explicit):
        grid = on_mesh(make_grid, shape, mesh, axis_type=axis_type)
        finer = sw.Grid(tuple(2 * n - 1 for n in shape), mesh=grid.mesh)
        u_hat = sw.fft.Transform(grid).forward(random_field(grid))
        both = lambda v, g=grid, f=finer: (sw.fft.resample(v, g, f), sw.diagnostics.shell_spectrum(v, g))  # noqa: E731
        assert collectives(lambda v, both=both: both(v)[1], u_hat) == {"all-reduce": 1}
        assert "all-gather" not in collectives(lambda v, both=both: both(v)[0], u_hat)
        for result in (both(u_hat), jax.jit(both)(u_hat)):
            assert result[0].sharding.is_equivalent_to(finer.spectral_sharding(len(shape) + 1), len(shape) + 1)
            results.append(result)
    for result in results[1:]:
        np.testing.assert_array_equal(result[0], results[0][0])
        np.testing.assert_allclose(result[1], results[0][1], rtol=1e-14)
    assert float(results[0][1].sum()) > 0.1


def test_scan_and_nested_maps(make_grid):
    grid = make_grid((12, 10, 8), devices=2, dealias="none")
    transform = sw.fft.Transform(grid)
    u = random_field(grid, (2, 3))
    there_and_back = lambda v, _: (transform.inverse(transform.forward(v)), None)  # noqa: E731
    np.testing.assert_allclose(jax.jit(lambda v: jax.lax.scan(there_and_back, v, None, length=3)[0])(u), u, atol=1e-14)
    mapped = jax.vmap(jax.vmap(transform.forward), in_axes=1)(u)  # over the second axis, then the first
    np.testing.assert_allclose(mapped, np.swapaxes(transform.forward(u), 0, 1), atol=1e-16)


def test_input_on_other_devices_is_brought_here(make_grid):
    grid = make_grid((16, 12, 10), devices=4)
    transform = sw.fft.Transform(grid)
    u = np.random.default_rng(0).normal(size=(16, 12, 10))
    expected = transform.forward(u)
    everywhere = jax.NamedSharding(sw.device_mesh(), jax.P("slab"))
    for there in (jax.devices()[0], jax.devices()[6], everywhere):
        np.testing.assert_array_equal(transform.forward(jax.device_put(u, there)), expected)


# ---- NumPy's names ----------------------------------------------------------------------------------------------

ORDER = {1: (0,), 2: (1, 0), 3: (1, 2, 0)}


@pytest.mark.parametrize(("shape", "norm"), [((15, 9, 7), "ortho"), ((13, 6), "backward")], ids=str)
def test_free_functions_take_any_size(shape, norm):
    mesh, d = sw.device_mesh(range(3)), len(shape)
    u = np.random.default_rng(0).normal(size=(2, *shape))
    last = tuple(range(1, d + 1))
    stored = (0, *(1 + axis for axis in ORDER[d]))
    options = {"axes": last, "norm": norm, "mesh": mesh}
    u_hat = sw.fft.rfftn(u, **options)
    np.testing.assert_allclose(u_hat, np.fft.rfftn(u, axes=last, norm=norm).transpose(stored), atol=1e-13)
    np.testing.assert_allclose(sw.fft.irfftn(u_hat, shape, norm=norm, mesh=mesh), u, atol=1e-14)
    c = u + 1j * np.roll(u, 1)
    c_hat = sw.fft.fftn(c, **options)
    np.testing.assert_allclose(c_hat, np.fft.fftn(c, axes=last, norm=norm).transpose(stored), atol=1e-13)
    np.testing.assert_allclose(sw.fft.ifftn(c_hat, **options), c, atol=1e-14)


def test_free_functions_take_numpys_arguments():
    mesh = sw.device_mesh(range(2))
    u = np.random.default_rng(0).normal(size=(6, 8, 4, 10))
    cut = np.fft.rfftn(u, s=(4, 6, 12), axes=(1, 2, 3)).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(sw.fft.rfftn(u, (4, 6, 12), (1, 2, 3), mesh=mesh), cut, atol=1e-13)
    swapped = np.fft.rfftn(u, axes=(3, 0))  # of the axes 3 and 0, in this order, 0 is the half axis
    ours = sw.fft.rfftn(u, axes=(3, 0), mesh=mesh)  # (1, 2, k0, k3)
    np.testing.assert_allclose(ours, swapped.transpose(1, 2, 0, 3), atol=1e-13)
    np.testing.assert_allclose(sw.fft.irfftn(sw.fft.rfftn(u, mesh=mesh), mesh=mesh), u, atol=1e-14)  # s from the shape
    np.testing.assert_allclose(sw.fft.rfftn(np.arange(9)), np.fft.rfft(np.arange(9)), atol=1e-13)


def test_free_functions_under_jit_and_grad():
    mesh = sw.device_mesh(range(3))
    u = np.random.default_rng(0).normal(size=(15, 9, 7))

    def energy(v):
        return jnp.sum(jnp.abs(sw.fft.rfftn(jnp.sin(v), mesh=mesh)) ** 2)

    dense = jax.grad(lambda v: jnp.sum(jnp.abs(jnp.fft.rfftn(jnp.sin(v))) ** 2))(u)
    np.testing.assert_allclose(jax.jit(jax.grad(energy))(u), dense, rtol=1e-11)


WRONG = {
    "too many": (lambda: sw.fft.rfftn(jnp.zeros((16, 5, 8))), r"8 slabs of the grid \[16, 5, 8\].*possible are 1 to 5"),
    "complex": (lambda: sw.fft.rfftn(jnp.zeros((8, 8), complex)), "fftn takes complex"),
    "axis": (lambda: sw.fft.rfftn(jnp.zeros((8, 8)), axes=(0, 2)), "distinct axes"),
    "four axes": (lambda: sw.fft.rfftn(jnp.zeros((8,) * 4), axes=(0, 1, 2, 3)), "one to three distinct axes"),
    "lengths": (lambda: sw.fft.rfftn(jnp.zeros((8, 8)), s=(8, 8), axes=(0,)), "as many lengths s"),
    "stored axes": (lambda: sw.fft.irfftn(jnp.zeros((8, 8, 8), complex), axes=(0, 1)), "are the last"),
    "stored shape": (
        lambda: sw.fft.irfftn(jnp.zeros((8, 8), complex), s=(16, 16)),
        r"needs the last axes to be \[9, 16\]",
    ),
    "NumPy's order": (
        lambda: sw.fft.irfftn(np.fft.rfftn(np.zeros((8, 8, 12))), s=(8, 8, 12)),
        r"in NumPy's order \(kx, ky, kz\); here they are \(ky, kz, kx\), \[8, 7, 8\]",
    ),
    "engine": (lambda: sw.fft.rfftn(jnp.zeros((16, 16)), engine="fftw"), "slabwave, shard_map, jaxdecomp are there"),
    "mesh": (
        lambda: sw.fft.rfftn(jnp.zeros((8, 8)), mesh=jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))),
        "needs one axis, named 'slab'",
    ),
    "mesh sides": (lambda: sw.device_mesh(shape=(3, 2)), r"mesh \[3, 2\] for 8 devices.*\[4, 2\]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        call()
