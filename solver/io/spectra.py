"""spectra.h5: shell spectra against time.

An HDF5 file that is open while its process is killed may be lost. So a row goes to a journal beside the file first,
one line of text brought to the disk, and the file is replaced as a whole when the journal has grown to a quarter of
it: the cost of a row does not grow with the run, and no row is lost. `merge` brings the file up to date.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from solver.io.files import append_line, partial_path, publish
from solver.io.hdf5 import create, new_hdf5, seal

SCALES = ("t", "step", "k")
SMALL = 2**16  # bytes: a journal below this is not worth a new file


@dataclass(frozen=True)
class Row:
    """Spectra of one state, by name."""

    step: int
    t: float
    spectra: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class SpectraFile:
    """Rows of shell spectra; written by the first process only.

    Data sets: `t`, `step`, `k`, and each spectrum `(t, k)` with those as dimension scales.

    Args:
        path: the file.
    """

    path: Path

    @property
    def journal(self) -> Path:
        """The rows that are not in the file yet."""
        return self.path.with_name(f".{self.path.name}.rows")

    def append(self, row: Row, k: np.ndarray) -> None:
        """Add a row; `k` are the shells' centres [1/length]."""
        content = {"step": row.step, "t": row.t, "k": k.tolist()}
        content["spectra"] = {name: np.asarray(values).tolist() for name, values in row.spectra.items()}
        text = json.dumps(content)
        append_line(self.journal, f"{zlib.crc32(text.encode()):08x} {text}")
        stored = self.path.stat().st_size if self.path.exists() else 0
        if self.journal.stat().st_size >= max(SMALL, stored // 4) or not stored:
            self.merge()

    def merge(self) -> None:
        """Bring the file up to date with the journal."""
        if self.journal.exists():
            self._replace(self.rows())

    def drop_after(self, step: int) -> None:
        """Drop the rows after a step."""
        if self.path.exists() or self.journal.exists():
            self._replace([row for row in self.rows() if row.step <= step])

    def shells(self) -> np.ndarray | None:
        """Centres of the shells; None while there is no row."""
        if self.path.exists():
            with h5py.File(self.path, "r") as file:
                return file["k"][:]
        return next((np.array(content["k"]) for _, content in self._journal_lines() if content is not None), None)

    def rows(self) -> list[Row]:
        """All rows, those of the journal included."""
        rows = list(self._stored()) if self.path.exists() else []
        for _, content in self._journal_lines():
            if content is not None and (not rows or content["step"] > rows[-1].step):
                spectra = {name: np.array(values) for name, values in content["spectra"].items()}
                rows.append(Row(content["step"], content["t"], spectra))
        return rows

    def damaged_lines(self) -> list[int]:
        """Numbers of the journal's lines whose checksum does not match; a last one cut short is none of them."""
        lines = list(self._journal_lines())
        return [number for number, content in lines[:-1] if content is None]

    def _stored(self) -> Iterator[Row]:
        with h5py.File(self.path, "r") as file:
            arrays = {name: file[name][:] for name in file if name not in SCALES}
            for i, (step, t) in enumerate(zip(file["step"][:], file["t"][:], strict=True)):
                yield Row(int(step), float(t), {name: values[i] for name, values in arrays.items()})

    def _journal_lines(self) -> Iterator[tuple[int, dict | None]]:
        """Number and content of each line; None for the content of a damaged one."""
        if not self.journal.exists():
            return
        lines = self.journal.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            claimed, _, text = line.partition(" ")
            yield number, json.loads(text) if claimed == f"{zlib.crc32(text.encode()):08x}" else None

    def _replace(self, rows: Iterable[Row]) -> None:
        rows, k = list(rows), self.shells()
        if not rows or k is None:
            self.path.unlink(missing_ok=True)
        else:
            partial = partial_path(self.path)
            try:
                with new_hdf5(partial) as file:
                    _write(file, rows, k)
                seal(partial)
                publish(partial, self.path)
            except Exception:
                partial.unlink(missing_ok=True)
                raise
        self.journal.unlink(missing_ok=True)


def _write(file: h5py.File, rows: list[Row], k: np.ndarray) -> None:
    for name, values in {"t": [row.t for row in rows], "step": [row.step for row in rows], "k": k}.items():
        create(file, name, np.array(values))
    for scale in ("t", "k"):
        file[scale].make_scale(scale)
    for name in rows[-1].spectra:
        data = file.create_dataset(name, data=np.stack([row.spectra[name] for row in rows]), fletcher32=True)
        data.attrs["long_name"] = f"half the mean square of the {name} in each shell"
        for axis, scale in enumerate(("t", "k")):
            data.dims[axis].attach_scale(file[scale])
