"""JAX's settings, which a command makes when it needs JAX."""

from __future__ import annotations

from collections.abc import Callable


def jax_for(platform: str) -> Callable[[], None]:
    """A function that imports JAX and sets it up for a platform; see `solver.cluster.set_up_jax`."""

    def set_up() -> None:
        from solver.cluster import set_up_jax

        set_up_jax(platform, None)

    return set_up
