"""spectra.h5: shell spectra against time. Small, so each new row replaces the file as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from solver.io.files import partial_path, publish, sync


class Spectra:
    """Rows of shell spectra in memory and on disk; first process only.

    Data sets: `t`, `step`, `k`, and each spectrum `(t, k)` with those as dimension scales.

    Args:
        path: the file.
        k: shell centres [1/length].
    """

    def __init__(self, path: Path, k: np.ndarray) -> None:
        self.path = path
        self.k = k
        self.rows: list[tuple[int, float, dict[str, np.ndarray]]] = []

    def resume(self, step: int) -> None:
        """Read back the rows up to `step`."""
        if not self.path.exists():
            return
        with h5py.File(self.path, "r") as file:
            names = [name for name in file if name not in ("t", "step", "k")]
            for i, at in enumerate(file["step"][:]):
                if at <= step:
                    self.rows.append((int(at), float(file["t"][i]), {n: file[n][i] for n in names}))

    def append(self, step: int, t: float, spectra: Mapping[str, np.ndarray]) -> None:
        """Add a row; a step that is there already is left alone."""
        if self.rows and step <= self.rows[-1][0]:
            return
        self.rows.append((step, t, {name: np.asarray(values) for name, values in spectra.items()}))
        partial = partial_path(self.path)
        with h5py.File(partial, "w") as file:
            self._write(file)
        sync(partial)
        publish(partial, self.path)

    def _write(self, file: h5py.File) -> None:
        file["t"] = np.array([t for _, t, _ in self.rows])
        file["step"] = np.array([step for step, _, _ in self.rows])
        file["k"] = self.k
        for scale in ("t", "k"):
            file[scale].make_scale(scale)
        for name in self.rows[-1][2]:
            data = file.create_dataset(name, data=np.stack([row[name] for _, _, row in self.rows]), fletcher32=True)
            data.attrs["long_name"] = f"half the mean square of the {name} in each shell"
            for axis, scale in enumerate(("t", "k")):
                data.dims[axis].attach_scale(file[scale])
