"""Functions between two walls: Fourier series along them, Legendre polynomials from wall to wall."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.diagnostics.gradients import vorticity
from solver.diagnostics.mode_sums import ModeSum, product, summed
from solver.diagnostics.points import at_places
from solver.fft import Transform, resample
from solver.grid import Fourier, Grid, Storage
from solver.operators import random_modes
from solver.spaces.space import Space, tail_of
from solver.walls import legendre

TAIL = 0.1  # fraction of the modes along each axis that forms the tail
MIN_MODES = 8  # along an axis; with fewer there is no tail


class Polynomials(eqx.Module):
    """Matrices of the Legendre polynomials of a grid, all small.

    Polynomials are even or odd in ζ, so that the two halves of the height need one product with a matrix of half the
    size for each kind: f(±ζ) = Σ c_2m P_2m(ζ) ± Σ c_2m+1 P_2m+1(ζ).

    Args:
        values: P_n at the points `(z, n)`.
        halves: P_2m and P_2m+1 at the points of the upper half `(2, half, m)`; 0 beyond the last polynomial.
        analysis: the transpose of that with the weights of a mean `(2, m, half)`; a point at ζ = 0 counts half.
        slope: D of ∂/∂ζ `(n, n)`.
    """

    values: Any
    halves: Any
    analysis: Any
    slope: Any

    @classmethod
    def on(cls, grid: Grid) -> Polynomials:
        return _polynomials(grid.shape[-1], grid.dtype)


@lru_cache(maxsize=32)
def _polynomials(points: int, dtype: np.dtype) -> Polynomials:
    count = legendre.modes_of(points)
    places, weights = legendre.gauss_points(points)
    at = legendre.values(count, places)
    upper = np.pad(at[points // 2 :], [(0, 0), (0, count % 2)])
    halves = np.stack([upper[:, 0::2], upper[:, 1::2]])
    own = weights[points // 2 :] * np.where(2 * np.arange(points // 2, points) + 1 == points, 0.5, 1.0)
    analysis = np.swapaxes(halves * own[:, None], 1, 2)
    made = at, halves, analysis, legendre.derivative(count)
    return Polynomials(*(matrix.astype(dtype) for matrix in made))


def integral(c: Array) -> Array:
    """∫ from the lower wall of polynomials without P_0, as polynomials: I c of `Polynomials`."""
    below, above = _weights(c)
    return _shifted(below * c, 1) - _shifted(above * c, -1)


def integral_transposed(c: Array) -> Array:
    """The transpose of `integral`."""
    below, above = _weights(c)
    return below * _shifted(c, -1) - above * _shifted(c, 1)


def _weights(c: Array) -> tuple[np.ndarray, np.ndarray]:
    """Parts of P_{n+1} and −P_{n−1} in ∫ P_n; 0 for P_0."""
    n = np.arange(c.shape[-1])
    dtype = c.real.dtype
    below = np.where(n > 0, 1 / np.sqrt((2 * n + 1.0) * (2 * n + 3)), 0).astype(dtype)
    above = np.where(n > 0, 1 / np.sqrt((2 * n + 1.0) * np.maximum(2 * n - 1.0, 1)), 0).astype(dtype)
    return below, above


def _shifted(c: Array, by: int) -> Array:
    """Polynomials moved by one number, up or down."""
    empty = jnp.zeros((*c.shape[:-1], 1), c.dtype)
    return jnp.concatenate([empty, c[..., :-1]] if by > 0 else [c[..., 1:], empty], -1)


def times(matrix: Any, c: Array) -> Array:
    """A real matrix on the last axis of complex coefficients: Σ_m M_nm c_m."""
    both = jnp.einsum("nm,...m->...n", jnp.asarray(matrix), jnp.stack([c.real, c.imag]))
    return jax.lax.complex(both[0], both[1])


def _mirror_mean(c: Array) -> Array:
    """The mean of û(kx) and conj û(−kx), of polynomials `(…, kx, n)`."""
    return 0.5 * (c + jnp.conj(jnp.concatenate([c[..., :1, :], jnp.flip(c[..., 1:, :], -2)], -2)))


def _times_levels(matrix: Any, u: Array) -> Array:
    """A matrix on the first axis: Σ_m M_nm u_m."""
    return jnp.einsum("nm,m...->n...", jnp.asarray(matrix), u)


class PolynomialSpace(Space):
    """u(x, y, ζ) = Σ c(k, n) exp(i k·x) P_n(ζ), z = H(1 + ζ)/2: any such function, with no condition at the walls.

    Coefficients are `(component, ky, kx, n)` in three dimensions, `(component, kx, n)` and `(component, n)` in two and
    one. P_n has the mean square one, so that sums of squares are means over the box. A transform costs one of the
    Fourier transforms along the walls for each n, in one exchange, and a product with a matrix.

    Products of an equation live in it. Subclasses hold fields that meet conditions at the walls: their coefficients
    belong to modes, and `series` and `tested` go from modes to polynomials and back.
    """

    polynomials: Any = eqx.field(default=None, kw_only=True)
    lifting_diffuses: ClassVar[bool] = False  # True if ∇² of the lifting is not 0

    def __str__(self) -> str:
        return "Legendre polynomials between walls"

    @property
    def storage(self) -> Storage:
        return Storage("modes", Fourier(True))

    @property
    def height(self) -> float:
        """H [length]."""
        return float(self.grid.lengths[-1])  # type: ignore[index]

    # ---- modes and polynomials ----------------------------------------------------------------------------------

    def series(self, u_hat: Array) -> Array:
        """Coefficients of polynomials of each component at the points, from stored coefficients. No communication."""
        return u_hat

    def without_lifting(self, u_hat: Array) -> Array:
        """The same of a change of the field, which is 0 where the field's value is given."""
        return u_hat

    def tested(self, c: Array) -> Array:
        """Stored coefficients of the nearest change: ⟨c · mode⟩ for each mode, from polynomials. No communication."""
        return c

    def holds(self) -> Array:
        """True for the stored numbers that belong to a mode: `(…, n)`, with an axis of components where they differ."""
        return jnp.broadcast_to(self._is_stored(), self.modes.spectral_shape)

    @property
    def lifting(self) -> Array | None:
        """Polynomials of what the field has by its conditions alone; None without any.

        They are `(component, n)` where it is the same along the walls, else `(component, …, n)` in modes along them.

        Raises:
            ValueError: conditions that depend on time, of an equation that has no time.
        """
        return None

    @property
    def rate_of_lifting(self) -> Array | None:
        """Rate of change of the lifting [1/time], likewise; None where no condition depends on time."""
        return None

    def with_lifting(self, c: Array, sign: int = 1) -> Array:
        """Polynomials with the lifting added, or taken away."""
        own = self.lifting
        return c if own is None else c + sign * self.over_modes(own)

    def over_modes(self, lifting: Array) -> Array:
        """A lifting, or its rate of change, as polynomials `(component, …, n)`."""
        if lifting.ndim > 2:
            return lifting
        shaped = lifting.reshape(lifting.shape[0], *[1] * (self.grid.dimensions - 1), -1)
        return jnp.where(self._uniform_along_walls(), shaped, 0)

    def _uniform_along_walls(self) -> Any:
        horizontal = self.grid.horizontal
        if horizontal is None:
            return True
        return (self.along_squared() == 0) & self._is_stored()

    def _is_stored(self) -> Any:
        """False in the padding of the modes, which stays empty."""
        return jnp.asarray(self.grid.mode_weights()) > 0

    # ---- the two forms ------------------------------------------------------------------------------------------

    def forward(self, u: Array) -> Array:
        return self.tested(self.with_lifting(self.polynomials_of(u), -1))

    def inverse(self, u_hat: Array) -> Array:
        return self.at_points(self.series(u_hat))

    def inverse_of_change(self, u_hat: Array) -> Array:
        return self.at_points(self.without_lifting(u_hat))

    def gradient_square(self, c: Array) -> Array:
        """⟨|∇u|²⟩ of polynomials, summed over components. All-reduces."""
        along = summed([product(c, c, self.modes, self.along_squared())], self.grid.dtype)[0]
        return along + PolynomialSpace.mean_square(self, self.across(c))

    def polynomials_of(self, u: Array) -> Array:
        """Coefficients of polynomials `(component, …, n)` of values at the points. One exchange."""
        levels, half = jnp.moveaxis(u, -1, 1), u.shape[-1] // 2
        return self.of_halves(levels[:, half:], jnp.flip(levels, 1)[:, half:])

    def at_points(self, c: Array, halves: Any = None) -> Array:
        """Values at the points of polynomials. One exchange.

        Args:
            c: polynomials.
            halves: other values of P_n than those at the points, as `Polynomials.halves` has them.
        """
        upper, lower = self.at_halves(c, halves)
        levels = jnp.concatenate([jnp.flip(lower[self.grid.shape[-1] % 2 :], 0), upper])
        return jnp.moveaxis(levels, 0, -1)

    def at_halves(self, c: Array, halves: Any = None) -> tuple[Array, Array]:
        """Values at the points of the upper half and at their mirrors in the lower one, `(half, component, …)`.

        Both begin in the middle. No value is moved in memory. One exchange.
        """
        levels = jnp.moveaxis(c, -1, 0)
        odd = jnp.pad(levels[1::2], [(0, len(levels) % 2)] + [(0, 0)] * (c.ndim - 1))
        even, odd = map(
            _times_levels,
            self.polynomials.halves if halves is None else halves,
            self._points_along_walls(levels[0::2], odd),
        )
        return even + odd, even - odd

    def of_halves(self, upper: Sequence[Array] | Array, lower: Sequence[Array] | Array) -> Array:
        """Coefficients of polynomials of values as `at_halves` returns them, the component first.

        One exchange.
        """
        sums, differences = (
            jnp.stack([u + sign * v for u, v in zip(upper, lower, strict=True)], 1) for sign in (1, -1)
        )
        even, odd = self._modes_along_walls(*map(_times_levels, self.polynomials.analysis, (sums, differences)))
        c = jnp.stack([even, odd], axis=1).reshape(-1, *even.shape[1:])
        return jnp.moveaxis(c[: self.modes.spectral_shape[-1]], 0, -1)

    def _points_along_walls(self, even: Array, odd: Array) -> tuple[Array, Array]:
        """Values along the walls of even and odd polynomials `(m, component, …)`, which are pairs."""
        along = self._along_walls()
        if along is None:
            return even.real, odd.real
        made = along.inverse(jnp.stack([even, odd], 2))
        return made[:, :, 0], made[:, :, 1]

    def _modes_along_walls(self, even: Array, odd: Array) -> tuple[Array, Array]:
        """Inverse of `_points_along_walls`."""
        along = self._along_walls()
        if along is None:
            return even.astype(self.grid.complex_dtype), odd.astype(self.grid.complex_dtype)
        made = along.forward(jnp.stack([even, odd], 2))
        return made[:, :, 0], made[:, :, 1]

    def at_walls(self, c: Array) -> Array:
        """Values of polynomials at the lower and the upper wall, `(2, component, x, y)`. One exchange."""
        along = self._along_walls()
        ends = jnp.asarray(legendre.values(c.shape[-1], np.array([-1.0, 1.0])), self.grid.dtype)
        if along is None:
            return jnp.einsum("wn,cn->wc", ends, c.real)
        return jnp.moveaxis(along.inverse(jnp.moveaxis(times(ends, c), -1, 1)), 1, 0)  # both walls are a pair

    def _along_walls(self) -> Transform | None:
        """The transform of pairs of fields along the walls; None in one dimension."""
        horizontal = self.grid.horizontal
        return None if horizontal is None else Transform(horizontal, replace(self.method, pairs=True))

    # ---- derivatives --------------------------------------------------------------------------------------------

    def wavenumbers(self) -> list[np.ndarray]:
        """k along each direction along the walls, broadcasting against the modes [1/length]."""
        horizontal = self.grid.horizontal
        return [] if horizontal is None else [k[..., None] for k in horizontal.derivative_wavenumbers()]

    def slopes(self) -> Sequence[Any]:
        return [*self.wavenumbers(), None]

    def gradient(self, u_hat: Array) -> Array:
        slopes = self.slopes_of(self.series(u_hat))
        u = self.at_points(slopes.reshape(-1, *slopes.shape[2:]))
        return u.reshape(*slopes.shape[:2], *u.shape[1:])

    def curl(self, u_hat: Array) -> Array:
        return self.at_points(vorticity(self.slopes_of(self.series(u_hat))))

    def slopes_of(self, c: Array) -> Array:
        """∂/∂x_j of polynomials, as polynomials `(j, component, …, n)`."""
        return jnp.stack([*(1j * jnp.asarray(k) * c for k in self.wavenumbers()), self.across(c)])

    def across(self, c: Array) -> Array:
        """∂/∂z of polynomials, as polynomials."""
        return times(self.polynomials.slope, c) * (2 / self.height)

    def across_weakly(self, c: Array) -> Array:
        """The mean of each P_n times ∂c/∂z, of polynomials c that are 0 at the walls: −⟨c ∂P_n/∂z⟩."""
        return times(self.polynomials.slope.T, c) * (-2 / self.height)

    def at_wall(self, c: Array, wall: int) -> Array:
        """Values of polynomials `(…, n)` at the lower (0) or the upper wall (1), `(…, 1)`."""
        return jnp.sum(self._ends()[wall] * c, axis=-1, keepdims=True)

    def through_wall(self, value: Array, wall: int) -> Array:
        """[P_n · value]/H of one wall, of values `(…, 1)` there: its part of the mean of each P_n times ∂c/∂z."""
        return (-1, 1)[wall] / self.height * self._ends()[wall] * value

    def _ends(self) -> Array:
        """P_n at both walls `(2, n)`."""
        return jnp.asarray(legendre.values(self.modes.spectral_shape[-1], np.array([-1.0, 1.0])), self.grid.dtype)

    def along_squared(self) -> Any:
        """k² along the walls [1/length²]."""
        return sum((jnp.asarray(k) ** 2 for k in self.wavenumbers()), start=jnp.zeros((), self.grid.dtype))

    def laplacian_of(self, c: Array) -> Array:
        """∇² of polynomials, as polynomials."""
        return self.across(self.across(c)) - self.along_squared() * c

    def laplacian(self) -> Array:
        raise ValueError(f"field {self.name}: ∇² is no number for each mode of {self}")

    def inverse_laplacian(self) -> Array:
        laplacian = self.laplacian()
        return jnp.where(laplacian == 0, 0, 1 / jnp.where(laplacian == 0, 1, laplacian))

    # ---- sums and means -----------------------------------------------------------------------------------------

    def point_weights(self) -> Any:
        _, weights = legendre.gauss_points(self.grid.shape[-1])
        return (weights * len(weights)).astype(self.grid.dtype)

    def mean_modes(self, axes: Sequence[int] = ()) -> Array:
        chosen, kept = axes or range(self.grid.dimensions), jnp.asarray(self._is_stored())
        for axis in chosen:
            if axis == self.grid.dimensions - 1:
                kept = kept & (jnp.arange(self.modes.spectral_shape[-1]) == 0)
            else:
                kept = kept & (jnp.asarray(self.wavenumbers()[axis]) == 0)
        return jnp.broadcast_to(kept, self.modes.spectral_shape)

    def means(self, u_hat: Array) -> Array:
        return self.means_of_polynomials(self.series(u_hat))

    def means_of_polynomials(self, c: Array) -> Array:
        """The mean over the box of each component of polynomials. One all-reduce."""
        return jnp.sum(jnp.where(self._mean_polynomial(), jnp.real(c), 0), axis=tuple(range(1, c.ndim)))

    def means_at_walls(self, c: Array) -> Array:
        """The means of polynomials over the lower and over the upper wall, `(2, component)`. One all-reduce."""
        profile = jnp.where(self._uniform_along_walls(), jnp.real(c), 0)
        profile = jnp.sum(profile, axis=tuple(range(1, c.ndim - 1)))
        ends = legendre.values(c.shape[-1], np.array([-1.0, 1.0])).astype(self.grid.dtype)
        return jnp.asarray(ends) @ profile.T

    def _mean_polynomial(self) -> Array:
        return PolynomialSpace.mean_modes(self)

    def uniform(self, values: Array) -> Array:
        shaped = values.reshape(-1, *[1] * self.grid.dimensions)
        return self.tested(jnp.where(self._mean_polynomial(), shaped, 0).astype(self.grid.complex_dtype))

    def whole_product(self, u_hat: Array) -> ModeSum:
        c = self.series(u_hat)
        return product(c, c, self.modes)

    def mean_square_at_walls(self, c: Array, of: Sequence[Sequence[bool]]) -> Array:
        """Mean square at both walls of polynomials, of the components that are marked for each wall."""
        total = jnp.zeros((), self.grid.dtype)
        for sign, marked in zip((-1, 1), of, strict=True):
            ends = legendre.values(c.shape[-1], np.array([float(sign)]))[0].astype(self.grid.dtype)
            square = jnp.abs(jnp.einsum("n,c...n->c...", jnp.asarray(ends), c)) ** 2
            weighted = jnp.asarray(self.grid.mode_weights())[..., 0] * square
            total = total + 0.5 * jnp.sum(jnp.asarray(marked, self.grid.dtype) @ weighted.reshape(len(marked), -1))
        return total

    # ---- what keeps a field real, and what diagnostics ask ------------------------------------------------------

    @property
    def has_twins(self) -> bool:
        return True

    def symmetric(self, fields: Any) -> Any:
        return jax.tree.map(self._real_field, fields)

    def _real_field(self, c: Array) -> Array:
        """The nearest coefficients of a real field: û and conj û(−k) alike where the half axis is at 0.

        The mirror is on the same device. No communication.
        """
        horizontal = self.grid.horizontal
        if horizontal is None:
            return c.real.astype(c.dtype)
        if horizontal.dimensions == 1:
            return jnp.where(jnp.asarray(self.wavenumbers()[0]) == 0, c.real.astype(c.dtype), c)
        if horizontal.layout.devices == 1:  # whose first row is all that changes
            return jnp.concatenate([_mirror_mean(c[..., :1, :, :]), c[..., 1:, :, :]], -3)
        return jnp.where(jnp.asarray(self.wavenumbers()[1]) == 0, _mirror_mean(c), c)

    def random(self, key: Array) -> Array:
        horizontal, count = self.grid.horizontal, self.modes.spectral_shape[-1]
        components = len(self.component_names)
        if horizontal is None:
            drawn = jax.random.normal(key, (components, count), self.grid.dtype).astype(self.grid.complex_dtype)
        else:
            drawn = random_modes(key, horizontal, components * count)
            drawn = jnp.moveaxis(drawn.reshape(components, count, *drawn.shape[1:]), 1, -1)
        return self.symmetric(self.tested(drawn))

    def at_places(self, u_hat: Array, places: Sequence[Sequence[float]]) -> Array:
        c, horizontal = self.series(u_hat), self.grid.horizontal
        heights = 2 * np.asarray(places, float)[:, -1] / self.height - 1
        at = jnp.asarray(legendre.values(c.shape[-1], heights), self.grid.dtype)
        if horizontal is None:
            return at @ c.real.T
        levels = jnp.moveaxis(c, -1, 0)
        found = at_places(levels.reshape(-1, *levels.shape[2:]), [place[:-1] for place in places], horizontal)
        return jnp.einsum("pn,pnc->pc", at, found.reshape(len(at), *levels.shape[:2]))

    def resampled(self, u_hat: Array, target: Space) -> Array:
        assert isinstance(target, PolynomialSpace)
        c, horizontal = self.without_lifting(u_hat), self.grid.horizontal
        if horizontal is not None:
            assert target.grid.horizontal is not None
            c = jnp.moveaxis(resample(jnp.moveaxis(c, -1, 0), horizontal, target.grid.horizontal), 0, -1)
        wanted = target.modes.spectral_shape[-1]
        kept = c[..., :wanted]
        return target.tested(jnp.pad(kept, [(0, 0)] * (c.ndim - 1) + [(0, wanted - kept.shape[-1])]))

    def tail(self, u_hat: Array) -> Array:
        """Mean square of the last tenth of the modes along an axis over the largest one's; the largest of all axes."""
        c = self.series(u_hat)
        square = jnp.asarray(self.grid.mode_weights()) * jnp.sum(c.real**2 + c.imag**2, axis=0)
        return jnp.max(jnp.stack([self._tail_along(square, axis) for axis in range(square.ndim)]))

    def _tail_along(self, square: Array, axis: int) -> Array:
        layout = self.grid.layout
        numbers = np.abs(layout.mode_numbers(layout.order[axis]))
        count = int(numbers.max()) + 1
        if count < MIN_MODES:
            return jnp.zeros((), self.grid.dtype)
        line = jnp.sum(square, axis=tuple(i for i in range(square.ndim) if i != axis))[: len(numbers)]
        by_number = jnp.zeros(count, line.dtype).at[numbers].add(line)
        return tail_of(by_number[1:], max(1, math.ceil(TAIL * count)), by_number[0])


class FieldBetweenWalls(PolynomialSpace):
    """The space of a field by its modes: `own` are these, `walls` the conditions."""

    walls: Any = eqx.field(default=None, kw_only=True)
    own: Any = eqx.field(default=None, kw_only=True)

    @property
    def kind(self) -> Hashable:
        return (type(self), self.storage, self.name)  # of conditions of its own

    def series(self, u_hat: Array) -> Array:
        return self.with_lifting(self.without_lifting(u_hat))

    def projected(self, u_hat: Array) -> Array:
        """⟨u · mode⟩ of the whole field: its coefficients, and the part of its lifting that modes have."""
        if self.lifting is None:
            return u_hat
        c = jnp.zeros((len(self.component_names), *self.modes.spectral_shape), u_hat.dtype)
        return u_hat + self.tested(self.with_lifting(c))

    def gives_values(self) -> list[bool]:
        """For the lower and the upper wall, True if it gives the field its value."""
        raise NotImplementedError
