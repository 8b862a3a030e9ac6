"""A device's part of a transform, as one interface: the caller chooses by a value how it is carried out.

=============================  =====================================================================================
value                          how
=============================  =====================================================================================
`plain.PlainArrays()`          few points on one device: one FFT call, few operations to compile
`pairs.PairedArrays(…)`        pairs of real fields, each by one complex FFT
`whole.WholeArrays()`          one step after the other, each on the device's whole block
`blocked.Blocks(…)`            slabs: loops over blocks that stay in a processor's cache; the exchange in parts
`overlapped.Overlapped(…)`     functions of points: groups of planes of x, one exchanged while another is transformed
=============================  =====================================================================================

All of them take and return the same arrays, equal to round-off: blocks of points `(…, x, y, z)`, and coefficients
`(…, ky, kz, kx)` of the device's ky (of pencils also kz).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from jaxtyping import Array

from solver.fft.point_function import FieldFunctions
from solver.grid.layout import Layout

AxisNames: TypeAlias = str | tuple[str, ...] | None  # mesh axes that split x (and y); None: the array is whole


class LocalTransform(ABC):
    """A device's part of the transforms of a layout.

    The arguments have the same meaning in all three methods: `layout` is of the whole grid; `axis_name` names the mesh
    axis that splits x, or both that split x and y, and is None where the device holds the whole array.
    """

    @abstractmethod
    def forward(self, u: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """Coefficients factor · Σ_x u(x) exp(-i k·x), from this device's block of points."""

    @abstractmethod
    def inverse(self, u_hat: Array, layout: Layout, axis_name: AxisNames, factor: float) -> Array:
        """Field factor · Σ_k û(k) exp(i k·x) on this device's block of points, from its coefficients."""

    @abstractmethod
    def pointwise(
        self,
        u_hat: Array,
        functions: FieldFunctions,
        layout: Layout,
        axis_name: AxisNames,
        operands: Sequence[Array],
    ) -> list[Array]:
        """Coefficients (1/N) Σ_x f(x) exp(-i k·x) of `f = functions.fn(u, *operands)`, from the coefficients of u.

        Args:
            u_hat: this device's coefficients.
            functions: functions of the fields at the points; they may see a part of the planes of x at a time.
            layout, axis_name: as in the other methods.
            operands: this device's part of each further argument of the functions.

        Returns:
            The coefficients; then, if `functions.largest` is given, its largest value over the points of all devices.
        """


def mesh_names(axis_name: AxisNames, layout: Layout) -> tuple[str | None, str | None]:
    """Names of the mesh axes that split x and y.

    Raises:
        ValueError: fewer names than axes that the layout splits.
    """
    if axis_name is None:
        return None, None
    names = (axis_name,) if isinstance(axis_name, str) else tuple(axis_name)
    if len(names) == 1 and layout.pencils == 1:
        return names[0], None
    if len(names) != 2:
        raise ValueError(f"mesh axes {list(names)} for a layout split {layout.slabs} × {layout.pencils}: name two")
    return names[0], names[1]
