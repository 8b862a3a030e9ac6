"""Copies of device arrays on the host, held while a run goes on."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

LARGE = 2**20  # bytes


def host_copy(values: Any) -> np.ndarray:
    """A copy in pages of its own, which go back to the system when it is dropped.

    In the heap it would take a part of the room that the steps' scratch leaves between two chunks; the next chunk would
    find it too small, and the heap would grow with every output.
    """
    source = np.asarray(values)
    if source.nbytes < LARGE:
        return source.copy()
    copy = np.frombuffer(mmap.mmap(-1, source.nbytes), source.dtype).reshape(source.shape)
    np.copyto(copy, source)
    return copy
