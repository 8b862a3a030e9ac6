"""Checkpoints: a state as logical, unpadded arrays, one file per process and a manifest.

    checkpoints/step-00000200/manifest.json      shapes, slices, sizes, checksums, scalars, resolved run file
                              process-00000.h5   this process's pieces, `<leaf>/<first index>`; or
                              shared.h5          one file of all processes, `<leaf>`

All files are written into a hidden folder and synced, and then it is renamed: a checkpoint is complete or absent.
Arrays are stored by logical mode and grid indices, so any number of devices can load them.
"""

from __future__ import annotations

import json
import math
import mmap
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from solver.cluster import Agreement, in_group_of, is_first, own_group
from solver.config.source import checksum
from solver.grid import Grid, Storage
from solver.io import shared_file
from solver.io.files import make_folder, partial_path, publish, sync, write_text
from solver.io.hdf5 import new_hdf5
from solver.io.manifest import FORMAT, MANIFEST, CheckpointError, digest
from solver.steppers.state import HOST, State, path_in_state

LARGE = 2**20  # bytes


@dataclass(frozen=True)
class HeldArray:
    """This process's part of an array, on the host."""

    shape: tuple[int, ...]
    dtype: str
    storage: Storage
    pieces: tuple[tuple[tuple[int, ...], np.ndarray], ...]  # first index, values


@dataclass(frozen=True)
class HeldState:
    """A copy of a state on the host, from which a checkpoint is written while the run continues."""

    step: int
    arrays: dict[str, HeldArray]
    values: dict[str, dict[str, Any]]
    exchange: dict[str, Any] | None = None
    ailments: tuple[str, ...] = ()


def hold(state: State, grid: Grid, exchange: dict[str, Any] | None = None, ailments: Sequence[str] = ()) -> HeldState:
    """Copy this process's part of a state to the host, without padding.

    Args:
        state: state of a run.
        grid: grid of the state's arrays.
        exchange: `Method.rounding` of the equation's transforms, for the run that continues from the checkpoint.
        ailments: problems of the state, one line each, for the run that continues from the checkpoint.

    Raises:
        ValueError: a state made by hand, which does not say how its arrays are stored.
    """
    leaves = leaves_of(state)
    arrays = {leaf.name: _held(leaf, grid) for leaf in leaves if leaf.storage.is_split}
    values = {leaf.name: value_as_json(leaf) for leaf in leaves if not leaf.storage.is_split}
    return HeldState(int(state.step), arrays, values, exchange, tuple(ailments))


def _held(leaf: Leaf, grid: Grid) -> HeldArray:
    logical = leaf.storage.logical_shape(leaf.value.shape, grid)
    pieces = []
    for shard in leaf.value.addressable_shards:
        if shard.replica_id != 0:
            continue
        start = tuple(s.indices(n)[0] for s, n in zip(shard.index, leaf.value.shape, strict=True))
        count = [min(n, total - a) for n, total, a in zip(shard.data.shape, logical, start, strict=True)]
        if min(count) > 0:  # otherwise the part is only padding
            # a real copy, since a NumPy array may share the device's buffer on the CPU
            pieces.append((start, host_copy(np.asarray(shard.data)[tuple(slice(0, n) for n in count)])))
    return HeldArray(logical, str(leaf.value.dtype), leaf.storage, tuple(pieces))


def save_checkpoint(folder: Path | str, state: State, grid: Grid, run_file: str = "") -> Path:
    """Write a state as `folder/step-<step>`. Collective: every process with devices of the grid calls it.

    Args:
        folder: folder of the run's checkpoints.
        state: state from `initial_state`, `evolve`, `integrate` or `load_checkpoint`.
        grid: the grid of its arrays.
        run_file: the resolved run file, kept in the manifest.

    Returns:
        The checkpoint's folder.

    Raises:
        DiskError: this process could not write; nothing is left under the final name.
        FailedElsewhere: another process could not write.
        FileExistsError: there is a checkpoint of this step.
        ValueError: a state made by hand, which does not say how its arrays are stored.
    """
    with in_group_of(grid.mesh):
        return write_checkpoint(Path(folder), hold(state, grid), run_file, Agreement("files"))


def write_checkpoint(
    folder: Path, held: HeldState, run_file: str, agreement: Agreement, *, shared: bool = False
) -> Path:
    """Write a checkpoint from a copy on the host; in any thread, unless all processes write one `shared` file."""
    final = folder / f"step-{held.step:08d}"
    partial = partial_path(final)
    with agreement.together():
        if is_first() and final.exists():
            raise FileExistsError(f"{final} exists; a checkpoint is never overwritten")
    try:
        with agreement.together():
            if is_first():
                shutil.rmtree(partial, ignore_errors=True)
                make_folder(partial)
        with agreement.together():
            (_write_shared_file if shared else _write_own_file)(partial, held.arrays)
        if shared:
            with agreement.together():
                _note_shared_file(partial)
        with agreement.together():
            if is_first():
                _write_manifest(partial, held, run_file)
                sync(partial)
                publish(partial, final)
    except Exception:
        if is_first():
            shutil.rmtree(partial, ignore_errors=True)
        raise
    return final


def _write_own_file(partial: Path, arrays: Mapping[str, HeldArray]) -> None:
    """Write this process's pieces, and a note about them for the manifest."""
    path = partial / f"process-{own_group().place:05d}.h5"
    pieces: dict[str, list[dict[str, Any]]] = {}
    with new_hdf5(path) as file:
        for name, array in arrays.items():
            for start, values in array.pieces:
                dataset = f"{name}/{'-'.join(map(str, start))}"
                file[dataset] = values
                entry = {"file": path.name, "dataset": dataset, "start": list(start), "shape": list(values.shape)}
                pieces.setdefault(name, []).append(entry)
    note = {"name": path.name, "size": path.stat().st_size, "sha256": checksum(path), "pieces": pieces}
    write_text(_note_of(partial, own_group().place), json.dumps(note))


def _write_shared_file(partial: Path, arrays: Mapping[str, HeldArray]) -> None:
    shapes = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    pieces = ((name, start, values) for name, array in arrays.items() for start, values in array.pieces)
    shared_file.write_arrays(partial, shapes, pieces)


def _note_shared_file(partial: Path) -> None:
    """Write a note with the checksums of this process's share of the blocks."""
    path = partial / shared_file.NAME
    if is_first():
        sync(path)
    blocks = shared_file.block_checksums(path, own_group().place, own_group().size)
    note = {"name": path.name, "size": path.stat().st_size, "blocks": blocks}
    write_text(_note_of(partial, own_group().place), json.dumps(note))


def _write_manifest(partial: Path, held: HeldState, run_file: str) -> None:
    notes = []
    for process in range(own_group().size):  # by name, since a list of the folder may lack new files of other hosts
        path = _note_of(partial, process)
        notes.append(json.loads(path.read_text()))
        path.unlink()
    _check_whole(held, notes)
    values = held.values
    body = {
        "format": FORMAT,
        "step": values["step"]["value"],
        "t": values.get("t", {}).get("value"),
        "dt": values.get("dt", {}).get("value"),
        "values": values,
        "arrays": {
            name: {
                "shape": list(array.shape),
                "dtype": array.dtype,
                "storage": str(array.storage),
                "pieces": _pieces(name, array, notes),
            }
            for name, array in held.arrays.items()
        },
        "files": _files(notes),
        "run_file": run_file,
        **({} if held.exchange is None else {"exchange": held.exchange}),
        **({"ailments": list(held.ailments)} if held.ailments else {}),
    }
    write_text(partial / MANIFEST, json.dumps({**body, "sha256": digest(body)}, indent=1))


def _note_of(partial: Path, process: int) -> Path:
    return partial / f"process-{process:05d}.json"


def _check_whole(held: HeldState, notes: list[dict[str, Any]]) -> None:
    """Raises CheckpointError if the pieces do not make up the whole arrays."""
    for name, array in held.arrays.items():
        count = sum(math.prod(piece["shape"]) for piece in _pieces(name, array, notes))
        if count != math.prod(array.shape):
            raise CheckpointError(f"{name}: {count} of {math.prod(array.shape)} numbers were written")


def _pieces(name: str, array: HeldArray, notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if "blocks" in notes[0]:
        whole = {"start": [0] * len(array.shape), "shape": list(array.shape)}
        return [{"file": shared_file.NAME, "dataset": name, **whole}]
    return [piece for note in notes for piece in note["pieces"].get(name, [])]


def _files(notes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Size and checksum of each file; for a shared file a checksum of each block."""
    if "blocks" not in notes[0]:
        return {note["name"]: {"size": note["size"], "sha256": note["sha256"]} for note in notes}
    blocks = {int(number): value for note in notes for number, value in note["blocks"].items()}
    entry = {"size": notes[0]["size"], "block": shared_file.BLOCK, "sha256": [blocks[n] for n in sorted(blocks)]}
    return {shared_file.NAME: entry}


def value_as_json(leaf: Leaf) -> dict[str, Any]:
    """A number, a small array or a random key, as a manifest holds it."""
    if leaf.is_key:
        data = np.asarray(jax.random.key_data(leaf.value))
        return {"key": str(jax.random.key_impl(leaf.value)), "value": data.tolist(), "dtype": str(data.dtype)}
    value = np.asarray(leaf.value)
    return {"value": value.tolist(), "dtype": str(value.dtype)}


@dataclass(frozen=True)
class Leaf:
    """Entry of a state, with its name and storage.

    Args:
        name: path of the entry in the state, such as `field/velocity`.
        value: array, number or random key, or its shape.
        storage: storage of the entry.
    """

    name: str
    value: Any
    storage: Storage

    @property
    def is_key(self) -> bool:
        """True if the entry is a random key."""
        return jax.dtypes.issubdtype(getattr(self.value, "dtype", np.float64), jax.dtypes.prng_key)


def leaves_of(state: State) -> list[Leaf]:
    """Every entry of a state.

    Raises:
        ValueError: a state made by hand, which does not say how its arrays are stored.
    """
    storage = state.storage_by_path()
    entries = jax.tree_util.tree_leaves_with_path(state)
    return [Leaf(path_in_state(path), value, storage.get(path_in_state(path), HOST)) for path, value in entries]


def host_copy(values: Any) -> np.ndarray:
    """Copy an array into memory pages of its own, which are returned to the system when the copy is deleted.

    In the heap, the copy would take part of the space that the scratch memory of a chunk has left. The next chunk would
    not fit into the rest, and the heap would grow with every output.
    """
    source = np.asarray(values)
    if source.nbytes < LARGE:
        return source.copy()
    copy = np.frombuffer(mmap.mmap(-1, source.nbytes), source.dtype).reshape(source.shape)
    np.copyto(copy, source)
    return copy
