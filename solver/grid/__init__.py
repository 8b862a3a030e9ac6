"""Shape, lengths, coordinates, wavenumbers and retained modes of a periodic box, and fields made from outside data."""

from solver.grid.arrays import (
    from_device_pieces as from_device_pieces,
    from_global as from_global,
    from_process_local as from_process_local,
    gather as gather,
    local_slices as local_slices,
)
from solver.grid.grid import Box as Box, Grid as Grid, distance_squared as distance_squared, sample as sample
from solver.grid.layout import DEALIASING as DEALIASING, Layout as Layout
from solver.grid.locate import (
    Place as Place,
    find_mode as find_mode,
    find_point as find_point,
    mode_index as mode_index,
)
from solver.grid.modes import Fourier as Fourier, Kind as Kind, Modes as Modes, Storage as Storage
from solver.grid.pieces import (
    Form as Form,
    Piece as Piece,
    joined as joined,
    moved as moved,
    parts_here as parts_here,
    pieces as pieces,
)
