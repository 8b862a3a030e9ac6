"""Functions of the user's that multiply modes: `symbol(name, f)` of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.grid import Grid
from solver.written.tree import Label


@dataclass(frozen=True)
class OwnSymbol:
    """A function of |k|, or of the components of k, on the modes of a grid.

    Args:
        label: its name and the number of its arguments.
        function: the function, of arrays of wavenumbers [1/length].
    """

    label: Label
    function: Callable[..., Any]

    def on(self, grid: Grid) -> Array:
        """Values at the stored modes, in the padding 0. Components of k are 0 at Nyquist modes, which have no sign.

        Raises:
            ValueError: its result is not one number for each mode, or it cannot be traced.
        """
        found = self._values(self._wavenumbers(grid), grid)
        return jnp.where(grid.is_kept(), found, jnp.zeros((), found.dtype))

    def faults(self, grid: Grid) -> tuple[Array, Array, Array]:
        """Number of modes where it is not finite; True if the mean is one of them; and the largest distance of f(−k)
        from the conjugate of f(k), over the largest value."""
        wavenumbers = self._wavenumbers(grid)
        here = self._values(wavenumbers, grid)
        there = here if len(wavenumbers) == 1 else self._values([-k for k in wavenumbers], grid)
        kept, size = grid.is_kept(), jnp.abs(here)
        finite = jnp.isfinite(size)
        largest = jnp.max(jnp.where(kept & finite, size, 0))
        distance = jnp.max(jnp.where(kept & finite, jnp.abs(there - jnp.conj(here)), 0))
        wrong = kept & ~finite
        of_mean = jnp.any(wrong & (grid.k_squared() == 0))
        return jnp.sum(wrong), of_mean, distance / jnp.where(largest > 0, largest, 1)

    def _wavenumbers(self, grid: Grid) -> list[Array]:
        if self.label.arguments == 1:
            return [jnp.sqrt(grid.k_squared())]
        return [jnp.asarray(k) for k in grid.derivative_wavenumbers()]

    def _values(self, wavenumbers: list[Array], grid: Grid) -> Array:
        try:
            found = jnp.asarray(self.function(*wavenumbers))
        except (TypeError, ValueError) as error:
            reason = str(error).split("\n", 1)[0]
            raise ValueError(f"{self._said}: {reason}; a function of arrays, in jax.numpy, is needed") from None
        shapes = [k.shape for k in wavenumbers]
        if not jnp.issubdtype(found.dtype, jnp.number) or found.shape not in ((), *shapes, grid.spectral_shape):
            raise ValueError(
                f"{self._said} gives {found.dtype}{list(found.shape)} of wavenumbers {' and '.join(map(str, shapes))}: "
                "one number for each mode is needed"
            )
        dtype = grid.complex_dtype if jnp.iscomplexobj(found) else grid.dtype
        return jnp.broadcast_to(found, grid.spectral_shape).astype(dtype)

    @property
    def _said(self) -> str:
        return f"symbol({self.label.function}, …)"


def own_symbols(equation: Any) -> dict[str, OwnSymbol]:
    """The functions of the wavenumber in the text of an equation, by name."""
    if getattr(equation, "text", None) is None:
        return {}
    system, given = equation.plain_text.system, functions_of(equation)
    nodes = [*(side for line in system.lines for side in (line.left, line.right)), *system.definitions.values()]
    labels = (part for node in nodes for part in node.walk() if isinstance(part, Label))
    return {label.function: OwnSymbol(label, given[label.function]) for label in labels}


def functions_of(equation: Any) -> dict[str, Any]:
    """The functions of an equation's text by name, those among them that are parameters of the equation."""
    text = equation.whole_text
    return {**dict(text.functions), **{name: getattr(equation, name) for name in text.given_functions}}
