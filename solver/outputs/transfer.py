"""transfer.h5: transfer of quadratic invariants between scales by the nonlinear term."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import co_spectrum, shell_flux, shell_wavenumbers
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.equation import Equation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.records import Records
from solver.spaces import FOURIER


@dataclass(frozen=True)
class Transfer(Records):
    """Transfer T(k) and flux Π(k) = −Σ_{k' ≤ k} T(k') of the equation's quadratic invariants, on the spectra's shells.

    Of an invariant Q = ½⟨u · g⟩, g linear in u, T(k) = Σ Re(ĝ* N̂) over the shell is the rate at which the nonlinear
    term N changes it there; `Q_linear` is the same for the linear term, such as viscosity. Without forcing, T and
    `Q_linear` together are the time derivative of Q's shell spectrum. Where N is quadratic, free of aliasing and
    conserves Q, the sum of T is 0 to round-off. Products are formed on the points at rest, also with `phase-shift-…`.

    Costs one evaluation of N and one of L, and an all-reduce of the shells for each column.

    Source: Kraichnan, J. Fluid Mech. 47 (1971) 525; Frisch, Turbulence (1995), section 2.4; Alexakis & Biferale, Phys.
    Rep. 767–769 (2018) 1.
    """

    name: ClassVar[str] = "transfer"
    needs: ClassVar[tuple[str, ...]] = (FOURIER,)

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        columns: dict[str, Column] = {}
        known = _equation(equation)
        for name, units in known.report.invariant_units().items():
            per_time = _per_time(units) if units else ""
            columns |= {
                f"{name}_transfer": Column(("k",), per_time, f"rate at which N changes the {name} in each shell"),
                f"{name}_flux": Column(("k",), per_time, f"rate at which N takes {name} from all shells up to k"),
                f"{name}_linear": Column(("k",), per_time, f"rate at which L changes the {name} in each shell"),
            }
        for name in jax.eval_shape(lambda fields: known.report.exchanges(fields), known.field_shapes()):
            columns[name] = Column(("k",), "", f"{name} between invariants by L in each shell")
        return RecordsLayout({"k": Axis(shell_wavenumbers(equation.grid), "1/length", "centre of the shell")}, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        return self.values_at(equation, fields, 0.0)

    def values_at(self, equation: AnyEquation, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        known = _equation(equation)
        columns: dict[str, Array] = {}
        nonlinear = known.nonlinear(fields, jnp.asarray(t, known.grid.dtype))
        linear = known.linear().apply(known.fields_alone(fields))
        for name, conjugate in known.report.invariants(fields).items():
            transfer = invariant_transfer(known, conjugate, nonlinear)
            columns |= {
                f"{name}_transfer": transfer,
                f"{name}_flux": shell_flux(transfer),
                f"{name}_linear": invariant_transfer(known, conjugate, linear),
            }
        for name, (a, b) in known.report.exchanges(fields).items():
            columns[name] = co_spectrum(a, b, known.grid)
        return columns


def invariant_transfer(equation: Equation, conjugate: Fields, change: Fields) -> Array:
    """Σ Re(ĝ* ĉ) over each shell: rate of change of ½⟨u · g⟩ there if c is the rate of change of the fields."""
    return sum(co_spectrum(g, change[name], equation.space(name).fourier) for name, g in conjugate.items())


def _per_time(units: str) -> str:
    """Units of a change in time: `length^2/time^2` becomes `length^2/time^3`."""
    power = re.search(r"/time(?:\^(\d+))?$", units)
    return f"{units[: power.start()]}/time^{int(power[1] or 1) + 1}" if power else f"({units})/time"


def _equation(equation: AnyEquation) -> Equation:
    if not isinstance(equation, Equation):
        raise ValueError(f"output transfer: {equation.name} is split into T and V; an equation u_t = L u + N is needed")
    return equation
