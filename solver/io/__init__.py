"""Files: checkpoints, snapshots, series, spectra, and fields read in. HDF5, CSV, XDMF."""

from solver.io.checkpoint_store import (
    CheckpointError,
    keep_newest,
    list_checkpoints,
    newest_time,
    newest_valid,
    read_manifest,
    remove_leftovers,
    set_aside,
    step_of,
    verify,
)
from solver.io.checkpoints import load_checkpoint, save_checkpoint
from solver.io.directory import RunDirectory, record_provenance
from solver.io.fields import describe_field, read_field
from solver.io.files import lock, write_text
from solver.io.series import Series
from solver.io.snapshots import snapshot_path, verify_data, write_snapshot
from solver.io.spectra import Spectra

__all__ = [
    "CheckpointError",
    "RunDirectory",
    "Series",
    "Spectra",
    "describe_field",
    "keep_newest",
    "list_checkpoints",
    "load_checkpoint",
    "lock",
    "newest_time",
    "newest_valid",
    "read_field",
    "read_manifest",
    "record_provenance",
    "remove_leftovers",
    "save_checkpoint",
    "set_aside",
    "snapshot_path",
    "step_of",
    "verify",
    "verify_data",
    "write_snapshot",
    "write_text",
]
