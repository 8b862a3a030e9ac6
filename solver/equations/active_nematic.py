"""An active nematic: filaments that align, and drive a viscous flow."""

from __future__ import annotations

from typing import ClassVar

from jax.typing import ArrayLike

from solver.dynamics.equation import Equation
from solver.static import is_zero
from solver.written import Text


class ActiveNematic(Equation):
    """An active nematic in a viscous fluid without inertia, on a periodic box.

    Q is the order, symmetric and without trace: Q_xx = S/2 cos 2θ and Q_xy = S/2 sin 2θ for filaments that lie along θ
    with the order S. The flow u = (−ψ_y, ψ_x), ω = ∇²ψ, is not stored: it balances viscosity, friction with a
    substrate and the active force −ζ∇·Q, mode by mode, and its mean is zero. Elastic stresses are left out. Extensile
    filaments have ζ > 0.

    Disorder (A > 0) is unstable to waves along x with the rate λζk²/(2(νk² + μ)) − Γ(A + Kk²). The uniform order
    S² = −2A/C of A < 0, along x, is unstable to bends, waves along x, with the rate (λ + S)ζk²/(2(νk² + μ)) − ΓKk², and
    to splays, waves along y, with (λ − S) in place of (λ + S); so ordered extensile nematics become turbulent.

    Good values: A = −1, C = 2 (S = 1), λ = 0.7, K = 0.02, Γ = 1, ν = 1, ζ = 1 in a box of 2π on 128², `etdrk4`.

    Args:
        grid: two dimensions, real fields.
        viscosity: ν ≥ 0, over the density [length²/time].
        friction: μ ≥ 0, over the density; ν or μ must be above 0 [1/time].
        activity: ζ, of any sign [length²/time²].
        alignment: λ, above 1 for filaments that a shear aligns.
        relaxation: Γ ≥ 0 [1/(time A)].
        elasticity: K ≥ 0 [A length²].
        disorder: A, below 0 where the filaments align by themselves.
        saturation: C ≥ 0 [A].

    Source: Marchetti et al., Rev. Mod. Phys. 85 (2013) 1143; Giomi, Phys. Rev. X 5 (2015) 031003.
    """

    viscosity: ArrayLike = 1.0
    friction: ArrayLike = 0.0
    activity: ArrayLike = 1.0
    alignment: ArrayLike = 0.7
    relaxation: ArrayLike = 1.0
    elasticity: ArrayLike = 0.02
    disorder: ArrayLike = -1.0
    saturation: ArrayLike = 2.0

    name: ClassVar[str] = "active-nematic"
    text: ClassVar[Text] = Text(
        write=(
            "dt(qxx) = -velocity@grad(qxx) - spin*qxy + alignment*dx(velocity.x)"
            " + relaxation*(elasticity*lap(qxx) - (disorder + 2*saturation*(qxx**2 + qxy**2))*qxx)",
            "dt(qxy) = -velocity@grad(qxy) + spin*qxx + alignment/2*(dx(velocity.y) + dy(velocity.x))"
            " + relaxation*(elasticity*lap(qxy) - (disorder + 2*saturation*(qxx**2 + qxy**2))*qxy)",
            "viscosity*lap(spin) - friction*spin = activity*(dx(dx(qxy)) - dy(dy(qxy)) - 2*dx(dy(qxx)))",
        ),
        fields={"qxx": "scalar", "qxy": "scalar"},
        unknowns={"psi": "scalar"},
        define={"velocity": "perp(psi)", "spin": "lap(psi)"},
        units={"qxx": "1", "qxy": "1"},
        plan="as written",  # 11 transforms, which no other plan is below
        energies={},
        series={
            "mean_square_order": "4*(qxx**2 + qxy**2)",
            "kinetic_energy": "velocity@velocity/2",
            "enstrophy": "spin**2/2",
            "max_speed": "sqrt(max(velocity@velocity))",
        },
        vectors={"velocity": "velocity"},
        limits={"viscosity": ">= 0", "friction": ">= 0", "relaxation": ">= 0", "elasticity": ">= 0",
                "saturation": ">= 0"},
        symbols={"qxx": "Q_xx", "qxy": "Q_xy", "psi": "psi", "velocity": "u", "spin": "omega", "viscosity": "nu",
                 "friction": "mu", "activity": "zeta", "alignment": "lambda_", "relaxation": "Gamma",
                 "elasticity": "K", "disorder": "A", "saturation": "C"},
    )  # fmt: skip
    dimensions: ClassVar[tuple[int, ...]] = (2,)

    def __check_init__(self) -> None:
        if is_zero(self.viscosity) and is_zero(self.friction):
            raise ValueError("viscosity 0 and friction 0: one above zero is needed, which the active force meets")
