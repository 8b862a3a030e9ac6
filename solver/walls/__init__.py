"""Two walls: Legendre polynomials, modes of diffusion between walls, and the conditions of fields; docs/walls.md."""

from solver.walls.conditions import (
    FreeSlip as FreeSlip,
    Moving as Moving,
    NoSlip as NoSlip,
    Robin as Robin,
    Slope as Slope,
    Value as Value,
    Walls as Walls,
)
