"""Particles that a flow carries: tracers, inertial and Brownian ones, and kinds of one's own; docs/particles.md."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.particles.flow import Flow as Flow
from solver.particles.particles import Particles as Particles


def __getattr__(name: str) -> Any:
    return public_class(__name__, Particles, name)


def __dir__() -> list[str]:
    return public_names(__name__, Particles)
