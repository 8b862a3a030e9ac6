"""From names in a run file to objects; the only room that knows all others above it.

Everything that could refuse a run file does so before a device is touched: the whole making of a run is traced on an
abstract mesh.
"""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.assemble.batching import Batch as Batch, batches as batches, planned_sizes as planned_sizes
    from solver.assemble.build import Assembly as Assembly, abstract_assembly as abstract_assembly, dry_run as dry_run
    from solver.assemble.classes import BASES as BASES, register as register
    from solver.assemble.consistent import resolve as resolve
    from solver.assemble.devices import (
        check_device_count as check_device_count,
        check_groups as check_groups,
        check_processes_of_groups as check_processes_of_groups,
        device_meshes as device_meshes,
        devices_that_step as devices_that_step,
        layout_of as layout_of,
        least_memory as least_memory,
        mesh_shape as mesh_shape,
        method_of as method_of,
        preferred_device_count as preferred_device_count,
        refuse_packed_groups as refuse_packed_groups,
    )
    from solver.assemble.ensemble import Ensemble as Ensemble
    from solver.assemble.python import StoppedEarly as StoppedEarly, run as run
    from solver.assemble.quick_look import plot as plot
    from solver.assemble.registry import Registry as Registry
    from solver.assemble.run_files import (
        parse_run_file as parse_run_file,
        read_run_file as read_run_file,
        schema as schema,
    )
    from solver.assemble.targets import (
        kind_of as kind_of,
        target_assembly as target_assembly,
        target_programs as target_programs,
    )

__getattr__, __dir__ = imported_when_used(__name__)
