"""Smagorinsky's eddy viscosity."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.closures.closure import EddyViscosity, size_of_strain
from solver.dynamics.checks import need


class Smagorinsky(EddyViscosity):
    """ν_t = (C w)² (2 S:S)^½ at each point, w = π/k_max.

    C = 0.17 is Lilly's value for a spectrum k^−5/3 that reaches w; shear flows need about 0.1. ν_t does not vanish at a
    rigid wall, so that it is refused there.

    Args:
        constant: C ≥ 0.

    Raises:
        ValueError: a negative constant, or a turbulent Schmidt number that is not positive.

    Source: Smagorinsky, Mon. Weather Rev. 91 (1963) 99; Lilly, Proc. IBM Sci. Comput. Symp. Environ. Sci. (1967) 195.
    """

    constant: ArrayLike = 0.17

    name: ClassVar[str] = "smagorinsky"
    vanishes_at_walls: ClassVar[bool] = False

    def __check_init__(self) -> None:
        need(self, "constant", "constant", "zero or more", least=0)

    def viscosity(self, resolved: Array, width: Any, prepared: Any) -> Array:
        return (self.constant * width) ** 2 * math.sqrt(2) * size_of_strain(resolved)
