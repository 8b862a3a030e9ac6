"""The body `file`, whose shape is read from an HDF5 file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from solver.bodies.sampled import Sampled, from_image
from solver.config.source import SHORT, checksum
from solver.io.hdf5 import dataset, read_hdf5


class BodyFromFile(Sampled):
    """A shape from a data set of an HDF5 file: distances from its surface, or an image of its solid cells.

    Numbers with a fraction are signed distances [length], positive in the fluid; whole numbers are an image, not 0 in
    the solid. Each number belongs to the middle of a cell; equal cells fill a box about the centre.

    Args:
        path: path of the file, on a disk that every process sees.
        dataset: name of the data set.
        sha256: checksum of the file's contents. A run file without one takes the checksum of the present file. A
            resumed run refuses a file with another checksum.
    """

    path: str = eqx.field(static=True, kw_only=True)
    dataset: str = eqx.field(static=True, kw_only=True)
    sha256: str = eqx.field(default="", static=True, kw_only=True)
    distances: Any = eqx.field(default=None, init=False, repr=False)

    name: ClassVar[str] = "file"

    def __check_init__(self) -> None:
        try:
            with read_hdf5(Path(self.path)) as file:
                given = dataset(file, self.dataset)[...]
        except ValueError as error:
            raise ValueError(f"path: {error}") from None
        if self.sha256 and (found := checksum(Path(self.path))) != self.sha256:
            raise ValueError(
                f"sha256 {self.sha256[:SHORT]}…: {self.path} has other contents, {found[:SHORT]}…, which makes other "
                "physics; the file as it was is needed, or, for a branch, an empty sha256"
            )
        of = f"dataset {self.dataset!r} of {self.path}"
        if given.ndim != len(self.sides):
            raise ValueError(f"{of} with {given.ndim} axes: {len(self.sides)} are needed, as many as there are sides")
        if not np.issubdtype(given.dtype, np.floating):
            try:
                given = from_image(given, self.sides, periodic=self.periodic)
            except ValueError as error:
                raise ValueError(f"{of}: {error}") from None
        object.__setattr__(self, "distances", given)  # before the parent checks it
