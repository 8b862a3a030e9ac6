"""manifest.json of a data set: which members it holds, how they were made, and checksums of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solver.dataset.contents import DataSet
from solver.io import write_text
from solver.io.provenance import version_of

NAME = "manifest.json"
FORMAT = 1
PACKAGES = ("slabwave", "jax", "jaxlib", "numpy", "h5py")


def manifest_of(data_set: DataSet, files: Mapping[str, Any], stats: Mapping[str, Any] | None) -> dict[str, Any]:
    """The contents of the manifest; complete once `stats` are there. It names no time, host or folder.

    Args:
        data_set: the data set.
        files: `inputs`, `sha256` and `bytes` of each finished file, by path.
        stats: `inputs` and `sha256` of stats.yaml.
    """
    members = [
        {
            "member": each.folder.name,
            "part": each.part,
            "file": path,
            "trajectory": place,
            "values": dict(each.values),
            "drawn_again": each.attempts,
        }
        for path, own in data_set.files.items()
        for place, each in enumerate(own)
    ]
    return {
        "format": FORMAT,
        "complete": stats is not None,
        "dataset_name": data_set.name,
        "versions": {name: version for name in PACKAGES if (version := version_of(name))},
        "seed": data_set.seed,
        "run_file": data_set.table,
        "constants": dict(data_set.constants),
        "trajectories": len(members),
        "drawn_again": sum([*data_set.left_out.values(), *(each.attempts for each in data_set.trajectories)]),
        "left_out": [{"member": name, "drawn_again": attempts} for name, attempts in data_set.left_out.items()],
        "members": sorted(members, key=lambda member: member["member"]),
        "files": dict(files),
        "stats.yaml": None if stats is None else dict(stats),
    }


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write the manifest as a whole."""
    write_text(folder / NAME, json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a data set.

    Raises:
        ValueError: it is missing, damaged, or of another format.
    """
    path = folder / NAME
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path}: no manifest of format {FORMAT}")
    return content
