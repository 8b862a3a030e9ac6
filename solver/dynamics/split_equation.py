"""An equation i ψ_t = (T + V) ψ, held at the points: splitting steppers take it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.companion import Companion
from solver.dynamics.fields_report import report_of_fields
from solver.dynamics.report import Report
from solver.dynamics.splittable import Splittable
from solver.dynamics.start_changes import Shares
from solver.grid import Storage
from solver.operators import Fields
from solver.spaces import FourierSpace, Space
from solver.spaces.field import Field


class SplitEquation(Splittable, AnyEquation):
    """i ψ_t = (T + V) ψ with T diagonal in k and V diagonal in x, held at the points; by default of one `wavefunction`.

    Every mode is kept: truncation would lose mass.

    Raises:
        ValueError: a grid that drops modes.
    """

    fields: ClassVar[Mapping[str, Field]] = {"wavefunction": Field("wavefunction", "density^(1/2)")}

    def __check_init__(self) -> None:
        if self.grid.dealias != "none":
            raise ValueError(f"dealias {self.grid.dealias!r} would lose mass; {self.name} needs dealias 'none'")

    @abstractmethod
    def drift(self, psi: Array, dt: ArrayLike) -> Array:
        """exp(−i T dt) ψ of the wavefunctions, stacked as in `split_potential`."""

    @property
    def why_not_split(self) -> str:
        return ""

    def field_storage(self) -> dict[str, Storage]:
        return dict.fromkeys(self.fields, Storage("points"))

    def start_from(self, u: Fields) -> tuple[Fields, Shares]:
        return {name: values.astype(self.grid.complex_dtype) for name, values in u.items()}, {}

    def to_physical(self, fields: Fields) -> Fields:
        return fields

    def coefficients(self, fields: Fields) -> Fields:
        return {name: self.transform.forward(psi) for name, psi in fields.items()}

    def space(self, name: str) -> Space:
        return FourierSpace(name, self.fields[name], self.grid, self.method)

    @property
    def report(self) -> Report:
        return self.reported(report_of_fields(self, has_budget=False))

    @property
    def why_no_rate(self) -> str:
        return ""

    def forcings(self) -> dict[str, Any]:
        return {}

    def companions_by_name(self) -> dict[str, Companion]:
        return {}

    def check(self) -> None:
        return

    # ---- as steppers and loops take it: nothing acts on it, and nothing is worked out before a step ---------

    def prepared(self) -> Any:
        return self

    def at_step(self, forcing: Mapping[str, Any] = MappingProxyType({}), key: Any = (), step: ArrayLike = 0) -> Any:
        return self

    def starting(self, fields: Fields, t: ArrayLike) -> Any:
        """This equation for the step that starts from these fields at time t."""
        return self

    def first_and_rate(self, fields: Fields, t: ArrayLike) -> tuple[Any, Array]:
        """`()`, since it has no N for `with_first_evaluation`; and the rate."""
        return (), self.rate(fields)

    def with_first_evaluation(self, first: Any) -> Any:
        """Return the equation unchanged: it has no N to evaluate."""
        return self

    def prepare_kicks(self, dt: ArrayLike) -> dict[str, Any]:
        """Nothing: no forcing kicks."""
        return {}

    def kicked(self, fields: Fields, prepared: Any, t: ArrayLike) -> Fields:
        """Return the fields unchanged: no forcing kicks."""
        return fields

    def before_step(self, fields: Fields, t: ArrayLike, dt: ArrayLike) -> Fields:
        """Return the fields unchanged: it has no companions."""
        return fields

    def after_step(self, fields: Fields, start: Fields, t: ArrayLike, dt: ArrayLike) -> tuple[Fields, Fields]:
        """The fields on their manifold; no companion has been moved back."""
        return self.to_manifold(fields), {}
