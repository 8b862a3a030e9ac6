"""particle-counts.h5: how many particles are in each of equal boxes, and how unevenly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from solver.diagnostics import counts_in_boxes
from solver.dynamics.any_equation import AnyEquation
from solver.io import Axis, Column, RecordsLayout
from solver.operators import Fields
from solver.outputs.particle_pdfs import names_of_particles
from solver.outputs.records import Records
from solver.particles.particles import POSITION, particles_of
from solver.particles.quantities import are_particles

MAX_BOXES = 2**21  # in all; a row of counts keeps them


@dataclass(frozen=True)
class ParticleCounts(Records):
    """Counts of particles in n boxes along each direction, for several n, and their variance with Poisson's.

    For the particles of each NAME, N of them in M = nᵈ boxes: `NAME_variance`, ⟨(c − N/M)²⟩ of the counts c of all
    boxes, and `NAME_poisson`, its expectation (N/M)(1 − 1/M) for particles that are anywhere with the same probability.
    The ratio is 1 for these, and greater for clusters of the size of the boxes. `NAME_count` has the counts of the most
    boxes themselves: the concentration times the volume of a box.

    The variance is exact, at any number of particles. It is the integral over two points of a box of g(r) − 1, of the
    radial distribution function g. A search for pairs is not made. `statistics` with `of = ["particle-counts"]` has
    means over windows of time.

    Costs no transform. One all-reduce of the counts for each n.

    Args:
        boxes: number of boxes along each direction, one or several.

    Source: Fessler, Kulick & Eaton, Phys. Fluids 6 (1994) 3742; Monchaux, Bourgoin & Cartellier, Int. J. Multiphase
    Flow 40 (2012) 1.
    """

    boxes: tuple[int, ...] = (4, 8, 16)

    name: ClassVar[str] = "particle-counts"

    def layout(self, equation: AnyEquation) -> RecordsLayout:
        names, d = names_of_particles(self, equation), equation.grid.dimensions
        if not self.boxes or min(self.boxes) < 1 or len(set(self.boxes)) < len(self.boxes):
            raise ValueError(f"boxes = {list(self.boxes)}; numbers from one on are needed, each once")
        if max(self.boxes) ** d > MAX_BOXES:
            raise ValueError(f"boxes = {list(self.boxes)}; at most {int(MAX_BOXES ** (1 / d))} are needed along each")
        finest, along = max(self.boxes), [f"box_{x}" for x in "xyz"[:d]]  # no grid points: pictures add none between
        axes = {"boxes": Axis(np.asarray(self.boxes), "1", "number of boxes along each direction")}
        for name, length in zip(along, equation.grid.box.lengths, strict=True):
            centres = (np.arange(finest) + 0.5) * (length / finest)
            axes[name] = Axis(centres, "length", f"{name[-1]} of the middle of the box")
        columns: dict[str, Column] = {}
        for name in names:
            columns[f"{name}_count"] = Column(tuple(along), "1", f"number of {name} in each of the most boxes")
            columns[f"{name}_variance"] = Column(("boxes",), "1", f"variance of the number of {name} in a box")
            columns[f"{name}_poisson"] = Column(("boxes",), "1", f"its expectation for {name} that are anywhere")
        return RecordsLayout(axes, columns)

    def values(self, equation: AnyEquation, fields: Fields) -> Mapping[str, Array]:
        columns: dict[str, Array] = {}
        grid, dtype = equation.grid, equation.grid.dtype
        for name, particles in particles_of(equation).items():
            position = particles.array(grid).split(fields[name])[POSITION]
            seen = are_particles(equation, name)
            counts = {n: counts_in_boxes(position, seen, n, grid).astype(dtype) for n in self.boxes}
            means = {n: particles.number() / n**grid.dimensions for n in self.boxes}
            columns[f"{name}_count"] = counts[max(self.boxes)]
            columns[f"{name}_variance"] = jnp.stack([jnp.mean((counts[n] - means[n]) ** 2) for n in self.boxes])
            poisson = [means[n] * (1 - 1 / n**grid.dimensions) for n in self.boxes]
            columns[f"{name}_poisson"] = jnp.asarray(poisson, dtype)
        return columns
