"""HDF5 files: written so that a full disk is an ordinary error, and read without following links out of them.

The HDF5 library does not survive a failed write: it keeps the unwritten data in memory, and crashes when it tries again
as the program ends. So it must never see a failure. It writes through a Python object that remembers the first failure
and from then on accepts data without storing them. The failure is raised after HDF5 has closed the file.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from solver.config.source import checksum
from solver.io.files import disk_error

# metadata with checksums, which HDF5 1.10 and all later versions can read
FORMAT: dict[str, Any] = {"libver": ("v110", "v110")}


@contextmanager
def new_hdf5(path: Path) -> Iterator[h5py.File]:
    """Create a file, write it to the disk, and close it.

    Raises:
        DiskError: the file could not be written completely; the part that was written cannot be read.
    """
    with _through(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, "w") as file:
        yield file


@contextmanager
def edit_hdf5(path: Path) -> Iterator[h5py.File]:
    """Write into an existing file, with the errors of `new_hdf5`."""
    with _through(path, os.O_RDWR, "r+") as file:
        yield file


@contextmanager
def _through(path: Path, flags: int, mode: str) -> Iterator[h5py.File]:
    try:
        sink = _Sink(os.open(path, flags, 0o666))
    except OSError as error:
        raise disk_error(path, error) from error
    try:
        with h5py.File(sink, mode, **FORMAT) as file:
            yield file
        sink.sync()
    except Exception as error:
        raise disk_error(path, sink.failure, sink.end) if sink.failure else error from error
    finally:
        os.close(sink.descriptor)
    if sink.failure:
        raise disk_error(path, sink.failure, sink.end)


class _Sink(io.RawIOBase):
    """A file that stores its first error in `failure`, and from then on accepts data without writing them."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.failure: OSError | None = None
        self.position = 0
        self.end = os.fstat(descriptor).st_size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.position = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.end}[whence] + offset
        return self.position

    def tell(self) -> int:
        return self.position

    def truncate(self, size: int | None = None) -> int:
        self.end = self.position if size is None else size
        self._attempt(os.ftruncate, self.end)
        return self.end

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size, at = len(rest), self.position
        while len(rest) and self.failure is None:
            written = self._attempt(os.pwrite, rest, at) or 0
            rest, at = rest[written:], at + written
        self.position += size
        self.end = max(self.end, self.position)
        return size

    def readinto(self, buffer: Any) -> int:
        rest = memoryview(buffer).cast("B")
        size, at = len(rest), self.position
        while len(rest) and (count := os.preadv(self.descriptor, [rest], at)):
            rest, at = rest[count:], at + count
        rest[:] = bytes(len(rest))  # HDF5 may read space that it reserved and has not written yet
        self.position += size
        return size

    def flush(self) -> None:
        """Do nothing: nothing is buffered. HDF5 flushes often, and one `sync` at the end is enough."""

    def sync(self) -> None:
        self._attempt(os.fsync)

    def _attempt(self, call: Any, *arguments: Any) -> Any:
        if self.failure is None:
            try:
                return call(self.descriptor, *arguments)
            except OSError as error:
                self.failure = error
        return None


# ---- reading ----------------------------------------------------------------------------------------------------


@contextmanager
def read_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open a file to read.

    Raises:
        ValueError: there is no such file, or it is not an HDF5 file.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path}: not an HDF5 file, or damaged: {' '.join(str(error).split())}") from None
    with file:
        yield file


def dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """A data set of numbers that is stored in the file itself, named by a path of groups.

    A file from elsewhere may contain links to any file that this user can read, so no link is followed.

    Raises:
        ValueError: there is no data set of this name, its path contains a link, or its values are in other files.
    """
    data = stored_dataset(file, name)
    if data.dtype.kind not in "iufc":
        raise ValueError(f"{file.filename}: {name!r} holds {data.dtype}; numbers are needed")
    return data


def words(file: h5py.File, name: str) -> list[str]:
    """Words of a data set that is stored in the file itself, such as labels of components; errors as in `dataset`."""
    data = stored_dataset(file, name)
    if h5py.check_string_dtype(data.dtype) is None:
        raise ValueError(f"{file.filename}: {name!r} holds {data.dtype}; words are needed")
    return [str(word) for word in data.asstr()[:]]


def stored_dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """A data set of any type that is stored in the file itself; raises ValueError as `dataset` does."""
    node: Any = file
    for part in filter(None, name.split("/")):
        link = node.get(part, getlink=True) if isinstance(node, h5py.Group) and part in node else None
        if link is None:
            raise ValueError(f"{file.filename}: has no data set {name!r}; it has {', '.join(datasets(file)) or 'none'}")
        if not isinstance(link, h5py.HardLink):
            kind = "external" if isinstance(link, h5py.ExternalLink) else "soft"
            raise ValueError(
                f"{file.filename}: {name!r} lies behind a link ({kind}); data in the file itself are needed"
            )
        node = node[part]
    if not isinstance(node, h5py.Dataset):
        raise ValueError(f"{file.filename}: {name!r} is a group; a data set is needed")
    if node.is_virtual or node.external:
        raise ValueError(f"{file.filename}: values of {name!r} lie in other files; data in the file itself are needed")
    return node


def datasets(file: h5py.File) -> list[str]:
    """Names of the data sets in a file; links are not followed."""
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def create(file: h5py.Group, name: str, values: Any) -> h5py.Dataset:
    """Create a data set whose values have a checksum."""
    values = np.asarray(values)
    if values.ndim and math.prod(values.shape):
        return file.create_dataset(name, data=values, chunks=values.shape, fletcher32=True)
    # a single number is stored in the data set's header, which has its own checksum
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    properties.set_obj_track_times(False)  # the same values make the same bytes
    space, kind = (
        h5py.h5s.create_simple(values.shape) if values.ndim else h5py.h5s.create(h5py.h5s.SCALAR),
        values.dtype,
    )
    made = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(kind), space, properties))
    if values.size:
        made[...] = values
    return made


# ---- checksum of a file -----------------------------------------------------------------------------------------

MARK = b"\nslabwave sha256 "  # after the end of the HDF5 data, which readers ignore
TRAILER = len(MARK) + 64


def seal(path: Path) -> None:
    """Append a checksum of all bytes to a finished file, and sync it.

    HDF5's own checksums do not cover names, links and strings, and its library may crash or hang when it reads damaged
    ones. So a file is checked by its bytes.

    Raises:
        DiskError: the checksum could not be written.
    """
    mark = MARK + checksum(path).encode()
    try:
        with path.open("ab", buffering=0) as file:
            file.write(mark)
            os.fsync(file.fileno())
    except OSError as error:
        raise disk_error(path, error, path.stat().st_size + TRAILER) from error


def is_sealed(path: Path) -> bool:
    """True if a file ends in a checksum, right or wrong."""
    return _trailer(path)[1] is not None


def seal_of(path: Path) -> str:
    """The checksum at the end of a sealed file, as written there; empty if the file is not sealed."""
    return (_trailer(path)[1] or b"").decode(errors="replace")


def _trailer(path: Path) -> tuple[int, bytes | None]:
    """Number of bytes before the checksum at a file's end, and that checksum; None if the file is not sealed."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size - TRAILER
        file.seek(max(size, 0))
        mark, claimed = file.read(len(MARK)), file.read()
    return size, claimed if size >= 0 and mark == MARK else None


def verify_data(path: Path) -> list[str]:
    """Problems of a sealed file, one line each; reads every byte."""
    try:
        size, claimed = _trailer(path)
        if claimed is None:
            return [f"{path}: has no checksum at its end: it was cut short, or written by another program"]
        return [] if checksum(path, size).encode() == claimed else [f"{path}: its checksum does not match"]
    except OSError as error:
        return [f"{path}: {error.strerror}"]
