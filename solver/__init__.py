"""Slabwave: distributed Fourier spectral methods in JAX.

Importing this package touches no device, sets no JAX flag, and does not even import JAX until a name is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers, which do not run `__getattr__`
    from solver import diagnostics, equations, fft, forcing, initial, io, operators, outputs, steppers
    from solver.assemble import StoppedEarly, register, run
    from solver.equations import Equation, Field, SplitEquation
    from solver.grid import Grid, Storage, from_device_pieces, from_global, from_process_local, gather, sample
    from solver.loop import FixedStep, KeepCFL, MeetTolerance, Schedule, StepControl, evolve, integrate, rollout
    from solver.mesh import MEMBER, device_mesh, show_sharding
    from solver.operators import Diagonal, Matrix
    from solver.reading import open_run
    from solver.steppers import State, initial_state

__version__ = "0.1.0"

# public name → module that defines it
_NAMES = {
    "Diagonal": "solver.operators",
    "Equation": "solver.equations",
    "Field": "solver.equations",
    "FixedStep": "solver.loop",
    "Grid": "solver.grid",
    "KeepCFL": "solver.loop",
    "MEMBER": "solver.mesh",
    "Matrix": "solver.operators",
    "MeetTolerance": "solver.loop",
    "Schedule": "solver.loop",
    "SplitEquation": "solver.equations",
    "State": "solver.steppers",
    "StepControl": "solver.loop",
    "StoppedEarly": "solver.assemble",
    "Storage": "solver.grid",
    "device_mesh": "solver.mesh",
    "evolve": "solver.loop",
    "from_device_pieces": "solver.grid",
    "from_global": "solver.grid",
    "from_process_local": "solver.grid",
    "gather": "solver.grid",
    "initial_state": "solver.steppers",
    "integrate": "solver.loop",
    "open_run": "solver.reading",
    "register": "solver.assemble",
    "rollout": "solver.loop",
    "run": "solver.assemble",
    "sample": "solver.grid",
    "show_sharding": "solver.mesh",
}
_ROOMS = ("diagnostics", "equations", "fft", "forcing", "initial", "io", "operators", "outputs", "steppers")

__all__ = [
    "MEMBER",
    "Diagonal",
    "Equation",
    "Field",
    "FixedStep",
    "Grid",
    "KeepCFL",
    "Matrix",
    "MeetTolerance",
    "Schedule",
    "SplitEquation",
    "State",
    "StepControl",
    "StoppedEarly",
    "Storage",
    "device_mesh",
    "diagnostics",
    "equations",
    "evolve",
    "fft",
    "forcing",
    "from_device_pieces",
    "from_global",
    "from_process_local",
    "gather",
    "initial",
    "initial_state",
    "integrate",
    "io",
    "open_run",
    "operators",
    "outputs",
    "register",
    "rollout",
    "run",
    "sample",
    "show_sharding",
    "steppers",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"solver.{name}")
    raise AttributeError(f"module 'solver' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
