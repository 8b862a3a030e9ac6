"""Data sets of an ensemble's members in The Well's layout: made, checked, and streamed without files."""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.dataset.batching import Batch as Batch, Statistics as Statistics, batches as batches
    from solver.dataset.checking import faults as faults
    from solver.dataset.contents import (
        DataSet as DataSet,
        Trajectory as Trajectory,
        data_set_of as data_set_of,
        part_of as part_of,
    )
    from solver.dataset.making import make_data_set as make_data_set
    from solver.dataset.streaming import Streamed as Streamed, stream as stream

__getattr__, __dir__ = imported_when_used(__name__)
