"""Linear parts of equations: one number per mode and field, or one small matrix per mode.

A linear operator acts on named fields of coefficients. Its exponentials, φ-functions and inverses, which steppers need,
are operators of the same kind: they are computed once per step size and then applied.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators.phi import phi_functions, phi_matrices

Fields: TypeAlias = dict[str, Array]  # coefficients `(component, *modes)` by field name


class LinearOperator(eqx.Module):
    """L in u_t = L u + N(u, t), diagonal in k; a pytree whose leaves are its entries."""

    @abstractmethod
    def apply(self, fields: Fields) -> Fields:
        """L u, with the same names and shapes as `fields`. No communication."""

    @abstractmethod
    def exp(self, t: ArrayLike) -> LinearOperator:
        """exp(t L)."""

    @abstractmethod
    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> LinearOperator:
        """Σ_k weights[k] · φ_k(t L), for k from 1 to 3."""

    @abstractmethod
    def solve(self, a: ArrayLike, b: ArrayLike) -> LinearOperator:
        """(a − b L)⁻¹, for implicit steps; a and b are positive numbers [1], [time]."""

    @abstractmethod
    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raises ValueError if the operator does not fit fields of these shapes; the message names both."""

    @property
    @abstractmethod
    def spectrum(self) -> str:
        """The kind of eigenvalues, `real` or `complex`, by the dtype: an imaginary L counts as complex."""


class Diagonal(LinearOperator):
    """A number per mode for each field, real or complex: viscosity, dispersion, growth.

    Args:
        entries: field name → L(k) [1/time], which broadcasts against coefficients `(component, *modes)`. In the result
            of `exp` of a complex L, a `Rotation`, which keeps the modulus if L is imaginary.
    """

    entries: dict[str, Any]

    def apply(self, fields: Fields) -> Fields:
        return {name: _times(self.entries[name], field) for name, field in fields.items()}

    def exp(self, t: ArrayLike) -> Diagonal:
        def grown(entry: Array) -> Any:
            if jnp.iscomplexobj(entry):
                return Rotation.by(t * jnp.imag(entry), times=jnp.exp(t * jnp.real(entry)))
            return jnp.exp(t * entry)

        return self._map(grown)

    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> Diagonal:
        def combined(entry: Array) -> Array:
            phi = phi_functions(t * jnp.asarray(entry), max(weights))
            return _weighted([phi[k - 1] for k in sorted(weights)], [weights[k] for k in sorted(weights)])

        return self._map(combined)

    def solve(self, a: ArrayLike, b: ArrayLike) -> Diagonal:
        return self._map(lambda entry: 1 / (a - b * entry))

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        _check_names("a Diagonal linear part", self.entries, shapes)
        for name, entry in self.entries.items():
            shape = np.shape(entry)
            if not _broadcasts(shape, shapes[name]):
                raise ValueError(
                    f"the linear part of {name} has shape {list(shape)}; it must broadcast to {list(shapes[name])}"
                )

    @property
    def spectrum(self) -> str:
        return "complex" if any(jnp.iscomplexobj(entry) for entry in self.entries.values()) else "real"

    def _map(self, function: Any) -> Diagonal:
        return Diagonal({name: function(entry) for name, entry in self.entries.items()})


class Matrix(LinearOperator):
    """A small matrix per mode: rotation, stratification, Alfvén waves.

    With `couples = "components"` the matrix acts on all components of all fields, in the order of `names`. With
    `"fields"` it acts on the fields, in the same way for each component; all fields must have equally many components.

    Args:
        entries: `(n, n, *modes)` [1/time], real or complex, any scaling between fields of different units.
        names: the fields in the order of rows.
        couples: `components` or `fields`.
    """

    entries: Array
    names: tuple[str, ...] = eqx.field(static=True)
    couples: str = eqx.field(static=True, default="components")

    def apply(self, fields: Fields) -> Fields:
        x = self._stacked(fields)
        rows = [sum(self.entries[i, j] * x[j] for j in range(len(x))) for i in range(len(x))]
        return self._unstacked(jnp.stack(rows), fields)

    def exp(self, t: ArrayLike) -> Matrix:
        return self._with(phi_matrices(t * self.entries, 0)[0])

    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> Matrix:
        phi = phi_matrices(t * self.entries, max(weights))
        return self._with(_weighted([phi[k] for k in sorted(weights)], [weights[k] for k in sorted(weights)]))

    def solve(self, a: ArrayLike, b: ArrayLike) -> Matrix:
        n = len(self.entries)
        eye = np.eye(n, dtype=jnp.finfo(self.entries.dtype).dtype).reshape(n, n, *[1] * (self.entries.ndim - 2))
        return self._with(inverse_of_matrices(a * eye - b * self.entries))

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        _check_names("a Matrix linear part", self.names, shapes)
        if self.couples not in ("components", "fields"):
            raise ValueError(f"a Matrix that couples {self.couples!r}: 'components' or 'fields' is needed")
        sizes = [shapes[name][0] for name in self.names]
        if self.couples == "fields" and len(set(sizes)) > 1:
            raise ValueError(f"a Matrix that couples fields of {sizes} components: equally many are needed")
        n = len(self.names) if self.couples == "fields" else sum(sizes)
        modes = shapes[self.names[0]][1:]
        if any(shapes[name][1:] != modes for name in self.names):
            kinds = ", ".join(f"{name} has {list(shapes[name][1:])}" for name in self.names)
            raise ValueError(f"a Matrix couples real fields or complex ones, which have other modes: {kinds}")
        shape = np.shape(self.entries)
        if shape[:2] != (n, n) or not _broadcasts(shape[2:], modes):
            raise ValueError(f"a Matrix linear part of shape {list(shape)}: {[n, n, *modes]} is needed")

    @property
    def spectrum(self) -> str:
        return "complex"

    def _with(self, entries: Array) -> Matrix:
        return Matrix(entries, self.names, self.couples)

    def _stacked(self, fields: Fields) -> Array:
        """The vectors that the matrix multiplies, along the first axis."""
        arrays = [fields[name] for name in self.names]
        return jnp.stack(arrays) if self.couples == "fields" else jnp.concatenate(arrays)

    def _unstacked(self, rows: Array, fields: Fields) -> Fields:
        if self.couples == "fields":
            return dict(zip(self.names, rows, strict=True))
        ends = np.cumsum([len(fields[name]) for name in self.names])
        return dict(zip(self.names, jnp.split(rows, ends[:-1]), strict=True))


class Separate(LinearOperator):
    """Operators side by side, each on fields of its own: where real and complex fields, whose modes differ, are moved
    together, or where a matrix couples a few fields of many.

    Args:
        parts: `Diagonal` or `Matrix` operators; together they act on all fields, each field in one of them.
    """

    parts: tuple[Any, ...]

    def apply(self, fields: Fields) -> Fields:
        applied: Fields = {}
        for part in self.parts:
            applied |= part.apply({name: fields[name] for name in _names_of(part)})
        return {name: applied[name] for name in fields}

    def exp(self, t: ArrayLike) -> Separate:
        return Separate(tuple(part.exp(t) for part in self.parts))

    def phi(self, weights: Mapping[int, float], t: ArrayLike) -> Separate:
        return Separate(tuple(part.phi(weights, t) for part in self.parts))

    def solve(self, a: ArrayLike, b: ArrayLike) -> Separate:
        return Separate(tuple(part.solve(a, b) for part in self.parts))

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        names = [name for part in self.parts for name in _names_of(part)]
        _check_names("a Separate linear part", names, shapes)
        for part in self.parts:
            part.check({name: shapes[name] for name in _names_of(part)})

    @property
    def spectrum(self) -> str:
        return "complex" if any(part.spectrum == "complex" for part in self.parts) else "real"


def _names_of(part: Any) -> tuple[str, ...]:
    """The fields that an operator acts on."""
    return tuple(part.names) if isinstance(part, Matrix) else tuple(part.entries)


def _times(entry: Any, field: Array) -> Array:
    return entry.apply(field) if isinstance(entry, Rotation) else entry * field


def _weighted(terms: Sequence[Array], weights: Sequence[float]) -> Array:
    total = None
    for term, weight in zip(terms, weights, strict=True):
        part = term if weight == 1 else weight * term
        total = part if total is None else total + part
    assert total is not None
    return total


def inverse_of_matrices(matrices: Array) -> Array:
    """Inverses of matrices `(n, n, *modes)`, mode by mode, by Gauss–Jordan elimination with partial pivoting.

    It uses plain arithmetic on the entries, since XLA cannot split the call of a library's LU over devices.
    """
    n = len(matrices)
    unit = jnp.broadcast_to(np.eye(n).reshape(n, n, *[1] * (matrices.ndim - 2)), matrices.shape)
    rows = list(jnp.concatenate([matrices, unit.astype(matrices.dtype)], axis=1))  # each (2n, *modes)
    for k in range(n):
        for i in range(k + 1, n):
            swap = jnp.abs(rows[i][k]) > jnp.abs(rows[k][k])
            rows[k], rows[i] = jnp.where(swap, rows[i], rows[k]), jnp.where(swap, rows[k], rows[i])
        rows[k] = rows[k] / rows[k][k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i][k] * rows[k]
    return jnp.stack([row[n:] for row in rows])


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    try:
        return np.broadcast_shapes(tuple(shape), tuple(to)) == tuple(to)
    except ValueError:
        return False


def _check_names(what: str, given: Any, needed: Mapping[str, Any]) -> None:
    if sorted(given) != sorted(needed):
        raise ValueError(f"{what} of the fields {sorted(given)}: {sorted(needed)} are needed")


class Rotation(eqx.Module):
    """Multiplication by exp(iθ) for real angles θ of any shape; a pytree whose leaves are arrays of that shape.

    It keeps the modulus over any number of steps. A factor exp(iθ) rounded to single precision has a modulus of 1 ±
    6e-8. Applied at every step, with the same rounding, it lets a norm drift by 1e-3 in 20 000 steps. Three shears do
    not: each shear has the determinant 1 whatever its rounded number is, so their product has it too, and is a rotation
    up to a fixed change of coordinates, an ellipse of 1 ± 1e-7.

        x ← x − y tan(θ/2),   y ← y + x sin θ,   x ← x − y tan(θ/2)

    Angles beyond a quarter turn are replaced by θ − π, and the sign of the result is changed.

    Source: Daubechies & Sweldens, J. Fourier Anal. Appl. 4 (1998) 247 (rotations as lifting steps); Paeth, Graphics
    Interface (1986) 77.

    Args:
        half: −tan(θ/2) of the angle within a quarter turn.
        sine: sin θ of that angle.
        sign: −1 if θ was replaced by θ − π, else 1; multiplied by the factor `times`.
    """

    half: Array
    sine: Array
    sign: Array

    @classmethod
    def by(cls, angle: ArrayLike, times: ArrayLike = 1.0) -> Rotation:
        """The rotation by angles [radians], followed by a multiplication by `times`."""
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        side = jnp.where(cosine < 0, -1.0, 1.0).astype(cosine.dtype)
        sine = side * sine
        return cls(-sine / (1 + side * cosine), sine, side * times)

    def apply(self, z: Array) -> Array:
        """exp(iθ) z. No communication."""
        x = z.real + self.half * z.imag
        y = z.imag + self.sine * x
        x = x + self.half * y
        return jax.lax.complex(self.sign * x, self.sign * y).astype(z.dtype)
