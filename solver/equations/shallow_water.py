"""Rotating shallow water, in a plane."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class ShallowWater(Equation):
    """A thin layer of water that rotates, on a periodic box.

    η is the height of the surface above the mean depth H, f the Coriolis parameter. Gravity, rotation and diffusion are
    the linear part, one complex matrix per mode, so that Poincaré waves, ω² = f² + g H k², are exact for any step with
    integrating-factor and exponential steppers; and so is geostrophic balance, f ẑ × u = −g∇η, to which a disturbance
    adjusts as they leave. Without diffusion the volume ⟨η⟩ and the energy ½⟨(H + η)|u|² + gη²⟩ are conserved.

    Good values: f = g = H = 1, where waves travel at 1 and the deformation radius √(gH)/f is 1, in a box of 40 with
    heights of 0.1 and 128² points; steps of CFL 0.5 with `ifrk4`. Nothing stops a wave from steepening but ν.

    Args:
        grid: two dimensions, real fields.
        depth: H > 0 [length].
        gravity: g > 0 [length/time²].
        rotation: f, of any sign [1/time].
        viscosity: ν ≥ 0, of velocity and of height [length²/time].

    Source: Vallis, Atmospheric and Oceanic Fluid Dynamics (2017), chapter 3.
    """

    depth: ArrayLike = 1.0
    gravity: ArrayLike = 1.0
    rotation: ArrayLike = 1.0
    viscosity: ArrayLike = 0.0

    name: ClassVar[str] = "shallow-water"
    text: ClassVar[Text] = Text(
        write=(
            "dt(velocity) = -velocity@grad(velocity) + rotation*(velocity.y*ex - velocity.x*ey) - gravity*grad(height)"
            " + viscosity*lap(velocity) + penalise(velocity)",
            "dt(height) = -div((depth + height)*velocity) + viscosity*lap(height) + penalise(height, viscosity)",
        ),
        fields={"velocity": "vector", "height": "scalar"},
        units={"velocity": "length/time", "height": "length"},
        energies={},
        series={
            "kinetic_energy": "(depth + height)*velocity@velocity/2",
            "potential_energy": "gravity*height**2/2",
            "energy": "kinetic_energy + potential_energy",
            "max_height": "max(height)",
            "min_height": "min(height)",
        },
        invariants={"linear_kinetic_energy": "depth*velocity@velocity/2", "potential_energy": "gravity*height**2/2"},
        conserved={"volume": "height"},
        limits={"depth": "> 0", "gravity": "> 0", "viscosity": ">= 0"},
        symbols={"velocity": "u", "height": "eta", "depth": "H", "gravity": "g", "rotation": "f", "viscosity": "nu"},
        aliased=True,
    )
    dimensions: ClassVar[tuple[int, ...]] = (2,)
