"""Closures of large-eddy simulation: one frozen class each, numbers as leaves. An equation takes one as `closure=`."""

from typing import Any

from solver.closures.closure import (
    AnyClosure as AnyClosure,
    Closure as Closure,
    EddyViscosity as EddyViscosity,
    SpectralViscosity as SpectralViscosity,
    size_of_strain as size_of_strain,
)
from solver.discovery import public_class, public_names


def __getattr__(name: str) -> Any:
    return public_class(__name__, AnyClosure, name)


def __dir__() -> list[str]:
    return public_names(__name__, AnyClosure)
