"""correlations.h5: two-point correlations along the axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array

from solver import diagnostics
from solver.diagnostics import correlation_distances, longitudinal_and_transverse
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records, refuse_twice
from solver.outputs.vectors import vector_prefixes
from solver.spaces import FOURIER


@dataclass(frozen=True)
class Correlations(Records):
    """f(r) and g(r), the longitudinal and transverse correlations of each vector field; one for each other field.

    They are averages over the box and the coordinate directions of fluctuations without their means, and 1 at r = 0.
    `variance`, `FIELD_variance` are the mean squares of the fluctuations. They follow from spectra along the axes
    (Wiener and Khinchin): no transform of coefficients, an all-reduce of a spectrum for each component and axis.

    Source: Monin & Yaglom, Statistical Fluid Mechanics 2 (1975), section 11; Pope, Turbulent Flows (2000), section 6.3.
    """

    name: ClassVar[str] = "correlations"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        columns: dict[str, Column] = {}
        for name, prefix in vector_prefixes(equation, self.name, needed=False).items():
            columns[f"{prefix}longitudinal"] = Column(("r",), "1", f"of {name} along the separation")
            if equation.grid.dimensions > 1:
                columns[f"{prefix}transverse"] = Column(("r",), "1", f"of {name} across the separation")
            columns[f"{prefix}variance"] = Column((), "", f"mean square of the fluctuations of {name}")
        refuse_twice([*columns, *(own for name in self._others(equation) for own in (name, f"{name}_variance"))])
        for name in self._others(equation):
            columns[name] = Column(("r",), "1", f"of {name}")
            columns[f"{name}_variance"] = Column(
                (), f"({equation.fields[name].units})^2", f"mean square of the fluctuations of {name}"
            )
        return RecordsLayout({"r": Axis(correlation_distances(equation.grid), "length", "separation")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns: dict[str, Array] = {}
        vectors, hats = equation.report.vectors(fields), equation.coefficients(fields)
        for name, prefix in vector_prefixes(equation, self.name, needed=False).items():
            along, across, variance = longitudinal_and_transverse(
                diagnostics.correlations(vectors[name], equation.grid)
            )
            columns |= {f"{prefix}longitudinal": along, f"{prefix}variance": variance}
            if across is not None:
                columns[f"{prefix}transverse"] = across
        for name in self._others(equation):
            u_hat = equation.space(name).counted(hats[name], 0.5)
            both = jnp.mean(diagnostics.correlations(u_hat, equation.space(name).fourier), axis=0).sum(axis=0)
            columns |= {name: both * diagnostics.ratio(1.0, both[0]), f"{name}_variance": both[0]}
        return columns

    def _others(self, equation: AnyEquation) -> list[str]:
        return [name for name, field in equation.fields.items() if field.rank != "vector"]
