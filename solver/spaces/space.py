"""`Space`, the protocol of the functions of space that a field is a series of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics.gradients import vorticity
from solver.diagnostics.mode_sums import ModeSum, product, summed
from solver.fft import Method, Transform, max_over_points
from solver.grid import Grid, Modes, Storage
from solver.spaces.field import Field

SOLENOIDAL, ZERO_MEAN = "solenoidal", "zero_mean"  # what a field may declare; see `Space.as_declared`
FOURIER, EVEN_POINTS = "Fourier modes of a periodic box", "points that count alike"  # what a space may offer
ROUNDING = 1e3  # machine epsilons of a mean, which shells of rounding errors alone do not reach


class NotInSpace(ValueError):
    """A space lacks a requested part, such as shells of |k| where it has no Fourier series."""


class Space(eqx.Module):
    """The space of one field of an equation: its form in a state, and its values at the points of the grid.

    An equation gives each of its fields one (`equation.space(name)`): `FourierSpace` by default. Subclass it for other
    functions of space, and override `Equation.space`. A subclass gives `storage`, `forward`, `inverse`, `slopes`,
    `laplacian`, `inverse_laplacian` and `random`; the rest has defaults that follow from these and from the modes.

    Coefficients are arrays `(component, *modes.spectral_shape)`, values at the points
    `(component, *grid.physical_shape)`; the numbers of components may differ. Arrays that a space needs are its
    attributes, leaves of a pytree; all else is static.

    Args:
        name: name of the field.
        field: the equation's declaration of the field.
        grid: the points, and the devices that share them.
        method: engine and exchanges of transforms.
        shift: shift of the points during one evaluation, in units of their spacing; None at rest.
    """

    name: str = eqx.field(static=True)
    field: Field = eqx.field(static=True)
    grid: Grid = eqx.field(static=True)
    method: Method = eqx.field(default=Method(), static=True)
    shift: Any = None

    def __str__(self) -> str:
        """Name of its functions, in messages."""
        return type(self).__name__

    # ---- the two forms of a field -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def storage(self) -> Storage:
        """Storage of the field in a state: `Storage("modes", kind)`, where `kind.on(grid)` are its `Modes`."""

    @property
    def modes(self) -> Modes:
        """The modes of one scalar, on the devices of the grid."""
        return self.storage.kind.on(self.grid)

    @property
    def component_names(self) -> tuple[str, ...]:
        """Names of the components that the field has at the points."""
        return self.field.component_names(self.name, self.grid.dimensions)

    def counted(self, values: Array, power: float = 1) -> Array:
        """Values or coefficients with each component times how often it stands among all, to a power.

        See `Field.counts`.
        """
        counts = self.field.counts(self.grid.dimensions)
        if set(counts) == {1}:
            return values
        weights = np.asarray(counts, self.grid.dtype) ** power
        return values * weights.reshape(-1, *[1] * self.grid.dimensions)

    @property
    def stored_components(self) -> int:
        """Number of components of its coefficients; as many as it has at the points by default."""
        return len(self.component_names)

    @property
    def coefficients(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of its coefficients."""
        return jax.ShapeDtypeStruct((self.stored_components, *self.modes.spectral_shape), self.modes.complex_dtype)

    @property
    def values(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of its values at the points."""
        shape = (len(self.component_names), *self.grid.physical_shape)
        return jax.ShapeDtypeStruct(shape, self.points.physical_dtype)

    @property
    def points(self) -> Grid:
        """The grid with the type of its values: of real or of complex fields."""
        return self.grid.as_real if self.field.real else self.grid.as_complex

    @property
    def kind(self) -> Hashable:
        """Fields whose spaces have one kind are transformed together, their components after one another."""
        return (type(self), self.storage, self.name if self.stored_components != len(self.component_names) else "")

    @abstractmethod
    def forward(self, u: Array) -> Array:
        """Coefficients of values at the points; of several fields of this `kind`, their components after one another.

        What the space does not hold is left out: modes that the grid does not keep, for one.
        """

    @abstractmethod
    def inverse(self, u_hat: Array) -> Array:
        """Values at the points, of coefficients."""

    def inverse_of_change(self, u_hat: Array) -> Array:
        """Values at the points of a difference of two fields, to which conditions at walls add nothing."""
        return self.inverse(u_hat)

    @property
    def moves_points(self) -> bool:
        """True if `forward` and `inverse` heed the `shift`, as dealiasing by phase shifts needs it."""
        return False

    @property
    def limit(self) -> str:
        """The limit of its modes, in words."""
        return "the modes that are kept"

    @property
    def exact(self) -> Space:
        """The same for a transform that is done once, not in every step: exchanges send numbers as they are."""
        return replace(self, method=self.method.without_rounding)

    # ---- sums over modes ----------------------------------------------------------------------------------------

    def product(self, a_hat: Array, b_hat: Array, weight: ArrayLike = 1) -> ModeSum:
        """⟨a · b⟩ over the box, as a sum over modes that `mode_sums.summed` works out, several in one all-reduce.

        Args:
            a_hat, b_hat: coefficients.
            weight: weight of each mode.
        """
        return product(a_hat, b_hat, self.modes, weight)

    def point_weights(self) -> Any:
        """Weight of each point in a mean over the box, 1 on average: an array that broadcasts over the points.

        None, as by default, where all count alike, and where histograms of the points mean something.
        """
        return None

    def mean(self, values: Array) -> Array:
        """The mean over the box of values at the points `(…, x, y, z)`. One all-reduce."""
        weights = self.point_weights()
        axes = tuple(range(-self.grid.dimensions, 0))
        return jnp.mean(values if weights is None else weights * values, axis=axes)

    def means(self, u_hat: Array) -> Array:
        """The mean over the box of each component, from coefficients of one for each. One all-reduce."""
        axes = tuple(range(1, u_hat.ndim))
        return jnp.sum(jnp.where(self.mean_modes(), jnp.real(u_hat), 0), axis=axes)

    def uniform(self, values: Array) -> Array:
        """Coefficients of the field that has these values everywhere, one for each component. No communication.

        Raises:
            NotInSpace: a space that stores no coefficients of each component.
        """
        if self.stored_components != len(self.component_names):
            raise NotInSpace(f"field {self.name}: no field of {self} is the same everywhere")
        shaped = values.reshape(-1, *[1] * len(self.modes.spectral_shape))
        return jnp.where(self.mean_modes(), shaped, 0).astype(self.modes.complex_dtype)

    def mean_square(self, u_hat: Array) -> Array:
        """⟨|u|²⟩ over the box, summed over components, of a field or of a change of it. One all-reduce."""
        return summed([self.product(u_hat, u_hat)], self.grid.dtype)[0]

    def whole_square(self, u_hat: Array) -> Array:
        """⟨|u|²⟩ of a field, with the part that its conditions at walls add. One all-reduce."""
        return summed([self.whole_product(u_hat)], self.grid.dtype)[0]

    def whole_product(self, u_hat: Array) -> ModeSum:
        """The same as a sum over modes that `mode_sums.summed` works out."""
        return self.product(u_hat, u_hat)

    # ---- derivatives, mode by mode ------------------------------------------------------------------------------

    @abstractmethod
    def slopes(self) -> Sequence[Any]:
        """For each direction the k of ∂ → i k, broadcasting against the modes; None where the derivative of a field
        does not lie in this space."""

    def gradient(self, u_hat: Array) -> Array:
        """∂u_i/∂x_j at the points `(j, i, x, y, z)`, from coefficients.

        Raises:
            NotInSpace: a space that does not know derivatives at the points.
        """
        raise NotInSpace(f"field {self.name}: derivatives at the points are not known of {self}")

    def curl(self, u_hat: Array) -> Array:
        """∇×u at the points, from coefficients of a vector: three components in 3-D, the one out of the plane in 2-D.

        Raises:
            NotInSpace: a space that does not know derivatives at the points.
        """
        return vorticity(self.gradient(u_hat))

    @abstractmethod
    def laplacian(self) -> Array:
        """∇² of each mode [1/length²]; zero in the padding."""

    @abstractmethod
    def inverse_laplacian(self) -> Array:
        """1/∇² of each mode, and 0 where ∇² is 0 [length²]."""

    def mean_modes(self, axes: Sequence[int] = ()) -> Array:
        """True for the modes that are the same at all points along these axes, all of them by default.

        Raises:
            NotInSpace: a space that tells its axes not apart.
        """
        if axes:
            raise NotInSpace(f"field {self.name}: means along an axis are not known of {self}")
        return self.modes.is_kept() & (self.laplacian() == 0)

    # ---- what the field is declared to be -----------------------------------------------------------------------

    def as_declared(self, u_hat: Array, what: str) -> Array:
        """Coefficients of the nearest field that is `solenoidal`, or has `zero_mean`. No communication.

        Raises:
            NotInSpace: a space that knows no such thing.
        """
        if what == ZERO_MEAN:
            return jnp.where(self.mean_modes(self.field.mean_axes), 0, u_hat)
        raise NotInSpace(f"field {self.name}: fields of {self} cannot be declared {what}")

    @property
    def declared(self) -> list[str]:
        """Constraints that the field is declared to meet: `solenoidal`, `zero_mean`."""
        return [what for what in (SOLENOIDAL, ZERO_MEAN) if getattr(self.field, what)]

    def constrained(self, u_hat: Array) -> Array:
        """The nearest field, or change of it, that meets a declared constraint. No communication."""
        for what in self.declared:
            u_hat = self.as_declared(u_hat, what)
        return u_hat

    @property
    def has_twins(self) -> bool:
        """True if stored numbers depend on each other, so that `symmetric` has something to do."""
        return False

    def symmetric(self, fields: Any) -> Any:
        """The nearest coefficients that belong to a field of this space, of a tree of fields of this `kind`.

        Where a state stores numbers that depend on each other, such as û(−k) = conj û(k), rounding parts them.
        """
        return fields

    # ---- what diagnostics and outputs ask -----------------------------------------------------------------------

    @property
    def offers(self) -> frozenset[str]:
        """Needs of outputs and forcings that it meets: `FOURIER` if it has a `fourier`, and `EVEN_POINTS` if it has no
        `point_weights`."""
        even = [EVEN_POINTS] if self.point_weights() is None else []
        try:
            _ = self.fourier
        except NotInSpace:
            return frozenset(even)
        return frozenset([FOURIER, *even])

    @abstractmethod
    def random(self, key: Array) -> Array:
        """Coefficients of a random field, of mean square about one for each mode and component; of any devices the same
        number for each mode."""

    def at_places(self, u_hat: Array, places: Sequence[Sequence[float]]) -> Array:
        """Values `(place, component)` at any places, on every device.

        Raises:
            NotInSpace: a space that does not know its functions between the points.
        """
        raise NotInSpace(f"field {self.name}: values between the points are not known of {self}")

    def missed_at_walls(self, u: Array) -> Array | None:
        """Mean square of the difference to given values at walls, of values at the points; None without such values."""
        return None

    def lost_along_walls(self) -> Array | None:
        """Largest share of the mean square of a condition along the walls, or of its rate of change, that the modes
        along them do not hold; None where no condition varies along the walls."""
        return None

    def resampled(self, u_hat: Array, target: Space) -> Array:
        """Coefficients of the same field in a space of this class on another grid.

        Raises:
            NotInSpace: a space that cannot.
        """
        raise NotInSpace(f"field {self.name}: {self} has no way to another resolution")

    def tail(self, u_hat: Array) -> Array:
        """Share of the modes of the smallest scales, relative to the largest: more than some 3 % needs more
        points. 0 where it is not known, as by default."""
        return jnp.zeros(())

    @property
    def fourier(self) -> Grid:
        """The grid whose modes exp(i k·x) these are, for what needs shells of |k| or a periodic box.

        Raises:
            NotInSpace: other modes.
        """
        raise NotInSpace(f"field {self.name} is of {self}; {FOURIER} are needed")

    @property
    def fourier_transform(self) -> Transform:
        """The transform of scalars on that grid, by the equation's method, at points that may be shifted.

        Raises:
            NotInSpace: other modes.
        """
        return Transform(self.fourier, self.method, self.shift)

    def pointwise(
        self, fn: Callable[..., Array], u_hat: Array, parameters: Any, at_points: Any, largest: Any = None
    ) -> Any:
        """`forward(fn(inverse(u_hat)))` of a function of scalars of this `kind`; see `Transform.pointwise`.

        Args:
            fn: called as `fn(u, parameters)`, or `fn(u, parameters, at_points)` with arrays over the points.
            u_hat: coefficients `(component, …)`.
            parameters, at_points, largest: as of `Transform.pointwise`.

        Returns:
            Coefficients of what `fn` returns; with `largest` a pair of that and the largest of its numbers.
        """
        points = replace(self.points, walls=None)  # a function of points does not ask what bounds them
        Transform(points, self.method).check_function(fn, parameters, at_points, u_hat.shape[:1])
        given = [parameters, *([] if at_points is None else [at_points])]
        u = self.inverse(u_hat)
        made = self.forward(fn(u, *given))
        return made if largest is None else (made, max_over_points(largest(u, *given)))


def refuse_lacking(spaces: Iterable[Space], needs: Sequence[str], who: str) -> None:
    """Refuse what needs more than the spaces of fields offer: the one check of outputs and forcings.

    Args:
        spaces: spaces of the fields that it is about.
        needs: `FOURIER`, `EVEN_POINTS`.
        who: name of what needs them, for the message.

    Raises:
        ValueError: a space lacks one of the needs.
    """
    for space in spaces:
        for need in needs:
            if need not in space.offers:
                raise ValueError(f"{who}: field {space.name} is of {space}; {need} are needed")


def tail_of(energy: Array, count: int, mean: Array) -> Array:
    """Mean energy of the last `count` shells over the largest one's; 0 if all are rounding errors of the mean's."""
    largest, rounding = jnp.max(energy), ROUNDING * float(jnp.finfo(energy.dtype).eps)
    share = jnp.mean(energy[-count:]) / jnp.where(largest > 0, largest, 1)
    return jnp.where(largest > rounding**2 * mean, share, 0)
