"""The initial field `file`, read from an HDF5 file."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array

from solver.dynamics.any_equation import AnyEquation
from solver.grid import Grid
from solver.initial.initial import Initial, as_tuples
from solver.io.fields import describe_field, read_field
from solver.spaces.field import RANKS, Field


def _names(given: Any) -> Any:
    """Names as a tuple; a word is one name."""
    return (given,) if isinstance(given, str) else as_tuples(given)


class FromFile(Initial):
    """Values read from an HDF5 file, a .npy or a .npz file, at the same points; see `solver.io.read_field`.

    Args:
        path: path of the file; in a run file, one in the folder of the run file comes first, then one where the command
            runs.
        datasets: names, one for each component, or one that holds all of them (a snapshot's vector does); a word is one
            name. None is needed for a .npy file, or where the file holds one array.

    Returns:
        When called: `(component, *grid.physical_shape)`; each device's block is read by itself.

    Raises:
        ValueError: when called: no such file or data set, or values of another shape.
    """

    path: str = eqx.field(static=True)
    datasets: str | tuple[str, ...] = eqx.field(converter=_names, static=True, default=())

    name: ClassVar[str] = "file"
    ranks: ClassVar[tuple[str, ...]] = RANKS
    traceable: ClassVar[bool] = False

    def check(self, equation: AnyEquation, field: str) -> None:
        try:
            shape, is_complex = describe_field(self.path, self.datasets)
        except ValueError as error:
            raise ValueError(f"path: {error}") from None
        needed = equation.physical_shapes()[field]
        real = equation.fields[field].real
        if shape not in (needed, *([needed[1:]] if needed[0] == 1 else [])) or (is_complex and real):
            kind = "complex" if is_complex else "real"
            raise ValueError(
                f"datasets: the {kind} field in {self.path} has shape {list(shape)}; "
                f"{'real' if real else 'real or complex'} values of shape {list(needed)}, components first, are needed"
            )

    def values(self, grid: Grid, field: Field, key: Array | None) -> Array:
        return read_field(self.path, self.datasets, grid)
