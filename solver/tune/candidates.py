"""The choices of `[devices]` with which a run can use a given number of devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from solver import assemble
from solver.config import Config, ConfigError, DevicesSection
from solver.fft import ENGINES, Method
from solver.grid import Layout

FIELDS = ("all", 1, 2)  # fields per exchange
CHUNKS = (1, 2, 4)
WAVES = (1, 2, 4)
# of precision of exchanges it decides nothing: that changes results
TUNED = ("decomposition", "mesh", "engine", "fields_per_exchange", "chunks", "waves")  # keys of [devices]


@dataclass(frozen=True)
class Candidate:
    """A run file with one `[devices]`, on `devices` devices.

    Args:
        config: the run file.
        devices: number of devices.
        gpu, across: True if the devices are GPUs, and of several hosts; this decides the meaning of `auto`.
    """

    config: Config
    devices: int
    gpu: bool = False
    across: bool = False

    @property
    def section(self) -> DevicesSection:
        """The candidate's section `[devices]`."""
        return self.config.devices

    @cached_property
    def split(self) -> str:
        """The way in which arrays are split, such as `slab` or `pencil 4×2`."""
        if self.section.decomposition == "slab":
            return "slab"
        slabs, pencils = assemble.mesh_shape(self.config, self.devices) or (self.devices, 1)
        return f"pencil {slabs}×{pencils}"

    @property
    def fields(self) -> int | str:
        """Most fields that share an exchange. With waves it is all of them, unless `[devices]` gives a number."""
        chosen = self.section.fields_per_exchange
        if chosen != "auto":
            return chosen
        return "all" if self.waves > 1 else self.method.most_fields(self._layout, self.gpu) or "all"

    @property
    def waves(self) -> int:
        """Number of waves of planes of x."""
        return self.method.waves_on(self._layout, self.across)

    @property
    def _layout(self) -> Layout:
        return assemble.layout_of(self.config, self.devices)

    @property
    def method(self) -> Method:
        """The method of the candidate's transforms."""
        return assemble.method_of(self.config)

    @property
    def key(self) -> tuple[Any, ...]:
        """Candidates with equal keys have the same programs."""
        alone = self.method.most_fields(self._layout, self.gpu)  # for transforms outside of products
        return self.split, self.fields, alone, self.section.chunks, self.waves, self.section.engine

    def __str__(self) -> str:
        """Text such as `pencil 4×2, fields 1, chunks 1, waves 1, slabwave`."""
        return (
            f"{self.split}, fields {self.fields}, chunks {self.section.chunks}, waves {self.waves}, "
            f"{self.section.engine}"
        )

    def with_keys(self, **changes: Any) -> Candidate:
        """A candidate with other keys of `[devices]`; None means the default of a key."""
        table = {key: value for key, value in (self.section.to_table() | changes).items() if value is not None}
        section = DevicesSection.read(table, "devices")
        return replace(self, config=replace(self.config, devices=section))

    def fits(self) -> bool:
        """True if the grid can be split and transformed in this way."""
        try:
            assemble.check_device_count(self.config, self.devices)
        except (ConfigError, ValueError):
            return False
        return True


def splits(own: Candidate) -> list[Candidate]:
    """Slabs, and pencils of every shape that can split the grid; the other keys have their defaults."""
    plain = own.with_keys(**dict.fromkeys(TUNED))
    sides = [(own.devices // c, c) for c in range(2, own.devices + 1) if own.devices % c == 0]
    pencils = [plain.with_keys(decomposition="pencil", mesh=[p, c]) for p, c in sides]
    return _fitting([plain, *pencils])


def with_other_fields(base: Candidate) -> list[Candidate]:
    """Candidates with other numbers of fields per exchange; none on one device, which exchanges nothing."""
    return _fitting(_with_fields(base, n) for n in FIELDS) if base.devices > 1 else []


def _with_fields(base: Candidate, fields: int | str) -> Candidate:
    """A candidate with `fields` per exchange; it keeps `auto` if that means the same, which needs no line."""
    by_default, chosen = base.with_keys(fields_per_exchange=None), base.with_keys(fields_per_exchange=fields)
    return by_default if by_default.key == chosen.key else chosen


def with_other_chunks(base: Candidate) -> list[Candidate]:
    """Candidates with other numbers of parts of an exchange, if exchanges can be cut into parts."""
    if base.devices == 1:
        return []
    one_wave = base.with_keys(waves=1) if base.waves > 1 else base
    return _fitting([base.with_keys(chunks=1), *(one_wave.with_keys(chunks=n) for n in CHUNKS if n > 1)])


def with_other_waves(base: Candidate) -> list[Candidate]:
    """On GPUs, candidates with other numbers of waves; an exchange has one field, or all fields of a wave."""
    if base.devices == 1 or not base.gpu:
        return []
    plain = base.with_keys(chunks=None, fields_per_exchange=None)
    one_by_one = [plain.with_keys(waves=n, fields_per_exchange=1) for n in WAVES]
    return _fitting([*(plain.with_keys(waves=n) for n in WAVES), *one_by_one])


def with_other_engines(base: Candidate) -> list[Candidate]:
    """Candidates with every engine that is installed and can do what the run file needs.

    jaxdecomp cuts no exchange, and sends numbers as they are.
    """
    if base.devices == 1:
        return []
    others = [base.with_keys(engine=engine) for engine in ENGINES if engine != "jaxdecomp"]
    plain = base.with_keys(chunks=None, waves=None, fields_per_exchange=None)
    if base.section.exchange_precision != "grid":
        return _fitting(others)
    return _fitting([*others, plain.with_keys(engine="jaxdecomp")])


def _fitting(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.fits()]
