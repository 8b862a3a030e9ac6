"""A space that is not of the package: even cosine series along the last axis of a plane, between two walls."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import solver as sw
from solver.grid import Grid
from solver.mesh import placed, split_axes


@dataclass(frozen=True)
class BetweenWalls(Grid):
    """Points (j + ½) Δz along z: those of a discrete cosine transform."""

    periodic = (True, False)

    def coordinates(self):
        x, z = super().coordinates()
        return x, (z + 0.5 * self.spacing[1]).astype(z.dtype)


@dataclass(frozen=True)
class CosineModes:
    """exp(i k x) cos(n π z/L), k ≥ 0, stored as `(n, k)`; n is split over the devices."""

    grid: Grid
    dimensions = 2
    axis_names = ("n", "kx")

    @property
    def mesh(self):
        return self.grid.mesh

    @property
    def parts(self):
        return self.grid.parts

    @property
    def dtype(self):
        return self.grid.dtype

    @property
    def complex_dtype(self):
        return self.grid.complex_dtype

    @cached_property
    def logical_spectral_shape(self):
        nx, nz = self.grid.physical_shape
        return 2 * nz // 3, (nx - 1) // 3 + 1

    @cached_property
    def spectral_shape(self):
        n, k = self.logical_spectral_shape
        return n + -n % self.parts[0], k

    def spectral_sharding(self, ndim=None):
        lead = 0 if ndim is None else ndim - 2
        return NamedSharding(self.mesh, PartitionSpec(*[None] * lead, split_axes(self.mesh)[0], None))

    def numbers(self):
        """n and k [1/length], n as a column; n in the padding is −1."""
        n = np.arange(self.spectral_shape[0])
        k = np.arange(self.spectral_shape[1]) * self.grid.fundamental[0]
        return np.where(n < self.logical_spectral_shape[0], n, -1)[:, None], k[None].astype(self.dtype)

    def mode_weights(self):
        n, k = self.numbers()
        return (np.where(n > 0, 0.5, 1.0) * (n >= 0) * np.where(k > 0, 2.0, 1.0)).astype(self.dtype)

    def is_kept(self):
        return jnp.asarray(np.broadcast_to(self.numbers()[0] >= 0, self.spectral_shape))


@dataclass(frozen=True)
class Cosines:
    def on(self, grid):
        return CosineModes(grid)

    def __str__(self):
        return "cosine modes"


class CosineSpace(sw.Space):
    """The transforms are products with two matrices, which are arrays of the space: leaves of a pytree."""

    waves: jax.Array = eqx.field(default=None, kw_only=True)  # exp(−i k x), (k, x)
    cosines: jax.Array = eqx.field(default=None, kw_only=True)  # cos(n π z/L), (n, z)

    @classmethod
    def of(cls, name, field, grid, method):
        bare = cls(name, field, grid, method)
        (x, z), (n, k) = grid.coordinates(), bare.modes.numbers()
        waves = np.exp(-1j * k.T * x.T).astype(grid.complex_dtype)
        cosines = np.where(n < 0, 0, np.cos(n * np.pi * z / grid.lengths[1])).astype(grid.dtype)
        return cls(name, field, grid, method, waves=waves, cosines=cosines)

    def __str__(self):
        return "cosine series along z"

    @property
    def storage(self):
        return sw.Storage("modes", Cosines())

    def forward(self, u):
        n, _ = self.modes.numbers()
        factor = jnp.asarray(np.where(n > 0, 2, 1) / u[0].size, self.grid.dtype)
        made = factor * jnp.einsum("nz,kx,cxz->cnk", self.cosines, self.waves, u)
        return placed(made, self.modes.spectral_sharding(3))

    def inverse(self, u_hat):
        _, k = self.modes.numbers()
        both = jnp.einsum("nz,kx,cnk->cxz", self.cosines, jnp.conj(self.waves), u_hat * np.where(k > 0, 2, 1))
        return placed(jnp.real(both), self.grid.physical_sharding(3))

    def slopes(self):
        return self.modes.numbers()[1], None

    def laplacian(self):
        n, k = self.modes.numbers()
        return jnp.asarray(np.where(n < 0, 0, -(k**2) - (n * np.pi / self.grid.lengths[1]) ** 2), self.grid.dtype)

    def inverse_laplacian(self):
        laplacian = self.laplacian()
        return jnp.where(laplacian == 0, 0, 1 / jnp.where(laplacian == 0, 1, laplacian))

    @property
    def has_twins(self):
        return True

    def symmetric(self, fields):
        return jax.tree.map(lambda c: c.at[..., 0].set(jnp.real(c[..., 0]).astype(c.dtype)), fields)

    def random(self, key):
        n, k = self.modes.logical_spectral_shape
        parts = jax.random.normal(key, (2, self.stored_components, n, k), self.grid.dtype)
        made = jnp.pad(parts[0] + 1j * parts[1], [(0, 0), (0, self.modes.spectral_shape[0] - n), (0, 0)])
        return self.symmetric(placed(made, self.modes.spectral_sharding(3)))


class SineSpace(CosineSpace):
    """Sine series along z: functions that are 0 at both walls."""

    @classmethod
    def of(cls, name, field, grid, method):
        made = super().of(name, field, grid, method)
        (_, z), (n, _) = grid.coordinates(), made.modes.numbers()
        sines = np.where(n < 1, 0, np.sin(n * np.pi * z / grid.lengths[1])).astype(grid.dtype)
        return dataclasses.replace(made, cosines=sines)

    def __str__(self):
        return "sine series along z"

    @property
    def kind(self):
        return "sines along z"


class AllenCahnBetweenWalls(sw.Equation):
    """u_t = ν∇²u + u − u³, ∂u/∂z = 0 at z = 0 and z = L.

    Args:
        viscosity: ν [length²/time].
    """

    name = "allen-cahn-between-walls"
    fields = {"u": sw.Field()}  # noqa: RUF012
    dimensions = (2,)

    viscosity: float = 0.1

    @classmethod
    def with_points(cls, grid):
        return BetweenWalls(**{name: getattr(grid, name) for name in grid.__dataclass_fields__})

    def space(self, name):
        return CosineSpace.of(name, self.fields[name], self.grid, self.method)

    def linear(self):
        space = self.space("u")
        return sw.Diagonal({"u": jnp.where(space.modes.is_kept(), 1 + self.viscosity * space.laplacian(), 0)})

    def nonlinear(self, fields, t):
        space = self.space("u")
        return {"u": space.forward(-(space.inverse(fields["u"]) ** 3))}

    def rate(self, fields):
        return 1 + 3 * jnp.max(self.space("u").inverse(fields["u"]) ** 2)


class Weighted(CosineSpace):
    """As if its points did not count alike, but 1 + ½cos(2πz/L) each, which is 1 on average."""

    def point_weights(self):
        return 1 + 0.5 * np.cos(2 * np.pi * self.grid.coordinates()[1] / self.grid.lengths[1])


class WeightedMeans(sw.Equation):
    """A text with a mean that no sum over modes gives: ⟨|u|⟩, to which the drift of ⟨u⟩ is relative."""

    text = sw.Text(["dt(u) = viscosity*lap(u)"], fields={"u": "scalar"}, conserved={"mass": "u"})
    with_points = AllenCahnBetweenWalls.with_points

    def space(self, name):
        return Weighted.of(name, self.fields[name], self.grid, self.method)


class AllenCahnAsText(sw.Equation):
    """The same by its text."""

    name = "allen-cahn-as-text"
    text = sw.Text(["dt(u) = viscosity*lap(u) + u - u**3"], fields={"u": "scalar"})
    with_points = AllenCahnBetweenWalls.with_points
    space = AllenCahnBetweenWalls.space
