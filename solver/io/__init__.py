"""Files: checkpoints, snapshots, series, spectra, and fields read in. HDF5, CSV, VTKHDF."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.io.checkpoint_reading import load_array, load_checkpoint, storage_in
    from solver.io.checkpoint_store import keep_newest, newest_valid, remove_leftovers, set_aside, verify
    from solver.io.checkpoint_writing import hold, save_checkpoint, write_checkpoint
    from solver.io.directory import RunDirectory
    from solver.io.fields import describe_field, read_field
    from solver.io.files import DiskError, duration, in_words, make_folder, write_text
    from solver.io.hdf5 import dataset, is_sealed, read_hdf5, verify_data
    from solver.io.lock import DEAD_SECONDS, DirectoryLock, TakenError, read_lock
    from solver.io.manifest import CheckpointError, list_checkpoints, newest_time, read_manifest, step_of
    from solver.io.provenance import kept_variables, record_provenance
    from solver.io.read_snapshots import Snapshot, SnapshotVariable, read_slices, read_snapshot
    from solver.io.records import TIME, VARIANCE, Axis, Column, RecordsFile, RecordsLayout, Row
    from solver.io.series import SeriesFile, drop_rows_after, read_columns, read_series, read_units
    from solver.io.snapshots import (
        COMPONENT,
        Variable,
        drop_snapshots,
        hold_snapshot,
        list_snapshots,
        snapshot_path,
        variables_in,
        write_snapshot,
    )
    from solver.io.vtkhdf_series import series_path, update_series
    from solver.io.writer import Job, Writer

__getattr__ = imported_when_used(__name__, __file__)

__all__ = [
    "COMPONENT",
    "DEAD_SECONDS",
    "TIME",
    "VARIANCE",
    "Axis",
    "CheckpointError",
    "Column",
    "DirectoryLock",
    "DiskError",
    "Job",
    "RecordsFile",
    "RecordsLayout",
    "Row",
    "RunDirectory",
    "SeriesFile",
    "Snapshot",
    "SnapshotVariable",
    "TakenError",
    "Variable",
    "Writer",
    "dataset",
    "describe_field",
    "drop_rows_after",
    "drop_snapshots",
    "duration",
    "hold",
    "hold_snapshot",
    "in_words",
    "is_sealed",
    "keep_newest",
    "kept_variables",
    "list_checkpoints",
    "list_snapshots",
    "load_array",
    "load_checkpoint",
    "make_folder",
    "newest_time",
    "newest_valid",
    "read_columns",
    "read_field",
    "read_hdf5",
    "read_lock",
    "read_manifest",
    "read_series",
    "read_slices",
    "read_snapshot",
    "read_units",
    "record_provenance",
    "remove_leftovers",
    "save_checkpoint",
    "series_path",
    "set_aside",
    "snapshot_path",
    "step_of",
    "storage_in",
    "update_series",
    "variables_in",
    "verify",
    "verify_data",
    "write_checkpoint",
    "write_snapshot",
    "write_text",
]
