"""Boxes: retained modes, coordinates, wavenumbers, weights, and where they live."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.grid import Layout


@pytest.mark.parametrize(("n", "highest"), [(48, 15), (64, 21), (7, 2), (8, 2), (9, 2), (10, 3), (96, 31)])
def test_two_thirds_keeps_modes_strictly_below_a_third(n, highest):
    layout = Layout((n, n))
    assert layout.highest_mode(0) == highest == max(m for m in range(n) if 3 * m < n)
    assert set(layout.mode_numbers(0)) == set(range(-highest, highest + 1))
    assert list(layout.mode_numbers(1)) == list(range(highest + 1))


@pytest.mark.parametrize("n", [6, 7])
def test_none_keeps_every_mode_in_numpys_order(n):
    layout = Layout((n, n), "none", real=False)
    np.testing.assert_array_equal(layout.mode_numbers(0), np.fft.fftfreq(n) * n)
    np.testing.assert_array_equal(Layout((n, n), "none").mode_numbers(1), np.abs(np.fft.rfftfreq(n) * n))


def test_nyquist_modes_have_wavenumbers_but_no_derivatives():
    """Of even sides; the middle mode of an odd one stands for itself alone."""
    grid = sw.Grid((6, 7), lengths=(2 * np.pi, 2 * np.pi), dealias="none", mesh=sw.device_mesh([0]))
    kx, ky = (np.ravel(k) for k in grid.wavenumbers())
    dx, dy = (np.ravel(k) for k in grid.derivative_wavenumbers())
    assert np.abs(kx).max() == 3
    np.testing.assert_array_equal(dx, np.where(np.abs(kx) == 3, 0, kx))
    np.testing.assert_array_equal(dy, ky)
    assert ky.max() == 3


def test_the_smooth_filter_is_that_of_hou_and_li():
    """exp(−36 (2|n|/N)^36) of each number."""
    grid = sw.Grid((30, 16), dealias="smooth", mesh=sw.device_mesh([0]))
    found = np.asarray(grid.mode_filter()).reshape(grid.spectral_shape)
    nx, ny = (np.ravel(n) for n in grid.mode_numbers())
    wanted = np.prod(
        np.meshgrid(np.exp(-36 * np.abs(ny / 8) ** 36), np.exp(-36 * np.abs(nx / 15) ** 36), indexing="ij"), axis=0
    )
    wanted = wanted if found.shape == wanted.shape else wanted.T
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert 1e-3 < found[found < 0.99].max() < 0.99


def test_three_halves_counts_modes_and_forms_products_on_more_points():
    """3N/2 points of an even side, (3N − 1)/2 of an odd one: more than three times the highest mode."""
    layout = Layout((8, 12, 15), "three-halves")
    assert layout.points == (12, 18, 22)
    assert [layout.highest_mode(a) for a in (0, 1, 2)] == [3, 5, 7]


def test_an_axis_of_one_point_has_no_wavenumber(make_grid):
    grid = make_grid((8, 1, 10), devices=1, lengths=(1.0, 0.1, 2.0))
    assert grid.layout.retained == (5, 1, 4)
    assert grid.varying_axes == (0, 2)
    assert grid.k_max == 3 * np.pi  # not 0, of y
    assert sw.diagnostics.shell_width(grid) == 2 * np.pi  # not that of y


def test_padding_is_a_multiple_of_the_devices():
    layout = Layout((48, 32, 40), slabs=8)
    assert layout.logical_spectral_shape == (21, 14, 31)
    assert layout.spectral_shape == (24, 14, 31)


def test_more_parts_than_modes_are_refused_with_the_counts_that_work():
    assert Layout((32, 24, 16), slabs=15).spectral_shape == (15, 6, 21)
    with pytest.raises(ValueError, match=r"16 slabs of .* 32 planes along x and 15 retained ky; possible are 1 to 15"):
        Layout((32, 24, 16), slabs=16)
    with pytest.raises(ValueError, match=r"7 pencils in each slab of .* 6 retained kz; possible are 1 to 6"):
        Layout((32, 24, 16), slabs=2, pencils=7)
    with pytest.raises(ValueError, match="it is split in slabs only"):
        Layout((32, 24), slabs=2, pencils=2)


def test_pencils_pad_both_split_axes():
    layout = Layout((15, 13, 11), dealias="none", slabs=4, pencils=3)
    assert layout.padded_points == (16, 15, 11)
    assert layout.logical_spectral_shape == (13, 6, 15)
    assert layout.spectral_shape == (16, 6, 15)


@pytest.mark.parametrize("mesh", [(8, 1), (2, 4)])
def test_padding_counts_for_nothing_in_sums(make_grid, mesh):
    grid = make_grid((15, 13, 11), mesh_shape=mesh, dealias="none")
    weights = np.broadcast_to(grid.mode_weights(), grid.spectral_shape)
    inside = tuple(slice(0, n) for n in grid.layout.logical_spectral_shape)
    assert weights[inside].sum() == 15 * 13 * 11, "with a mode and its conjugate, all modes"
    assert weights.sum() == weights[inside].sum()


def test_coordinates_and_meshgrid_agree_and_are_split(make_grid):
    grid = make_grid((16, 24, 4), lengths=[1.0, 2.0, 3.0])
    for axis, (vector, full) in enumerate(zip(grid.coordinates(), grid.meshgrid(), strict=True)):
        n = grid.shape[axis]
        np.testing.assert_allclose(vector.ravel(), np.arange(n) * (axis + 1) / n)
        np.testing.assert_array_equal(np.broadcast_to(vector, grid.shape), full)
        assert {s.data.shape for s in full.addressable_shards} == {(2, 24, 4)}


def test_meshgrid_is_never_whole_on_a_device(make_grid):
    grid = make_grid((64, 24, 16))
    compiled = jax.jit(lambda: grid.meshgrid()[0] * 2, out_shardings=grid.physical_sharding()).lower().compile()
    whole = 64 * 24 * 16 * 8
    assert compiled.memory_analysis().temp_size_in_bytes <= whole / 8


def test_wavenumbers_differentiate(make_grid):
    grid = make_grid((16, 12, 10), devices=4, lengths=[1.0, 2.0, 5.0])
    kx, ky, kz = (2 * np.pi * m / length for m, length in zip((2, -3, 1), grid.lengths, strict=True))
    u = sw.sample(lambda x, y, z: jnp.sin(kx * x + ky * y + kz * z), grid)
    transform = sw.fft.Transform(grid)
    u_hat = transform.forward(u)
    expected = sw.sample(lambda x, y, z: jnp.cos(kx * x + ky * y + kz * z), grid)
    for k, number in zip(grid.wavenumbers(), (kx, ky, kz), strict=True):
        np.testing.assert_allclose(transform.inverse(1j * k * u_hat), number * expected, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 6, 10), (8, 9, 7), (16, 12), (24, 7)])
@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("dealias", ["two-thirds", "none"])
def test_weights_count_every_mode_once(make_grid, shape, real, dealias):
    """Parseval: Σ weights |û|² is the mean square of the retained part."""
    grid = make_grid(shape, devices=2, real=real, dealias=dealias)
    transform = sw.fft.Transform(grid)
    noise = jax.random.normal(jax.random.key(0), shape, grid.physical_dtype)
    u_hat = transform.forward(noise)
    u = transform.inverse(u_hat)
    mean_square = np.sum(grid.mode_weights() * np.abs(u_hat) ** 2)
    np.testing.assert_allclose(mean_square, np.mean(np.abs(np.asarray(u)) ** 2), rtol=1e-13)


def test_bad_grids_are_refused():
    with pytest.raises(ValueError, match="3 positive, finite numbers"):
        sw.Grid((8, 8, 8), lengths=[1.0, 2.0])
    with pytest.raises(ValueError, match="precision 'double'"):
        sw.Grid((8, 8, 8), precision="double")
    with pytest.raises(ValueError, match=r"shape \[1, 1\]: one to three sides are needed, one of 2 points or more"):
        sw.Grid((1, 1))
    with pytest.raises(ValueError, match=r"distinct indices from 0 to 7"):
        sw.device_mesh([0, 0])
    with pytest.raises(ValueError, match="8 devices"):
        sw.device_mesh([9])


def test_float64_without_x64_is_refused_not_truncated():
    with jax.enable_x64(False), pytest.raises(ValueError, match="jax_enable_x64"):
        sw.Grid((8, 8))


def test_sampling_the_same_on_any_number_of_devices(make_grid):
    fields = [
        np.asarray(sw.sample(lambda x, y: jnp.sin(x) * jnp.exp(jnp.cos(3 * y)), make_grid((16, 10), devices=n)))
        for n in (1, 2, 4)
    ]
    np.testing.assert_allclose(fields[1], fields[0], rtol=1e-14)
    np.testing.assert_allclose(fields[2], fields[0], rtol=1e-14)


def test_lengths_may_be_an_array(make_grid):
    assert make_grid((16, 12), devices=1, lengths=np.array([1.0, 2.0])).lengths == (1.0, 2.0)
    assert make_grid((16, 12), devices=1, lengths=np.float64(3)).lengths == (3.0, 3.0)


@pytest.mark.parametrize("lengths", [np.nan, np.inf, (1.0, np.nan), 0.0, (1, -1), (1.0, 2.0, 3.0)], ids=str)
def test_lengths_that_are_not_positive_numbers_are_refused(make_grid, lengths):
    with pytest.raises(ValueError, match=r"lengths .*: 2 positive, finite numbers are needed"):
        make_grid((16, 12), devices=1, lengths=lengths)


WRONG_TYPES = """
import jax
jax.config.update("jax_platforms", "cpu")
import numpy as np
import solver as sw
print(sw.Grid(np.array([16, 12]), precision="float32").shape, sw.Grid([8], (np.float32(1),), precision="float32").shape)
small = sw.Grid((16, 12), precision="float32", mesh=sw.device_mesh([0]))
for call in (
    lambda: sw.Grid((16.7, 16)), lambda: sw.Grid((16, "8")), lambda: sw.Grid(16), lambda: sw.Grid((16, 8), "long"),
    lambda: sw.Grid((16, 8), [[1, 2]]), lambda: sw.fft.rfftn([[1.0, 2.0], [3.0, 4.0]], s=(2.5, 2)),
    lambda: sw.Grid((16, 8), precision="float32", mesh=3), lambda: sw.device_mesh("ab"),
    lambda: sw.device_mesh(devices=[0]), lambda: sw.device_mesh([0], shape=1), lambda: sw.from_global("abc", small),
    lambda: sw.from_process_local(np.full((16, 12), "a"), small), lambda: sw.from_global(np.ones(2), "small"),
    lambda: sw.gather(3), lambda: sw.show_sharding([1.0]),
):
    try:
        call()
    except (ValueError, TypeError) as error:
        print(error)
"""


def test_wrong_types_are_named_in_one_line():
    """In a process of its own: within the tests the check of annotations comes first."""
    done = subprocess.run([sys.executable, "-c", WRONG_TYPES], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "(16, 12) (8,)",
        "shape (16.7, 16): one to three whole numbers are needed",
        "shape (16, '8'): one to three whole numbers are needed",
        "shape 16: one to three whole numbers are needed",
        "lengths long: 2 positive, finite numbers are needed, or one for all axes",
        "lengths [[1, 2]]: 2 positive, finite numbers are needed, or one for all axes",
        "s=(2.5, 2): a list of whole numbers is needed",
        "mesh=3: a mesh from solver.device_mesh is needed",
        "devices 'ab' were chosen: a list of indices is needed, such as [0, 1]",
        "devices=[0]: a list of JAX's devices is needed, such as jax.devices()[:2]",
        "mesh 1 for 1 devices: a list of two sides is needed",
        "a global array that is a str: an array of numbers is needed",
        "a process's block that is a ndarray of <U1: an array of numbers is needed",
        "a str as grid: a Grid is needed",
        "gather of a int: an array of JAX is needed",
        "show_sharding of a list: an array of JAX is needed",
    ]


def test_sampled_functions_are_written_with_jax_numpy(make_grid):
    def wave(x, y):
        return np.sin(x) + y

    with pytest.raises(
        ValueError, match=r"wave needs its coordinates as NumPy's arrays or numbers.*jnp.sin for np.sin"
    ):
        sw.sample(wave, make_grid((16, 12), devices=2))
    field = sw.sample(lambda x, y: [x + 0 * y, np.ones((1, 12))], make_grid((16, 12), devices=2))
    assert field.shape == (2, 16, 12)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("length", [0.3, 1.0, 1.1, 3.0, 5.0, 10.0, 2 * np.pi])
def test_modes_on_the_bounds_of_a_band_lie_in_it(make_grid, precision, length):
    """Bounds are rounded numbers, as people write them; whole numbers say which modes lie between."""
    grid = make_grid((16, 16), devices=2, lengths=length, precision=precision)
    x, y = np.meshgrid(np.arange(-5, 6), np.arange(-5, 6))
    squares = np.sqrt(x * x + y * y)
    for low, high in ((1, 1), (2, 2), (3, 5), (5, 5)):
        bounds = [number * 2 * np.pi / length for number in (low, high)]
        found = jnp.sum(grid.in_band(*bounds) * grid.mode_weights())
        assert int(found) == ((squares >= low) & (squares <= high)).sum()


@pytest.mark.parametrize(("length", "precision"), [(1e-300, "float64"), (1e200, "float64"), (1e-25, "float32")])
def test_a_box_whose_squared_wavenumbers_are_no_numbers_is_refused(make_grid, length, precision):
    with pytest.raises(ValueError, match="other units of length are needed"):
        make_grid((8, 8), devices=1, lengths=length, precision=precision)
