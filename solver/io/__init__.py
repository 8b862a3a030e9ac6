"""Files: checkpoints, snapshots, series, spectra, and fields read in. HDF5, CSV, VTKHDF."""

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
from solver.io.checkpoints import load_array, load_checkpoint, save_checkpoint
from solver.io.directory import RunDirectory, record_provenance
from solver.io.fields import describe_field, read_field
from solver.io.files import lock, write_text
from solver.io.series import SeriesFile, drop_rows_after, read_columns, read_series
from solver.io.snapshots import COMPONENT, Variable, snapshot_path, variables_in, verify_data, write_snapshot
from solver.io.spectra import Row, SpectraFile

__all__ = [
    "COMPONENT",
    "CheckpointError",
    "Row",
    "RunDirectory",
    "SeriesFile",
    "SpectraFile",
    "Variable",
    "describe_field",
    "drop_rows_after",
    "keep_newest",
    "list_checkpoints",
    "load_array",
    "load_checkpoint",
    "lock",
    "newest_time",
    "newest_valid",
    "read_columns",
    "read_field",
    "read_manifest",
    "read_series",
    "record_provenance",
    "remove_leftovers",
    "save_checkpoint",
    "set_aside",
    "snapshot_path",
    "step_of",
    "variables_in",
    "verify",
    "verify_data",
    "write_snapshot",
    "write_text",
]
