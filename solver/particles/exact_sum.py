"""A field at scattered positions by the sum over all of its modes: exact, for few particles and for tests.

The modes stay where they are. Every device receives all positions, adds up its own modes, and sends the sums home.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec
from jaxtyping import Array

from solver.grid import Grid
from solver.mesh import MEMBER, split_axes
from solver.walls import legendre

LARGEST = 10**10  # particles times modes, beyond which a sum would take minutes
SCOPE = "particles"  # by which an estimate finds their exchanges in a trace
AT_ONCE = 2**20  # numbers of a partial sum


def sum_of_modes(
    coefficients: Array, positions: Array, grid: Grid, *, slopes: bool = False, single: bool = False
) -> Array:
    """Σ û(k) exp(i k·x) of a real field, between walls Σ c(k, n) exp(i k·x) P_n(z). Differentiable.

    Args:
        coefficients, positions, slopes: as in `solver.particles.exchange.flow_at`.
        grid: grid of the modes.
        single: True if the sums are in single precision.

    Returns:
        As `flow_at`, for about as many operations as there are particles times modes. An all-gather of the positions
        and a reduce-scatter of the values.
    """
    names = split_axes(grid.mesh, grid.dimensions)
    dtype = np.dtype("complex64") if single else grid.complex_dtype
    weighted = (coefficients * jnp.asarray(grid.mode_weights())).astype(dtype)
    numbers = _numbers(grid)
    split = [names[i : i + 1] if i < len(names) else () for i in range(grid.dimensions)]
    of_numbers = tuple(PartitionSpec(*own) for own in split)
    by_number = PartitionSpec(None, names) if names else PartitionSpec()
    out = PartitionSpec(*[None] * (2 if slopes else 1), *by_number[1:])

    def local(u_hat: Array, x: Array, numbers: Sequence[Array]) -> Array:
        whole = lax.all_gather(x, names, axis=1, tiled=True) if names else x
        values = _partial_sums(u_hat, whole, numbers, grid, slopes)
        if names:
            values = lax.psum_scatter(values, names, scatter_dimension=values.ndim - 1, tiled=True)
        return values.astype(x.dtype) if slopes else values[0].astype(x.dtype)

    check = MEMBER not in grid.mesh.shape
    spec = grid.spectral_sharding(weighted.ndim).spec
    mapped = jax.shard_map(
        local, mesh=grid.mesh, in_specs=(spec, by_number, of_numbers), out_specs=out, check_vma=check
    )
    with jax.named_scope(SCOPE):
        return mapped(weighted, positions, numbers)


def _numbers(grid: Grid) -> tuple[Array, ...]:
    """k of the modes along each axis of the coefficients `(mode, 2)`, as waves and in derivatives; 0 of polynomials."""
    along = grid if not grid.walls else grid.horizontal
    pairs = [] if along is None else list(zip(along.wavenumbers(), along.derivative_wavenumbers(), strict=True))
    found = []
    for axis, size in zip(grid.layout.order, grid.spectral_shape, strict=True):
        own = (np.zeros(size), np.zeros(size)) if grid.layout.is_bounded(axis) else pairs[axis]
        found.append(jnp.asarray(np.stack([k.ravel() for k in own], axis=1), grid.dtype))
    return tuple(found)


def _partial_sums(u_hat: Array, x: Array, numbers: Sequence[Array], grid: Grid, slopes: bool) -> Array:
    """Sums over these modes at all positions `(1 or 1 + directions, component, particle)`."""
    order, d = grid.layout.order, grid.dimensions
    count, held = x.shape[1], math.prod(u_hat.shape) // u_hat.shape[-1]
    size = max(1, min(count, AT_ONCE // held))
    padded = math.ceil(count / size) * size

    def one(x: Array) -> Array:
        """Sums at one position `(direction,)`."""
        both = [_functions(x[axis], numbers[i], axis, grid) for i, axis in enumerate(order)]
        mixed = [[own[0] for own in both]]
        for axis in range(d) if slopes else ():
            mixed.append([own[int(order[i] == axis)] for i, own in enumerate(both)])
        return jnp.stack([_contracted(u_hat, factors) for factors in mixed])

    chunks = jnp.pad(x, [(0, 0), (0, padded - count)]).T.reshape(-1, size, d)
    values = lax.map(jax.checkpoint(jax.vmap(one)), chunks).reshape(padded, -1, len(u_hat))[:count]
    return jnp.moveaxis(values, 0, -1)


def _functions(x: Array, numbers: Array, axis: int, grid: Grid) -> tuple[Array, Array]:
    """The functions of one axis at a place, and their derivatives there."""
    if grid.layout.is_bounded(axis):
        return _polynomials(x, len(numbers), grid.box.lengths[axis])
    k, of_sine = numbers[:, 0].astype(x.dtype), numbers[:, 1].astype(x.dtype)
    value = lax.complex(jnp.cos(k * x), jnp.sin(of_sine * x))
    return value, lax.complex(-k * jnp.sin(k * x), of_sine * jnp.cos(of_sine * x))


def _polynomials(z: Array, count: int, height: float) -> tuple[Array, Array]:
    """P_n and their derivatives at a height, of which those beyond a wall count as the wall's."""
    zeta = jnp.clip(2 * z / height - 1, -1, 1)
    plain = [jnp.ones_like(zeta), zeta]
    for n in range(1, count - 1):
        plain.append(((2 * n + 1) * zeta * plain[n] - n * plain[n - 1]) / (n + 1))
    values = jnp.stack(plain[:count]) * jnp.asarray(np.sqrt(2 * np.arange(count) + 1.0), z.dtype)
    return values, (2 / height) * (values @ jnp.asarray(legendre.derivative(count), z.dtype))


def _contracted(u_hat: Array, factors: Sequence[Array]) -> Array:
    """Re Σ û Π factors over the axes of the modes, the last axis first."""
    for factor in reversed(factors):
        dtype = u_hat.dtype if jnp.iscomplexobj(factor) else u_hat.real.dtype
        u_hat = jnp.sum(u_hat * factor.astype(dtype), axis=-1)
    return u_hat.real
