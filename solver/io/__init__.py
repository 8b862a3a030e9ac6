"""Files: checkpoints, snapshots, series, spectra, and fields read in. HDF5, CSV, VTKHDF."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.io.checkpoint_reading import (
        load_array as load_array,
        load_checkpoint as load_checkpoint,
        storage_in as storage_in,
    )
    from solver.io.checkpoint_store import (
        keep_newest as keep_newest,
        newest_valid as newest_valid,
        remove_leftovers as remove_leftovers,
        set_aside as set_aside,
        verify as verify,
    )
    from solver.io.checkpoint_writing import (
        hold as hold,
        save_checkpoint as save_checkpoint,
        write_checkpoint as write_checkpoint,
    )
    from solver.io.directory import RunDirectory as RunDirectory
    from solver.io.fields import describe_field as describe_field, read_field as read_field
    from solver.io.files import (
        DiskError as DiskError,
        duration as duration,
        in_words as in_words,
        make_folder as make_folder,
        write_text as write_text,
    )
    from solver.io.hdf5 import (
        dataset as dataset,
        is_sealed as is_sealed,
        read_hdf5 as read_hdf5,
        verify_data as verify_data,
    )
    from solver.io.lock import (
        DEAD_SECONDS as DEAD_SECONDS,
        DirectoryLock as DirectoryLock,
        RunLock as RunLock,
        TakenError as TakenError,
        is_alive as is_alive,
        live_holder as live_holder,
        read_lock as read_lock,
    )
    from solver.io.manifest import (
        CheckpointError as CheckpointError,
        OtherFormat as OtherFormat,
        ailments_of as ailments_of,
        list_checkpoints as list_checkpoints,
        newest_healthy as newest_healthy,
        newest_time as newest_time,
        other_formats as other_formats,
        read_manifest as read_manifest,
        step_of as step_of,
    )
    from solver.io.pack import (
        Pack as Pack,
        PackLock as PackLock,
        log_of_run as log_of_run,
        packs_for as packs_for,
        packs_in as packs_in,
    )
    from solver.io.provenance import kept_variables as kept_variables, record_provenance as record_provenance
    from solver.io.read_snapshots import (
        Snapshot as Snapshot,
        SnapshotVariable as SnapshotVariable,
        read_slices as read_slices,
        read_snapshot as read_snapshot,
    )
    from solver.io.row_store import SERIES as SERIES, RowStore as RowStore, own_rows as own_rows
    from solver.io.rows import (
        LEADING as LEADING,
        MEMBER as MEMBER,
        TIME as TIME,
        VARIANCE as VARIANCE,
        Axis as Axis,
        Column as Column,
        RecordsLayout as RecordsLayout,
        Row as Row,
        Rows as Rows,
        Table as Table,
    )
    from solver.io.sent_states import (
        fetch_state as fetch_state,
        offer_state as offer_state,
        receive_state as receive_state,
        send_state as send_state,
    )
    from solver.io.series import SeriesFile as SeriesFile, read_series as read_series
    from solver.io.snapshots import (
        BODIES as BODIES,
        COMPONENT as COMPONENT,
        Variable as Variable,
        drop_snapshots as drop_snapshots,
        hold_snapshot as hold_snapshot,
        list_snapshots as list_snapshots,
        snapshot_path as snapshot_path,
        variables_in as variables_in,
        write_snapshot as write_snapshot,
    )
    from solver.io.vtkhdf import (
        series_path as series_path,
        update_series as update_series,
        write_particles_vtkhdf as write_particles_vtkhdf,
    )
    from solver.io.writer import (
        Job as Job,
        Writer as Writer,
        WritingThread as WritingThread,
        writing_threads as writing_threads,
    )

__getattr__, __dir__ = imported_when_used(__name__)
