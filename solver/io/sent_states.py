"""States that the processes of one group of devices send to the processes of another: checkpoints without files.

A message holds the numbers. Arrays go piece by piece from the device that has a piece to the device that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from solver.cluster import Expected, Messages, name_of_devices, processes_of, transfers
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Form, Grid, Piece, Storage, joined, parts_here, pieces
from solver.io.checkpoint_reading import outline_of, state_from, storage_in
from solver.io.checkpoint_writing import Leaf, leaves_of, value_as_json
from solver.steppers.checks import check_state
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

MAX_BEHIND = 2  # states that are sent and not yet received; those who send keep them
KEPT_MESSAGES = 16


class _Way:
    """Way from one group of devices to another, with the number of states sent, as each process counts them."""

    def __init__(self, sender: Mesh, receiver: Mesh) -> None:
        self.name = f"states from {name_of_devices(sender)} to {name_of_devices(receiver)}"
        self.messages, self.number = Messages(self.name), 0
        self.senders, self.receivers = processes_of(sender), processes_of(receiver)

    def next(self) -> str:
        """The name of the transfer that comes now."""
        self.number += 1
        return f"{self.name} {self.number}"


_way = cache(_Way)


def send_state(state: State, equation: AnyEquation, mesh: Mesh) -> None:
    """Send a state to a group of devices of other processes, where `receive_state` returns it.

    Every process with devices of the equation's grid calls it, the same number of times as the others call
    `receive_state`. Within one process `hand_over` does both.

    Args:
        state: state from `initial_state`, `evolve`, `integrate` or `load_checkpoint`, on the devices of the equation's
            grid. It may be stepped with `donate=True` at once.
        equation: equation of the state.
        mesh: mesh of the other group, from `device_groups`.

    Communication: each piece goes from one device to one other, when the other process requests it; no program takes
    part. Waits for the state's numbers, and where two states sent before have not been received.

    Raises:
        ValueError: a state of another grid or one made by hand, or a mesh with devices of this process.
        LaunchError: this installation of JAX cannot send arrays between processes.
    """
    check_state(equation, state)
    way = _between(equation.grid.mesh, mesh, equation.grid.mesh)
    if way.number >= MAX_BEHIND:
        for process in way.receivers:
            way.messages.wait_for(f"received-{way.number + 1 - MAX_BEHIND}-{process}")
    message = offer_state(state, equation, mesh, way.next())
    if jax.process_index() == way.senders[0]:
        way.messages.leave(f"state-{way.number}", message)


def receive_state(equation: AnyEquation, stepper: Stepper, mesh: Mesh) -> State:
    """The state that a group of devices of other processes has sent by `send_state`, or will send.

    Every process with devices of the equation's grid calls it.

    Args:
        equation: the equation of the senders, on the devices that receive.
        stepper: stepper of the state.
        mesh: mesh of the group that sends, from `device_groups`.

    Returns:
        The state of the same bits, without sums of outputs, on the devices of the equation's grid. Waits until all of
        it is there.

    Raises:
        CheckpointError: the state is not one of this equation and stepper; the message names the entry.
        ValueError: a mesh with devices of this process.
        LaunchError: this installation of JAX cannot send arrays between processes.
    """
    way = _between(mesh, equation.grid.mesh, equation.grid.mesh)
    name, process = way.next(), jax.process_index()
    message = way.messages.wait_for(f"state-{way.number}")
    state = fetch_state(message, equation, stepper, mesh, name, {})
    way.messages.leave(f"received-{way.number}-{process}", None)
    old = way.number - KEPT_MESSAGES
    if old > 0:  # read by all, who have sent more states since
        way.messages.remove(f"received-{old}-{process}")
        if process == way.receivers[0]:
            way.messages.remove(f"state-{old}")
    return state


def _between(sender: Mesh, receiver: Mesh, own: Mesh) -> _Way:
    """The way between two groups, of which this process belongs to one alone.

    Raises:
        ValueError: a process with devices of both groups, or of neither.
    """
    mine = jax.process_index()
    is_own, is_both = mine in processes_of(own), mine in processes_of(sender) and mine in processes_of(receiver)
    if is_both or not is_own:
        raise ValueError(
            f"process {mine} with devices of {'both groups' if is_both else 'the other group alone'}: a state is sent "
            "to devices of other processes (hand_over is for those of this one)"
        )
    return _way(sender, receiver)


def offer_state(state: State, equation: AnyEquation, mesh: Mesh, name: str) -> dict[str, Any]:
    """Let the processes of another group fetch a state. Every process of the equation's group calls it.

    Args:
        state: state on the devices of the equation's grid. Its buffers may be used again at once.
        equation: equation of the state.
        mesh: mesh of the other group.
        name: unique name of this transfer.

    Returns:
        Message that `fetch_state` needs there, to be sent as JSON; the same in every process. The call waits only for
        the state's numbers.

    Raises:
        ValueError: a state made by hand, which does not say how its arrays are stored.
    """
    leaves, elsewhere = leaves_of(state), replace(equation.grid, mesh=mesh)
    by_process: dict[int, list[Array]] = {}
    for leaf in (leaf for leaf in leaves if leaf.storage.is_split):
        here, there = (_form(leaf.value.shape, leaf.storage, grid) for grid in (equation.grid, elsewhere))
        parts = parts_here(_split_as(leaf.value, here))
        for piece in pieces(here, there):
            if piece.source in parts:
                own = jax.device_put(piece.cut_from(parts[piece.source]), piece.source, may_alias=False)
                by_process.setdefault(piece.target.process_index, []).append(own)
    for process, arrays in by_process.items():
        transfers().offer(name, process, arrays)
    return {
        "values": {leaf.name: value_as_json(leaf) for leaf in leaves if not leaf.storage.is_split},
        "arrays": {leaf.name: outline_of(leaf, equation.grid) for leaf in leaves if leaf.storage.is_split},
    }


def fetch_state(
    message: Mapping[str, Any],
    equation: AnyEquation,
    stepper: Stepper,
    mesh: Mesh,
    name: str,
    statistics: Mapping[str, tuple[Any, Mapping[str, Storage]]],
) -> State:
    """The state that the processes of another group offer. Every process of the equation's group calls it.

    Args:
        message: message from `offer_state`.
        equation: equation on the devices of this group.
        stepper: stepper of the run.
        mesh: mesh of the other group.
        name: name of the transfer, as given to `offer_state`.
        statistics: as of `load_checkpoint`.

    Returns:
        The state of the same bits, on the devices of the equation's grid, once all of it is there.

    Raises:
        CheckpointError: the message is not of a state of this equation and stepper.
    """
    fetched: dict[str, list[tuple[Piece, Array]]] = {entry: [] for entry in message["arrays"]}
    waiting: dict[int, list[tuple[str, Piece]]] = {}
    forms: dict[str, tuple[Form, Form]] = {}
    elsewhere = replace(equation.grid, mesh=mesh)
    for entry, outline in message["arrays"].items():
        shape, storage = outline["shape"], storage_in(outline, equation.field_storage().values())
        forms[entry] = _form(shape, storage, elsewhere), _form(shape, storage, equation.grid)
    for entry, piece in _pieces_to_here(forms):
        waiting.setdefault(piece.source.process_index, []).append((entry, piece))
    for process, wanted in waiting.items():
        dtype = lambda entry: np.dtype(message["arrays"][entry]["dtype"])  # noqa: E731
        expected = [Expected(piece.shape, dtype(entry), piece.target) for entry, piece in wanted]
        for (entry, piece), values in zip(wanted, transfers().fetch(name, process, expected), strict=True):
            fetched[entry].append((piece, values))
    jax.block_until_ready([values for received in fetched.values() for _, values in received])

    def load(leaf: Leaf) -> Array:
        return joined(fetched[leaf.name], forms[leaf.name][1], leaf.value.dtype)

    return state_from(message, equation, stepper, statistics, load, "a state handed over")


def _pieces_to_here(forms: Mapping[str, tuple[Form, Form]]) -> Iterator[tuple[str, Piece]]:
    """Pieces that devices of this process receive, with the array's entry, in the order in which they are sent."""
    for entry, (here, there) in forms.items():
        for piece in pieces(here, there):
            if piece.target.process_index == jax.process_index():
                yield entry, piece


def _form(shape: Sequence[int], storage: Storage, grid: Grid) -> Form:
    """Form of an array of a state on the devices of a grid, for a shape with any padding or without padding."""
    full = storage.padded_shape(shape, grid)
    return Form(full, storage.sharding(len(full), grid))


def _split_as(array: Array, form: Form) -> Array:
    """The array with the sharding that its storage says, which it has but for a compiler's choice."""
    if array.sharding.is_equivalent_to(form.sharding, array.ndim):
        return array
    moved: Array = jax.jit(lambda values: values, out_shardings=form.sharding)(array)
    return moved
