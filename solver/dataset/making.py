"""Makes a data set of the states that members have written, one field of one time after another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from solver.config import ConfigError
from solver.config.source import checksum
from solver.dataset.contents import DataSet, Trajectory
from solver.dataset.layout import create_layout
from solver.dataset.manifest import manifest_of, read_manifest, write_manifest
from solver.dataset.states import States, check_alike, read_states
from solver.dataset.statistics import stats_text
from solver.io import make_folder, write_text
from solver.io.files import partial_path, publish
from solver.io.hdf5 import new_hdf5
from solver.outputs.well import PARTS

STATS = "stats.yaml"


def make_data_set(data_set: DataSet, stopping: Callable[[], bool] = lambda: False) -> bool:
    """Make the files of a data set that are not there yet; one process calls it.

    Each file is written under a hidden name and renamed, and the manifest is written anew after each. What is there
    already is left alone if it was made of the same states and still has the bytes of the manifest. The same members
    give the same bytes, whether or not it was interrupted.

    Args:
        data_set: contents of the data set.
        stopping: returns True to stop early; called between files.

    Returns:
        Whether it is complete.

    Raises:
        ConfigError: members without states, with other times or fields, or no member for training.
        DiskError: a file could not be written.
    """
    if not any(each.part == PARTS[0] for each in data_set.trajectories):
        raise ConfigError(f"{data_set.folder}: no member of the training part came to its end; one or more is needed")
    states = {each.number: read_states(each.folder) for each in data_set.trajectories}
    assert data_set.well.every_time is not None
    check_alike(list(states.values()), data_set.well.every_time, data_set.end)
    before, files = _earlier(data_set.folder), {}
    _remove_others(data_set)
    for path, members in data_set.files.items():
        if stopping():
            return False
        inputs = _inputs(data_set, members, states)
        files[path] = _kept(data_set.folder / path, before.get(path), inputs)
        if files[path] is None:
            _write_file(data_set.folder / path, data_set, members, states)
            files[path] = _entry(data_set.folder / path, inputs)
            write_manifest(data_set.folder, manifest_of(data_set, files, None))
    stats = _make_stats(data_set, files, before.get(STATS))
    write_manifest(data_set.folder, manifest_of(data_set, files, stats))
    return True


def _make_stats(data_set: DataSet, files: Mapping[str, Any], before: Any) -> dict[str, Any]:
    """stats.yaml of the training files, unless it is there already."""
    training = [path for path in files if path.startswith(f"data/{PARTS[0]}/")]
    inputs = _digest([files[path]["sha256"] for path in training])
    path = data_set.folder / STATS
    kept = _kept(path, before, inputs)
    if kept is None:
        write_text(path, stats_text([data_set.folder / each for each in training]))
    return kept or _entry(path, inputs)


def _write_file(path: Path, data_set: DataSet, members: list[Trajectory], states: Mapping[int, States]) -> None:
    """Write one file, in full or not at all."""
    first, partial = states[members[0].number], partial_path(path)
    make_folder(path.parent)
    try:
        with new_hdf5(partial) as file:
            scalars = [each.scalars for each in members]
            grid = {axis: (points, axis in first.bounded) for axis, points in first.axes.items()}
            create_layout(file, data_set.name, first.times, grid, first.fields, scalars, data_set.constants)
            for trajectory, member in enumerate(members):
                for time in range(len(first.times)):
                    for name, values in states[member.number].values(time):
                        file[f"t{first.fields[name].order}_fields"][name][trajectory, time] = values
        publish(partial, path)
    except Exception:
        partial.unlink(missing_ok=True)
        raise


def _inputs(data_set: DataSet, members: list[Trajectory], states: Mapping[int, States]) -> str:
    """A checksum of everything that a file is made of."""
    own = [[each.folder.name, dict(each.scalars), states[each.number].digest()] for each in members]
    return _digest([data_set.name, dict(data_set.constants), own])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _entry(path: Path, inputs: str) -> dict[str, Any]:
    """The manifest's entry of a file."""
    return {"inputs": inputs, "sha256": checksum(path), "bytes": path.stat().st_size}


def _kept(path: Path, entry: Any, inputs: str) -> dict[str, Any] | None:
    """The manifest's entry of a file that is there as it was made, of the same states; None for any other."""
    if not isinstance(entry, dict) or entry.get("inputs") != inputs or not path.is_file():
        return None
    return entry if entry == _entry(path, inputs) else None


def _earlier(folder: Path) -> dict[str, Any]:
    """Entries of the manifest of an earlier start, by path; empty without one that can be read."""
    try:
        content = read_manifest(folder)
    except ValueError:
        return {}
    files = content.get("files")
    return {**(files if isinstance(files, dict) else {}), STATS: content.get(STATS)}


def _remove_others(data_set: DataSet) -> None:
    """Remove files of an earlier start with other members or parts, and what a killed one left half written."""
    for part in PARTS:
        folder = data_set.folder / "data" / part
        make_folder(folder)
        for path in (*folder.glob("*.hdf5"), *folder.glob(".*.partial")):
            if path.relative_to(data_set.folder).as_posix() not in data_set.files:
                path.unlink()
