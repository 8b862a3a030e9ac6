"""Bytes that a program's distributed transforms exchange and hold, counted on its trace. Computes nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from solver.fft.loops import BLOCK_BYTES
from solver.fft.pointwise_check import programs_called
from solver.fft.pointwise_primitive import pointwise_p
from solver.fft.primitive import forward_p, inverse_p
from solver.grid import Layout
from solver.mesh import across_hosts


@dataclass(frozen=True)
class Call:
    """A batched transform.

    Args:
        forward: True to coefficients, False to points.
        batch: number of fields that are transformed.
        exchanges: number of all-to-alls.
        exchanged_bytes: bytes that all devices together send, without the scales of float16, 4 bytes for each block.
        working_bytes: bytes that all devices together hold during the transform, in addition to its coefficients.
        of_points: True if the transform is one half of a function of points.
        real: True if fields are real.
    """

    forward: bool
    batch: int
    exchanges: int
    exchanged_bytes: int
    working_bytes: int
    of_points: bool = False
    real: bool = True


def transforms_in(jaxpr: Any) -> list[Call]:
    """Every distributed transform in a trace, as `jax.make_jaxpr` returns it.

    The body of a loop counts once. Of a `cond` the branch with the fewest transforms counts: steppers of several steps
    take that branch at each step but the first.
    """
    return list(_calls(getattr(jaxpr, "jaxpr", jaxpr)))


def _calls(jaxpr: Any) -> Iterator[Call]:
    for equation in jaxpr.eqns:
        if equation.primitive in (forward_p, inverse_p, pointwise_p):
            yield from _transforms(equation)
        branches = [list(_calls(program)) for program in programs_called(equation)]
        if equation.primitive.name == "cond":
            branches = [min(branches, key=len)]
        for calls in branches:
            yield from calls


def _transforms(equation: Any) -> Iterator[Call]:
    """The transforms of one operation: one, or the inverse and the forward half of a function of points."""
    if equation.primitive is not forward_p:
        yield _call(equation, forward=False, modes=equation.invars[0].aval)
    if equation.primitive is not inverse_p:
        yield _call(equation, forward=True, modes=equation.outvars[0].aval)


def _call(equation: Any, *, forward: bool, modes: Any) -> Call:
    """The transform to or from coefficients with the shape and dtype of `modes`."""
    layout: Layout = equation.params["layout"]
    method, mesh = equation.params["method"], equation.params["mesh"]
    of_points = equation.primitive is pointwise_p
    waves = method.waves_on(layout, across_hosts(mesh)) if of_points else 1
    lead: tuple[int, ...] = modes.shape[: modes.ndim - layout.dimensions]
    batch, components = math.prod(lead), lead[-1] if lead else 1
    most_fields = method.most_fields_in_waves
    pair = 2 * layout.slabs if layout.many_lines and layout.slabs > 1 else 1  # fields go two by two, from all devices
    groups = waves * math.ceil(components / most_fields) if waves > 1 and most_fields is not None else waves
    itemsize = modes.dtype.itemsize
    # held at once: the field, unless it passes in blocks, and what is sent and received, where x is not yet pruned
    exchanged = itemsize * layout.padded_points[0] * math.prod(layout.spectral_shape[:-1])
    point_size = itemsize // 2 if layout.real else itemsize
    fields = batch * point_size * math.prod(layout.points) // waves
    # a plan is for any processor; the fields of a product pass in blocks where they would on a CPU
    if of_points and waves == 1 and method.in_blocks(layout, on_cpu=True):
        fields = min(fields, 8 * BLOCK_BYTES * layout.devices)
    return Call(
        forward=forward,
        batch=batch,
        exchanges=groups * ((layout.slabs > 1) * (1 + layout.many_lines) + (layout.pencils > 1)),
        exchanged_bytes=math.ceil(batch / pair) * pair * layout.exchange_bytes(method.sent_bytes(itemsize)),
        working_bytes=fields + 2 * batch * exchanged,
        of_points=of_points,
        real=layout.real,
    )
