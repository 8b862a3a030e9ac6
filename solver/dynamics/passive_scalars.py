"""Passive scalars of an equation: their numbers, and their names in its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import numpy as np
from jax.typing import ArrayLike

from solver.dynamics.checks import need, require_shape
from solver.written.scalars import Carried


class PassiveScalar(eqx.Module):
    """A scalar c that a flow carries and that does not act on it: c_t = −u·∇c − u·G + κ∇²c + S − λc.

    c is a field of its own, with a start, conditions at walls, spectra, and a budget of ⟨c²⟩, the column
    `NAME_variance`; `NAME_mean` is ⟨c⟩. A uniform flow of the equation carries it too. Closures and bodies that act on
    the velocity act on c.

    Args:
        diffusivity: κ ≥ 0 [length²/time].
        mean_gradient: G, a list with a number for each direction [c/length], where the whole scalar is G·x + c; none
            if None.
        source: S [c/time], a text of x, y, z, t, fields, and what else the equation's text names, such as `"1"` for
            the age of the fluid; none if empty, static.
        decay: λ ≥ 0 [1/time]; none if None.
        field: name of the vector that carries it; the equation's first velocity if None, static.
        units: units of c, static.
    """

    diffusivity: ArrayLike = 0.0
    mean_gradient: Any = eqx.field(
        default=None, converter=lambda given: tuple(given) if isinstance(given, Sequence) or np.ndim(given) else given
    )
    source: str = eqx.field(default="", static=True)
    decay: ArrayLike | None = None
    field: str | None = eqx.field(default=None, static=True)
    units: str = eqx.field(default="1", static=True)
    name: str = eqx.field(default="", static=True, repr=False)

    def __check_init__(self) -> None:
        if self.diffusivity is None:
            raise ValueError("diffusivity None: zero or more is needed")
        words = {"source": self.source, "units": self.units, "field": "" if self.field is None else self.field}
        for key, word in words.items():
            if not isinstance(word, str):
                raise ValueError(f"{key} {word!r}: a text in quotes is needed")
        need(self, "diffusivity", "diffusivity", "zero or more", least=0)
        need(self, "mean_gradient", "mean_gradient", "a list of finite numbers")
        need(self, "decay", "decay", "zero or more", least=0)

    @property
    def in_text(self) -> Carried:
        """The part on which a text depends."""
        has_gradient, decays = self.mean_gradient is not None, self.decay is not None
        return Carried(self.name, self.field or "", self.units, self.source, has_gradient, decays)

    @property
    def numbers(self) -> dict[str, Any]:
        """Its numbers by their names in a text."""
        named = {"diffusivity": self.diffusivity, "gradient": self.mean_gradient, "decay": self.decay}
        return {f"{self.name}_{key}": value for key, value in named.items() if value is not None}


def named_scalars(given: Any) -> tuple[PassiveScalar, ...]:
    """Passive scalars with their names, in their order, which JAX would not keep in a dict.

    Raises:
        ValueError: no mapping from names to passive scalars.
    """
    if given is None:
        return ()
    if isinstance(given, Mapping) and all(isinstance(one, PassiveScalar) for one in given.values()):
        return tuple(_named(one, name) for name, one in given.items())
    if isinstance(given, tuple) and all(isinstance(one, PassiveScalar) and one.name for one in given):
        return given
    raise ValueError(
        f"scalars = {given!r}: a dict of passive scalars by name is needed, such as "
        '{"dye": sw.PassiveScalar(diffusivity=0.01)}'
    )


def _named(scalar: PassiveScalar, name: str) -> PassiveScalar:
    return replace(scalar, name=name)


def check_scalars(equation: Any) -> None:
    """Refuse scalars in an equation whose text cannot carry them, and gradients of another length."""
    if not equation.scalars:
        return
    if equation.text is None:
        raise ValueError(f"scalars of {equation.name}: it has no text with a velocity that could carry them")
    for scalar in equation.scalars:
        if scalar.mean_gradient is not None:
            require_shape(f"scalars.{scalar.name}.mean_gradient", scalar.mean_gradient, (equation.grid.dimensions,))
