"""White noise integrated over a step: the law of ∫₀^t exp(L(t−s)) B dW(s), exactly.

For u_t = L u + B ξ, ξ white in time, what the noise adds to u in a time t is Gaussian, with the covariance

    C(t) = ∫₀^t exp(Ls) Q exp(L^H s) ds,   Q = B B^H

in each mode. So F ξ with F F^H = C and unit noise ξ has its law, for a step of any size, damped or growing, turning or
not. Of one number per mode C = Q t φ₁(2 Re(L) t). Of a small matrix it is summed as a Taylor series over t/2^s and
doubled s times, C(2t) = C(t) + exp(Lt) C(t) exp(L^H t): sums of positive matrices, where the exponential of Van Loan's
block matrix would hold exp(−Lt), which overflows for damped modes.

Source: Van Loan, IEEE Trans. Automat. Contr. 23 (1978) 395, for the integral; Gillespie, Phys. Rev. E 54 (1996) 2084,
for one number; both from memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.operators.linear import Diagonal, Fields, LinearOperator, Matrix, Separate
from solver.operators.phi import MAX_DOUBLINGS, TAYLOR_TERMS, multiply, phi_functions
from solver.operators.roots import root


class AddedNoise(eqx.Module):
    """Factors that multiply unit noise.

    Args:
        factor: F, on unit noise of the fields `names`.
        names: the fields that the noise has reached at the end of a step.
        shaped_first: True if the noise of each field goes through B, for one field, before it is multiplied.
    """

    factor: LinearOperator
    names: tuple[str, ...] = eqx.field(static=True)
    shaped_first: bool = eqx.field(static=True)


def reached_by(linear: LinearOperator, driven: tuple[str, ...]) -> tuple[str, ...]:
    """The fields that noise in the driven ones reaches through a linear part: those that a matrix couples them with.

    Raises:
        TypeError: a linear part of another kind, or driven fields that two of its parts hold.
    """
    if isinstance(linear, Separate):
        parts = [part for part in linear.parts if set(driven) & set(_names_of(part))]
        if len(parts) == 1:
            return reached_by(parts[0], driven)
    if isinstance(linear, Matrix) and set(driven) <= set(linear.names):
        return linear.names
    if isinstance(linear, Diagonal):
        return driven
    raise TypeError(
        f"white noise in {', '.join(driven)} under a linear part that is {type(linear).__name__}: a Diagonal or a "
        "Matrix that holds these fields is needed"
    )


def added_noise(
    linear: LinearOperator,
    driven: tuple[str, ...],
    density: Array,
    shaped: Callable[[Fields], Fields],
    fields: Mapping[str, Any],
    t: ArrayLike,
    *,
    is_real: bool,
) -> AddedNoise:
    """The factor F for a time t. No communication, but one all-reduce for matrices, of the number of doublings.

    Args:
        linear: L.
        driven: names of the fields that noise drives.
        density: variance that a mode of unit noise gains per time [u²/time], ≥ 0, which broadcasts against the modes;
            with an axis of components where each number of a mode has its own, and no two are coupled.
        shaped: B but for the root of the density: unit noise of the driven fields → their noise. Linear, mode by mode.
        fields: shapes and dtypes of all fields by name.
        t: size of the step [time].
        is_real: True if B is a real matrix in each mode.

    Raises:
        TypeError: as `reached_by`.
    """
    names = reached_by(linear, driven)
    if isinstance(linear, Separate):
        [linear] = [part for part in linear.parts if set(driven) <= set(_names_of(part))]
    dimensions = len(fields[driven[0]].shape) - 1
    apart = lambda linear: np.ndim(density) > dimensions or _is_of_all_components(linear, driven[0], dimensions)  # noqa: E731
    if len(driven) == 1 and isinstance(linear, Diagonal) and apart(linear):
        rate = jnp.real(linear.entries[driven[0]])
        variance = density * t * phi_functions(2 * t * rate, 1)[0]
        return AddedNoise(Diagonal({driven[0]: root(variance)}), names, True)
    if len(driven) == 1 and isinstance(linear, Matrix) and linear.couples == "fields":
        unit = np.asarray([name == driven[0] for name in names], linear.entries.real.dtype)
        initial = jnp.outer(unit, unit).reshape(*2 * [len(names)], *[1] * dimensions) * density
        return AddedNoise(Matrix(_factor(_accumulated(linear.entries, initial, t)), names, "fields"), names, True)
    entries = _of_components(linear, names, fields)
    columns = _columns(shaped, driven, names, fields)
    columns = jnp.real(columns) if is_real else columns
    initial = multiply(columns, _adjoint(columns)) * density
    return AddedNoise(Matrix(_factor(_accumulated(entries, initial, t)), names), names, False)


def _names_of(part: Any) -> tuple[str, ...]:
    return tuple(part.names) if isinstance(part, Matrix) else tuple(part.entries)


def _is_of_all_components(linear: Diagonal, name: str, dimensions: int) -> bool:
    shape = np.shape(linear.entries[name])
    return len(shape) <= dimensions or shape[0] == 1


def _of_components(linear: LinearOperator, names: tuple[str, ...], fields: Mapping[str, Any]) -> Array:
    """L as one matrix over all components of the named fields `(n, n, *modes)`."""
    modes, counts = fields[names[0]].shape[1:], [fields[name].shape[0] for name in names]
    if isinstance(linear, Matrix) and linear.couples == "components":
        return linear.entries
    if isinstance(linear, Matrix):
        same = jnp.asarray(np.eye(counts[0]).reshape(1, counts[0], 1, counts[0], *[1] * len(modes)))
        coupled = linear.entries[:, None, :, None] * same.astype(linear.entries.real.dtype)
        return coupled.reshape(sum(counts), sum(counts), *linear.entries.shape[2:])
    assert isinstance(linear, Diagonal)
    own = [jnp.broadcast_to(linear.entries[name], fields[name].shape) for name in names]
    eye = np.eye(sum(counts)).reshape(*2 * [sum(counts)], *[1] * len(modes))
    return jnp.concatenate(own)[:, None] * eye.astype(own[0].real.dtype)


def _columns(
    shaped: Callable[[Fields], Fields], driven: tuple[str, ...], names: tuple[str, ...], fields: Mapping[str, Any]
) -> Array:
    """B as one matrix over all components of the named fields, from what it makes of unit vectors; 0 if not driven."""
    zeros = {name: jnp.zeros(fields[name].shape, fields[name].dtype) for name in names}
    columns = []
    for name in names:
        for i in range(fields[name].shape[0]):
            made = zeros
            if name in driven:
                unit = {other: zeros[other] for other in driven}
                made = {**zeros, **shaped({**unit, name: unit[name].at[i].set(1)})}
            columns.append(jnp.concatenate([made[other] for other in names]))
    return jnp.stack(columns, axis=1)


def _accumulated(matrices: Array, initial: Array, t: ArrayLike) -> Array:
    """C(t) for each mode, of matrices L and Q `(n, n, *modes)`."""
    matrices = t * matrices
    modes = np.broadcast_shapes(matrices.shape, initial.shape)
    norm = jnp.max(jnp.sum(jnp.abs(matrices), axis=1), axis=0)
    doublings = jax.lax.stop_gradient(jnp.clip(jnp.frexp(norm)[1] + 1, 0, MAX_DOUBLINGS))
    scale = jnp.ldexp(jnp.ones_like(norm), -doublings)
    small = scale * matrices
    power, covariance = t * scale * initial, t * scale * initial
    eye = jnp.asarray(np.eye(modes[0]).reshape(*2 * [modes[0]], *[1] * (len(modes) - 2)), matrices.real.dtype)
    exponential = eye * (1 / math.factorial(TAYLOR_TERMS))
    for n in range(1, TAYLOR_TERMS):
        half = multiply(small, power) / (n + 1)
        power = half + _adjoint(half)  # (L X + X L^H)/(n + 1), X Hermitian
        covariance = covariance + power
    for n in range(TAYLOR_TERMS - 1, -1, -1):
        exponential = multiply(small, exponential) + eye * (1 / math.factorial(n))
    most = jnp.max(doublings)

    def double(pair: tuple[Array, Array], i: Array) -> tuple[Array, Array]:
        covariance, exponential = pair
        later = covariance + multiply(multiply(exponential, covariance), _adjoint(exponential))
        new = later, multiply(exponential, exponential)
        return tuple(jnp.where(i < doublings, a, b) for a, b in zip(new, pair, strict=True))  # type: ignore[return-value]

    def turn(pair: tuple[Array, Array], i: Array) -> tuple[tuple[Array, Array], None]:
        return jax.lax.cond(i < most, double, lambda pair, _: pair, pair, i), None

    dtype = jnp.result_type(covariance, exponential)
    start = tuple(jnp.broadcast_to(part, modes).astype(dtype) for part in (covariance, exponential))
    return jax.lax.scan(turn, start, jnp.arange(MAX_DOUBLINGS))[0][0]


def _factor(covariance: Array) -> Array:
    """Lower triangular F with F F^H = C, mode by mode; of a singular C too, whose missing directions get zeros.

    Plain arithmetic on the entries, since XLA cannot split the call of a library's Cholesky over devices.
    """
    n = len(covariance)
    least = float(jnp.finfo(covariance.real.dtype).eps) ** (2 / 3)  # of a variance: less of it is round-off
    rest, columns = covariance, []
    for j in range(n):
        pivot = jnp.real(rest[j, j])
        counts = pivot > least * jnp.real(covariance[j, j])
        root = jnp.sqrt(jnp.where(counts, pivot, 1))
        below = (np.arange(n) >= j).reshape(n, *[1] * (covariance.ndim - 2))
        column = jnp.where(counts & below, rest[:, j] / root, 0)
        rest = rest - column[:, None] * jnp.conj(column)[None]
        columns.append(column)
    return jnp.stack(columns, axis=1)


def _adjoint(matrices: Array) -> Array:
    return jnp.conj(jnp.swapaxes(matrices, 0, 1))
