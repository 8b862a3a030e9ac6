"""The entries of a state, one by one, as checkpoints keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from solver.grid import Storage
from solver.steppers.state import State
from solver.steppers.storage import HOST, path_in_state


@dataclass(frozen=True)
class Leaf:
    """Entry of a state, with its name and storage.

    Args:
        name: path of the entry in the state, such as `field/velocity`.
        value: array, number or random key, or its shape.
        storage: storage of the entry.
    """

    name: str
    value: Any
    storage: Storage

    @property
    def is_key(self) -> bool:
        """True if the entry is a random key."""
        return jax.dtypes.issubdtype(getattr(self.value, "dtype", np.float64), jax.dtypes.prng_key)


def leaves_of(state: State) -> list[Leaf]:
    """Every entry of a state.

    Raises:
        ValueError: a state made by hand, which does not say how its arrays are stored.
    """
    storage = state.storage_by_path()
    entries = jax.tree_util.tree_leaves_with_path(state)
    return [Leaf(path_in_state(path), value, storage.get(path_in_state(path), HOST)) for path, value in entries]
