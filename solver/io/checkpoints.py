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
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from solver.cluster import Agreement, is_first
from solver.equations.system import PeriodicSystem
from solver.grid import Grid
from solver.io import shared_file
from solver.io.checkpoint_store import verify_together
from solver.io.files import checksum, make_folder, partial_path, publish, sync, write_text
from solver.io.hdf5 import dataset, new_hdf5, read_hdf5
from solver.io.host import host_copy
from solver.io.manifest import FORMAT, MANIFEST, CheckpointError, digest, read_manifest
from solver.steppers.base import State, Stepper, state_shapes

OWN_FILE = re.compile(r"process-\d+\.h5|shared\.h5")


@dataclass(frozen=True)
class Leaf:
    """One entry of a state, by its path in the tree."""

    name: str
    value: Any

    @property
    def is_key(self) -> bool:
        """Whether the entry is a random key."""
        return jax.dtypes.issubdtype(getattr(self.value, "dtype", np.float64), jax.dtypes.prng_key)

    def on_grid(self, grid: Grid) -> bool:
        """Whether the entry is an array that is split over the devices, rather than a number."""
        if not self._may_be_field(grid):
            return False
        return self.spectral_grid(grid) is not None or grid.is_physical(self.value.shape)

    def spectral_grid(self, grid: Grid) -> Grid | None:
        """The grid, of real or of complex fields, if this array holds its coefficients; else None."""
        if not self._may_be_field(grid) or not np.issubdtype(self.value.dtype, np.complexfloating):
            return None
        return next((g for g in (grid.as_real, grid.as_complex) if g.is_spectral(self.value.shape)), None)

    def logical_shape(self, grid: Grid) -> tuple[int, ...]:
        """Shape without padding."""
        spectral = self.spectral_grid(grid)
        return tuple(self.value.shape) if spectral is None else spectral.logical_shape(self.value.shape)

    def sharding(self, grid: Grid) -> NamedSharding:
        """Sharding of the array on the devices."""
        spectral, ndim = self.spectral_grid(grid), len(self.value.shape)
        return grid.physical_sharding(ndim) if spectral is None else spectral.spectral_sharding(ndim)

    def _may_be_field(self, grid: Grid) -> bool:
        """Whether it has more axes than the grid; numbers and random keys have not."""
        return not self.is_key and len(getattr(self.value, "shape", ())) > grid.dimensions


def leaves_of(state: Any) -> list[Leaf]:
    """A state's entries with their names, such as `field` or `conserved/mass`."""
    with_paths = jax.tree_util.tree_flatten_with_path(state)[0]
    return [Leaf(jax.tree_util.keystr(path, simple=True, separator="/"), value) for path, value in with_paths]


# ---- writing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldArray:
    """This process's part of an array, on the host."""

    shape: tuple[int, ...]
    dtype: str
    pieces: tuple[tuple[tuple[int, ...], np.ndarray], ...]  # first index, values


@dataclass(frozen=True)
class HeldState:
    """A copy of a state on the host, from which a checkpoint is written while the run continues."""

    step: int
    arrays: dict[str, HeldArray]
    values: dict[str, dict[str, Any]]


def hold(state: Any, grid: Grid) -> HeldState:
    """Copy this process's part of a state to the host, without padding."""
    leaves = leaves_of(state)
    arrays = {leaf.name: _held(leaf, grid) for leaf in leaves if leaf.on_grid(grid)}
    values = {leaf.name: _as_json(leaf) for leaf in leaves if not leaf.on_grid(grid)}
    return HeldState(int(state.step), arrays, values)


def _held(leaf: Leaf, grid: Grid) -> HeldArray:
    logical = leaf.logical_shape(grid)
    pieces = []
    for shard in leaf.value.addressable_shards:
        if shard.replica_id != 0:
            continue
        start = tuple(s.indices(n)[0] for s, n in zip(shard.index, leaf.value.shape, strict=True))
        count = [min(n, total - a) for n, total, a in zip(shard.data.shape, logical, start, strict=True)]
        if min(count) > 0:  # otherwise the part is only padding
            # a real copy, since a NumPy array may share the device's buffer on the CPU
            pieces.append((start, host_copy(np.asarray(shard.data)[tuple(slice(0, n) for n in count)])))
    return HeldArray(logical, str(leaf.value.dtype), tuple(pieces))


def save_checkpoint(folder: Path | str, state: Any, grid: Grid, run_file: str = "") -> Path:
    """Write a state as `folder/step-<step>`. Collective: every process of the job calls it.

    Args:
        folder: of the run's checkpoints.
        state: a `State`, or any pytree with an entry `step`.
        grid: the grid of its arrays.
        run_file: the resolved run file, kept in the manifest.

    Returns:
        The checkpoint's folder.

    Raises:
        DiskError: this process could not write; nothing is left under the final name.
        FailedElsewhere: another process could not write.
        FileExistsError: there is a checkpoint of this step.
    """
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
    path = partial / f"process-{jax.process_index():05d}.h5"
    pieces: dict[str, list[dict[str, Any]]] = {}
    with new_hdf5(path) as file:
        for name, array in arrays.items():
            for start, values in array.pieces:
                dataset = f"{name}/{'-'.join(map(str, start))}"
                file[dataset] = values
                entry = {"file": path.name, "dataset": dataset, "start": list(start), "shape": list(values.shape)}
                pieces.setdefault(name, []).append(entry)
    note = {"name": path.name, "size": path.stat().st_size, "sha256": checksum(path), "pieces": pieces}
    write_text(_note_of(partial, jax.process_index()), json.dumps(note))


def _write_shared_file(partial: Path, arrays: Mapping[str, HeldArray]) -> None:
    shapes = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    pieces = ((name, start, values) for name, array in arrays.items() for start, values in array.pieces)
    shared_file.write_arrays(partial, shapes, pieces)


def _note_shared_file(partial: Path) -> None:
    """Write a note with the checksums of this process's share of the blocks."""
    path = partial / shared_file.NAME
    if is_first():
        sync(path)
    blocks = shared_file.block_checksums(path, jax.process_index(), jax.process_count())
    note = {"name": path.name, "size": path.stat().st_size, "blocks": blocks}
    write_text(_note_of(partial, jax.process_index()), json.dumps(note))


def _write_manifest(partial: Path, held: HeldState, run_file: str) -> None:
    notes = []
    for process in range(jax.process_count()):  # by name, since a list of the folder may lack new files of other hosts
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
                "pieces": _pieces(name, array, notes),
            }
            for name, array in held.arrays.items()
        },
        "files": _files(notes),
        "run_file": run_file,
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


def _as_json(leaf: Leaf) -> dict[str, Any]:
    if leaf.is_key:
        data = np.asarray(jax.random.key_data(leaf.value))
        return {"key": str(jax.random.key_impl(leaf.value)), "value": data.tolist(), "dtype": str(data.dtype)}
    value = np.asarray(leaf.value)
    return {"value": value.tolist(), "dtype": str(value.dtype)}


# ---- reading ----------------------------------------------------------------------------------------------------


def load_checkpoint(
    path: Path | str,
    equation: PeriodicSystem,
    stepper: Stepper,
    *,
    statistics: Mapping[str, Any] = MappingProxyType({}),
    checked: bool = False,
) -> State:
    """Load a state from a checkpoint, written on any number of devices, onto the devices of the equation's grid.

    Each process opens only the files that hold parts of its own slabs. Collective.

    Args:
        path: one checkpoint's folder.
        equation, stepper: they decide the entries of the state.
        statistics: shapes of the sums of outputs, by output name. Sums that the checkpoint does not have, or has in
            other shapes, are left out of the state.
        checked: whether its checksums have been compared already; if not, each process compares its share.

    Raises:
        CheckpointError: a checksum does not match, or an entry is missing or has another shape or dtype. The message
            names the entry.
    """
    path = Path(path)
    if not checked:
        problems = verify_together(path)
        if problems:
            raise CheckpointError("; ".join(problems))
    manifest = read_manifest(path)
    shapes = state_shapes(equation, stepper, with_key="key" in manifest["values"])
    stored = {name: sums for name, sums in statistics.items() if _has(manifest, name, sums, equation.grid)}
    shapes = shapes.replace(statistics=stored)
    structure = jax.tree_util.tree_structure(shapes)
    loaded = [_load_leaf(path, manifest, leaf, equation.grid) for leaf in leaves_of(shapes)]
    state: State = jax.tree_util.tree_unflatten(structure, loaded)
    return state.replace(control=_load_control(manifest))


def _load_control(manifest: dict[str, Any]) -> dict[str, Any]:
    """What the step control remembered: numbers by name, in dicts of dicts as they were."""
    control: dict[str, Any] = {}
    for name, entry in manifest["values"].items():
        if name.startswith("control/"):
            *folders, last = name.split("/")[1:]
            place = control
            for folder in folders:
                place = place.setdefault(folder, {})
            place[last] = _stored_value(entry)
    return control


def _has(manifest: dict[str, Any], name: str, sums: Any, grid: Grid) -> bool:
    """Whether a checkpoint has the sums of an output in these shapes."""

    def has(leaf: Leaf) -> bool:
        if leaf.on_grid(grid):
            entry = manifest["arrays"].get(leaf.name, {})
            return (entry.get("shape"), entry.get("dtype")) == (list(leaf.logical_shape(grid)), str(leaf.value.dtype))
        entry = manifest["values"].get(leaf.name, {"value": ()})
        return leaf.name in manifest["values"] and np.shape(entry["value"]) == leaf.value.shape

    return all(has(leaf) for leaf in leaves_of({"statistics": {name: sums}}))


def _load_leaf(path: Path, manifest: dict[str, Any], leaf: Leaf, grid: Grid) -> Any:
    if leaf.on_grid(grid):
        return _load_array(path, manifest["arrays"].get(leaf.name), leaf, grid)
    entry = manifest["values"].get(leaf.name)
    if entry is None:
        raise CheckpointError(f"{path}: has no {leaf.name!r}")
    return _stored_value(entry)


def _stored_value(entry: dict[str, Any]) -> Any:
    """Inverse of `_as_json`."""
    value = np.asarray(entry["value"], entry["dtype"])
    return jax.random.wrap_key_data(value, impl=entry["key"]) if "key" in entry else value[()]


def _load_array(path: Path, entry: dict[str, Any] | None, leaf: Leaf, grid: Grid) -> jax.Array:
    needed = {"shape": list(leaf.logical_shape(grid)), "dtype": str(leaf.value.dtype)}
    if entry is None or {k: entry[k] for k in needed} != needed:
        stored = "nothing" if entry is None else f"{entry['dtype']}{entry['shape']}"
        raise CheckpointError(f"{path}: {leaf.name!r} holds {stored}; {needed['dtype']}{needed['shape']} is needed")
    return _from_pieces(path, entry, leaf.value.shape, leaf.sharding(grid))


def load_array(path: Path, entry: dict[str, Any], grid: Grid, *, spectral: bool) -> jax.Array:
    """Load one array of a checkpoint onto a grid of the shape that it was written on, on any devices.

    Args:
        path: the checkpoint's folder.
        entry: entry of `arrays` in the manifest.
        grid: the grid of the array.
        spectral: True for coefficients, False for values at the points.

    Raises:
        CheckpointError: pieces of the array are missing.
    """
    lead = tuple(entry["shape"][: len(entry["shape"]) - grid.dimensions])
    stored = (*lead, *(grid.spectral_shape if spectral else grid.physical_shape))
    place = grid.spectral_sharding if spectral else grid.physical_sharding
    return _from_pieces(path, entry, stored, place(len(stored)))


def _from_pieces(path: Path, entry: dict[str, Any], stored: tuple[int, ...], place: NamedSharding) -> jax.Array:
    """Put together each device's part from the pieces that overlap it; zero in the padding."""

    def block(index: tuple[slice, ...]) -> np.ndarray:
        low = [s.indices(n)[0] for s, n in zip(index, stored, strict=True)]
        high = [s.indices(n)[1] for s, n in zip(index, stored, strict=True)]
        values = np.zeros([b - a for a, b in zip(low, high, strict=True)], entry["dtype"])
        copied = sum(_copy_overlap(path, piece, low, high, values) for piece in entry["pieces"])
        logical = [max(0, min(b, n) - a) for a, b, n in zip(low, high, entry["shape"], strict=True)]
        if copied != math.prod(logical):
            raise CheckpointError(
                f"{path}: {copied} of the {math.prod(logical)} numbers of a part of an array are there"
            )
        return values

    return jax.make_array_from_callback(stored, place, block)


def _copy_overlap(path: Path, piece: dict[str, Any], low: list[int], high: list[int], into: np.ndarray) -> int:
    """Copy the overlap of a stored piece and the block low ≤ i < high into `into`; returns the number of values."""
    begin = [max(a, s) for a, s in zip(low, piece["start"], strict=True)]
    stop = [min(b, s + n) for b, s, n in zip(high, piece["start"], piece["shape"], strict=True)]
    if any(a >= b for a, b in zip(begin, stop, strict=True)):
        return 0
    source = tuple(slice(a - s, b - s) for a, b, s in zip(begin, stop, piece["start"], strict=True))
    target = tuple(slice(a - l, b - l) for a, b, l in zip(begin, stop, low, strict=True))
    if not OWN_FILE.fullmatch(piece["file"]):
        raise CheckpointError(f"{path}: {piece['file']!r} is no file of a checkpoint")
    try:
        with read_hdf5(path / piece["file"]) as file:
            data = dataset(file, piece["dataset"])
            if list(data.shape) != piece["shape"]:
                raise ValueError(f"{piece['dataset']!r} has shape {list(data.shape)}; {piece['shape']} is needed")
            into[target] = data[source]
    except ValueError as error:
        raise CheckpointError(f"{path / piece['file']}: {error}") from None
    return into[target].size
