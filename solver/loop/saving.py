"""The function that `rollout` and `integrate` save rows of: made fit for compiled programs, its result checked."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from solver.dynamics.budget import without_budget
from solver.static import SameCode, is_array
from solver.steppers.state import State

SaveFunction: TypeAlias = Callable[[State], Any]


class Save(eqx.Module):
    """A user's function of the state, as compiled programs take it: its arrays are leaves if it is a pytree.

    Args:
        function: a pytree that can be called, or a function; two functions of the same code are the same.
    """

    function: Any

    def __call__(self, state: State) -> Any:
        """The row of a state.

        Raises:
            TypeError: the function returns something that is not made of arrays.
        """
        row = self.function(state)
        leaves = jax.tree_util.tree_flatten_with_path(row, is_leaf=lambda leaf: leaf is None)[0]
        if not leaves:
            raise TypeError(f"save returns {row!r}: an array, or a dict, list or tuple of arrays, is needed")
        for path, leaf in leaves:
            if not (is_array(leaf) or isinstance(leaf, bool | int)):
                place = f" at {jax.tree_util.keystr(path)}" if path else ""
                said = "None" if leaf is None else f"a value of type {type(leaf).__name__}"
                raise TypeError(f"save returns {said}{place}: an array, or a dict, list or tuple of arrays, is needed")
        return jax.tree.map(jnp.asarray, row)


def save_module(save: Any) -> Save | None:
    """A function of the state as compiled programs take it; None for None.

    Raises:
        TypeError: it cannot be called.
    """
    if save is None:
        return None
    if not callable(save):
        raise TypeError(f"save={save!r}: a function of the state is needed, such as lambda state: state.field")
    return Save(SameCode(save) if isinstance(save, FunctionType) else save)


def row_of(equation: Any, save: Save | None, state: State) -> Any:
    """The row of a state: the result of `save`, or the fields at the points."""
    fields = without_budget(state.field)
    if save is None:
        return equation.at_time(state.t).to_physical(fields)
    counted = {"t": state.t, "dt": state.dt, "step": jnp.asarray(state.step)}
    return save(State(field=fields, forcing=state.forcing, key=state.key, box=equation.grid.box, **counted))


def with_start(start: Any, rows: Any) -> Any:
    """Rows with the row of the start in front of them."""
    return jax.tree.map(lambda first, others: jnp.concatenate([first[None], others]), start, rows)
