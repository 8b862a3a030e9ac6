"""`integrate`, `rollout` and `evolve` of many members at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

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
from solver.loop.checkpointing import chosen_checkpoint
from solver.loop.course import BlowUp, Course
from solver.loop.members import Members
from solver.loop.pure import integrate
from solver.loop.pure_steps import checked_steps
from solver.loop.schedule import Schedule
from solver.loop.step_warnings import rounded_time_at_start, warn_of_rounded_time
from solver.loop.sums import traced
from solver.loop.trajectory import rollout
from solver.mesh import MEMBER
from solver.operators import Fields
from solver.static import Static
from solver.steppers.state import State

Tree = TypeVar("Tree")


class Rows(Sequence[Tree], Generic[Tree]):
    """Results of a computation by number of the member, each taken out of the batch when it is read.

    Args:
        batch: a pytree of arrays with members along the first axis, split over the mesh axis `member`. Rows beyond the
            last member repeat the first one's.
        count: number of members.
        take: function that gives the row of a place in the batch.
    """

    def __init__(self, batch: Tree, count: int, take: Callable[[Tree, int], Tree]) -> None:
        self.batch, self._count, self._take = batch, count, take

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        """Number of members and shapes of their arrays, without values."""
        leaves = jax.tree.leaves(self.batch)
        shapes = ", ".join(f"{leaf.dtype}{list(leaf.shape[1:])}" for leaf in leaves[:4])
        return f"Rows of {self._count} members, each {shapes}{', …' if len(leaves) > 4 else ''}"

    @overload
    def __getitem__(self, number: int) -> Tree: ...
    @overload
    def __getitem__(self, number: slice) -> list[Tree]: ...
    def __getitem__(self, number: int | slice) -> Tree | list[Tree]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(self._count))]
        if not -self._count <= number < self._count:
            raise IndexError(f"member {number} of {self._count}: a number from 0 to {self._count - 1} is needed")
        return self._take(self.batch, number % self._count)


def places_for(count: int, mesh: Any) -> int:
    """The size of a batch for so many members: a multiple of the parts of the mesh that hold different ones."""
    parts = int(mesh.shape.get(MEMBER, 1))
    return -(-count // parts) * parts


def integrate_members(
    modules: Sequence[Modules],
    states: Sequence[State],
    *,
    steps: int | None = None,
    end: Any = None,
    max_steps: int | None = None,
    checkpoint: str,
) -> Rows[State]:
    """`integrate` of every member: so many steps of its control's size, or up to `end`, one for all or one each."""
    batch = _Batch(modules, states)
    _warn_of_rounded_time(modules, states, steps, end)
    ends = jnp.broadcast_to(jnp.asarray(0.0 if end is None else end), (len(modules),))
    ends = jnp.concatenate([ends, jnp.broadcast_to(ends[0], (batch.size - len(modules),))])
    attempts, are_equal = (steps, True) if end is None else (max_steps, False)
    checkpoint = batch.chosen_checkpoint(checkpoint, attempts, are_equal=are_equal)
    how = Static((*batch.how, steps, end is not None, max_steps, checkpoint))
    arrays, numbers = _integrated(*modules[0], batch.own, batch.arrays, batch.numbers, ends, how)
    return Rows(state_of(arrays, numbers, None), len(modules), batch.state_at)


def rollout_members(
    modules: Sequence[Modules], states: Sequence[State], *, steps: int, every: int, checkpoint: str
) -> tuple[Array, Rows[Fields]]:
    """`rollout` of every member, with steps of its control's size."""
    batch = _Batch(modules, states)
    _warn_of_rounded_time(modules, states, steps, None)
    how = Static((*batch.how, steps, every, batch.chosen_checkpoint(checkpoint, steps, are_equal=True)))
    times, values = _rolled(*modules[0], batch.own, batch.arrays, batch.numbers, how)
    own = {name: jax.ShapeDtypeStruct(v.shape[1:], v.dtype, sharding=_own(v, batch.mesh)) for name, v in values.items()}
    layout = BatchArrays(own, batch.mesh, batch.size)
    return times[: len(modules)], Rows(values, len(modules), layout.take)


def evolve_members(
    modules: Sequence[Modules],
    states: Sequence[State],
    *,
    ends: Sequence[float],
    pauses: Sequence[Schedule],
    observe: Callable[[State, bool], State] | None,
    chunk: int | Callable[[], int],
) -> Iterator[tuple[int, State]]:
    """`evolve` of every member: yields its number with each state. One that blows up leaves the others alone.

    Raises:
        BlowUp: after all others, naming those that blew up.
    """
    members = Members(modules, places_for(len(modules), modules[0][0].grid.mesh))
    _warn_of_rounded_time(modules, states, None, ends)
    going = {
        number: Course(equation, stepper, state, end=end, control=control, pauses=pauses, observe=observe, chunk=chunk)
        for number, ((equation, stepper, control), state, end) in enumerate(zip(modules, states, ends, strict=True))
    }
    blown_up: dict[int, BlowUp] = {}
    for number, course in going.items():
        yield number, course.state
    while going := {number: course for number, course in going.items() if not course.done}:
        for number, answer in members.carry_out({number: course.call() for number, course in going.items()}).items():
            try:
                going[number].take(*answer())
            except BlowUp as error:
                blown_up[number] = error
                del going[number]
            else:
                yield number, going[number].state
    if blown_up:
        raise BlowUp.of_members({f"member {n}": blown_up[n] for n in sorted(blown_up)}, len(modules))


def _warn_of_rounded_time(modules: Sequence[Modules], states: Sequence[State], steps: int | None, end: Any) -> None:
    """Warn as `evolve` does, of the member that ends last; nothing while tracing."""
    if traced((modules, states, end)):
        return
    sizes = [0.0 if end is not None else steps * control.size for _, _, control in modules]
    ends = np.broadcast_to(np.asarray(0.0 if end is None else end), (len(modules),)) + sizes
    ends = ends if end is not None else ends + [state.t for state in states]
    last = int(np.argmax(np.abs(ends)))
    equation, _, control = modules[last]
    warn_of_rounded_time(rounded_time_at_start(equation, control, states[last], ends[last]), stacklevel=5)


class _Batch:
    """States of all members in one array each, and the values that their modules have of their own."""

    def __init__(self, modules: Sequence[Modules], states: Sequence[State]) -> None:
        self.mesh = modules[0][0].grid.mesh
        self.size = places_for(len(modules), self.mesh)
        check_batch(modules, self.size)
        self.own = own_leaves(modules, self.size)
        states = [state.with_statistics({}, {}) for state in states]  # no function of steps changes them
        self.kind = kind_of_key(states[0].key)
        arrays = arrays_of(states[0])
        self._layout = BatchArrays(arrays, self.mesh, self.size)
        self.arrays = self._layout.zeros()
        for place in range(self.size):
            own = arrays_of(states[place]) if 0 < place < len(states) else arrays
            self.arrays = self._layout.put(self.arrays, place, own)
        self.numbers = rows([numbers_of(state) for state in states], range(len(states)), self.size)

    @property
    def how(self) -> tuple[Any, ...]:
        """The mesh, the shardings of the arrays, and the kind of the random key."""
        return self.mesh, tuple(jax.tree.leaves(self._layout.shardings)), self.kind

    def chosen_checkpoint(self, checkpoint: str, steps: Any, *, are_equal: bool) -> str:
        """The choice for a gradient; if the caller leaves it open, by the memory that all members need."""
        count = checked_steps(steps, checkpoint)
        return chosen_checkpoint(checkpoint, count, self.arrays, self.mesh, are_equal=are_equal)

    def state_at(self, batch: State, place: int) -> State:
        """The state of the member at a place."""
        field, history, forcing, key = self._layout.take((batch.field, batch.history, batch.forcing, batch.key), place)
        numbers = jax.tree.map(lambda column: column[place], numbers_of(batch))
        return state_of((field, history, forcing, key), numbers, self.kind)


def _integrate_in_batch(
    equation: Any, stepper: Any, control: Any, own: Any, arrays: Any, numbers: State, ends: Array, how: Static
) -> tuple[Any, State]:
    mesh, shardings, kind, steps, to_end, max_steps, checkpoint = how.value

    def one(own: Any, arrays: Any, numbers: State, end: Any) -> tuple[Any, State]:
        solved, method, chosen = with_own((equation, stepper, control), own)
        state = state_of(arrays, numbers, kind)
        limits: dict[str, Any]
        limits = (
            {"control": chosen, "end": end, "max_steps": max_steps} if to_end else {"step": chosen.size, "steps": steps}
        )
        after = integrate(solved, method, state, **limits, checkpoint=checkpoint)
        return (after.field, after.history, after.forcing, arrays[3]), numbers_of(after)

    after, numbers = _over(one, mesh)(own, arrays, numbers, ends)
    return constrained_batch(after, shardings), numbers


def _roll_in_batch(
    equation: Any, stepper: Any, control: Any, own: Any, arrays: Any, numbers: State, how: Static
) -> tuple[Array, Fields]:
    mesh, _, kind, steps, every, checkpoint = how.value

    def one(own: Any, arrays: Any, numbers: State) -> tuple[Array, Fields]:
        solved, method, chosen = with_own((equation, stepper, control), own)
        state = state_of(arrays, numbers, kind)
        return rollout(solved, method, state, step=chosen.size, steps=steps, every=every, checkpoint=checkpoint)

    times, values = _over(one, mesh)(own, arrays, numbers)
    grid = equation.grid
    split = [
        NamedSharding(mesh, PartitionSpec(_axis(mesh), *grid.physical_sharding(v.ndim - 1).spec))
        for v in values.values()
    ]
    return times, constrained_batch(values, split)


_integrated, _rolled = compiled_for_members(_integrate_in_batch), compiled_for_members(_roll_in_batch)


def _over(one: Callable[..., Any], mesh: Any) -> Callable[..., Any]:
    return jax.vmap(one, spmd_axis_name=_axis(mesh))


def _axis(mesh: Any) -> str | None:
    return MEMBER if MEMBER in mesh.shape else None


def _own(v: Array, mesh: Any) -> NamedSharding:
    """Sharding of one row of an array of a batch."""
    return NamedSharding(mesh, PartitionSpec(*v.sharding.spec[1:]))
