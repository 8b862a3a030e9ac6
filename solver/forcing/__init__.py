"""Forcings: one frozen class each, parameters as leaves. An equation takes one as `forcing=`."""

from typing import Any

from solver.discovery import public_class, public_names
from solver.forcing.forcing import Forcing as Forcing
from solver.forcing.white import WhiteForcing as WhiteForcing


def __getattr__(name: str) -> Any:
    return public_class(__name__, Forcing, name)


def __dir__() -> list[str]:
    return public_names(__name__, Forcing)
