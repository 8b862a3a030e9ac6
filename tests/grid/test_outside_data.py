"""Three ways to make a process-spanning field from outside data, and the way out."""

import numpy as np
import pytest

import solver as sw
from solver.grid import local_slices

WHOLE = np.random.default_rng(0).normal(size=(3, 16, 12, 4))


@pytest.fixture
def grid(make_grid):
    return make_grid((16, 12, 4), devices=4)


def test_all_ways_give_the_same_array(grid):
    pieces = np.split(WHOLE, 4, axis=1)
    block = WHOLE[(slice(None), *local_slices(grid))]
    made = [
        sw.from_global(WHOLE, grid),
        sw.from_global(lambda index: WHOLE[index], grid, components=3),
        sw.from_process_local(block, grid),
        sw.from_device_pieces(pieces, grid),
    ]
    for array in made:
        assert array.sharding == grid.physical_sharding(4)
        np.testing.assert_array_equal(sw.gather(array), WHOLE)


def test_all_ways_in_pencils_and_in_parts_that_do_not_divide(make_grid):
    pencils = make_grid((16, 12, 4), mesh_shape=(4, 2), dealias="none")
    pieces = [part for slab in np.split(WHOLE, 4, axis=1) for part in np.split(slab, 2, axis=2)]
    uneven = make_grid((16, 12, 4), devices=3)  # 16 planes on 3 devices: whole on each of them, at rest
    for grid, own in ((pencils, pieces), (uneven, [WHOLE] * 3)):
        block = WHOLE[(slice(None), *local_slices(grid))]
        for array in (
            sw.from_global(WHOLE, grid),
            sw.from_process_local(block, grid),
            sw.from_device_pieces(own, grid),
        ):
            np.testing.assert_array_equal(sw.gather(array), WHOLE)
            np.testing.assert_allclose(
                sw.fft.Transform(grid).inverse(sw.fft.Transform(grid).forward(array)).mean(), WHOLE.mean(), atol=1e-15
            )


def test_a_reader_is_asked_for_nothing_but_slabs(grid):
    asked = []

    def read(index):
        asked.append(WHOLE[index].shape)
        return WHOLE[index]

    sw.from_global(read, grid, components=3)
    assert asked == [(3, 4, 12, 4)] * 4


def test_wrong_shapes_are_refused(grid):
    with pytest.raises(ValueError, match=r"\[16, 12, 4\]"):
        sw.from_global(WHOLE[:, :8], grid)
    with pytest.raises(ValueError, match=r"a process's block of shape \[3, 8, 12, 4\]"):
        sw.from_process_local(WHOLE[:, :8], grid)
    with pytest.raises(ValueError, match="3 pieces for the 4 devices"):
        sw.from_device_pieces([WHOLE] * 3, grid)
    with pytest.raises(ValueError, match=r"a device's piece of shape \[3, 16, 12, 4\]"):
        sw.from_device_pieces([WHOLE] * 4, grid)


def test_a_block_of_another_shape_than_its_slices_is_refused(grid):
    with pytest.raises(ValueError, match=r"gives a block of shape \[16, 12, 4\]; \[3, 4, 12, 4\] is needed"):
        sw.from_global(lambda index: WHOLE[0], grid, components=3)


def test_show_sharding_names_devices_and_blocks(grid):
    text = sw.show_sharding(sw.from_global(WHOLE, grid))
    assert "float64[3, 16, 12, 4]" in text
    assert "[0:3, 12:16, 0:12, 0:4]" in text


def test_pieces_that_cannot_be_one_field_are_refused(make_grid):
    with pytest.raises(ValueError, match=r"piece 1 is float32\[4, 12, 4\], the first one float64\[4, 12, 4\]"):
        sw.from_device_pieces([np.ones((4, 12, 4)), *[np.ones((4, 12, 4), np.float32)] * 3], make_grid((16, 12, 4), 4))
    uneven, whole = make_grid((13, 8, 6), 4), np.ones((13, 8, 6))  # each device holds all planes
    with pytest.raises(ValueError, match="pieces 0 and 1 are of the same part of the field: equal values are needed"):
        sw.from_device_pieces([whole, whole + 1, whole, whole], uneven)
    np.testing.assert_array_equal(sw.from_device_pieces([whole] * 4, uneven), whole)
