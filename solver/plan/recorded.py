"""Memory that compiled programs held: recorded numbers, for where there is no compiler for the target."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Kind:
    """The properties of a run that decide how much memory its programs hold per point.

    Args:
        equation, stepper: names.
        dimensions: number of dimensions of space.
        dealias: rule.
        control: the control of step sizes: `step`, `cfl` or `tolerance`.
        fields: number of fields, scalars that a flow carries among them.
        is_forced: True if a forcing acts.
    """

    equation: str
    stepper: str
    dimensions: int
    dealias: str
    control: str
    fields: int
    is_forced: bool


def recorded_words(kind: Kind, precision: str, devices: int, few: bool) -> dict[str, float] | None:
    """Real words per point that each program of such a run holds on one device, allowance for cuFFT included.

    Of the runs that are alike but for the number of fields and for forcings, one that is alike in these, too, is taken
    first; of them that with the nearest number of devices, by ratio; a record of the other precision where there is
    none of this one. None where no run of this kind was recorded. `few` says whether a device has few points
    (`solver.fft.has_few_points`).
    """
    exact = vars(kind).keys() - {"fields", "is_forced"}
    alike = [row for row in _rows() if all(row[name] == getattr(kind, name) for name in exact)]
    if not alike:
        return None

    def apart(row: dict) -> tuple[float, ...]:
        other = abs(row["fields"] - kind.fields), row["is_forced"] != kind.is_forced
        return row["few"] != few, *other, row["precision"] != precision, abs(math.log(row["devices"] / devices))

    needed: dict[str, float] = min(alike, key=apart)["needed"]
    return needed


def compiler() -> str:
    """Version of JAX that compiled the recorded programs."""
    return str(_record()["jax"])


def _rows() -> list[dict]:
    rows: list[dict] = _record()["rows"]
    return rows


@cache
def _record() -> dict:
    record: dict = json.loads((files("solver.plan") / "recorded.json").read_text())
    return record
