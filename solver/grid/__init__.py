"""Shape, lengths, coordinates, wavenumbers and retained modes of a periodic box, and fields made from outside data."""

from solver.grid.arrays import from_device_pieces, from_global, from_process_local, gather, local_slices
from solver.grid.grid import Box, Grid, sample
from solver.grid.layout import DEALIASING, Layout
from solver.grid.locate import Place, find_mode, find_point, mode_index
from solver.grid.storage import Storage

__all__ = [
    "DEALIASING",
    "Box",
    "Grid",
    "Layout",
    "Place",
    "Storage",
    "find_mode",
    "find_point",
    "from_device_pieces",
    "from_global",
    "from_process_local",
    "gather",
    "local_slices",
    "mode_index",
    "sample",
]
