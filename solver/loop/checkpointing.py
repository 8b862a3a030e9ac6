"""Many steps, with a choice of the arrays that are kept for the backward pass of a gradient.

The caller chooses by `checkpoint` what the backward pass of a gradient keeps of the forward pass. For n steps, with S
the memory of a state, and R the memory that the derivative of a step needs (the fields at the points of each stage):

==========  ===================  ================================================
checkpoint  memory               steps that are taken
==========  ===================  ================================================
`none`      n R                  n forward, and n transposed ones
`steps`     n S + R              n once more, each just before it is transposed
`sqrt`      2 √n S + R           n twice more, all but the last of each block
==========  ===================  ================================================

A transposed step costs one to two of forward ones. Without a gradient all of them cost the same. `auto` is `none` for
equal steps where 16 n S, about n R, is at most 1/64 of a device's memory; `steps` where n S is at most a quarter of it;
else `sqrt`. With `none` equal steps take up to three tenths less of the time of `steps`, about as long at most.
Chosen steps, where R is written for attempts that are not needed, too, take more (benchmarks/gradients.md).

Source: Griewank, Optim. Methods Softw. 1 (1992) 35, for `sqrt`, with one level of checkpoints.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from solver.mesh import AnyMesh

CHECKPOINTS = ("auto", "none", "steps", "sqrt")
SHARE = 4  # of a device's memory, states that are kept take at most one of so many parts
SHARE_OF_ALL = 64  # and all that derivatives need: little, since the members under `vmap` are not seen here
NEEDED = 16  # states: about what the derivative of a step needs; 9 to 18 were measured

Carry = Any  # what steps move: fields, history of the stepper and states of the forcings; or a whole state
OneStep = Callable[[Carry, Any], Carry]  # from the start of step number i, counted from the first, to its end


def chosen_checkpoint(checkpoint: str, steps: int, state: Any, mesh: AnyMesh, *, are_equal: bool) -> str:
    """The choice for a gradient of so many steps; if the caller leaves it open, by the memory that there is."""
    if checkpoint != "auto":
        return checkpoint
    of_state = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state) if hasattr(leaf, "dtype"))
    kept, memory = steps * of_state, mesh.size * _memory_of_a_device()
    if are_equal and SHARE_OF_ALL * NEEDED * kept <= memory:
        return "none"
    return "steps" if SHARE * kept <= memory else "sqrt"


def _memory_of_a_device() -> float:
    """Bytes of memory of each device of this process; infinite if nobody says."""
    devices = jax.local_devices()
    of_device = (devices[0].memory_stats() or {}).get("bytes_limit")
    if of_device is not None:
        return float(of_device)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / len(devices)
    except (AttributeError, ValueError, OSError):
        return math.inf


def repeat(one_step: OneStep, carry: Carry, begin: Any, steps: int, checkpoint: str) -> Carry:
    """A number of steps from number `begin` on, with so much kept for the backward pass."""
    if checkpoint == "sqrt":
        return _in_blocks(one_step, carry, begin, steps)
    if checkpoint == "steps":
        one_step = jax.checkpoint(one_step, prevent_cse=False)
    body = lambda carry, i: (one_step(carry, i), None)  # noqa: E731
    return jax.lax.scan(body, carry, begin + jnp.arange(steps))[0]


def _in_blocks(one_step: OneStep, carry: Carry, begin: Any, steps: int) -> Carry:
    """About √steps blocks of as many steps, each block and each step in it checkpointed."""
    length = _block_length(steps)
    blocks, rest = divmod(steps, length)
    # each step, too: or the fields at the points of each of its stages would be kept
    block = lambda carry, i, count: repeat(one_step, carry, begin + i * length, count, "steps")  # noqa: E731
    block = jax.checkpoint(block, static_argnums=2)
    carry = jax.lax.scan(lambda carry, i: (block(carry, i, length), None), carry, jnp.arange(blocks))[0]
    return block(carry, blocks, rest) if rest else carry


def _block_length(steps: int) -> int:
    """A divisor near √steps if there is one, so that all blocks are one program; √steps if not."""
    root = max(1, math.isqrt(steps))
    near = [n for n in range(root, max(1, root // 2) - 1, -1) if steps % n == 0]
    return near[0] if near else root
