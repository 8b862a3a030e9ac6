"""Faults of a data set, one line each: its manifest, its files, its parts, and its statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import h5py

from solver.config.source import checksum
from solver.dataset.file_faults import file_faults
from solver.dataset.making import STATS
from solver.dataset.manifest import NAME, read_manifest
from solver.dataset.statistics import stats_text
from solver.io import read_hdf5
from solver.outputs.well import PARTS


def faults(folder: Path) -> Iterator[str]:
    """Yield each fault of a data set, one line each, as it is found; reads every byte.

    Args:
        folder: folder of the data set, with manifest.json in it.
    """
    try:
        manifest = read_manifest(folder)
        listed = _listed(manifest)
    except (ValueError, KeyError, TypeError) as error:
        yield str(error) if isinstance(error, ValueError) else f"{folder / NAME}: {error!r} is missing or of no use"
        return
    if not manifest.get("complete"):
        yield f"{folder / NAME}: the data set is not complete; continue the ensemble"
    yield from _of_parts(folder, manifest, listed)
    sound = []
    for path in sorted(listed):
        yield from _of_checksum(folder / path, manifest["files"].get(path))
        found = list(_of_file(folder / path, manifest, listed[path]))
        yield from found
        sound += [] if found else [folder / path]
    yield from _of_alike(folder, sound)
    yield from _of_stats(folder, manifest, len(sound) == len(listed))


def _listed(manifest: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The members of each file in their order, by path."""
    files: dict[str, list[Mapping[str, Any]]] = {path: [] for path in manifest["files"]}
    for member in sorted(manifest["members"], key=lambda member: (member["file"], member["trajectory"])):
        files.setdefault(member["file"], []).append(member)
    return files


def _of_parts(folder: Path, manifest: Mapping[str, Any], listed: Mapping[str, Any]) -> Iterator[str]:
    """Members that are in two parts or files, and files that the manifest does not have."""
    places: dict[str, list[str]] = {}
    for member in manifest["members"]:
        places.setdefault(member["member"], []).append(member["file"])
        if Path(member["file"]).parts[:2] != ("data", member["part"]):
            yield f"{folder / NAME}: {member['member']} of part {member['part']} is in {member['file']}"
    for name, files in places.items():
        if len(files) > 1:
            yield f"{folder / NAME}: {name} is in {' and in '.join(files)}; one place is needed"
    for path in sorted((folder / "data").rglob("*.h*5")):
        if path.relative_to(folder).as_posix() not in listed:
            yield f"{path}: the manifest has no such file"
    for part in PARTS:
        if not (folder / "data" / part).is_dir():
            yield f"{folder / 'data' / part}: no such folder"


def _of_checksum(path: Path, entry: Any) -> Iterator[str]:
    if path.is_file() and (not isinstance(entry, dict) or checksum(path) != entry.get("sha256")):
        yield f"{path}: its checksum differs from the manifest's"


def _of_file(path: Path, manifest: Mapping[str, Any], members: list[Mapping[str, Any]]) -> Iterator[str]:
    """Faults in a file, other than its checksum."""
    if not path.is_file():
        yield f"{path}: no such file"
        return
    try:
        with read_hdf5(path) as file:
            yield from (f"{path}: {fault}" for fault in _of_members(file, manifest, members))
            yield from (f"{path}: {fault}" for fault in file_faults(file))
    except Exception as error:  # anything can be wrong in it
        yield f"{path}: cannot be read: {type(error).__name__}: {' '.join(str(error).split())}"


def _of_members(file: h5py.File, manifest: Mapping[str, Any], members: list[Mapping[str, Any]]) -> Iterator[str]:
    """Differences between a file and the manifest."""
    if file.attrs.get("n_trajectories") != len(members):
        yield f"n_trajectories is {file.attrs.get('n_trajectories')}; the manifest has {len(members)} members in it"
    if file.attrs.get("dataset_name") != manifest.get("dataset_name"):
        yield f"dataset_name is {file.attrs.get('dataset_name')!r}; {manifest.get('dataset_name')!r} is needed"


def _of_alike(folder: Path, paths: list[Path]) -> Iterator[str]:
    """Files that have other fields, points, times or scalars than the first."""
    first: dict[str, Any] = {}
    for path in paths:
        with read_hdf5(path) as file:
            here = _description(file)
        first = first or here
        for what, value in here.items():
            if value != first[what]:
                yield f"{path}: {what} {value}; those of {paths[0].relative_to(folder)} are {first[what]}"


def _description(file: h5py.File) -> dict[str, Any]:
    groups = ("scalars", "t0_fields", "t1_fields", "t2_fields")
    names = {group: list(file[group].attrs["field_names"]) for group in groups}
    sides = {name: data.shape[-1] for name, data in file["dimensions"].items()}
    return {"names": names, "points": sides, "times": [float(t) for t in file["dimensions/time"][[0, -1]]]}


def _of_stats(folder: Path, manifest: Mapping[str, Any], whole: bool) -> Iterator[str]:
    """Statistics that differ from the training files'."""
    path = folder / STATS
    if not path.is_file():
        yield f"{path}: no such file"
        return
    yield from _of_checksum(path, manifest.get(STATS))
    if not whole:
        return
    training = [folder / each for each in manifest["files"] if each.startswith(f"data/{PARTS[0]}/")]
    given, needed = path.read_text(encoding="utf-8").splitlines(), stats_text(training).splitlines()
    for line, (here, there) in enumerate(zip_longest(given, needed, fillvalue=""), 1):
        if here != there:
            yield f"{path}: line {line} is {here.strip()!r}; the training files give {there.strip()!r}"
            return
