"""Random forcing without a memory, of a given power in a given range of scales."""

from __future__ import annotations

from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import weighted_mean_square
from solver.diagnostics.mode_sums import summed
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.checks import need
from solver.forcing.forcing import has_modes, in_shells
from solver.forcing.white import WhiteForcing
from solver.grid import Grid
from solver.operators import Fields
from solver.spaces import FOURIER, Space
from solver.spaces.field import RANKS
from solver.spaces.space import refuse_lacking

BAND = 1e-6  # of a bound between walls: modes differ from it by rounding, in single precision


class WhiteNoise(WhiteForcing):
    """Noise that is white in time, of power P in the mean, on low ≤ |k| ≤ high, with the shell spectrum F(k) ∝ k^s.

    By Itô's formula it adds ½ d⟨|u|²⟩ = P dt in the mean, whatever the flow does: P is exact, also from rest. A ring or
    shell k_f ± δk is low = k_f − δk, high = k_f + δk. Each mode gets the variance 2P k^(s−d+1)/Σ k^(s−d+1) per time, d
    the number of dimensions. So s = d − 1 forces every mode alike: without bounds that is noise white in space, too,
    ⟨ξ(x, t) ξ(x′, t′)⟩ = σ² δ(x − x′) δ(t − t′) with P = ½ σ² M/V, of M modes in a box of volume V. A solenoidal field
    is given noise without divergence, and P is what it gets. The mean is not forced.

    With a `part`, [forcing.velocity] drives velocity and buoyancy together: with rotation neither vortices nor waves
    are of velocity alone. The part's modes get the same energy ½|u|² + ½b²/N² each, P in all, and none with k_h = 0.
    Where ν = κ the other part gets nothing; elsewhere diffusion mixes them.

    Between two walls |k|² is the eigenvalue of −∇² of each mode of the field, which vanishes or has no slope at the
    walls as the field does: noise changes no value that the walls give.

    What a step adds is exact in the linear part for any dt: an Ornstein–Uhlenbeck process of each mode where N = 0
    (`WhiteForcing`). Steppers: `etdrk*`, `krogstad4`, `ifrk*`, `lsrk3`, with a fixed step or `cfl`, no tolerance.

    Args:
        power: P, by which half the mean square of the field grows per time in the mean [units of the field, squared,
            per time]: the power put into a velocity [length²/time³], the enstrophy put into a vorticity [1/time³].
            Noise goes as √P, whose derivative at P = 0 is infinite; 0 is returned for it, so optimisers start above.
        low, high: wavenumbers of the band [1/length]; high may lie beyond the last mode.
        slope: s, of the power per shell against k.
        part: part of a `boussinesq` flow in three dimensions, `vortical` or `waves` (`operators.split_waves`), static.

    Raises:
        ValueError: a power that is negative or not finite, bounds that are not in order; when the equation is made: no
            mode of the grid in the band, or no such part of its flow.
        TypeError: a stepper that is not exact in the linear part, or a linear part that is neither a `Diagonal` nor a
            `Matrix`.

    Source: Novikov, Sov. Phys. JETP 20 (1965) 1290, for the power of forces that are white in time; Alvelius, Phys.
    Fluids 11 (1999) 1880, for flows forced so; both from memory.
    """

    power: ArrayLike
    low: ArrayLike = 1.0
    high: ArrayLike = 2.0
    slope: ArrayLike = 0.0
    part: Literal["all", "vortical", "waves"] = eqx.field(static=True, default="all")

    name: ClassVar[str] = "white-noise"
    ranks: ClassVar[tuple[str, ...]] = RANKS

    def __check_init__(self) -> None:
        need(self, "power", "white-noise with power", "zero or more", least=0)
        need(self, "low", "white-noise with low", "zero or more", least=0)
        need(self, "slope", "white-noise with slope", "a finite number")
        if not self._is_traced() and not np.all(np.asarray(self.low) <= np.asarray(self.high)):
            raise ValueError(f"white-noise with low {self.low} and high {self.high}: low ≤ high is needed")
        if self.part not in ("all", "vortical", "waves"):
            raise ValueError(f"white-noise with part {self.part!r}: all, vortical or waves is needed")

    def check(self, equation: AnyEquation, field: str) -> None:
        if self.part != "all":
            self._check_part(equation, field)
        if equation.grid.walls:
            self._check_between_walls(equation.space(field))
            return
        refuse_lacking([equation.space(field)], (FOURIER,), f"forcing {self.name}")
        if self._is_traced():
            return
        grid, bounds = equation.space(field).fourier, (float(np.min(self.low)), float(np.max(self.high)))
        whole = self.part == "all"
        if not has_modes(grid, *bounds, across=not whole):
            lacking = "no mode" if whole else f"no mode of the part {self.part}"
            raise ValueError(
                f"white-noise with low {self.low} and high {self.high}: {lacking} of this grid lies between; its |k| "
                f"are {grid.k_min:.4g} to {grid.k_corner:.4g}"
            )

    def density(self, equation: AnyEquation, field: str) -> Array:
        if equation.grid.walls:
            return self._between_walls(equation, equation.space(field))
        relative = self._relative(equation.space(field).fourier)
        return 2 * self.power / self._total(equation, field, relative) * relative

    def _relative(self, grid: Grid) -> Array:
        """The variance of each mode but for a factor; zero outside the band."""
        inside = in_shells(grid, self.low, self.high)
        middle = 0.5 * (self.low + jnp.minimum(self.high, grid.k_corner))  # so that no power overflows
        k = jnp.sqrt(jnp.where(inside > 0, grid.k_squared(), 1)) / middle
        return inside * jnp.where(inside > 0, k, 1) ** (self.slope - grid.dimensions + 1)

    def _between_walls(self, equation: AnyEquation, space: Space) -> Array:
        """The variance that each number of a field between walls gains per time; |k|² is the eigenvalue of −∇²."""
        shape = equation.field_shapes()[space.name].shape
        k, inside = (jnp.broadcast_to(part, shape) for part in self._band_between_walls(space))
        middle = 0.5 * (self.low + jnp.minimum(self.high, jnp.max(k)))
        power = self.slope - equation.grid.dimensions + 1
        relative = jnp.where(inside, jnp.where(inside, k / middle, 1) ** power, 0).astype(equation.grid.dtype)
        ones = jnp.ones(shape, equation.grid.complex_dtype)
        counted = space.counted(ones, 0.5) if len(ones) == len(space.component_names) else ones
        total = summed([space.product(relative * counted, counted)], equation.grid.dtype)[0]
        return 2 * self.power / total * relative

    def _band_between_walls(self, space: Space) -> tuple[Array, Array]:
        """The root of the eigenvalue of each mode, and where it lies in the band."""
        k = jnp.sqrt(jnp.maximum(-space.laplacian(), 0))
        return k, (k > 0) & (k >= jnp.asarray(self.low) * (1 - BAND)) & (k <= jnp.asarray(self.high) * (1 + BAND))

    def _check_between_walls(self, space: Space) -> None:
        """Refuse a band without modes. Without devices no modes are known."""
        if self._is_traced() or not isinstance(space.grid.mesh, Mesh):
            return
        with jax.ensure_compile_time_eval():
            k, inside = self._band_between_walls(space)
            if not bool(jnp.any(inside)):
                least, most = float(jnp.min(jnp.where(k > 0, k, jnp.inf))), float(jnp.max(k))
                raise ValueError(
                    f"white-noise with low {self.low} and high {self.high}: no mode of {space.name} between the walls "
                    f"lies between; the roots of its eigenvalues are {least:.4g} to {most:.4g}"
                )

    def _total(self, equation: AnyEquation, field: str, relative: Array) -> Array:
        """Gain of twice the energy per time from noise of this density: the sum over all independent components."""
        shapes, total = equation.field_shapes(), jnp.zeros((), equation.grid.dtype)
        driven = self.driven(equation, field)
        zeros = {name: jnp.zeros(shapes[name].shape, shapes[name].dtype) for name in driven}
        for name in driven:
            for component in range(len(zeros[name])):
                noise = self._noise(equation, field, {**zeros, name: zeros[name].at[component].set(1)})
                total = total + self._twice_energy(equation, field, noise, relative)
        return total

    def _twice_energy(self, equation: AnyEquation, field: str, noise: Fields, weight: Array) -> Array:
        """The mean square of the field, or twice the energy of the flow, of modes that count as `weight` says."""
        if self.part == "all":
            counted = equation.space(field).counted(noise[field], 0.5)
            return weighted_mean_square(counted, weight, equation.space(field).modes)
        terms = [
            weighted_mean_square(noise[name] * jnp.sqrt(factor), weight, equation.space(name).modes)
            for name, factor in _energy_weights(equation, noise).items()
        ]
        return sum(terms, jnp.zeros((), equation.grid.dtype))

    def driven(self, equation: AnyEquation, field: str) -> tuple[str, ...]:
        return (field,) if self.part == "all" else tuple(equation.fields)

    def shaped(self, equation: AnyEquation, field: str, unit: Fields) -> Fields:
        if self.part == "all":
            return unit
        alike = {name: unit[name] / jnp.sqrt(weight) for name, weight in _energy_weights(equation, unit).items()}
        return _parts(equation, alike)[self.part]

    def _is_real(self) -> bool:
        return True

    def _check_part(self, equation: AnyEquation, field: str) -> None:
        try:
            known = jax.eval_shape(lambda fields: _parts(equation, fields), equation.field_shapes())
        except ValueError as error:
            raise ValueError(f"white-noise with part {self.part!r}: {error}") from None
        if self.part not in known:
            raise ValueError(f"white-noise with part {self.part!r}: {equation.name} has no such part, boussinesq has")
        first = next(iter(equation.fields))
        if field != first:
            raise ValueError(
                f"white-noise of {field} with part {self.part!r}: a forcing of {first} is needed, which drives all "
                "fields of the part"
            )

    def _is_traced(self) -> bool:
        return any(isinstance(bound, jax.core.Tracer) for bound in (self.low, self.high))


def _parts(equation: AnyEquation, fields: Fields) -> dict[str, Fields]:
    parts = equation.report.parts
    return {} if parts is None else parts(fields)


def _energy_weights(equation: AnyEquation, fields: Fields) -> dict[str, Array]:
    """Weight of the square of each field in twice the energy, the sum of the equation's invariants."""
    ones = {name: jnp.ones_like(field) for name, field in fields.items()}
    conjugates = equation.report.invariants(ones).values()
    return {name: jnp.real(sum(g[name] for g in conjugates if name in g)) for name in fields}
