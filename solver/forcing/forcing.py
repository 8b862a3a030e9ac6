"""`Forcing`: a state that the loop advances once a step, and an acceleration that every stage adds to N."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid, Storage
from solver.operators import Fields
from solver.spaces import Space


class Forcing(eqx.Module):
    """A forcing of one field. Subclass it for a forcing of your own; its parameters are annotated attributes.

    Class attributes:
        name: in run files.
        ranks: ranks of the fields that the forcing can drive.
        random: True if it needs a random key, and so a seed in `initial_state`. Steps by a tolerance are refused: taken
            again with the same random numbers where those were large, they would favour small ones.
        needs: requirements on the space of its field, such as `spaces.FOURIER`; empty by default.
        needs_change: True if `force` needs to know what else changes the field.
        kicks: True if it changes fields at the end of each step, by `kick`. Steppers that are exact in the linear part
            alone take it, with fixed steps or a CFL number. `solver.forcing.WhiteForcing` is for noise that is white in
            time.
    """

    name: ClassVar[Any] = ClassName()
    ranks: ClassVar[tuple[str, ...]] = ("vector", "scalar")
    random: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    needs_change: ClassVar[bool] = False
    kicks: ClassVar[bool] = False

    def check(self, equation: AnyEquation, field: str) -> None:
        """Refuse a field that it cannot drive, when the equation is made. Touches no device.

        Raises:
            ValueError: the message names the forcing, the value given and the value needed.
        """
        return

    @property
    def mean_between_walls(self) -> tuple[Any, ...] | None:
        """The mean along the walls that it keeps at all times, where two walls bound a velocity; None by default.

        The space of the field then has this mean, and the force acts on no mode of it.
        """
        return None

    def start(self, space: Space, key: Array | tuple[()]) -> Any:
        """State at the start of a run: a pytree of arrays, kept in checkpoints.

        Args:
            space: space of its field; `space.fourier` is the grid of its wavenumbers, and refuses a space without.
            key: key of the run, for a forcing that is `random`.
        """
        return ()

    def start_from(self, u_hat: Array, space: Space, key: Array | tuple[()]) -> Any:
        """State at the start of a run whose field has these coefficients; by default `start`, whatever they are."""
        return self.start(space, key)

    def state_storage(self, field: Storage) -> Any:
        """Storage of the arrays of the forcing's state: one `Storage`, or a tree of them of the form of the state.

        Args:
            field: storage of the coefficients of its field, for arrays of their shape.

        Returns:
            None in place of a number; by default nothing else is expected.
        """
        return None

    def advance(self, state: Any, key: Array | tuple[()], dt: ArrayLike, space: Space) -> Any:
        """State for the step of size dt that begins now.

        Args:
            state: state of the step before, or from `start`.
            key: this step's own, for a forcing that is `random`; `operators.random_modes` draws with it.
            dt: size of the step [time].
            space: space of its field.
        """
        return state

    @abstractmethod
    def force(self, state: Any, u_hat: Array, space: Space, change: Array | None = None) -> Array:
        """Coefficients of the force, which is added to u_t [u/time], of the shape of `u_hat`, zero in the padding.

        Args:
            state: state of this forcing in this step.
            u_hat: coefficients of its field.
            space: space of its field; `space.fourier` is the grid of its wavenumbers, and refuses a space without.
            change: u_t without the forcing, L u + N. Given to a forcing that `needs_change` alone; others may leave
                the argument out.
        """

    def multiplied_modes(self, space: Space) -> Array | None:
        """1 on the modes of the field that the force multiplies, 0 elsewhere; None if it acts on a field of rest.

        Where they hold no energy at the start of a run, the force puts in nothing, and a warning says so.
        """
        return None

    def longest_step(self) -> Any:
        """The longest step with which it acts as it says [time]; infinite by default.

        A CFL number keeps steps below it, and fixed steps above it are refused.
        """
        return math.inf

    def kicked_fields(self, equation: AnyEquation, field: str) -> tuple[str, ...]:
        """Names of the fields that `kick` changes: by default its own field alone."""
        return (field,)

    def prepare_kick(self, equation: AnyEquation, field: str, dt: ArrayLike) -> Any:
        """A pytree that depends on the size of a step alone; made once where the step is fixed, else at each step."""
        return ()

    def kick(
        self, equation: AnyEquation, field: str, fields: Fields, state: Any, prepared: Any, key: Array | tuple[()]
    ) -> Fields:
        """Change of the fields at the end of a step, after the stepper's own work [u], by name.

        The entry `forcing` of each energy's budget holds what it changes there, E(u + δ) − E(u). Fields are kept as
        they are declared (real, free of divergence), and modes that the grid does not keep stay zero.

        Args:
            equation: whose fields these are; `equation.space(field).fourier` has the wavenumbers.
            field: name of the field that is forced.
            fields: coefficients by name, at the end of the step.
            state: state of this forcing in this step.
            prepared: from `prepare_kick`, for the size of this step.
            key: this step's own, for a forcing that is `random`: the same key as in `advance`.
        """
        return {}


def in_shells(grid: Grid, low: ArrayLike, high: ArrayLike) -> Array:
    """1 on the modes with low ≤ |k| ≤ high [1/length] but the mean, 0 elsewhere and in the padding."""
    return (grid.in_band(low, high) & (grid.k_squared() > 0) & grid.is_kept()).astype(grid.dtype)


def has_modes(grid: Grid, low: float, high: float, *, across: bool = False) -> bool:
    """True if the grid has a mode with low ≤ |k| ≤ high but the mean; if `across`, one that is not along the last axis.

    Touches no device.
    """
    tolerance = 1e-9 * min(grid.fundamental)
    low, high = max(low - tolerance, tolerance), high + tolerance
    if low > 2 * grid.k_corner:  # whose square may be no number
        return False
    squares = [(f * np.arange(grid.layout.highest_mode(a) + 1)) ** 2 for a, f in enumerate(grid.fundamental)]
    others = functools.reduce(np.add.outer, squares[:-1], np.zeros(()))
    others = others[others > 0] if across else others
    # along the last axis the first mode with |k| ≥ low
    number = np.ceil(np.sqrt(np.maximum(low**2 - others, 0)) / grid.fundamental[-1])
    k = np.sqrt(others + (grid.fundamental[-1] * number) ** 2)
    return bool(np.any((k <= high) & (number < len(squares[-1]))))
