"""Loading checkpoints: each device reads the stored pieces that overlap its own part of an array."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from solver.cluster import in_group_of
from solver.dynamics.any_equation import AnyEquation
from solver.grid import Fourier, Grid, Storage
from solver.io.checkpoint_store import verify_together
from solver.io.checkpoint_writing import Leaf, leaves_of
from solver.io.hdf5 import dataset, read_hdf5
from solver.io.manifest import CheckpointError, read_manifest
from solver.mesh import whole_on_each
from solver.steppers.start import state_shapes
from solver.steppers.state import State
from solver.steppers.stepper import Stepper

FOURIER_AND_POINTS = Storage("modes"), Storage("modes", Fourier(real=False)), Storage("points")
OWN_FILE = re.compile(r"process-\d+\.h5|shared\.h5")


def load_checkpoint(
    path: Path | str,
    equation: AnyEquation,
    stepper: Stepper,
    *,
    statistics: Mapping[str, tuple[Any, Mapping[str, Storage]]] = MappingProxyType({}),
    checked: bool = False,
) -> State:
    """Load a state from a checkpoint, written on any number of devices, onto the devices of the equation's grid.

    Each process opens only the files that hold parts of its own slabs. Collective.

    Args:
        path: one checkpoint's folder.
        equation, stepper: they decide the entries of the state.
        statistics: shapes and storage of the sums of each output, by its name (`steppers.state.declare`). Sums
            that the checkpoint does not have, or has in other shapes, are left out of the state.
        checked: True if the checksums have been compared already; otherwise each process compares its share.

    Raises:
        CheckpointError: a checksum does not match, or an entry is missing or has another shape, dtype or storage. The
            message names the entry.
        OtherFormat: the checkpoint has a format that this version does not read.
    """
    path = Path(path)
    if not checked:
        with in_group_of(equation.grid.mesh):
            problems = verify_together(path)
        if problems:
            raise CheckpointError("; ".join(problems))
    manifest = read_manifest(path)

    def load(leaf: Leaf) -> jax.Array:
        return load_array(path, manifest["arrays"][leaf.name], leaf.storage, equation.grid)

    return state_from(manifest, equation, stepper, statistics, load, str(path))


def state_from(
    manifest: Mapping[str, Any],
    equation: AnyEquation,
    stepper: Stepper,
    statistics: Mapping[str, tuple[Any, Mapping[str, Storage]]],
    load: Callable[[Leaf], jax.Array],
    where: str,
) -> State:
    """A state from the numbers in a manifest and from arrays that `load` reads.

    Args:
        manifest: `values` with the numbers, `arrays` with the shape, dtype and storage of each array.
        equation, stepper, statistics: as of `load_checkpoint`.
        load: function that returns the array of an entry of the state, on the devices of the equation's grid.
        where: source of the manifest, named in messages.

    Raises:
        CheckpointError: an entry is missing or has another shape, dtype or storage.
    """
    shapes = state_shapes(equation, stepper, with_key="key" in manifest["values"])
    declared = {name: storage for name, (_, storage) in statistics.items()}
    for name, (sums, _) in statistics.items():
        alone = State(field={}, storage=()).with_statistics({name: sums}, declared)
        if all(_has(manifest, leaf, equation.grid) for leaf in leaves_of(alone) if leaf.name.startswith("statistics/")):
            shapes = shapes.with_statistics({**shapes.statistics, name: sums}, declared)
    structure = jax.tree_util.tree_structure(shapes)

    def entry(leaf: Leaf) -> Any:
        if not leaf.storage.is_split:
            value = _value(manifest, leaf, where)
            is_beside_fields = leaf.name.startswith("field/")  # which steps have on the devices
            return (
                whole_on_each(value, leaf.storage.sharding(np.ndim(value), equation.grid))
                if is_beside_fields
                else value
            )
        _check_array(manifest["arrays"].get(leaf.name), leaf, equation.grid, where)
        return load(leaf)

    state: State = jax.tree_util.tree_unflatten(structure, [entry(leaf) for leaf in leaves_of(shapes)])
    return state.replace(control=_load_control(manifest))


def _load_control(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Values that the step control remembered, by name, in nested dicts as in the state."""
    control: dict[str, Any] = {}
    for name, entry in manifest["values"].items():
        if name.startswith("control/"):
            *folders, last = name.split("/")[1:]
            place = control
            for folder in folders:
                place = place.setdefault(folder, {})
            place[last] = _stored_value(entry)
    return control


def _has(manifest: Mapping[str, Any], leaf: Leaf, grid: Grid) -> bool:
    """True if a checkpoint has an entry of a state with the storage and the shape that are needed."""
    if leaf.storage.is_split:
        entry = manifest["arrays"].get(leaf.name)
        return entry is not None and _outline(entry) == outline_of(leaf, grid)
    entry = manifest["values"].get(leaf.name)
    return entry is not None and np.shape(entry["value"]) == leaf.value.shape


def _value(manifest: Mapping[str, Any], leaf: Leaf, where: str) -> Any:
    entry = manifest["values"].get(leaf.name)
    if entry is None:
        raise CheckpointError(f"{where}: has no {leaf.name!r}")
    if not leaf.is_key and np.shape(entry["value"]) != tuple(leaf.value.shape):
        shapes = list(np.shape(entry["value"])), list(leaf.value.shape)
        raise CheckpointError(f"{where}: {leaf.name!r} has shape {shapes[0]}; {shapes[1]} is needed")
    return _stored_value(entry)


def _stored_value(entry: dict[str, Any]) -> Any:
    """Inverse of `value_as_json`."""
    value = np.asarray(entry["value"], entry["dtype"])
    return jax.random.wrap_key_data(value, impl=entry["key"]) if "key" in entry else value[()]


def outline_of(leaf: Leaf, grid: Grid) -> dict[str, Any]:
    """Shape, dtype and storage of an entry of a state, as a manifest describes an array."""
    shape = list(leaf.storage.logical_shape(leaf.value.shape, grid))
    return {"shape": shape, "dtype": str(leaf.value.dtype), "storage": str(leaf.storage)}


def _outline(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("shape", "dtype", "storage")}


def _in_words(outline: dict[str, Any]) -> str:
    return f"{outline['storage']} {outline['dtype']}{outline['shape']}"


def _check_array(entry: dict[str, Any] | None, leaf: Leaf, grid: Grid, where: str) -> None:
    needed = outline_of(leaf, grid)
    if entry is None or _outline(entry) != needed:
        stored = "nothing" if entry is None else _in_words(_outline(entry))
        raise CheckpointError(f"{where}: {leaf.name!r} holds {stored}; {_in_words(needed)} is needed")


def storage_in(entry: Mapping[str, Any], more: Iterable[Storage] = ()) -> Storage:
    """Storage of an array of a checkpoint, from the array's entry in `arrays` of the manifest.

    Args:
        entry: the array's entry.
        more: known storages in addition to Fourier modes and points.

    Raises:
        ValueError: the storage is not a known one.
    """
    known = {str(storage): storage for storage in (*FOURIER_AND_POINTS, *more)}
    if entry["storage"] not in known:
        raise ValueError(f"an array of {entry['storage']}; {', '.join(known)} are known here")
    return known[entry["storage"]]


def load_array(path: Path, entry: dict[str, Any], storage: Storage, grid: Grid) -> jax.Array:
    """Load one array of a checkpoint onto a grid of the shape that it was written on, on any devices.

    Args:
        path: the checkpoint's folder.
        entry: entry of `arrays` in the manifest.
        storage: storage of the array, as the entry names it.
        grid: the grid of the array.

    Raises:
        CheckpointError: pieces of the array are missing.
    """
    stored = storage.padded_shape(entry["shape"], grid)
    return _from_pieces(path, entry, stored, storage.sharding(len(stored), grid))


def _from_pieces(path: Path, entry: dict[str, Any], stored: tuple[int, ...], sharding: NamedSharding) -> jax.Array:
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

    return jax.make_array_from_callback(stored, sharding, block)


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
