"""Length, time and velocity scales of a turbulent flow."""

from __future__ import annotations

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Complex

from solver.diagnostics.gradients import longitudinal
from solver.diagnostics.probability import ratio
from solver.diagnostics.spectra import weighted_mean_square
from solver.fft import Transform
from solver.grid import Grid
from solver.operators import gradient


def integral_scale(u_hat: Complex[Array, "d ..."], grid: Grid) -> Array:
    """L = π/(2u'²) Σ E/k in 3-D, 2/u'² Σ E/k in 2-D, with E the energy ½|û|² of each mode k ≠ 0 and u'² = ⟨|u|²⟩/d.

    For an isotropic flow this is ∫ f(r) dr of the longitudinal correlation f [length]. The mean flow is left out. Two
    all-reduces.

    Source: Pope, Turbulent Flows (2000), equation 6.225, for 3-D; the same integral of the isotropic spectrum in 2-D.
    """
    k2 = grid.inverse_k_squared()
    energy_over_k = 0.5 * weighted_mean_square(u_hat, jnp.sqrt(k2), grid)
    u2 = weighted_mean_square(u_hat, (k2 > 0).astype(grid.dtype), grid) / grid.dimensions
    return (jnp.pi / 2 if grid.dimensions == 3 else 2.0) * ratio(energy_over_k, u2)


def smallest_eddies(u_hat: Complex[Array, "d ..."], viscosity: ArrayLike, dissipation: ArrayLike, grid: Grid) -> Array:
    """η [length]: (ν³/ε)^¼ in 3-D; in 2-D (ν³/χ)^(1/6), of the cascade of enstrophy; infinite where nothing is lost.

    χ is ν⟨|∇²u|²⟩, which is ν⟨|∇ω|²⟩ without divergence. An all-reduce in 2-D.

    Source: Pope, Turbulent Flows (2000), equation 6.1; Boffetta & Ecke, Annu. Rev. Fluid Mech. 44 (2012) 427 for 2-D.
    """
    lost, power = jnp.asarray(dissipation), 1 / 4
    if grid.dimensions == 2:
        k2 = grid.k_squared()
        lost, power = viscosity * weighted_mean_square(u_hat, k2 * k2, grid), 1 / 6
    return jnp.where(lost > 0, (viscosity**3 / jnp.where(lost > 0, lost, 1)) ** power, jnp.inf)


def effective_viscosity(viscosity: ArrayLike, further: ArrayLike, gradients: ArrayLike) -> Array:
    """ε/⟨|∇u|²⟩ [length²/time]: ν, and as much more as further terms dissipate; ν itself if they dissipate nothing.

    Args:
        viscosity: ν of ν∇²u.
        further: dissipation of ½⟨|u|²⟩ by other terms.
        gradients: ⟨|∇u|²⟩.
    """
    return jnp.asarray(viscosity) + ratio(further, gradients)


def flow_scales(
    u_hat: Complex[Array, "d ..."],
    transform: Transform,
    viscosity: ArrayLike | None,
    further_dissipation: ArrayLike = 0.0,
) -> dict[str, Array]:
    """Numbers that describe the fluctuations of a turbulent flow, u without its mean.

    - `energy` ½⟨|u|²⟩; `rms_velocity` u' = (⟨|u|²⟩/d)^½ of one component;
    - `integral_scale` L, see the function; `turnover_time` L/u';
    - `taylor_scale` λ = (2(d − 1)/(d + 1) · Σ⟨u_i²⟩ / Σ⟨(∂_i u_i)²⟩)^½, the transverse one of an isotropic solenoidal
      flow, g(r) = 1 − r²/λ² + … with g = f + r f'/(d − 1): the factor is 1 in 3-D and 2/3 in 2-D;
    - `taylor_scale_of_dissipation` (15)^½ u' / ⟨|∇u|²⟩^½ in 3-D, which is (15 ν/ε)^½ u', and (16/3)^½ u' / ⟨|∇u|²⟩^½ in
      2-D: equal to λ where the flow is isotropic and solenoidal;
    - `gradient_skewness` and `gradient_flatness` of ∂_i u_i, all i together: ⟨g³⟩/⟨g²⟩^(3/2), ⟨g⁴⟩/⟨g²⟩²;

    and with a viscosity ν

    - `dissipation` ε = ν⟨|∇u|²⟩, and what further terms dissipate; from here on ν is `effective_viscosity`, ε/⟨|∇u|²⟩;
    - `reynolds_taylor` Re_λ = u'λ/ν; `reynolds_integral` u'L/ν;
    - `kolmogorov_length` η, see `smallest_eddies`; `kolmogorov_time` η²/ν; `kmax_eta` k_max η.

    A ratio whose denominator vanishes is 0; without dissipation η and the time are infinite.

    Args:
        u_hat: coefficients of a velocity [length/time], any sharding; two or three dimensions.
        transform: between points and coefficients.
        viscosity: ν [length²/time], or None.
        further_dissipation: dissipation of ½⟨|u|²⟩ by other terms, such as hyperviscosity [length²/time³].

    Returns:
        Numbers, on every device. One inverse transform of d components, and all-reduces.

    Source: Pope, Turbulent Flows (2000), sections 6.3 to 6.5; Frisch, Turbulence (1995), section 5.3.
    """
    grid = transform.grid
    u2 = weighted_mean_square(u_hat, (grid.k_squared() > 0).astype(grid.dtype), grid)
    rms = jnp.sqrt(u2 / grid.dimensions)
    size = integral_scale(u_hat, grid)
    g = longitudinal_gradients(u_hat, transform)
    g2 = jnp.mean(g**2)
    isotropic = 2 * (grid.dimensions - 1) / (grid.dimensions + 1)
    gradients = weighted_mean_square(u_hat, grid.k_squared(), grid)
    of_dissipation = isotropic * (grid.dimensions + 2) * u2  # ⟨|∇u|²⟩ = d (d + 2) ⟨(∂_1 u_1)²⟩ in an isotropic flow
    taylor = jnp.sqrt(ratio(isotropic * u2, grid.dimensions * g2))
    scales = {
        "energy": 0.5 * u2,
        "rms_velocity": rms,
        "integral_scale": size,
        "turnover_time": ratio(size, rms),
        "taylor_scale": taylor,
        "taylor_scale_of_dissipation": jnp.sqrt(ratio(of_dissipation, gradients)),
        "gradient_skewness": ratio(jnp.mean(g**3), g2**1.5),
        "gradient_flatness": ratio(jnp.mean(g**4), g2**2),
    }
    if viscosity is None:
        return scales
    lost = jnp.asarray(viscosity) * gradients + further_dissipation
    nu = effective_viscosity(viscosity, further_dissipation, gradients)
    eta = smallest_eddies(u_hat, nu, lost, grid)
    return {
        **scales,
        "dissipation": lost,
        "reynolds_taylor": ratio(rms * taylor, nu),
        "reynolds_integral": ratio(rms * size, nu),
        "kolmogorov_length": eta,
        "kolmogorov_time": jnp.where(lost > 0, ratio(eta**2, nu), jnp.inf),
        "kmax_eta": grid.k_max * eta,
    }


def longitudinal_gradients(u_hat: Complex[Array, "d ..."], transform: Transform) -> Array:
    """∂u_i/∂x_i for each i at the points. One inverse transform of d components."""
    return transform.inverse(longitudinal(gradient(u_hat, transform.grid)))


def characteristic_length(u_hat: Complex[Array, ...], grid: Grid) -> Array:
    """ℓ = 2π Σ S / Σ k S with S = |û|² of the fluctuations, all modes k ≠ 0: the size of domains in a pattern [length].

    Leading axes (components) are summed; 0 for a uniform field. Two all-reduces.

    Source: Bray, Adv. Phys. 43 (1994) 357, section 2.5 (first moment of the structure factor).
    """
    k = jnp.sqrt(grid.k_squared())
    varying = (k > 0).astype(grid.dtype)
    return 2 * jnp.pi * ratio(weighted_mean_square(u_hat, varying, grid), weighted_mean_square(u_hat, k, grid))
