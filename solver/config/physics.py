"""The physics of a run, which a resumed run may not change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_PHYSICS = (
    "time.end", "time.wall_limit", "time.stall_limit", "time.energy_limit", "ensemble.members", "ensemble.together",
)  # fmt: skip


def changed_physics(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Changes between two resolved run files that a continued run may not make, as lines `key: old → new`.

    It may change the end and the limits of `[time]`, `[devices]`, the output schedules and directory, title and
    reference; the number of members of an ensemble; and how the text of an equation is set, with other spaces or
    brackets that mean the same.
    """
    before, after = _physics(old), _physics(new)
    return [
        f"{key}: {before.get(key, 'absent')} → {after.get(key, 'absent')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Every difference between two resolved run files, as lines `key: old → new`."""
    before, after = _flat(old), _flat(new)
    return [
        f"{key}: {before.get(key, 'absent')} → {after.get(key, 'absent')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def _physics(table: Mapping[str, Any]) -> dict[str, Any]:
    flat = {}
    for section in (
        "ensemble",
        "grid",
        "equation",
        "scalars",
        "walls",
        "closure",
        "initial",
        "forcing",
        "body",
        "sponge",
        "time",
        "random",
    ):
        flat.update({f"{section}.{key}": value for key, value in table.get(section, {}).items()})
    if "ensemble.sweep" in flat:
        flat["ensemble.sweep"] = list(flat["ensemble.sweep"].items())  # the order of keys numbers the members
    flat.update({f"equation.{key}": value for key, value in _texts(table.get("equation", {})).items()})
    for key in NOT_PHYSICS:
        flat.pop(key, None)
    return flat


def _texts(equation: Mapping[str, Any]) -> dict[str, Any]:
    """The table of an equation that is written as text, the text printed in one way; nothing of others."""
    if "write" not in equation:
        return {}
    from solver.written.canonical import canonical_table  # imports NumPy

    return canonical_table(equation)
