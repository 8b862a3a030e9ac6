"""Report of an equation of a text between walls: its energies, and what changes them."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array

from solver.diagnostics.mode_sums import ModeSum
from solver.dynamics.between_walls import EvaluationBetweenWalls
from solver.dynamics.budget import Budget, rates_of_sums
from solver.dynamics.changes import Changes
from solver.dynamics.quadratic import holds, power
from solver.dynamics.text_report import TextReport
from solver.operators import Fields


class ReportBetweenWalls(TextReport):
    """As `TextReport`; each cause is worked out as the change of the fields that it makes."""

    on_grid: EvaluationBetweenWalls

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of each energy by the causes that the text names, by the rest of L and of N, and by forcing.

        A field counts with what its conditions add, so that the work of moving walls and what passes through walls are
        among them.
        """
        on_grid, now = self.on_grid, self.on_grid.rows(fields)
        causes = {
            label: on_grid.linear_changes(linear, fields, now) for label, linear in on_grid.between.causes.items()
        }
        left, nonlinear = dict(changes.linear), dict(changes.nonlinear)
        for own, others in causes.values():
            left = _without(left, own)
            nonlinear = _without(nonlinear, others)
        whole = {label: _with(own, others) for label, (own, others) in causes.items()}
        by_cause = {**whole, "linear": left, "nonlinear": nonlinear}
        rows = {label: (change, on_grid.rows_of_change(change)) for label, change in by_cause.items()}
        forced = changes.forcing, on_grid.rows_of_change(changes.forcing)
        sums: dict[str, dict[str, ModeSum]] = {}
        for name, energy in self.derived.energies.items():
            acting = {label: of for label, of in rows.items() if any(holds(square, of[0]) for square in energy.squares)}
            acting |= {"forcing": forced} if any(holds(square, changes.forcing) for square in energy.squares) else {}
            sums[name] = {label: power(on_grid, energy.squares, now, of[1]) for label, of in acting.items()}
        return rates_of_sums(sums, changes, self.equation.grid.dtype)


def _with(a: dict[str, Array], b: dict[str, Array]) -> dict[str, Array]:
    return {name: sum(one[name] for one in (a, b) if name in one) for name in {**a, **b}}  # type: ignore[misc]


def _without(a: dict[str, Array], b: Any) -> dict[str, Array]:
    return {name: value - b[name] if name in b else value for name, value in a.items()}
