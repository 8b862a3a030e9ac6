"""series.csv: scalars against time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jax.typing import ArrayLike

from solver.cluster import LOGGER, is_first
from solver.config import ConfigError
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.budget import imbalance
from solver.dynamics.compiled import compiled
from solver.dynamics.energy_budget import budget_columns, kept_energies
from solver.grid import Grid
from solver.io import LEADING, SERIES, Column, RecordsLayout, Row, Rows, RunDirectory
from solver.operators import Fields
from solver.outputs.health import CLOSED, stop_if_wrong, strayed, tails, unresolved
from solver.outputs.output import Output, Run, refuse_separators
from solver.pictures import View, save, series_figure
from solver.spaces.manifold import distances
from solver.steppers.state import State

_report = compiled(lambda equation, fields, dt, t: _reported(equation, fields, dt, t))

DT = {"dt": "time"}
LETTERS = 20  # of a number with its comma, about


@dataclass(frozen=True)
class Series(Output):
    """Rows of scalars: step, t, dt, the equation's `series`, the drift of what it conserves, its energy budget.

    dt is the size of the last full step, and the CFL number belongs to such a step: a step that was shortened to meet
    the time of the row does not count. In the first row dt is the size of the next step, 0 where a control will choose
    it. Drift is the change since the start of the run, relative to the first value or, if that is larger, to the
    size of the quantity, so that a mean of zero has a meaningful drift (absolute if both are zero). The budget of
    an energy E has a column `E_from_CAUSE` for each cause, its contribution since the start of the run, and
    `E_imbalance`, the part of the change of E that the causes do not explain, relative to the largest of these
    numbers. If an error estimate chooses the steps, `rejected` counts the steps that were repeated. Warnings go to
    the log, each kind once. Each field whose spectrum does not fall off towards k_max has a warning.

    Each row checks that every field has the properties that the equation declares: real, free of divergence, of zero
    mean. If more than 1e-6 of a field (1e-3 in float32) violates one, there is a warning; more than 1e-2 ends the run.
    Costs all-reduces, and the exchange of `operators.hermitian`.
    """

    name: ClassVar[str] = "series"

    def check(self, equation: AnyEquation) -> None:
        row, conserved, scales, energies, *_ = _traced(equation)
        units, name = _units(equation), type(equation).__name__
        if row.keys() != units.keys():
            raise ValueError(
                f"{name}: series() has the columns {', '.join(row)}; units of {', '.join(units)} are given"
            )
        if not scales.keys() <= conserved.keys():
            raise ValueError(
                f"{name}: conserved_scales() has {', '.join(scales)}; of {', '.join(conserved) or 'none'} they can be"
            )
        _check_names(equation)
        for column, value in [*row.items(), *conserved.items(), *scales.items(), *energies.items()]:
            if value.shape != ():
                raise ValueError(f"{name}: series() gives {column} of shape {list(value.shape)}")

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        return {"series": _report.trace(equation, state.field, np.float64(1), np.float64(0))}

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        conserved, energies, budget = _names(equation)
        columns = [*LEADING, *DT, *_units(equation), *conserved, *energies, *energies, *budget]
        return LETTERS * len(columns)

    def resume(self, run: Run) -> None:
        rows, damage = _rows(run.directory), self.verify(run.directory)
        problems = [problem for of_file in damage.values() for problem in of_file]
        if problems:
            LOGGER.warning("%s: %s", rows.path.name, "; ".join(problems))
        there, now = rows.layout(), _layout(run, *_names(run.equation))
        if there is None and not problems:
            LOGGER.warning("%s: there is none yet, so it has no rows of the steps before", rows.path.name)
        if there is not None and list(there.columns) != list(now.columns):
            raise ConfigError(
                f"{rows.path}: its columns are {','.join([*LEADING, *there.columns])}; this run writes "
                f"{','.join([*LEADING, *now.columns])}"
            )

    def flush(self, run: Run) -> None:
        _rows(run.directory).flush()

    def write(self, run: Run, state: State) -> None:
        dt = np.float64(state.dt)  # not `taken`: a step that was shortened to meet this row says little of the run
        report = _report(run.equation, state.field, dt, np.float64(state.t))
        row, conserved, scales, energies, astray, ends = jax.tree.map(float, report)
        for name, now in conserved.items():
            before = float(state.conserved[name])
            row[f"{name}_drift"] = (now - before) / (max(abs(before), scales.get(name, 0.0)) or 1.0)
        budget = {name: float(value) for name, value in state.budget.items()}
        missing = {name: imbalance(name, float(state.energies[name]), now, budget) for name, now in energies.items()}
        row |= budget | {f"{name}_imbalance": value for name, value in missing.items()}
        if is_first():
            layout, values = _layout(run, conserved, energies, budget), {"dt": dt, **row, "rejected": state.rejected}
            of_columns = {name: np.asarray(float(values[name])) for name in layout.columns}
            with run.writer.while_waiting():
                _rows(run.directory).append(Row(int(state.step), float(state.t), of_columns), layout)
        left = strayed(astray, run.equation.grid.dtype)
        bodies = run.equation.report.bodies
        of_bodies = bodies.warnings(row, float(state.t)) if bodies is not None else []
        named = run.equation.companions_by_name().values()
        of_companions = [line for companion in named for line in companion.row_warnings(run.equation, row)]
        own = [*run.equation.report.warnings(row), *of_bodies, *of_companions]
        _warn(run, state, [*own, *_open_budgets(missing, run.equation.grid), *_unresolved(run, ends), *left])
        stop_if_wrong(astray, int(state.step), float(state.t))

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        return (directory.series,)

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        _rows(directory).drop_after(step)

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        return _rows(directory).verify()

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw a panel per column that is not constant; budgets, and columns that should be zero, share a panel."""
        table = _rows(directory).table()
        if table is None:
            return []
        figure = series_figure(table.columns, table.units, view)
        return [] if figure is None else save(figure, folder, cls.name, view)


def _reported(equation: AnyEquation, fields: Fields, dt: ArrayLike, t: ArrayLike) -> tuple[Any, ...]:
    """A row of the series; conserved quantities and their scales; energies; distances of fields from their declared
    properties; tails of their spectra."""
    energies, bodies = kept_energies(equation, fields), equation.report.bodies
    forces = {} if bodies is None else bodies.forces(fields, t)
    row = {**equation.series(fields, dt), **forces, **_of_companions(equation, fields, t)}
    conserved = equation.conserved(fields)
    astray = distances(equation.fields_alone(fields), equation.spaces)
    return row, conserved, equation.report.conserved_scales(fields), energies, astray, tails(equation, fields)


def _of_companions(equation: AnyEquation, fields: Fields, t: ArrayLike) -> dict[str, Any]:
    """Columns of the equation's companions, such as places of bodies."""
    named = equation.companions_by_name().items()
    return {k: v for name, one in named for k, v in one.series(equation, fields[name], fields, t).items()}


def _units_beside(equation: AnyEquation) -> dict[str, str]:
    """Units of the columns of bodies and companions."""
    bodies = equation.report.bodies
    units = {} if bodies is None else bodies.units()
    for companion in equation.companions_by_name().values():
        units |= companion.units(equation)
    return units


def _traced(equation: AnyEquation) -> tuple[dict[str, Any], ...]:
    shapes: tuple[dict[str, Any], ...] = _report.shapes(equation, equation.field_shapes(), np.float64(1), np.float64(0))
    return shapes


def _check_names(equation: AnyEquation) -> None:
    """Raises ValueError if a column has no name, or a name that the run, or a body, may use."""
    conserved, energies, budget = _names(equation)
    refuse_separators(
        f"{type(equation).__name__}: series.csv has a column", [*_units(equation), *conserved, *energies, *budget]
    )
    others = [*LEADING, *DT, "rejected", *(f"{name}_drift" for name in conserved), *budget]
    others += [f"{name}_imbalance" for name in energies]
    for own, more in ((_units(equation), others), (_units_beside(equation), equation.report.units())):
        for name in own:
            if name in more:
                raise ValueError(
                    f"{type(equation).__name__}: series() has a column {name!r}, as the run or its bodies may have; "
                    "another name is needed"
                )


def _names(equation: AnyEquation) -> tuple[Iterable[str], Iterable[str], Iterable[str]]:
    _, conserved, _, energies, *_ = _traced(equation)
    return conserved, energies, budget_columns(equation)


def _rows(directory: RunDirectory) -> Rows:
    return directory.store.rows(SERIES)


def _layout(run: Run, conserved: Iterable[str], energies: Iterable[str], budget: Iterable[str]) -> RecordsLayout:
    """Columns with their units; columns of the budget are in the order of their names, as in a state."""
    units = _units(run.equation)
    drifts = {f"{name}_drift": "1" for name in conserved}
    integrals = {name: units.get(name.partition("_from_")[0], "") for name in sorted(budget)}
    missing = {f"{name}_imbalance": "1" for name in energies}
    rejected = {"rejected": "1"} if run.control.needs_error else {}
    every = {**DT, **units, **drifts, **integrals, **missing, **rejected}
    return RecordsLayout({}, {name: Column(units=unit) for name, unit in every.items()})


def _units(equation: AnyEquation) -> dict[str, str]:
    """Units of the columns of an equation: first its own, then the columns of bodies and companions."""
    return {**equation.report.units(), **_units_beside(equation)}


def _unresolved(run: Run, now: dict[str, float]) -> list[str]:
    """Warnings about fields whose spectra do not fall off, by their tails in this row and the row before."""
    warnings = unresolved(now, run.tails, run.equation.grid)
    run.tails.update(now)
    return warnings


def _open_budgets(missing: dict[str, float], grid: Grid) -> list[str]:
    remedy = "take a smaller step, or more points"
    if grid.precision == "float32":
        remedy += (
            ', or grid.precision = "float64", since single precision loses what changes by less than 1e-6 in a step'
        )
    return [
        f"the budget of {name} misses {abs(value):.1e} of it: {remedy}"
        for name, value in missing.items()
        if abs(value) > CLOSED
    ]


def _warn(run: Run, state: State, warnings: Iterable[str]) -> None:
    for warning in warnings:
        kind = warning.partition("=")[0].partition(" misses")[0]
        if kind not in run.warned:
            run.warned.add(kind)
            LOGGER.warning("step %d, t = %.6g: %s", int(state.step), float(state.t), warning)
