"""The declaration of a field: what an equation says of each of its fields."""

from __future__ import annotations

from dataclasses import dataclass

RANKS = ("scalar", "vector", "wavefunction")


@dataclass(frozen=True)
class Field:
    """One named field of an equation.

    Args:
        rank: `scalar`, `vector` (one component for each dimension) or `wavefunction` (one complex component).
        units: of its values.
        solenoidal: whether it is free of divergence; initial fields are projected.
        components: names of the components; made from the field's name if None.
    """

    rank: str = "scalar"
    units: str = "1"
    solenoidal: bool = False
    components: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.rank not in RANKS:
            raise ValueError(f"a field of rank {self.rank!r}: {', '.join(RANKS)} are known")

    @property
    def real(self) -> bool:
        """Whether its values are real."""
        return self.rank != "wavefunction"

    def component_names(self, name: str, dimensions: int) -> tuple[str, ...]:
        """Names of its components, as snapshots call them."""
        if self.components is not None:
            return self.components
        return tuple(f"{name}_{axis}" for axis in "xyz"[:dimensions]) if self.rank == "vector" else (name,)
