"""The steps of transforms on whole arrays that are written for GPUs, against NumPy: real lines as complex lines of half
the length, and planes whose axes are transformed one after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import numpy_coefficients

import solver as sw
from solver.fft import whole
from solver.fft.stages import table
from solver.fft.whole import WholeArrays, forward_local, inverse_local, modes_of_pairs, points_of_pairs
from solver.grid.layout import Layout

ROUND_OFF = {"float64": 1e-15, "float32": 5e-7}


def ffts(fn, *arrays):
    """Name of the kind of each FFT call in a trace."""

    def within(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "fft":
                yield jax.lax.FftType(equation.params["fft_type"]).name
            for value in equation.params.values():
                if hasattr(value, "jaxpr"):
                    yield from within(value.jaxpr)

    return list(within(jax.make_jaxpr(fn)(*arrays).jaxpr))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "precision"), [(2, "float64"), (4, "float32"), (6, "float64"), (10, "float32"), (96, "float64")]
)
def test_points_of_half_of_the_modes(points, precision):
    """Against irfft, which takes no notice of imaginary parts of the first and the last mode."""
    parts = np.random.default_rng(points).standard_normal((2, 3, points // 2 + 1, 5))
    modes = (parts[0] + 1j * parts[1]).astype("complex64" if precision == "float32" else complex)
    pairs = jnp.moveaxis(modes_of_pairs(jnp.asarray(np.conj(modes))), -2, -1)
    found = points_of_pairs(jnp.fft.fft(pairs))
    expected = np.fft.irfft(np.moveaxis(modes, -2, -1).astype(complex), points) * points
    assert found.dtype == precision
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUND_OFF[precision] * np.abs(expected).max())


@pytest.mark.parametrize("dealias", ["two-thirds", "three-halves", "none"])
@pytest.mark.parametrize("shape", [(12, 10), (8, 6, 12), (6, 8, 9)], ids=str)
def test_no_inverse_fft_but_of_odd_lengths(shape, dealias):
    """Inverse FFTs cost more passes on GPUs (`estimate.program`): the last one, to real values, is none either."""
    layout = Layout(shape, dealias)
    u_hat = jnp.zeros(layout.spectral_shape, complex)
    kinds = ffts(lambda v: inverse_local(v, layout, None), u_hat)
    last = "IRFFT" if layout.points[-1] % 2 else "FFT"
    assert kinds == ["FFT"] * (len(shape) - 1) + [last]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "devices", "decomposition"),
    [((8, 10, 12), 1, None), ((10, 9, 7), 2, None), ((8, 10, 12), 4, None), ((10, 9, 7), 4, (2, 2))],
    ids=str,
)
def test_planes_whose_axes_are_transformed_one_after_the_other(make_grid, monkeypatch, shape, devices, decomposition):
    """As planes with sides above 512 are; here with sides above 4, and on devices that do not divide them."""
    monkeypatch.setattr(whole, "SHORT", 4)
    options = {} if decomposition is None else {"mesh_shape": decomposition}
    grid = make_grid(shape, devices=devices, **options)
    layout = grid.layout
    u = jnp.asarray(np.random.default_rng(0).standard_normal((2, *shape)))
    padding = [(0, 0), *((0, p - n) for p, n in zip(layout.padded_points, shape, strict=True))]
    name = None if devices == 1 else "slab" if decomposition is None else ("slab", "pencil")
    names = (name,) if name is None or isinstance(name, str) else name
    spec = jax.P(None, *names)

    def there_and_back(v):
        v_hat = WholeArrays().forward(v, layout, name, 1 / np.prod(shape))
        return v_hat, WholeArrays().inverse(v_hat, layout, name, 1.0)

    run = jax.shard_map(there_and_back, mesh=grid.mesh, in_specs=spec, out_specs=(spec, spec), check_vma=False)
    v_hat, back = jax.jit(run)(jnp.pad(u, padding))
    kept = tuple(slice(n) for n in layout.logical_spectral_shape)
    expected = numpy_coefficients(u, grid)
    np.testing.assert_allclose(np.asarray(v_hat)[(..., *kept)], expected, atol=1e-15)
    modes = np.ix_(*(layout.mode_numbers(axis) % n for axis, n in enumerate(shape)))
    kept_alone = np.zeros((2, *np.fft.rfftn(u[0]).shape), complex)
    kept_alone[(..., *modes)] = np.fft.rfftn(u, axes=(1, 2, 3))[(..., *modes)]
    smooth = np.fft.irfftn(kept_alone, shape, axes=(1, 2, 3))
    np.testing.assert_allclose(np.asarray(back)[(..., *map(slice, shape))], smooth, atol=1e-14)


def test_the_number_of_calls_that_planes_take():
    """One for planes with sides that are short or powers of two, two for others; and one along x."""

    def calls(*sides):
        u = jax.ShapeDtypeStruct((4, *sides), np.float32)
        return len(ffts(lambda v: forward_local(v, Layout((4, *sides)), None), u))

    assert [calls(512, 384), calls(1024, 1024), calls(768, 768), calls(1024, 768)] == [2, 2, 3, 3]


def test_a_table_is_part_of_its_program():
    numbers = np.array([1.5, -2.0, 3.25])
    traced = jax.make_jaxpr(lambda u: u * table(numbers))(jnp.ones(3))
    assert not traced.consts
    np.testing.assert_array_equal(jax.jit(lambda u: u * table(numbers))(jnp.ones(3)), numbers)
    np.testing.assert_array_equal(table(numbers), numbers)
    np.testing.assert_array_equal(jax.vmap(lambda u: u * table(numbers))(jnp.ones((2, 3))), [numbers] * 2)


def test_inside_of_a_users_shard_map(make_grid):
    """With JAX's check of what varies between devices."""
    grid = make_grid((8, 10, 12), devices=2)
    u = sw.from_global(np.random.default_rng(0).standard_normal((8, 10, 12)), grid)
    both = lambda v: inverse_local(forward_local(v, grid.layout, "slab"), grid.layout, "slab")  # noqa: E731
    spec = jax.P("slab")
    back = jax.jit(jax.shard_map(both, mesh=grid.mesh, in_specs=spec, out_specs=spec))(u)
    transform = sw.fft.Transform(grid)
    np.testing.assert_allclose(back, transform.inverse(transform.forward(u)), atol=1e-14)
