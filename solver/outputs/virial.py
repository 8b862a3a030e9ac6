"""virial.h5: the terms of the virial theorem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
from jaxtyping import Array

from solver.diagnostics import ratio
from solver.dynamics.any_equation import AnyEquation
from solver.io import Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records


@dataclass(frozen=True)
class Virial(Records):
    """Energies of a matter wave and their virial: 2K + W (self-gravity), 2K − 2E_trap + d E_int (condensates).

    `virial` is Σ weight · energy; it is 0 for a state at rest far from the sides of the box. `virial_ratio` is 2K
    divided by minus the other terms; it is then 1 (0 if there are no other terms). Costs the transforms of the
    energies, and all-reduces of numbers.

    Source: Dalfovo et al., Rev. Mod. Phys. 71 (1999) 463; Hui et al., Phys. Rev. D 95 (2017) 043541.
    """

    name: ClassVar[str] = "virial"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        terms = jax.eval_shape(lambda fields: _terms(equation, fields), equation.field_shapes())
        if not terms:
            raise ValueError(
                f"output virial: {equation.name} in {equation.grid.dimensions} dimensions has no virial; an equation "
                "of matter waves is needed"
            )
        units = equation.report.units()
        columns = {name: Column((), units.get("kinetic_energy", ""), name.replace("_", " ")) for name in terms}
        columns["virial"] = Column((), units.get("kinetic_energy", ""), "sum of the energies with their weights")
        columns["virial_ratio"] = Column((), "1", "twice the kinetic energy over minus the rest of the virial")
        return RecordsLayout({}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        terms = _terms(equation, fields)
        first, *rest = (weight * energy for weight, energy in terms.values())
        others = sum(rest)
        energies = {name: energy for name, (_, energy) in terms.items()}
        return {**energies, "virial": first + others, "virial_ratio": ratio(first, -others)}


def _terms(equation: AnyEquation, fields: Fields) -> dict[str, tuple[float, Array]]:
    """Energies and their weights; empty for an equation without a virial."""
    virial = equation.report.virial
    return {} if virial is None else virial(fields)
