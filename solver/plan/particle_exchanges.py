"""Exchanges of particles in a trace: positions and values between devices, and planes of points for the neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.fft.pointwise_check import programs_called
from solver.particles.exact_sum import SCOPE

# of what a device holds ready it sends a part to each of P devices, itself among them, or all to one or to each other
SENT = {
    "all_to_all": lambda p: (p - 1) / p,
    "reduce_scatter": lambda p: (p - 1) / p,
    "ppermute": lambda p: 1,
    "all_gather": lambda p: p - 1,
}


@dataclass(frozen=True)
class Exchange:
    """A collective operation between devices.

    Args:
        kind: `all_to_all`, `ppermute`, `all_gather` or `reduce_scatter`.
        held: bytes that one device holds ready for it.
        devices: number of devices that exchange.
    """

    kind: str
    held: int
    devices: int

    @property
    def sent(self) -> int:
        """Bytes that one device sends to others."""
        return round(self.held * SENT[self.kind](self.devices))


def exchanges_in(jaxpr: Any) -> list[Exchange]:
    """Every exchange of particles in a trace, as `jax.make_jaxpr` returns it: one round for each evaluation, as many as
    they need where they are spread evenly. The body of another loop counts once.
    """
    return list(_exchanges(getattr(jaxpr, "jaxpr", jaxpr), None))


def _exchanges(jaxpr: Any, mesh: Any) -> Iterator[Exchange]:
    for equation in jaxpr.eqns:
        if mesh is not None and equation.primitive.name in SENT:
            yield _exchange(equation, mesh)
        is_map = equation.primitive.name == "shard_map" and SCOPE in str(equation.source_info.name_stack)
        within = equation.params["mesh"] if is_map else mesh
        if mesh is not None and equation.primitive.name == "while":  # further rounds
            continue
        branches = [list(_exchanges(program, within)) for program in programs_called(equation)]
        if equation.primitive.name == "cond":  # the usual step
            branches = [min(branches, key=len)]
        for exchanges in branches:
            yield from exchanges


def _exchange(equation: Any, mesh: Any) -> Exchange:
    names = equation.params["axis_name"]
    devices = math.prod(mesh.shape[name] for name in ((names,) if isinstance(names, str) else names))
    held = sum(math.prod(v.aval.shape) * np.dtype(v.aval.dtype).itemsize for v in equation.invars)
    return Exchange(equation.primitive.name, held, devices)
