"""From names in a run file to objects; the only room that knows all others above it.

Everything that could refuse a run file does so before a device is touched: the whole making of a run is traced on an
abstract mesh.
"""

from typing import TYPE_CHECKING

from solver.discovery import imported_when_used

if TYPE_CHECKING:
    from solver.assemble.build import Assembly, abstract_assembly, dry_run
    from solver.assemble.classes import BASES, register
    from solver.assemble.consistent import resolve
    from solver.assemble.devices import (
        check_device_count,
        layout_of,
        least_memory,
        mesh_shape,
        method_of,
        preferred_device_count,
    )
    from solver.assemble.python import StoppedEarly, run
    from solver.assemble.registry import Registry
    from solver.assemble.run_files import parse_run_file, read_run_file, schema
    from solver.assemble.targets import kind_of, target_assembly, target_programs

__getattr__ = imported_when_used(__name__, __file__)

__all__ = [
    "BASES",
    "Assembly",
    "Registry",
    "StoppedEarly",
    "abstract_assembly",
    "check_device_count",
    "dry_run",
    "kind_of",
    "layout_of",
    "least_memory",
    "mesh_shape",
    "method_of",
    "parse_run_file",
    "preferred_device_count",
    "read_run_file",
    "register",
    "resolve",
    "run",
    "schema",
    "target_assembly",
    "target_programs",
]
