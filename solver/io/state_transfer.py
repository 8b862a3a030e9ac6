"""Transfer of a state between the processes of two groups of devices: a checkpoint without files.

A message holds the numbers. Arrays go piece by piece from the device that has a piece to the device that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array

from solver.cluster import Expected, transfers
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Form, Grid, Piece, Storage, joined, parts_here, pieces
from solver.io.checkpoint_reading import outline_of, state_from, storage_in
from solver.io.checkpoint_writing import value_as_json
from solver.io.leaves import Leaf, leaves_of
from solver.steppers.state import State
from solver.steppers.stepper import Stepper


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
