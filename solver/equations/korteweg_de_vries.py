"""The Korteweg–de Vries equation and the modified one, in one dimension."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class KortewegDeVries(Equation):
    """The Korteweg–de Vries equation, on a periodic line.

    Dispersion is the linear part, imaginary and up to b k_max³: exact with integrating-factor and exponential
    steppers. The nonlinearity is ½a(u²)_x: one inverse transform and one forward per right-hand side, free of aliasing
    with two-thirds. Solitons u = (3c/a) sech²(½√(c/b)(x − ct)) pass through each other and keep their speeds c.
    Conserves the mass ⟨u⟩, the momentum ½⟨u²⟩ and the energy ⟨½b u_x² − a u³/6⟩.

    Good values: a = 6, b = 1 with solitons of speed 1 to 16 in a box of 40 on 256 points, steps of 1e-3 with `etdrk4`;
    a = 1, b = 4.84e-4 in a box of 2 (Zabusky and Kruskal).

    Args:
        grid: one dimension, real fields.
        nonlinearity: a [length/(time·u)].
        dispersion: b [length³/time].

    Source: Korteweg & de Vries, Phil. Mag. 39 (1895) 422; Zabusky & Kruskal, Phys. Rev. Lett. 15 (1965) 240.
    """

    nonlinearity: ArrayLike = 6.0
    dispersion: ArrayLike = 1.0

    name: ClassVar[str] = "korteweg-de-vries"
    text: ClassVar[Text] = Text(
        write="dt(u) = -nonlinearity*u*dx(u) - dispersion*dx(dx(dx(u)))",
        fields={"u": "scalar"},
        units={"u": "u"},
        energies={},
        series={
            "mass": "u",
            "momentum": "u**2/2",
            "energy": "dispersion*dx(u)**2/2 - nonlinearity*u**3/6",
            "max_u": "max(u)",
        },
        invariants={"momentum": "u**2/2"},
        conserved=["mass", "momentum", "energy"],
        symbols={"nonlinearity": "a", "dispersion": "b"},
    )
    dimensions: ClassVar[tuple[int, ...]] = (1,)


class ModifiedKortewegDeVries(Equation):
    """The modified Korteweg–de Vries equation, on a periodic line; σ = ±1.

    Dispersion is the linear part, as in Korteweg–de Vries. The nonlinearity is 2σ(u³)_x: one inverse transform and one
    forward per right-hand side. It is cubic: two-thirds dealiasing leaves a little aliasing (`one-half` none), so the
    waves must be resolved (their spectrum falling over many decades). For σ = 1 there are solitons ±√c sech(√c(x −
    ct)), for σ = −1 none that vanish far away. Conserves the mass ⟨u⟩, the momentum ½⟨u²⟩ and the energy ⟨½u_x² −
    ½σu⁴⟩.

    Good values: solitons of speed 1 to 9 in a box of 40 on 512 points, steps of 1e-3 with `etdrk4`.

    Args:
        grid: one dimension, real fields.
        sign: σ, 1 (focusing) or −1 (defocusing), static.

    Source: Miura, J. Math. Phys. 9 (1968) 1202; Wadati, J. Phys. Soc. Jpn. 34 (1973) 1289.
    """

    sign: int = eqx.field(static=True, default=1)

    name: ClassVar[str] = "modified-korteweg-de-vries"
    text: ClassVar[Text] = Text(
        write="dt(u) = -2*sign*dx(u**3) - dx(dx(dx(u)))",
        fields={"u": "scalar"},
        units={"u": "u", "energy": "u^2/length^2"},
        energies={},
        series={"mass": "u", "momentum": "u**2/2", "energy": "dx(u)**2/2 - sign*u**4/2", "max_u": "max(u)"},
        invariants={"momentum": "u**2/2"},
        conserved=["mass", "momentum", "energy"],
        symbols={"sign": "sigma"},
    )
    dimensions: ClassVar[tuple[int, ...]] = (1,)

    def __check_init__(self) -> None:
        if self.sign not in (1, -1):
            raise ValueError(f"sign {self.sign}: 1 (focusing) or -1 (defocusing) is needed")
