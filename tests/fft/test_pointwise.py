"""Functions that `pointwise` takes, with parameters, several fields and arrays over points; and those it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import collectives, random_field
from jax.sharding import AxisType
from jax.test_util import check_grads

import solver as sw
from solver.fft import Method, Transform


def products(u):
    return jnp.stack([u[0] * u[1], jnp.sin(u[0]) / (2 + u[1] ** 2), jnp.where(u[0] > 0, u[0], 0.1 * u[0])])


def over_components(u):
    lengths = jnp.sqrt(jnp.sum(u * u, axis=0))
    return jnp.concatenate([u, lengths[None], jnp.max(u, axis=0)[None]])[::2][:2]


def rotated(u):
    return jnp.stack([-u[1], u[0]])


def helped(u):
    return jax.nn.relu(u) + jax.jit(jnp.cos)(u) + jnp.zeros_like(u) + jnp.ones(u.shape)


def moved(u):
    return jnp.moveaxis(jnp.moveaxis(u, 0, -1) * 2, -1, 0) + jnp.einsum("i...,i...->...", u, u)


def without_components(u):
    return jnp.sum(u, axis=0)


def unpacked(u):
    a, b = u
    return jnp.stack([a * b, sum(component**2 for component in u)])


GOOD = [products, over_components, rotated, helped, moved, without_components, unpacked]


@pytest.mark.slow
@pytest.mark.parametrize("fn", GOOD, ids=lambda f: f.__name__)
def test_pointwise_functions_are_taken(make_grid, fn):
    grid = make_grid((16, 12) if fn is rotated else (12, 10, 8), devices=2)
    transform = Transform(grid)
    u_hat = transform.forward(random_field(grid))
    expected = transform.forward(fn(transform.inverse(u_hat)))
    np.testing.assert_allclose(transform.pointwise(fn, u_hat), expected, atol=1e-14)


# ---- parameters, several fields, arrays over points -------------------------------------------------------------


def mixed(u, parameters, at_points):
    """Uses everything: numbers, a vector and a matrix; a coordinate, a full map and a vector of two components."""
    space = (1,) * (u["a"].ndim - 1)
    matrix, weights = parameters["matrix"], parameters["weights"].reshape(-1, *space)
    turned = jnp.einsum("ij,j...->i...", matrix, u["a"])
    return {
        "turned": at_points["x"] * turned + weights * u["b"],
        "trapped": parameters["strength"] * at_points["trap"] * jnp.sin(u["b"]) + at_points["pair"][:1] * u["a"][1:],
    }


PLACES = {
    "one device": ((8, 6, 10), {"devices": 1}, {}),
    "slabs": ((16, 12, 10), {"devices": 4}, {}),
    "eight uneven slabs": ((13, 14, 9), {"devices": 8}, {}),
    "uneven pencils": ((9, 11, 13), {"mesh_shape": (2, 3)}, {}),
    "1-D": ((12,), {"devices": 1}, {}),
    "complex": ((12, 8, 10), {"devices": 4, "real": False}, {}),
    "Explicit": ((13, 12, 10), {"devices": 4, "axis_type": AxisType.Explicit}, {}),
    "shard_map": ((13, 11, 9), {"devices": 3}, {"engine": "shard_map"}),
    "jaxdecomp": ((16, 12, 8), {"mesh_shape": (4, 1)}, {"engine": "jaxdecomp"}),
    "chunks": ((13, 11, 9), {"devices": 2}, {"chunks": 3}),
    "uneven slabs in waves": ((13, 14, 9), {"devices": 3}, {"waves": 2}),
    "two fields of a wave": ((13, 11, 9), {"mesh_shape": (2, 3)}, {"waves": 3, "fields": 2}),
    "2-D in waves": ((13, 10), {"devices": 3}, {"waves": 2}),
    "complex in waves": ((13, 8, 10), {"devices": 2, "real": False, "dealias": "none"}, {"waves": 4}),
    "shard_map in waves": ((13, 11, 9), {"devices": 2}, {"engine": "shard_map", "waves": 7}),
}
DIFFERENTIATED = ("uneven pencils", "Explicit", "complex", "uneven slabs in waves")  # the rest shares their rules
OUTSIDE_JIT = ("slabs", "Explicit")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_operands_of_every_kind_equal_the_three_calls(make_grid, place):
    shape, where, how = PLACES[place]
    grid = make_grid(shape, **where)
    transform = Transform(grid, Method(**how))
    fields = {"a": transform.forward(random_field(grid)), "b": transform.forward(random_field(grid, (1,), seed=1))}
    parameters = {"matrix": np.array([[1.0, 2.0], [0.5, -1.0]]), "weights": np.array([0.3, 2.0]), "strength": 0.7}
    at_points = {
        "x": grid.coordinates()[0],
        "trap": random_field(grid, (), seed=2),
        "pair": np.random.default_rng(3).normal(size=(2, *[1] * (grid.dimensions - 1), grid.physical_shape[-1])),
    }

    def composed(fields, parameters, at_points):
        products = mixed({name: transform.inverse(v) for name, v in fields.items()}, parameters, at_points)
        return {name: transform.forward(v) for name, v in products.items()}

    def whole(fields, parameters, at_points):
        return transform.pointwise(mixed, fields, parameters, at_points)

    def values(fn):
        return jax.jit(fn)(fields, parameters, at_points)

    def gradients(fn):
        total = lambda *arguments: sum(jnp.sum(jnp.abs(v) ** 2) for v in fn(*arguments).values())  # noqa: E731
        arguments = (fields, jax.tree.map(jnp.asarray, parameters), jax.tree.map(jnp.asarray, at_points))
        return jax.jit(jax.grad(total, (0, 1, 2)))(*arguments)

    def same(given, expected, atol):
        jax.tree.map(lambda v, w: np.testing.assert_allclose(v, w, atol=atol), given, expected)

    same(values(whole), values(composed), 1e-14)
    if place in DIFFERENTIATED:
        same(gradients(whole), gradients(composed), 1e-13)
    if place in OUTSIDE_JIT:
        same(whole(fields, parameters, at_points), values(composed), 1e-14)


def scaled(u, parameters, at_points):
    return parameters * u + at_points * u**2


@pytest.mark.thorough
@pytest.mark.slow
def test_vmap_over_parameters_fields_and_points(make_grid):
    grid = make_grid((14, 12, 10), devices=4)
    transform = Transform(grid)
    u_hat, trap = transform.forward(random_field(grid)), random_field(grid, (), seed=1)
    strengths, x = jnp.array([0.5, 1.0, 2.0]), grid.coordinates()[0]
    run = lambda v, p, w: transform.pointwise(scaled, v, p, w)  # noqa: E731
    batch, traps = jnp.stack([u_hat, 2 * u_hat, 3 * u_hat]), jnp.stack([trap, 2 * trap, 3 * trap])
    cases = {
        (None, 0, None): (u_hat, strengths, x),
        (0, 0, None): (batch, strengths, trap),
        (0, None, 0): (batch, 0.5, traps),
        (None, None, 0): (u_hat, 0.5, traps),
    }
    for axes, operands in cases.items():
        batched = jax.jit(jax.vmap(run, axes))
        member = [v if axis is None else v[2] for v, axis in zip(operands, axes, strict=True)]
        np.testing.assert_allclose(batched(*operands)[2], run(*member), atol=1e-15)
        assert collectives(batched, *operands) == {"all-to-all": 2}
    nested = jax.jit(jax.vmap(lambda v: jax.vmap(lambda p: run(v, p, x))(strengths)))(batch)
    np.testing.assert_allclose(nested[1, 2], run(batch[1], 2.0, x), atol=1e-14)
    power = jax.jit(lambda p: jnp.sum(jnp.abs(run(u_hat, p, x)) ** 2))
    slope, h = jax.jit(jax.vmap(jax.grad(power)))(strengths), 1e-4
    np.testing.assert_allclose(slope[1], (power(1.0 + h) - power(1.0 - h)) / (2 * h), rtol=1e-8)


def with_number(u, number):
    return number * u


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one of two", "integer", "float32 grid"])
def test_arguments_are_given_as_they_come(make_grid, kind):
    grid = make_grid((12, 10), devices=2, precision="float32" if kind == "float32 grid" else "float64")
    transform = Transform(grid)
    u_hat = transform.forward(random_field(grid))
    number = np.int64(3) if kind == "integer" else np.float64(3)
    given = transform.pointwise(with_number, u_hat, number)
    assert given.dtype == u_hat.dtype
    np.testing.assert_allclose(given, 3 * u_hat, rtol=1e-5 if kind == "float32 grid" else 1e-12, atol=1e-7)
    np.testing.assert_allclose(transform.pointwise(with_number, u_hat, at_points=number), given)
    derivative = jax.jvp(lambda v: transform.pointwise(with_number, v, number), (u_hat,), (u_hat,))[1]
    np.testing.assert_allclose(derivative, given, atol=1e-6 if kind == "float32 grid" else 1e-14)


# ---- refused ----------------------------------------------------------------------------------------------------


def relative(u):
    return u / jnp.max(u)


def without_mean(u):
    return u - jnp.mean(u, axis=(1, 2), keepdims=True)


def shifted(u):
    return jnp.roll(u, 1, axis=1)


def along_z(u):
    return jnp.cumsum(u, axis=-1)


def flipped(u):
    return u[..., ::-1]


def trapped(u):
    return u * jnp.arange(u.shape[-1])


def transposed(u):
    return u + jnp.swapaxes(u, 1, 3)


def scrambled(u):
    return jnp.moveaxis(u.reshape(-1, u.shape[0]), -1, 0).reshape(u.shape)


def walked(u):
    return jnp.moveaxis(
        jax.lax.scan(lambda total, v: (total + v, total + v), 0 * u[:, 0], jnp.moveaxis(u, 1, 0))[1], 0, 1
    )


def contracted(u):
    return jnp.einsum("ixyz,jxyz->ij", u, u)[0, 0] * u


BAD = [relative, without_mean, shifted, along_z, flipped, trapped, transposed, scrambled, walked, contracted]


@pytest.mark.parametrize("fn", BAD, ids=lambda f: f.__name__)
def test_functions_that_mix_points_are_refused_at_trace_time(make_grid, fn):
    grid = make_grid((12, 12, 12), devices=2)
    u_hat = jax.ShapeDtypeStruct((2, *grid.spectral_shape), complex)
    with pytest.raises(ValueError, match=f"{fn.__name__} is not pointwise"):
        jax.eval_shape(lambda v: Transform(grid).pointwise(fn, v), u_hat)


MIXING_OPERANDS = {
    "largest": lambda x: x / jnp.max(x),
    "first": lambda x: x[:1],
    "mean": lambda x: x - jnp.mean(x, axis=0, keepdims=True),
    "sum": lambda x: jnp.cumsum(x, axis=0),
    "shifted": lambda x: jnp.roll(x, 1, 0),
    "flipped": lambda x: x[::-1],
    "moved to z": lambda x: jnp.swapaxes(x, 0, 2),
    "lost axes": lambda x: x[:, 0, 0] @ x[:, 0, 0],
    "its position": lambda x: jnp.argmax(x),
}


@pytest.mark.parametrize("mix", MIXING_OPERANDS)
def test_functions_that_mix_points_of_operands_are_refused(make_grid, mix):
    grid = make_grid((12, 12, 12), devices=2)
    u_hat = jnp.zeros((2, *grid.spectral_shape), complex)

    def mixing(u, x):
        return u * MIXING_OPERANDS[mix](x)

    with pytest.raises(ValueError, match="mixing is not pointwise"):
        Transform(grid).pointwise(mixing, u_hat, at_points=grid.coordinates()[0])


def test_a_scan_along_the_points_of_a_line_is_refused(make_grid):
    grid = make_grid((12,), devices=1)

    def summed(u):
        return jax.lax.scan(lambda total, v: (total + v, total + v), 0.0, u)[1]

    with pytest.raises(ValueError, match="summed is not pointwise: its operation scan"):
        Transform(grid).pointwise(summed, jnp.zeros(grid.spectral_shape, complex))


def with_constants(u):
    return u + jnp.asarray([[1.0], [2.0]])[..., None, None]


def test_values_from_outside_are_refused_with_the_way_to_pass_them(make_grid):
    grid = make_grid((12, 12, 12), devices=2)
    transform, u_hat = Transform(grid), jnp.zeros((2, *grid.spectral_shape), complex)
    with pytest.raises(ValueError, match=r"with_constants holds an array of shape \[2, 1\] .* through `parameters`"):
        transform.pointwise(with_constants, u_hat)

    def with_feed(feed):
        def reaction(u):
            return jax.jit(lambda v: v * feed)(u)

        return transform.pointwise(reaction, u_hat)

    for run in (jax.jit, jax.vmap, jax.grad):
        with pytest.raises(ValueError, match="reaction holds a value that is an array or being traced"):
            run(with_feed)(jnp.ones(3) if run is jax.vmap else 1.0)
    trap = np.ones(grid.physical_shape)

    def with_trap(u):
        return u * trap

    with pytest.raises(ValueError, match=r"with_trap is not pointwise: it fails on fields of other sides .* at_points"):
        transform.pointwise(with_trap, u_hat)

    def undecided(u):
        return u if u > 0 else -u

    with pytest.raises(ValueError, match=r"undecided fails \(The truth value .* at each point is needed"):
        transform.pointwise(undecided, u_hat)


# ---- the largest value beside them ------------------------------------------------------------------------------


@pytest.mark.slow
def test_members_in_waves():
    grid = sw.Grid((12, 10, 9), mesh=sw.device_mesh(members=2))
    u = np.random.default_rng(0).normal(size=(4, 2, 12, 10, 9))
    trap = grid.coordinates()[0]

    def products_by(method):
        transform = Transform(grid, method)
        product = lambda v, p: transform.pointwise(scaled, transform.forward(v), p, trap, largest=distance)  # noqa: E731
        run = jax.jit(jax.vmap(product, spmd_axis_name=sw.MEMBER))
        return run(u, jnp.arange(4.0)), collectives(run, u, jnp.arange(4.0))

    (expected, most), whole = products_by(Method())
    (f_hat, largest), in_waves = products_by(Method(waves=3))
    np.testing.assert_allclose(f_hat, expected, atol=1e-15)
    np.testing.assert_allclose(largest, most, rtol=1e-12)
    assert whole["all-to-all"] == 3, "forward, and both ways of the product"
    assert in_waves == whole | {"all-to-all": 1 + 2 * 3}


def with_its_transpose(u):
    """Of a tensor, whose components lie along two axes."""
    return jnp.einsum("ij...,kj...->ik...", u, u)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Method(), Method(waves=2)], ids=["one wave", "waves"])
def test_components_along_two_axes(make_grid, method):
    grid = make_grid((12, 10, 9), devices=2)
    transform = Transform(grid, method)
    u_hat = transform.forward(random_field(grid, (2, 3)))
    expected = transform.forward(with_its_transpose(transform.inverse(u_hat)))
    np.testing.assert_allclose(transform.pointwise(with_its_transpose, u_hat), expected, atol=1e-14)


def scalar(u):
    return u * u


@pytest.mark.slow
@pytest.mark.parametrize("fn", [scalar, lambda u: jnp.stack([u[0] * u[1], u[1], u[0]])], ids=["a scalar", "components"])
def test_members_are_not_told_apart_in_waves(make_grid, fn):
    """However many members: as many FFTs and exchanges."""
    grid = make_grid((12, 10, 9), devices=2)
    transform, plain = Transform(grid, Method(waves=2, fields=1)), Transform(grid)
    counted = []
    for members in (1, 3):
        u_hat = plain.forward(random_field(grid, (members, 2) if fn is not scalar else (members,)))
        run = jax.jit(jax.vmap(lambda v: transform.pointwise(fn, v)))
        np.testing.assert_allclose(run(u_hat), jax.vmap(lambda v: plain.pointwise(fn, v))(u_hat), atol=1e-15)
        text = run.lower(u_hat).compile().as_text()
        counted.append((text.count(" fft("), collectives(run, u_hat)))
    assert counted[0] == counted[1]


def doubled(u, parameters, at_points):
    return 2 * u


def distance(u, parameters, at_points):
    """Largest where u is small, and at points that are no padding: there u is 0."""
    return parameters - jnp.sum(jnp.abs(u), axis=0) * at_points


# other rules, chunks and waves of uneven pencils share with these what the largest value goes through
WITH_A_LARGEST = (
    "one device", "uneven pencils", "2-D in waves", "complex", "Explicit", "jaxdecomp", "chunks",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("place", WITH_A_LARGEST)
def test_the_largest_value_over_all_points(make_grid, place):
    shape, where, how = PLACES[place]
    grid = make_grid(shape, **where)
    transform = Transform(grid, Method(**how))
    u_hat = transform.forward(3 + random_field(grid))
    weight = 1 + 0.1 * np.asarray(random_field(grid, (), seed=2)).real
    run = jax.jit(lambda v, w: transform.pointwise(doubled, v, 5.0, w, largest=distance))
    doubled_hat, most = run(u_hat, weight)
    np.testing.assert_allclose(doubled_hat, 2 * u_hat, atol=1e-13)
    u = np.asarray(transform.inverse(u_hat))
    assert most.shape == ()
    np.testing.assert_allclose(most, np.max(5 - np.abs(u).sum(axis=0) * weight), rtol=1e-12)
    if place == "slabs":
        assert collectives(run, u_hat, weight) == {"all-to-all": 2, "all-reduce": 1}
        outside, beside = transform.pointwise(doubled, u_hat, 5.0, weight, largest=distance)
        np.testing.assert_array_equal(outside, doubled_hat)
        assert beside == most
        slope = lambda w: transform.pointwise(doubled, u_hat, 5.0, w, largest=distance)[1]  # noqa: E731
        changed = jax.jit(jax.grad(slope))(jnp.asarray(weight))
        at = np.unravel_index(np.argmax(-np.abs(u).sum(axis=0) * weight), weight.shape)
        np.testing.assert_allclose(changed[at], -np.abs(u).sum(axis=0)[at], rtol=1e-12)
        assert np.count_nonzero(changed) == 1
        total = lambda v: transform.pointwise(doubled, transform.forward(v), 5.0, weight, largest=distance)[1]  # noqa: E731
        check_grads(total, (u,), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("members", [2, 4])
def test_the_largest_value_of_each_member(members):
    grid = sw.Grid((12, 10, 9), mesh=sw.device_mesh(members=members))
    transform = Transform(grid)
    u = np.random.default_rng(0).normal(size=(4, 2, 12, 10, 9))
    product = lambda v: transform.pointwise(doubled, transform.forward(v), 5.0, 1.0, largest=distance)  # noqa: E731
    coefficients, most = jax.jit(jax.vmap(product, spmd_axis_name=sw.MEMBER))(u)
    smooth = [np.asarray(transform.inverse(f_hat)) / 2 for f_hat in coefficients]
    np.testing.assert_allclose(most, [np.max(5 - np.abs(v).sum(axis=0)) for v in smooth], rtol=1e-12)


def test_a_largest_value_that_is_none_is_refused(make_grid):
    grid = make_grid((12, 10, 14), devices=2, real=False)
    transform, u_hat = Transform(grid), jnp.zeros((2, *grid.spectral_shape), complex)
    largest = lambda fn: transform.pointwise(lambda u: u, u_hat, largest=fn)  # noqa: E731
    with pytest.raises(ValueError, match="the same points and float64 are needed"):
        largest(lambda u: u[0])
    with pytest.raises(ValueError, match=r"is to give one number for each point; it gives \[2, 'x', 'y', 'z'\]"):
        largest(jnp.abs)
    with pytest.raises(ValueError, match="is to give one number for each point"):
        largest(lambda u: {"speed": jnp.abs(u[0])})
    with pytest.raises(ValueError, match="its operation reduce_max mixes points"):
        largest(lambda u: jnp.abs(u[0]) / jnp.max(jnp.abs(u)))


def test_operands_and_results_of_another_shape_are_refused(make_grid):
    grid = make_grid((12, 10, 14), devices=2)
    transform, u_hat = Transform(grid), jnp.zeros((2, *grid.spectral_shape), complex)
    with pytest.raises(
        ValueError, match=r"at_points holds an array of shape \[12\]; .* \[12, 10, 14\], or of length 1"
    ):
        transform.pointwise(with_number, u_hat, at_points=np.ones(12))
    with pytest.raises(ValueError, match=r"into float64 of shape \(x, 1, 1\); the same points and float64 are needed"):
        transform.pointwise(lambda u, x: x, u_hat, at_points=grid.coordinates()[0])
    with pytest.raises(ValueError, match="returns no array"):
        transform.pointwise(lambda u: {}, u_hat)
    with pytest.raises(ValueError, match=r"a dict without fields"):
        transform.pointwise(lambda u: u, {})


def test_a_function_that_computes_with_the_number_of_points_is_refused(make_grid):
    transform = Transform(make_grid((16, 16, 16), devices=2))
    u_hat = jnp.zeros((1, *transform.grid.spectral_shape), complex)
    for fn in (lambda u: u / u.shape[1], lambda u: u * u.size, lambda u: u + len(u[0])):
        with pytest.raises(ValueError, match="it computes with the number of points"):
            transform.pointwise(fn, u_hat)
    transform.pointwise(lambda u: u / u.shape[0], u_hat)  # the number of components is whole everywhere
