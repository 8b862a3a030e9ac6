"""Reads runs back: their series, recorded arrays and snapshots as xarray datasets, and their status."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.reading.correlations import two_point_correlations as two_point_correlations
    from solver.reading.datasets import to_xarray as to_xarray
    from solver.reading.ensemble import (
        MemberSeries as MemberSeries,
        member_rows as member_rows,
        read_members as read_members,
    )
    from solver.reading.fluctuations import (
        boundary_layers as boundary_layers,
        mean_with_error as mean_with_error,
        turbulence as turbulence,
        wall_units as wall_units,
    )
    from solver.reading.outcome import (
        JobStatus as JobStatus,
        RunStatus as RunStatus,
        after_blow_up as after_blow_up,
        is_ensemble as is_ensemble,
        job_statuses as job_statuses,
        jobs_line as jobs_line,
        refuse_ensemble as refuse_ensemble,
        run_status as run_status,
    )
    from solver.reading.run import OpenRun as OpenRun, open_run as open_run

__getattr__, __dir__ = imported_when_used(__name__)
