"""Several runs whose equations differ in numbers alone, stepped by one compiled program.

The states of all members are stored together: one array of each kind, with the members along its first axis, which is
split over the mesh axis `member`. Each part of the mesh steps its own members, and nothing is exchanged between the
parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from solver.dynamics.compiled import compiled_for_members
from solver.loop.batch import (
    BatchArrays,
    Modules,
    arrays_of,
    check_batch,
    constrained_batch,
    kind_of_key,
    numbers_of,
    own_leaves,
    rows,
    state_of,
    with_own,
)
from solver.loop.controls import StepControl
from solver.loop.course import Call
from solver.loop.steps import StepLimits, advance_state
from solver.loop.sums import as_number
from solver.mesh import MEMBER
from solver.static import Static
from solver.steppers.state import State

Answer: TypeAlias = Callable[[], tuple[State, bool]]  # the state after a call, and whether it is finite


class Members:
    """Carries out the calls of several runs together, each at its own place in a batch.

    A member's bits depend on its place, on the size of the batch and on which parameters differ between members; they
    do not depend on what its companions are. Parameters that are equal for all members are held once.

    Args:
        modules: equation, stepper and step control of each member, on one mesh, alike but for their numbers.
        size: number of places in the batch.

    Raises:
        ValueError: modules that differ in more than numbers; a size below the number of members, or no multiple of the
            number of parts along the mesh axis `member`.
    """

    def __init__(self, modules: Sequence[Modules], size: int) -> None:
        check_batch(modules, size)
        self._mesh, self._size, self._first = modules[0][0].grid.mesh, size, modules[0]
        self._own = own_leaves(modules, size)
        self._arrays: BatchArrays | None = None
        self._batch: Any = None
        self._keys: dict[int, Any] = {}

    def carry_out(self, calls: Mapping[int, Call]) -> dict[int, Answer]:
        """Carry out the calls of the member that is furthest behind, and of all that can go with it.

        Args:
            calls: calls by place. The first call of a member brings its arrays; from then on they are here.

        Returns:
            By place, functions that give the results of the calls that were carried out; other calls wait. The results
            must be taken before the next call.
        """
        for place, call in calls.items():
            if place not in self._keys:
                self._add(place, _asked(call))
        going = self._going(calls)
        numbers = rows([numbers_of(_asked(calls[place])) for place in going], going, self._size)
        limits, control = _limits([calls[place].limits for place in going], going, self._size), calls[going[0]].control
        if control.size is not None:
            limits = StepLimits(np.min([calls[place].limits.steps for place in going]), (0.0, 0.0))
        assert self._arrays is not None
        how = Static((*jax.tree.leaves(self._arrays.shardings), kind_of_key(self._keys[going[0]])))
        active = np.isin(np.arange(self._size), going)
        self._batch, numbers, is_finite = _advance_members(
            *self._first[:2], control, self._own_with_controls(calls, going), self._batch, numbers, limits, active, how
        )
        numbers, is_finite = jax.tree.map(np.asarray, (numbers, is_finite))
        for place in going:
            calls[place].state = None
        return {place: partial(self._answer, place, numbers, is_finite) for place in going}

    def _add(self, place: int, state: State) -> None:
        """Put the arrays of a member's first call at its place."""
        arrays = arrays_of(state)
        if self._arrays is None:
            self._arrays = BatchArrays(arrays, self._mesh, self._size)
            self._batch = self._arrays.zeros()
        self._batch = self._arrays.put(self._batch, place, arrays)
        self._keys[place] = state.key

    def _going(self, calls: Mapping[int, Call]) -> list[int]:
        """Places of the member furthest behind, and of those whose control has the same numbers where all share it."""
        leader = min(calls, key=lambda place: (float(as_number(_asked(calls[place]).t)), place))
        shared = lambda place: self._shared_numbers(calls[place].control)  # noqa: E731
        return [place for place in sorted(calls) if shared(place) == shared(leader)]

    def _shared_numbers(self, control: StepControl) -> list[Any]:
        first = len(jax.tree.leaves(self._first[:2]))
        return [leaf for i, leaf in enumerate(jax.tree.leaves(control), first) if i not in self._own]

    def _own_with_controls(self, calls: Mapping[int, Call], going: Sequence[int]) -> dict[int, Any]:
        """The numbers in which members differ, by leaf; the controls have the numbers of these calls."""
        first = len(jax.tree.leaves(self._first[:2]))
        numbers = rows([jax.tree.leaves(calls[place].control) for place in going], going, self._size)
        return {i: numbers[i - first] if i >= first else column for i, column in self._own.items()}

    def _answer(self, place: int, numbers: State, is_finite: Any) -> tuple[State, bool]:
        """The state of a member after its call, and True if it is finite."""
        assert self._arrays is not None
        field, history, forcing, _ = self._arrays.take(self._batch, place)
        own = jax.tree.map(lambda column: column[place], numbers)
        return own.replace(field=field, history=history, forcing=forcing, key=self._keys[place]), bool(is_finite[place])


def _asked(call: Call) -> State:
    assert call.state is not None
    return call.state


def _limits(limits: Sequence[StepLimits], places: Sequence[int], size: int) -> StepLimits:
    """Limits of these members at their places; others take no step."""
    filled = rows(limits, places, size)
    return StepLimits(np.where(np.isin(np.arange(size), places), filled.steps, 0), filled.target)


def _advance_in_batch(
    equation: Any,
    stepper: Any,
    control: Any,
    own: Any,
    arrays: Any,
    numbers: State,
    limits: Any,
    active: Any,
    how: Static,
) -> tuple[Any, State, Array]:
    """The members of a batch some steps later: their arrays, their numbers, and True for each that is finite.

    Args:
        equation, stepper, control: modules of one member.
        own: numbers of all members, by position among the leaves of the modules.
        arrays, numbers: arrays and numbers of the states, members along the first axis.
        limits: as of `advance`, for each member where the control chooses the steps.
        active: flag of each member; True if it is to move.
        how: the shardings of the arrays, and the kind of the random key.
    """
    *shardings, kind = how.value
    mesh = shardings[0].mesh

    def one(own: Any, arrays: Any, numbers: State, limits: Any, active: Any) -> Any:
        state = state_of(arrays, numbers, kind)
        moved, is_finite = advance_state(*with_own((equation, stepper, control), own), state, limits)
        after = (moved.field, moved.history, moved.forcing, arrays[3])
        return jax.tree.map(lambda new, old: jnp.where(active, new, old), after, arrays), numbers_of(moved), is_finite

    over = jax.vmap(
        one, in_axes=(0, 0, 0, None if control.size is not None else 0, 0),
        spmd_axis_name=MEMBER if MEMBER in mesh.shape else None,
    )  # fmt: skip
    after, moved, is_finite = over(own, arrays, numbers, limits, active)
    whole = NamedSharding(mesh, PartitionSpec())
    moved, is_finite = jax.tree.map(lambda x: jax.lax.with_sharding_constraint(x, whole), (moved, is_finite))
    return constrained_batch(after, shardings), moved, is_finite


_advance_members = compiled_for_members(_advance_in_batch, donate_argnums=4)
