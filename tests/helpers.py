"""What several tests need."""

import json

import h5py
import numpy as np


def read_checkpoint(path):
    """Whole arrays of a checkpoint put together from its pieces, NaN where there is none; and its manifest."""
    manifest = json.loads((path / "manifest.json").read_text())
    arrays = {}
    for name, entry in manifest["arrays"].items():
        arrays[name] = np.full(entry["shape"], np.nan, entry["dtype"])
        for piece in entry["pieces"]:
            at = tuple(slice(a, a + n) for a, n in zip(piece["start"], piece["shape"], strict=True))
            with h5py.File(path / piece["file"]) as file:
                arrays[name][at] = file[piece["dataset"]][:]
    return arrays, manifest
