"""Hands a state over from one group of devices to another."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from jax.sharding import Mesh

from solver.dynamics.any_equation import AnyEquation
from solver.grid import moved
from solver.steppers.checks import check_state
from solver.steppers.state import HOST, State, path_in_state


def hand_over(state: State, equation: AnyEquation, mesh: Mesh) -> State:
    """The same state on another mesh, of any shape: other devices, another number of slabs, pencils.

    `equation.on_mesh(mesh)` is the equation to step it there. Everything in the state is copied: fields, history,
    states of forcings, sums of outputs, random key and numbers. No array is ever whole on one device that does
    not need it, and none is copied to the host: each device cuts its part into the pieces that others need.

    Args:
        state: from `initial_state`, `evolve`, `integrate` or `load_checkpoint`, on the devices of the equation's grid.
        equation: whose state it is.
        mesh: from `device_groups` or `device_mesh`.

    Returns:
        A state of the same bits, with buffers of its own: `state` may be stepped with `donate=True` at once.
        Communication: each piece goes from one device to one other. Waits for nothing.

    Raises:
        ValueError: a state of another grid or one made by hand, a mesh that cannot split the grid, or devices of other
            processes (`send_state` and `receive_state` are for those).
    """
    check_state(equation, state)
    storage = state.storage_by_path()
    there = dataclasses.replace(equation.grid, mesh=mesh)

    def move(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array):
            return leaf
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(move(path, jax.random.key_data(leaf)), impl=jax.random.key_impl(leaf))
        how = storage.get(path_in_state(path), HOST)
        shape = how.padded_shape(leaf.shape, there)
        return moved(leaf, shape, how.sharding(len(shape), there))

    handed: State = jax.tree_util.tree_map_with_path(move, state)
    return handed
