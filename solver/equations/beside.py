"""Numbers that a stepper moves beside the fields: they have no linear part, and are whole on each device.

They are moved by whatever method moves the fields, and so to its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BUDGET = "budget"  # integrals over time of what changes the energies
MOTION = "motion"  # place, velocity and spin of the bodies that the flow moves

BESIDE = (BUDGET, MOTION)


def fields_alone(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are fields."""
    return {name: field for name, field in entries.items() if name not in BESIDE}


def beside(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are not."""
    return {name: numbers for name, numbers in entries.items() if name in BESIDE}
