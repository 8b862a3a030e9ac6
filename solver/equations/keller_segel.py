"""The Keller–Segel model of cells that follow a signal, in one, two and three dimensions."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.written import Text


class KellerSegel(Equation):
    """The Keller–Segel model of cells that follow a signal which they give off, on a periodic box.

    n is the density of cells, c the signal. Without growth the number of cells ⟨n⟩ is conserved, and in two dimensions
    or more enough of them collapse to points in finite time; with growth they end in spots. A uniform state n = c = 1
    (production = decay = 1) is unstable where χ is above (√(D_n·decay) + √(D_c r))². Diffusion, growth and what c loses
    and gets are the linear part; the rest costs d + 1 inverse and forward transforms in d dimensions. With two-thirds
    dealiasing every retained mode is free of aliasing.

    CFL 1 is one e-fold of growth, or of the fastest collapse that diffusion allows, χ n·production/(D_n + D_c).

    Good values: D_n = D_c = production =
    decay = r = 1 and χ = 6 in a box of 40 with points 0.3 apart (the values taken here), steps of 0.02 with `etdrk4`.

    Args:
        grid: one to three dimensions, real fields.
        diffusivity: D_n ≥ 0, of cells [length²/time].
        signal_diffusivity: D_c ≥ 0 [length²/time].
        sensitivity: χ, positive where cells climb the signal [length²/(time·signal)].
        production: signal that cells produce, ≥ 0 [signal/(cells·time)].
        decay: rate at which signal decays, ≥ 0 [1/time].
        growth: r ≥ 0, of cells up to n = 1 [1/time].

    Source: Keller & Segel, J. Theor. Biol. 26 (1970) 399; Mimura & Tsujikawa, Physica A 230 (1996) 499 (with growth).
    """

    diffusivity: ArrayLike = 1.0
    signal_diffusivity: ArrayLike = 1.0
    sensitivity: ArrayLike = 6.0
    production: ArrayLike = 1.0
    decay: ArrayLike = 1.0
    growth: ArrayLike = 1.0

    name: ClassVar[str] = "keller-segel"
    text: ClassVar[Text] = Text(
        write=(
            "dt(cells) = diffusivity*lap(cells) - sensitivity*div(cells*grad(signal)) + growth*cells*(1 - cells)",
            "dt(signal) = signal_diffusivity*lap(signal) + production*cells - decay*signal",
        ),
        fields={"cells": "scalar", "signal": "scalar"},
        units={"cells": "cells", "signal": "signal"},
        energies={},
        series={"mean_cells": "cells", "mean_signal": "signal", "min_cells": "min(cells)", "max_cells": "max(cells)"},
        rate="growth*abs(1 - 2*cells) + abs(sensitivity)*production*abs(cells)/(diffusivity + signal_diffusivity)",
        limits=dict.fromkeys(["diffusivity", "signal_diffusivity", "production", "decay", "growth"], ">= 0"),
        symbols={"cells": "n", "signal": "c", "diffusivity": "D_n", "signal_diffusivity": "D_c", "sensitivity": "chi",
                 "production": "a", "decay": "b", "growth": "r"},
    )  # fmt: skip
