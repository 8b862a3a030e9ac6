"""`Closure`: the stress of the eddies that a grid does not resolve, from the resolved flow."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName
from solver.dynamics.checks import need
from solver.operators import root
from solver.spaces import Space


class AnyClosure(eqx.Module):
    """A closure, at the points (`Closure`) or on each mode (`SpectralViscosity`).

    Class attributes:
        name: in run files.
        dimensions: numbers of dimensions in space in which it is defined.
        acts_on_modes: True if it acts on each mode.
        takes_scalars: True if it has a subgrid flux of passive scalars.
        vanishes_at_walls: True if it serves between rigid walls, where its stress has to vanish as z³.
    """

    name: ClassVar[Any] = ClassName()
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    acts_on_modes: ClassVar[bool] = False
    takes_scalars: ClassVar[bool] = True
    vanishes_at_walls: ClassVar[Any] = True

    @property
    def largest_ratio(self) -> ArrayLike:
        """Largest diffusivity of a scalar over the viscosity, if above 1: for steps by a CFL number."""
        return 1.0


class _OfScalars(AnyClosure):
    """A closure whose scalars diffuse as the momentum does, but for a number."""

    turbulent_schmidt: ArrayLike = eqx.field(default=0.7, kw_only=True)

    def __check_init__(self) -> None:
        need(self, "turbulent_schmidt", "turbulent_schmidt", "a positive number", above=0)

    @property
    def largest_ratio(self) -> ArrayLike:
        return jnp.maximum(1.0, 1.0 / self.turbulent_schmidt)


class Closure(AnyClosure):
    """A subgrid stress τ at the points, whose divergence is added to u_t. Subclass it for a closure of your own.

    Its parameters are annotated attributes, which a run file may set; numbers and arrays in it, such as a network's
    weights, are leaves, so that they have derivatives. The stress is a function at each point by itself: one that looks
    at other points is refused. Its trace only changes the pressure. It is part of N, and costs 9 inverse transforms in
    addition to the velocity's own in three dimensions, 6 where it depends on the rate of strain alone (4 and 3 in
    two dimensions).

    Class attributes:
        of: `gradient` if it depends on ∂u_i/∂x_j, `strain` if it depends on S_ij = ½(∂u_i/∂x_j + ∂u_j/∂x_i) alone.
    """

    of: ClassVar[str] = "gradient"
    takes_scalars: ClassVar[bool] = False

    def prepare(self, u_hat: Array, space: Space) -> Any:
        """Numbers that `stress` needs of the whole flow, a pytree; evaluated once for each N. Nothing by default.

        Args:
            u_hat: coefficients of the resolved velocity `(component, …)`.
            space: space of the velocity: its transforms, means, and `space.fourier` with the wavenumbers.
        """
        return ()

    @property
    def needs_whole_flow(self) -> bool:
        """True if the class has a `prepare` of its own."""
        return type(self).prepare is not Closure.prepare

    @property
    def by_plane(self) -> bool:
        """True if arrays of `prepare` are profiles along the last axis: a point then gets the values of its plane."""
        return False

    @abstractmethod
    def stress(self, resolved: Array, width: Any, prepared: Any) -> Array:
        """τ_ij at the points `(i, j, …)` [u²], the momentum that eddies carry, with the sign of 2ν_t S_ij.

        The symmetric part of the result is used.

        Args:
            resolved: ∂u_i/∂x_j `(i, j, …)`, or S_ij, as `of` says [u/length].
            width: w = π/k_max, smallest half wavelength of the grid, the geometric mean over the axes [length]. Between
                walls it is an array `(…, z)` of each plane.
            prepared: result of `prepare`.
        """

    def flux(self, resolved: Array, slope: Array, width: Any, prepared: Any) -> Array:
        """Flux q of a scalar at the points `(i, …)`, whose divergence is added to c_t, with the sign of κ_t ∇c.

        A class that has it sets `takes_scalars`.

        Args:
            resolved, width, prepared: as of `stress`.
            slope: ∂c/∂x_i `(i, …)`, the constant gradient of the mean included.
        """
        raise NotImplementedError

    def viscosity(self, resolved: Array, width: Any, prepared: Any) -> Array:
        """Eddy viscosity at the points [u·length]: the one with a stress of this size, |τ|/2|S|, by default.

        It is the column `eddy_viscosity`, and limits the steps by a CFL number.
        """
        strain = strain_of(resolved)
        stress = strain_of(self.stress(resolved, width, prepared))
        d = len(stress)
        trace = jnp.trace(stress) / d
        size = size_of_strain(stress - trace * jnp.eye(d, dtype=stress.dtype).reshape(d, d, *[1] * trace.ndim))
        of_strain = size_of_strain(strain)
        return jnp.where(of_strain > 0, size / jnp.where(of_strain > 0, 2 * of_strain, 1), 0)


class EddyViscosity(_OfScalars, Closure):
    """τ = 2 ν_t S with an eddy viscosity ν_t, and ν_t/Sc ∇c of each scalar. A subclass gives `viscosity`.

    Args:
        turbulent_schmidt: Sc > 0, the eddy viscosity over the eddy diffusivity of scalars.
    """

    of: ClassVar[str] = "strain"
    takes_scalars: ClassVar[bool] = True

    @abstractmethod
    def viscosity(self, resolved: Array, width: Any, prepared: Any) -> Array:
        """ν_t at the points, of S_ij `(i, j, …)`, or of ∂u_i/∂x_j as `of` says."""

    def stress(self, resolved: Array, width: Any, prepared: Any) -> Array:
        strain = resolved if self.of == "strain" else strain_of(resolved)
        return 2 * self.viscosity(resolved, width, prepared) * strain

    def flux(self, resolved: Array, slope: Array, width: Any, prepared: Any) -> Array:
        return self.viscosity(resolved, width, prepared) / self.turbulent_schmidt * slope


class SpectralViscosity(_OfScalars):
    """−ν_t(k)|k|²û on each mode, and −ν_t(k)/Sc |k|²ĉ of each scalar. A subclass gives `viscosity`.

    Part of N. No transforms.

    Args:
        turbulent_schmidt: Sc > 0, the eddy viscosity over the eddy diffusivity of scalars.
    """

    acts_on_modes: ClassVar[bool] = True

    @abstractmethod
    def viscosity(self, u_hat: Array, space: Space) -> Array:
        """ν_t on the stored modes [u·length].

        Args:
            u_hat: coefficients of the velocity `(component, …)`.
            space: space of the velocity; `space.fourier` has the wavenumbers.
        """


def strain_of(tensor: Array) -> Array:
    """The symmetric part of tensors `(i, j, …)`."""
    return (tensor + jnp.swapaxes(tensor, 0, 1)) / 2


def size_of_strain(tensor: Array) -> Array:
    """(T_ij T_ij)^½ of tensors `(i, j, …)`; its derivative at zero is 0, unlike the square root."""
    return root(jnp.sum(tensor * tensor, axis=(0, 1)))
