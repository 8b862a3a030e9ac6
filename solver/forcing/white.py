"""Forcings that are white in time, exact in the linear part of any equation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.forcing.forcing import Forcing
from solver.operators import AddedNoise, Fields, added_noise, reached_by
from solver.spaces import Space
from solver.spaces.manifold import constrained


class WhiteForcing(Forcing):
    """Noise that is white in time: du = (L u + N) dt + B dW. Subclass it and give `density` for noise of your own.

    At the end of a step of size dt each mode gets what the noise has become under L meanwhile: a Gaussian number of
    covariance ∫₀^dt exp(Ls) B B^H exp(L^H s) ds (`operators.noise`), of one number per mode in closed form, of small
    matrices by Taylor series and doubling. So where N = 0 the law is exact for any dt. With N it is of first order in
    dt in the weak sense: noise and N act one after the other. Steppers that are exact in L take it, `etdrk*`, `ifrk*`
    and `lsrk3`, with a fixed step or a CFL number. With a tolerance it is refused: an embedded method sees no error of
    the noise.

    Numbers are drawn by mode with the number of the step as part of the key: the same on any number of devices, and
    after a restart. Nothing is exchanged. A linear part of n × n matrices costs one all-reduce for each size of step,
    and the memory of one more such matrix per mode.

    The entry `forcing` of a budget holds E(u + δ) − E(u) of each step. In the mean that is ½ tr(Q) dt φ₁(2 L dt) of a
    quadratic energy, Q = B B^H: the power ½ tr(Q) dt, less what L has taken of the step's own noise.
    """

    random: ClassVar[bool] = True
    kicks: ClassVar[bool] = True

    @abstractmethod
    def density(self, equation: AnyEquation, field: str) -> Array:
        """Variance ⟨|û|²⟩ that each mode of each component gains per time, before `shaped` [u²/time].

        Args:
            equation: whose field is forced.
            field: its name; `equation.space(field).fourier` has the wavenumbers.

        Returns:
            Real, ≥ 0, of the grid's `spectral_shape` or what broadcasts against it.
        """

    def driven(self, equation: AnyEquation, field: str) -> tuple[str, ...]:
        """Names of the fields that noise drives, those that `shaped` is given: by default its own field alone."""
        return (field,)

    def shaped(self, equation: AnyEquation, field: str, unit: Fields) -> Fields:
        """B but for the root of the density: unit noise of the driven fields → their noise, linear and mode by mode.

        By default the noise itself. In any case it is then made free of divergence and of zero mean where the fields
        are declared so.
        """
        return unit

    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        return jnp.zeros_like(u_hat)

    def kicked_fields(self, equation: AnyEquation, field: str) -> tuple[str, ...]:
        linear = jax.eval_shape(lambda: equation.linear())  # type: ignore[attr-defined]
        return reached_by(linear, self.driven(equation, field))

    def prepare_kick(self, equation: AnyEquation, field: str, dt: ArrayLike) -> AddedNoise:
        driven = self.driven(equation, field)
        return added_noise(
            equation.linear(),  # type: ignore[attr-defined]
            driven,
            jnp.asarray(self.density(equation, field), equation.grid.dtype),
            lambda unit: self._noise(equation, field, unit),
            equation.field_shapes(),
            jnp.asarray(dt, equation.grid.dtype),
            is_real=self._is_real(),
        )

    def kick(
        self, equation: AnyEquation, field: str, fields: Fields, state: Any, prepared: Any, key: Array | tuple[()]
    ) -> Fields:
        keys = {name: jax.random.fold_in(key, i) for i, name in enumerate(prepared.names)}
        unit = {n: equation.space(n).random(keys[n]) for n in prepared.names}
        if prepared.shaped_first:
            unit = {name: self._noise(equation, field, {field: noise})[field] for name, noise in unit.items()}
        added: Fields = prepared.factor.apply(unit)
        return added

    def _noise(self, equation: AnyEquation, field: str, unit: Fields) -> Fields:
        """`shaped`, and the constraints of the fields."""
        return constrained(self.shaped(equation, field, unit), equation.spaces)

    def _is_real(self) -> bool:
        """True if `shaped` is known to be a real matrix in each mode."""
        return type(self).shaped is WhiteForcing.shaped
