"""Flow past cylinders: slow through an array of them, in a channel, and the vortex street behind one at Re = 100."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from solver.bodies.shapes import Cylinder, Wall
from solver.bodies.sponge import Sponge
from solver.dynamics.acting_bodies import fastest_decay
from solver.dynamics.compiled import compiled
from solver.equations import NavierStokes
from solver.forcing.uniform import Uniform
from solver.grid import Grid, sample
from solver.steppers import ETDRK3
from solver.validate.case import Case, Finding, mesh_for, states

ARRAY = "Sangani & Acrivos, Int. J. Multiphase Flow 8 (1982) 193"
RESISTANCE = {0.05: 15.56, 0.1: 24.83, 0.2: 51.53}  # force per length over μU, by solid fraction
CHANNEL = "Schäfer & Turek, Notes Numer. Fluid Mech. 52 (1996) 547, case 2D-1; Nabh, PhD thesis, Heidelberg (1998)"
STREET = "Williamson, J. Fluid Mech. 206 (1989) 579: 0.164 to 0.167 in an unbounded stream"
DRAG = "Henderson, Phys. Fluids 7 (1995) 2102, Park, Kwon & Choi, KSME Int. J. 12 (1998) 1200: 1.33 to 1.35, unbounded"
_forces = compiled(lambda equation, fields: equation.on_bodies(fields, 0.0))


@dataclass(frozen=True)
class Cylinders(Case):
    """Stokes flow through a square array on 64² (6 % off at this spacing) or 128² points, and a channel at Re = 20.

    The cylinder in the channel has 20 points a diameter, or 40. In full a vortex street, too, of a cylinder in a
    box of 40 × 24 diameters, of which it blocks a 24th, on 24 points a diameter.
    """

    name: ClassVar[str] = "cylinders"
    about: ClassVar[str] = "resistance of an array of cylinders, drag in a channel, and vortices behind one at Re = 100"

    def run(self) -> list[Finding]:
        n, near = (64, 0.075) if self.quick else (128, 0.02)
        fractions = [0.1, 0.2] if self.quick else list(RESISTANCE)
        findings = []
        for fraction in fractions:
            known = RESISTANCE[fraction]
            findings.append(
                Finding(f"F/(μU) at solid fraction {fraction:g}", _resistance(n, fraction), known, near * known, ARRAY)
            )
        findings += _channel(self.quick)
        return findings if self.quick else [*findings, *_street()]


def _resistance(n: int, fraction: float) -> float:
    """Resistance F/(μU) of the discs in the steady flow that a force of 1 drives."""
    grid = Grid((n, n), lengths=1.0, mesh=mesh_for(n))
    disc = Cylinder((0.5, 0.5), math.sqrt(fraction / math.pi))
    flow = NavierStokes(grid, viscosity=1.0, bodies=disc, forcing=Uniform((1.0, 0.0)), energy_budget=False)
    step = 2.0 / fastest_decay(flow)
    settled = step * math.ceil(12 / (RESISTANCE[fraction] * step))
    [state] = states(flow, ETDRK3(), jnp.zeros((2, n, n)), [settled], step=step)
    return 1 / float(jnp.real(state.field["velocity"][0, 0, 0]))


def _channel(quick: bool) -> list[Finding]:
    """Steady flow past a cylinder a little off the middle of a channel with a given inflow, at Re = 20."""
    diameter, width, mean, lengths = 0.1, 0.41, 0.2, (1.92, 0.48)
    across, eta = (96, 0.01) if quick else (192, 0.00125)
    grid = Grid((4 * across, across), lengths=lengths, precision="float32", mesh=mesh_for(across))
    edge, inlet = 0.01, 0.32  # the sponge has died out two edges behind its own
    inflow = Sponge(0.15, 0.3, 400.0, (mean, 0.0), channel=width, edge=edge)
    middle = (inlet + 2 * diameter, (lengths[1] - width) / 2 + 2 * diameter)
    bodies = {
        "cylinder": Cylinder(middle, diameter / 2, eta=eta, stream_speed=mean),
        "walls": Wall(0.0, lengths[1] - width, eta=eta),
        "inflow": inflow,
    }
    flow = NavierStokes(grid, viscosity=1e-3, bodies=bodies, energy_budget=False)
    obstacles = flow.obstacles
    assert obstacles is not None
    start = sample(lambda x, y: (inflow.towards((x, y), 0.0, obstacles.scene)[0] + 0 * x, 0 * (x + y)), grid)
    [state] = states(flow, ETDRK3(), start, [6.0], step=1.5 / (inflow.rate + 1 / eta))
    found = {name: float(value) for name, value in _forces(flow, state.field).items()}
    drag, lift = 5.57953523384, 0.010618948146
    near = 0.03 if quick else 0.01
    findings = [Finding("drag in a channel at Re = 20", found["cylinder_drag"], drag, near * drag, CHANNEL)]
    return findings if quick else [*findings, Finding("lift there", found["cylinder_lift"], lift, 0.001, CHANNEL)]


def _street() -> list[Finding]:
    """The frequency and the mean drag between the times at which the lift passes its mean upwards."""
    lengths, n = (40.0, 24.0), 24
    bodies = {
        "cylinder": Cylinder((14.0, 12.0), 0.5, eta=0.01, stream_speed=1.0),
        "sponge": Sponge(1.0, 2.0, 4.0, (1.0, 0.0), edge=0.3),
    }
    shape = tuple(round(length * n) for length in lengths)
    grid = Grid(shape, lengths=lengths, precision="float32", mesh=mesh_for(min(shape)))
    flow = NavierStokes(grid, viscosity=0.01, bodies=bodies, energy_budget=False)
    gust = lambda x, y: (jnp.ones_like(x + y), 0.3 * jnp.exp(-((x - 16.0) ** 2) - (y - 12.0) ** 2))  # noqa: E731
    times = [0.1 * i for i in range(600, 1001)]
    passed = states(flow, ETDRK3(), sample(gust, grid), times, step=1 / 60)
    forces = [_forces(flow, state.field) for state in passed]
    drag = np.array([float(force["cylinder_drag"]) for force in forces])
    lift = np.array([float(force["cylinder_lift"]) for force in forces])
    lift = lift - lift.mean()
    up = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    crossings = [times[i] - lift[i] * 0.1 / (lift[i + 1] - lift[i]) for i in up]
    frequency = (len(crossings) - 1) / (crossings[-1] - crossings[0])
    return [
        Finding("Strouhal number f D/U at Re = 100", float(frequency), 0.1655, 0.0025, STREET),
        Finding("mean drag there, with a 24th of the box blocked", float(drag[up[0] : up[-1]].mean()), 1.35, 0.1, DRAG),
    ]
