"""The command line: exit codes, and what commands share. No numerics."""

from __future__ import annotations

from collections.abc import Callable

FINISHED = 0
FAILED = 1
WRONG_INPUT = 2
BLEW_UP = 3
STALLED = 70
STOPPED_EARLY = 75
INTERRUPTED = 130


def jax_for(platform: str) -> Callable[[], None]:
    """A function that imports JAX and sets it up for a platform; see `solver.cluster.set_up_jax`.

    A command calls it when it needs JAX.
    """

    def set_up() -> None:
        from solver.cluster import set_up_jax

        set_up_jax(platform, None)

    return set_up
