"""Tables of rows in HDF5: in the root of the file for one run, in groups for many members."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from solver.io.files import partial_path, publish
from solver.io.hdf5 import create, dataset, new_hdf5, read_hdf5, seal
from solver.io.rows import MEMBER, TIME, Axis, Column, RecordsLayout, Table

LARGE, MOST_ROWS = 2**17, 1000  # numbers of a chunk, and rows of it
GROUP = "rows"  # name of the first group in a file; the others are rows-2, rows-3, …


def write_tables(path: Path, tables: Sequence[Table], *, shared: bool) -> None:
    """Write a file as a whole in place of an existing one, with a checksum at its end.

    Data sets: `t`, `step`, each axis, and each column `(t, *axes)` with `t` and its axes as dimension scales. In a
    shared file each layout has a group, `rows`, `rows-2`, …, which also holds `member`.

    Raises:
        DiskError: it could not be written; an existing file is unchanged.
    """
    partial = partial_path(path)
    try:
        with new_hdf5(partial) as file:
            for number, table in enumerate(tables, 1):
                _write(_group(file, table, number) if shared else file, table)
        seal(partial)
        publish(partial, path)
    except Exception:
        partial.unlink(missing_ok=True)
        raise


def _group(file: h5py.File, table: Table, number: int) -> h5py.Group:
    group = file.create_group(GROUP if number == 1 else f"{GROUP}-{number}", track_order=True)
    create(group, MEMBER, table.member)
    return group


def _write(place: h5py.Group, table: Table) -> None:
    create(place, "t", table.t)
    create(place, "step", table.step)
    for name, axis in table.layout.axes.items():
        _describe(create(place, name, axis.values), axis)
    for scale in ("t", *table.layout.axes):
        place[scale].make_scale(scale)
    for name, column in table.layout.columns.items():
        data = place.create_dataset(name, data=table.values[name], fletcher32=True, chunks=_chunks(table.values[name]))
        _describe(data, column)
        for i, scale in enumerate(("t", *column.axes)):
            data.dims[i].attach_scale(place[scale])
    for name in (MEMBER, "step") if MEMBER in place else ():  # for readers that know axes by their scales, as xarray
        place[name].dims[0].attach_scale(place["t"])


def _chunks(values: np.ndarray) -> tuple[int, ...] | bool:
    """Shape of the parts of a data set that are read as a whole: of a large one, many rows of some entries.

    So the track of one particle is read alone. Of small ones h5py chooses.
    """
    if values.ndim < 2 or values.size < LARGE:
        return True
    rows, rest = min(len(values), MOST_ROWS), values.shape[2:]
    entries = max(1, LARGE // (rows * int(np.prod(rest))))
    return (rows, min(values.shape[1], entries), *rest)


def _describe(data: h5py.Dataset, what: Axis | Column) -> None:
    for key in ("units", "long_name", "power_law"):
        if getattr(what, key, None) not in ("", None):
            data.attrs[key] = getattr(what, key)


def read_tables(path: Path, *, shared: bool, number: int | None = None) -> list[Table]:
    """Tables in a file, or the part of one member in them.

    Raises:
        ValueError: this is not a file of rows, or its data are links to other files.
    """
    with read_hdf5(path) as file:
        return [_read(file, group, number) for group in (sorted(file) if shared else [""])]


def part_of(table: Table, number: int) -> Table:
    """The rows of one member."""
    rows = _rows_of(table.member, number)
    values = {name: column[rows] for name, column in table.values.items()}
    return Table(table.layout, table.member[rows], table.step[rows], table.t[rows], values)


def _read(file: h5py.File, group: str, number: int | None) -> Table:
    step = dataset(file, f"{group}/step")
    member = dataset(file, f"{group}/{MEMBER}")[:] if group else np.zeros(len(step), int)
    part = slice(None) if number is None else _rows_of(member, number)
    t = dataset(file, f"{group}/t")[part]
    held = {name: dataset(file, f"{group}/{name}") for name in (file[group] if group else file)}
    held = {name: data for name, data in held.items() if name not in (*TIME, MEMBER if group else "")}
    values = {name: data[part] for name, data in held.items() if not data.is_scale}
    return Table(_layout(held), member[part], step[part], t, values)


def _rows_of(member: np.ndarray, number: int) -> slice:
    return slice(int(np.searchsorted(member, number)), int(np.searchsorted(member, number + 1)))


def _layout(held: dict[str, h5py.Dataset]) -> RecordsLayout:
    """Axes and columns by the data sets of a file or of a group."""

    def words(data: h5py.Dataset) -> dict[str, str]:
        return {key: str(data.attrs.get(key, "")) for key in ("units", "long_name")}

    axes = {name: Axis(data[:], **words(data)) for name, data in held.items() if data.is_scale}
    columns = {}
    for name, data in held.items():
        if not data.is_scale:
            law = data.attrs.get("power_law")
            scales = tuple(dim.keys()[0] for dim in list(data.dims)[1:])
            columns[name] = Column(scales, **words(data), power_law=None if law is None else float(law))
    return RecordsLayout(axes, columns)
