"""Report of an equation of a text between walls: its energies, and what changes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.diagnostics.mode_sums import ModeSum, plus
from solver.dynamics.between_walls import EvaluationBetweenWalls, PolynomialRows
from solver.dynamics.budget import Budget, Changes, rates_of_sums
from solver.dynamics.quadratic import holds, power
from solver.dynamics.symbol_value import multiplied_out
from solver.dynamics.text_report import TextReport
from solver.dynamics.unknowns_between_walls import RATES, with_unknowns
from solver.operators import Fields
from solver.spaces.polynomials import PolynomialSpace
from solver.written.elimination import named
from solver.written.energies import Square
from solver.written.walled import depending


class ReportBetweenWalls(TextReport):
    """As `TextReport`; each cause is worked out as the change of the fields that it makes."""

    on_grid: EvaluationBetweenWalls

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """Changes of each energy by the causes that the text names, by the rest of L and of N, and by forcing.

        A field counts with what its conditions add, so that the work of moving walls and what passes through walls are
        among them. Where conditions depend on time, what they add changes too: N holds what the modes lose by it, so
        that its cause holds the whole.
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
        by_cause = {**whole, "linear": left, "nonlinear": nonlinear, "forcing": changes.forcing}
        projected = {name: self.equation.space(name).projected(fields[name]) for name in self.equation.fields}
        sums: dict[str, dict[str, ModeSum]] = {}
        for name, energy in self.derived.energies.items():
            acting = {
                label: change
                for label, change in by_cause.items()
                if any(holds(square, self._changed(change)) for square in energy.squares)
            }
            numbers = self._numbers_of_fields(energy.squares)
            sums[name] = {
                label: power(on_grid, energy.squares, now, on_grid.rows_of_change(change))
                if numbers is None
                else self._power(numbers, projected, change)
                for label, change in acting.items()
            }
        for name, whole_change in self._by_motion_of_lifting(now).items():
            sums[name]["nonlinear"] = plus(sums[name].get("nonlinear", {}), whole_change)
        return rates_of_sums(sums, changes, self.equation.grid.dtype)

    def _by_motion_of_lifting(self, now: PolynomialRows) -> dict[str, ModeSum]:
        """Changes of the energies by what conditions that depend on time add to the fields and to unknowns; only of
        those that hold such ones."""
        spaces, on_grid = self.equation.spaces, self.on_grid
        rates = {name: space.rate_of_lifting for name, space in spaces.items()}
        moving = {name: spaces[name].over_modes(rate) for name, rate in rates.items() if rate is not None}
        timed = {name for name, walls in self.equation.walls.items() if name not in spaces and walls.hold_time}
        if not moving and not timed:
            return {}
        still = jnp.zeros((), self.equation.grid.dtype)
        parts = {
            scalar: moving[name][i] if name in moving else still
            for name in spaces
            for i, scalar in enumerate(on_grid.scalars(name))
        }
        change = with_unknowns(on_grid, PolynomialRows(now.modes, parts), RATES)
        changed = self._changed({*moving, *timed})
        return {
            name: power(on_grid, energy.squares, now, change)
            for name, energy in self.derived.energies.items()
            if any(holds(square, changed) for square in energy.squares)
        }

    def _changed(self, names: Collection[str]) -> set[str]:
        """Names of fields and unknowns that change, with the unknowns that follow from them."""
        groups = [solve.group for solve in self.on_grid.between.solves]
        is_one = lambda group: not group.names.isdisjoint(names)  # noqa: E731
        return {*names, *map(named, depending(groups, is_one))}

    def _numbers_of_fields(self, squares: Sequence[Square]) -> dict[str, Array] | None:
        """n of each field of an energy Σ n⟨|u|²⟩ of whole fields; None of others."""
        numbers, left = {}, list(squares)
        for name in self.equation.fields:
            scalars = self.on_grid.scalars(name)
            own = [square for square in left if square.left == square.right and square.left in scalars]
            if len(own) == len(scalars) and len({square.number for square in own}) == 1:
                numbers[name] = jnp.real(multiplied_out(self.on_grid.modes(0.0).value(own[0].number)))
                left = [square for square in left if square not in own]
        return None if left else numbers

    def _power(self, numbers: Mapping[str, Array], projected: Fields, change: Fields) -> ModeSum:
        """2 Σ n⟨u · change⟩, mode by mode: a change consists of modes, which are orthonormal."""
        total: ModeSum = {}
        for name, number in numbers.items():
            if name in change:
                total = plus(total, self.equation.space(name).product(projected[name], change[name]), 2 * number)
        return total

    # ---- the force that keeps a mean velocity -------------------------------------------------------------------

    def columns(self, fields: Fields) -> dict[str, Array]:
        """The columns of the text, and the force that keeps a mean velocity."""
        kept = self._directions_kept()
        if not kept:
            return super().columns(fields)
        changes = self.on_grid.mean_changes(fields, kept[0])
        return {**super().columns(fields), **{column: -changes[i] for i, column in enumerate(kept[1])}}

    def units(self) -> dict[str, str]:
        kept = self._directions_kept()
        return {**super().units(), **(dict.fromkeys(kept[1], "length/time^2") if kept else {})}

    def _directions_kept(self) -> tuple[str, list[str]] | None:
        """The velocity whose mean is kept, and the columns of the force; None without such a velocity."""
        for name, walls in self.equation.walls.items():
            if walls.mean is not None:
                return name, [f"pressure_force_{axis}" for axis in "xyz"[: len(walls.mean)]]
        return None


def gradients_between_walls(equation: Any, fields: Fields, name: str = "velocity") -> Array:
    """⟨|∇u|²⟩ of a field with what its walls add, summed over components [1/time²]. All-reduces."""
    space = equation.space(name)
    assert isinstance(space, PolynomialSpace)
    return space.gradient_square(space.series(fields[name]))


def _with(a: dict[str, Array], b: dict[str, Array]) -> dict[str, Array]:
    return {name: sum(one[name] for one in (a, b) if name in one) for name in {**a, **b}}  # type: ignore[misc]


def _without(a: dict[str, Array], b: Any) -> dict[str, Array]:
    return {name: value - b[name] if name in b else value for name, value in a.items()}
