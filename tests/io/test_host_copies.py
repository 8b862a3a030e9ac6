"""Copies for output: true ones, which do not stay in the heap."""

import jax
import numpy as np
import pytest

from solver.io.checkpoint_writing import LARGE, host_copy


@pytest.mark.parametrize("count", [10, LARGE // 8, LARGE // 4])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_a_true_copy(count, dtype):
    source = np.arange(2 * count).reshape(2, count).astype(dtype)
    copy = host_copy(source)
    assert (copy.shape, copy.dtype) == (source.shape, source.dtype)
    assert not np.shares_memory(copy, source)
    source[:] = 0
    np.testing.assert_array_equal(copy.ravel(), np.arange(2 * count).astype(dtype))


def test_the_buffer_of_a_device_is_not_held():
    values = jax.numpy.ones(LARGE)
    assert not np.shares_memory(host_copy(values), np.asarray(values))


def test_large_copies_lie_in_pages_of_their_own():
    """They begin where a page does, as what comes from the heap does not."""
    assert host_copy(np.ones(LARGE)).ctypes.data % 4096 == 0
