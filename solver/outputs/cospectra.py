"""cospectra.h5: co- and quadrature spectra of pairs of components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from jaxtyping import Array

from solver.config import nearest
from solver.diagnostics import co_spectrum, quadrature_spectrum, shell_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.outputs.vectors import component_coefficients, components
from solver.spaces import FOURIER

VELOCITY = "velocity_"


@dataclass(frozen=True)
class Cospectra(Records):
    """C(k) = Σ Re(â* b̂) and Q(k) = Σ Im(â* b̂) over each shell, for pairs of components: `A_B_real`, `A_B_imaginary`.

    The sum of C over all shells is ⟨ab⟩: a Reynolds stress, a flux. Q is summed over half of the modes of real fields,
    k_last > 0, and doubled. Two all-reduces of the shells for each pair.

    Args:
        pairs: names of two components each, such as ["velocity_z", "buoyancy"]; all pairs if empty.

    Source: Bendat & Piersol, Random Data (2010), section 5.2.
    """

    pairs: tuple[tuple[str, ...], ...] = ()

    name: ClassVar[str] = "cospectra"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        columns = {}
        for a, b in self._pairs(equation):
            columns[f"{a}_{b}_real"] = Column(("k",), "", f"{_quantity(a, b)} in each shell")
            columns[f"{a}_{b}_imaginary"] = Column(("k",), "", f"quadrature spectrum of {a} and {b} in each shell")
        return RecordsLayout({"k": Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns, parts = {}, component_coefficients(equation, fields)
        for a, b in self._pairs(equation):
            (field, a_hat), (_, b_hat) = parts[a], parts[b]
            grid = equation.space(field).fourier
            columns[f"{a}_{b}_real"] = co_spectrum(a_hat, b_hat, grid)
            columns[f"{a}_{b}_imaginary"] = quadrature_spectrum(a_hat, b_hat, grid)
        return columns

    def _pairs(self, equation: AnyEquation) -> list[tuple[str, str]]:
        known = components(equation)
        real = {component: equation.fields[field].real for component, field in known.items()}
        if not self.pairs:
            pairs = [(a, b) for a, b in combinations(known, 2) if real[a] == real[b]]
            if not pairs:
                kinds = ", ".join(f"{component} ({'real' if real[component] else 'complex'})" for component in known)
                raise ValueError(
                    f"output cospectra: {equation.name} has {kinds}: two real or two complex components are needed"
                )
            return pairs
        for pair in self.pairs:
            for name in pair:
                if name not in known:
                    raise ValueError(f"output cospectra: unknown component {name!r}{nearest(name, known)}")
            if len(pair) != 2 or len({real[name] for name in pair}) > 1:
                raise ValueError(
                    f"output cospectra: pair {list(pair)}: two components, real or complex both, are needed"
                )
        return [(a, b) for a, b in self.pairs]


def _quantity(a: str, b: str) -> str:
    """The mean ⟨ab⟩ of two components in words: a stress or a flux if one of them is a velocity."""
    velocities = [name for name in (a, b) if name.startswith(VELOCITY)]
    if len(velocities) == 2:
        return f"Reynolds stress of {a} and {b}"
    if not velocities:
        return f"co-spectrum of {a} and {b}"
    carried = b if velocities == [a] else a
    return f"flux of {carried} along {velocities[0].removeprefix(VELOCITY)} (co-spectrum with {velocities[0]})"
