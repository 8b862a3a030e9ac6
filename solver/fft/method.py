"""The choice of how transforms are carried out. It changes speed and memory; results agree to round-off.

Only the precision of exchanged numbers changes more: with less than the grid's, results agree to that.

==============  =====================================================================================
engine          what runs
==============  =====================================================================================
`slabwave`      each device's work as a `custom_partitioning` operation, which XLA splits over devices
`shard_map`     each device's work, the same, in a manual region
`jaxdecomp`     the jaxdecomp library: complex, all modes are exchanged and truncated afterwards
==============  =====================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from solver.fft.jaxdecomp_engine import check_jaxdecomp
from solver.fft.wire import PRECISIONS, sent_bytes
from solver.grid.layout import Layout
from solver.mesh import MEMBER, AnyMesh

ENGINES = ("slabwave", "shard_map", "jaxdecomp")
SLABS_ACROSS_HOSTS, PENCILS_ACROSS_HOSTS = 2, 3  # waves: the fewest with which Navier–Stokes holds 10 words per point
FEW_POINTS = 2**19  # of a GPU: kernels of one field run no longer than their launch takes, and fewer kernels are faster


def has_few_points(layout: Layout) -> bool:
    """True if GPUs have so few points each that the kernels of one field run no longer than their launch takes."""
    return math.prod(layout.padded_points) <= FEW_POINTS * layout.devices


@dataclass(frozen=True)
class Method:
    """A way to carry out transforms. All methods give the same result to round-off, at the precision they send in.

    Args:
        engine: one of `ENGINES`.
        fields: most fields that share an exchange; `all` for a whole batch; or `auto`. `auto` is one field on GPUs with
            more than `FEW_POINTS` points each: the exchange of one field then runs while another field is transformed,
            and less memory is held. Elsewhere, and in waves, `auto` is all fields.
        chunks: number of parts of an exchange, sent one after the other (slabs in three dimensions only). The program
            holds 1/chunks of the sent and received arrays, and sends `chunks` times as many messages.
        waves: number of groups of planes of x that pass through a function of points one after the other; one group is
            exchanged while another is transformed. `auto` is two (slabs) or three (pencils) on GPUs of several hosts
            with more than `FEW_POINTS` points each, and one elsewhere. On a mesh with Explicit axes it is always one.
        backend: jaxdecomp's backend: `jax`, or `cudecomp` where that library was built with it.
        precision: numbers that devices exchange. `grid` sends numbers as they are; `float32` sends float32, which on
            a float32 grid is the same; `float16` sends 16 bits, scaled (`solver.fft.wire`). Numbers that stay on one
            device are rounded in the same way as those that are sent. One device sends nothing and rounds nothing, so
            results depend on the number of devices to that precision.
        pairs: True if fields come in pairs, `(…, 2, x, y)`, which one device of a CPU transforms together.
    """

    engine: str = "slabwave"
    fields: int | Literal["auto", "all"] = "auto"
    chunks: int = 1
    waves: int | Literal["auto"] = "auto"
    backend: str = "jax"
    precision: str = "grid"
    pairs: bool = False

    def most_fields(self, layout: Layout, gpu: bool) -> int | None:
        """Most fields that share an exchange of a transform; None for a whole batch. `gpu`: on GPUs."""
        if layout.many_lines or (layout.devices == 1 and not gpu):  # devices share the lines; nothing is exchanged
            return None
        if self.fields == "auto":
            return 1 if gpu and not has_few_points(layout) else None
        return None if self.fields == "all" else self.fields

    @property
    def most_fields_in_waves(self) -> int | None:
        """Most fields that share an exchange of one wave; None for all fields."""
        return self.fields if isinstance(self.fields, int) else None

    def waves_on(self, layout: Layout, across: bool) -> int:
        """Number of waves in which a function of points is computed. `across`: on GPUs of several hosts.

        It is one where nothing is exchanged, and where the exchange is cut into chunks.
        """
        if layout.devices == 1 or self.chunks > 1 or self.engine == "jaxdecomp":
            return 1
        if self.waves == "auto":
            across_hosts = PENCILS_ACROSS_HOSTS if layout.pencils > 1 else SLABS_ACROSS_HOSTS
            waves = across_hosts if across and not has_few_points(layout) else 1
        else:
            waves = self.waves
        return min(waves, layout.padded_points[0] // layout.slabs)

    def in_blocks(self, layout: Layout, on_cpu: bool) -> bool:
        """True if slabs are transformed in blocks: on a CPU, whose cache a block fits, and where exchanges are cut."""
        return layout.dimensions > 1 and layout.pencils == 1 and (on_cpu or self.chunks > 1)

    def sent_bytes(self, itemsize: int) -> int:
        """Bytes that a complex number of `itemsize` bytes takes where it is sent."""
        return sent_bytes(self.precision, itemsize)

    @property
    def sent_epsilon(self) -> float:
        """Relative spacing of the numbers that are sent; 0 if they are sent as they are."""
        return 0.0 if self.precision == "grid" else float(np.finfo(self.precision).eps)

    def rounding(self, itemsize: int, layout: Layout) -> dict[str, Any] | None:
        """Precision and devices, if results depend on them to more than the round-off of the grid's numbers.

        None if complex numbers of `itemsize` bytes are sent as they are, or if nothing is sent.
        """
        if self.sent_bytes(itemsize) == itemsize or layout.devices == 1:
            return None
        return {"precision": self.precision, "devices": layout.devices, "pencils": layout.pencils}

    @property
    def without_rounding(self) -> Method:
        """This method, sending numbers as they are."""
        return replace(self, precision="grid")

    def for_export(self) -> Method:
        """This method as `jax.export` can write it down.

        A `custom_partitioning` operation is an address in this process, which no exported program may hold. The engine
        `shard_map` does the same work without one.
        """
        return replace(self, engine="shard_map") if self.engine == "slabwave" else self

    def check(self, layout: Layout, mesh: AnyMesh) -> None:
        """Check that this method can transform this layout on this mesh.

        Raises:
            ValueError: it cannot; the message names what can.
        """
        if self.engine not in ENGINES:
            raise ValueError(f"engine {self.engine!r}: {', '.join(ENGINES)} are there")
        valid_fields = self.fields in ("auto", "all") or (isinstance(self.fields, int) and self.fields > 0)
        valid_waves = self.waves == "auto" or (isinstance(self.waves, int) and self.waves > 0)
        if self.chunks < 1 or not valid_fields or not valid_waves:
            raise ValueError(
                f"chunks={self.chunks}, fields={self.fields!r}, waves={self.waves!r}: one or more are needed, or "
                "'auto' or 'all' fields, or 'auto' waves"
            )
        if self.waves not in ("auto", 1) and (self.chunks > 1 or self.engine == "jaxdecomp"):
            raise ValueError(
                f"waves={self.waves} with chunks={self.chunks}, engine {self.engine!r}: exchanges are cut in one way, "
                "waves=1 or chunks=1 is needed, and for waves the engine slabwave or shard_map"
            )
        if self.chunks > 1 and (self.engine == "jaxdecomp" or layout.dimensions != 3 or layout.pencils > 1):
            raise ValueError(
                f"chunks={self.chunks}: exchanges are cut for slabs in three dimensions, by the engines slabwave and "
                "shard_map; elsewhere chunks=1 is needed"
            )
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision {self.precision!r} of what is sent: {', '.join(PRECISIONS)} are there")
        if self.precision != "grid" and self.engine == "jaxdecomp":
            raise ValueError(
                f"precision {self.precision!r} of what is sent, engine 'jaxdecomp': it sends numbers as they are; "
                "precision='grid' or the engine slabwave or shard_map is needed"
            )
        if MEMBER in mesh.shape and self.engine != "slabwave":
            raise ValueError(f"engine {self.engine!r} on a mesh with an axis 'member': ensembles need 'slabwave'")
        if self.engine == "jaxdecomp":
            check_jaxdecomp(layout, mesh, self.backend)
