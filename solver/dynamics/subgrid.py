"""The closure of an equation of a text: its stress at the points, its damping of each mode, its report and its rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.diagnostics import weighted_mean_square
from solver.dynamics.budget import Budget
from solver.dynamics.report import Report
from solver.dynamics.resolution import Resolution, resolution_of
from solver.dynamics.spaces_between_walls import space_of_products
from solver.operators import Fields
from solver.spaces import NotInSpace, Space
from solver.spaces.field import Field
from solver.walls.conditions import StressFree
from solver.written.closures import CLOSURE, FLUX, LOSS, MEAN_VISCOSITY, RATE, STRESS, VISCOSITY
from solver.written.components import plus
from solver.written.derivation import in_dimensions
from solver.written.rates import Rate, Unseen
from solver.written.text import Text
from solver.written.tree import Call
from solver.written.variants import with_closure

AXES = "xyz"


def check_closure(equation: Any) -> None:
    """Refuse a closure that has no place in an equation: one of a text takes it where it says `closure`."""
    closure = equation.closure
    if closure is None:
        return
    name = f"closure {getattr(closure, 'name', type(closure).__name__)}"
    if not hasattr(closure, "acts_on_modes"):
        raise ValueError(f"{name}: a closure of solver.closures is needed, such as Smagorinsky")
    if equation.text is None or not equation.whole_text.takes_closure:
        raise ValueError(
            f"{name}: {equation.name} says of no velocity, by closure(…) in its text, that it may be closed"
        )
    d = equation.grid.dimensions
    if d not in closure.dimensions:
        raise ValueError(f"{name} in {d} dimensions: {' or '.join(map(str, closure.dimensions))} are needed")
    scalars, velocity = equation.whole_text.closed_scalars, equation.whole_text.closed_velocity
    if equation.grid.walls:
        _check_between_walls(equation, name, velocity)
    else:
        try:
            _ = equation.space(equation.first_field).fourier
        except NotInSpace as error:
            raise ValueError(f"{name}: {error}") from None
    if scalars and not closure.takes_scalars:
        raise ValueError(f"{name}: it has no flux of scalars, which {', '.join(scalars)} of {equation.name} needs")
    if closure.acts_on_modes and not (velocity in equation.fields and equation.whole_text.closes_each_field):
        raise ValueError(
            f"{name}: it acts on each mode of a field: closure(…) is needed as a term of its own in the equation of a "
            f"velocity that is a field; {equation.name} has it of {velocity}"
        )


def _check_between_walls(equation: Any, name: str, velocity: str) -> None:
    if equation.closure.acts_on_modes:
        raise ValueError(
            f"{name} between walls: modes have no wavenumber across them; a closure at the points is needed"
        )
    if velocity not in equation.fields:
        raise ValueError(f"{name} between walls: a velocity that is a field is needed, which {velocity} is not")
    if not (
        equation.closure.vanishes_at_walls or all(isinstance(wall, StressFree) for wall in equation.walls[velocity])
    ):
        raise ValueError(
            f"{name} between rigid walls: its eddy viscosity does not vanish there; wale, or dynamic-smagorinsky with "
            "average = 'planes', is needed"
        )


def text_with_closure(equation: Any) -> Text:
    """The text of an equation with its closure at the points, or without the terms of one."""
    closure, text = equation.closure, equation.whole_text
    if closure is None or closure.acts_on_modes:
        return text.without_closure
    return with_closure(text, closure.of, equation.grid.dimensions, closure.by_plane or bool(equation.grid.walls))


# ---- at the points --------------------------------------------------------------------------------------------------


class Subgrid(eqx.Module):
    """A closure at the points, with the width of its grid and what it needs of the whole flow.

    Args:
        closure: the closure.
        prepared: result of its `prepare`.
        resolution: smallest eddies of the grid.
        dimensions: number of dimensions of space, static.
        has_scalars: True if the equation has scalars with a subgrid flux, static.
    """

    closure: Any
    prepared: Any
    resolution: Resolution
    dimensions: int = eqx.field(static=True)
    has_scalars: bool = eqx.field(static=True)

    def values(self, function: str, given: Sequence[Any]) -> dict[str, Array]:
        """Values of a function of the closure, and of all that are made with it, by name.

        Args:
            function: name of a component of the stress or flux, or of the eddy viscosity.
            given: entries of the strain or gradient at the points, with the entries of a scalar's gradient behind them.
                Before them is the last coordinate, if the closure or the grid has numbers of each plane.
        """
        d, closure, prepared = self.dimensions, self.closure, self.prepared
        width, k_squared, middles = self.resolution
        if middles is not None:
            place, *given = given
            number = jnp.searchsorted(middles, place)
            of_plane = lambda values: values[number] if jnp.ndim(values) else values  # noqa: E731
            width, k_squared = of_plane(width), of_plane(k_squared)
            prepared = jax.tree.map(of_plane, prepared) if closure.by_plane else prepared
        count = d * (d + 1) // 2 if closure.of == "strain" else d * d
        at = (self._tensor(given[:count]), width, prepared)
        if function in (VISCOSITY, RATE):
            viscosity = closure.viscosity(*at)
            fastest = viscosity * k_squared * (closure.largest_ratio if self.has_scalars else 1)
            return {VISCOSITY: viscosity, RATE: fastest}
        shape = at[0].shape[2:]
        if function.startswith(FLUX):
            slope = jnp.stack([jnp.broadcast_to(part, shape) for part in given[count:]])
            flux = self._checked("flux", closure.flux(at[0], slope, *at[1:]), (d, *shape))
            return {f"{FLUX}{axis}": part for axis, part in zip(AXES, flux, strict=False)}
        stress = self._checked("stress", closure.stress(*at), (d, d, *shape))
        symmetric = lambda i, j: stress[i, i] if i == j else (stress[i, j] + stress[j, i]) / 2  # noqa: E731
        return {f"{STRESS}{AXES[i]}{AXES[j]}": symmetric(i, j) for i, j in self._pairs}

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """The components that a symmetric tensor has."""
        return list(combinations_with_replacement(range(self.dimensions), 2))

    def _tensor(self, entries: Sequence[Array]) -> Array:
        """A tensor `(i, j, …)`, from its entries as `Resolved.entries` lists them."""
        d = self.dimensions
        if self.closure.of == "strain":
            place = {pair: n for n, pair in enumerate(self._pairs)}
            rows = [[entries[place[min(i, j), max(i, j)]] for j in range(d)] for i in range(d)]
        else:
            rows = [list(entries[d * i : d * (i + 1)]) for i in range(d)]
        return jnp.stack([jnp.stack(row) for row in rows])

    def _checked(self, method: str, found: Any, shape: tuple[int, ...]) -> Array:
        if found.shape != shape or jnp.iscomplexobj(found):
            raise ValueError(
                f"closure {self.closure.name}: {method} gives {found.dtype}{list(found.shape)}: real {list(shape)} is "
                "needed"
            )
        return found  # type: ignore[no-any-return]


def subgrid(equation: Any, velocity: Callable[[], Array]) -> Subgrid:
    """The closure of an equation at the points, in one evaluation of N.

    Args:
        equation: equation with a closure at the points.
        velocity: makes coefficients of its velocity; called where the closure needs the whole flow alone.
    """
    closure, has_scalars = equation.closure, bool(equation.whole_text.closed_scalars)
    prepared = closure.prepare(velocity(), _space(equation)) if closure.needs_whole_flow else ()
    resolution = resolution_of(equation.grid)
    if closure.by_plane or equation.grid.walls:
        resolution = jax.tree.map(lambda values: jnp.asarray(values, equation.grid.dtype), resolution)
    else:
        resolution = resolution._replace(middles=None)
    return Subgrid(closure, prepared, resolution, equation.grid.dimensions, has_scalars)


def _space(equation: Any) -> Space:
    """Space of the coefficients of the closed velocity: between walls they are polynomials."""
    if equation.grid.walls:
        return space_of_products(equation)
    velocity = equation.whole_text.closed_velocity
    space: Space = equation.space(velocity if velocity in equation.fields else equation.first_field)
    if velocity not in equation.fields:
        space = replace(space, name=velocity, field=Field("vector"))
    return space


def with_rate(equation: Any, found: Rate | Unseen) -> Rate | Unseen:
    """The rate with ν_t k² of the largest wavenumber at each point (κ_t where scalars diffuse faster)."""
    closure = equation.closure
    if closure is None or closure.acts_on_modes or isinstance(found, Unseen):
        return found
    products = (part for product in equation.derived.plan.products for part in product.walk())
    call = next((part for part in products if isinstance(part, Call) and part.function.startswith(STRESS)), None)
    if call is None:
        return found
    fastest = Call(RATE, call.arguments)
    return replace(found, reaction=fastest if found.reaction is None else plus((found.reaction, fastest)))


# ---- on each mode ---------------------------------------------------------------------------------------------------


def acts_on_modes(equation: Any) -> bool:
    """True if an equation has a closure that acts on each mode."""
    return equation.closure is not None and equation.closure.acts_on_modes


def damping_of_modes(equation: Any, fields: Fields) -> dict[str, Array]:
    """ν_t(k)|k|² of the velocity and ν_t(k)/Sc |k|² of each scalar, on the stored modes [1/time], by field."""
    closure, velocity = equation.closure, equation.whole_text.closed_velocity
    space = equation.space(velocity)
    rate = closure.viscosity(fields[velocity], space) * space.fourier.k_squared()
    return {velocity: rate, **{name: rate / closure.turbulent_schmidt for name in equation.whole_text.closed_scalars}}


def with_damping(equation: Any, fields: Fields, changes: Fields) -> Fields:
    """N with what a closure takes from each mode."""
    if not acts_on_modes(equation):
        return changes
    damping = damping_of_modes(equation, fields)
    return {n: c - damping[n] * fields[n] if n in damping else c for n, c in changes.items()}


def rate_of_damping(equation: Any, fields: Fields) -> ArrayLike:
    """Largest rate at which a closure damps a mode [1/time]; 0 without one. An all-reduce."""
    if not acts_on_modes(equation):
        return 0.0
    kept = equation.space(equation.whole_text.closed_velocity).fourier.is_kept()
    rates = damping_of_modes(equation, fields).values()
    return jnp.max(jnp.where(kept, jnp.stack(list(rates)), 0))


# ---- report ---------------------------------------------------------------------------------------------------------


def report_with_closure(equation: Any, report: Report) -> Report:
    """A report with the columns of a closure, and with `closure` as a cause of budgets."""
    if equation.closure is None:
        return report
    units, budget, own = report.units, report.budget, units_of_closure(equation)
    columns = report.columns
    if acts_on_modes(equation):
        columns = lambda fields: {**report.columns(fields), **_columns_of_modes(equation, fields)}  # noqa: E731
    return replace(
        report,
        columns=columns,
        units=lambda: {**units(), **own},
        budget=None if budget is None else lambda fields, changes: _named(equation, budget(fields, changes)),
    )


def units_of_closure(equation: Any) -> dict[str, str]:
    """Units of what a closure is reported by; nothing without a closure."""
    if equation.closure is None:
        return {}
    is_speed = getattr(equation.fields.get(equation.whole_text.closed_velocity), "units", "") == "length/time"
    return dict(zip((LOSS, MEAN_VISCOSITY), ("length^2/time^3", "length^2/time") if is_speed else "11", strict=True))


def _columns_of_modes(equation: Any, fields: Fields) -> dict[str, Array]:
    velocity = equation.whole_text.closed_velocity
    grid, u_hat = equation.space(velocity).fourier, fields[velocity]
    lost = weighted_mean_square(u_hat, damping_of_modes(equation, fields)[velocity], grid)
    gradients = weighted_mean_square(u_hat, grid.k_squared(), grid)
    viscosity = jnp.where(gradients > 0, lost / jnp.where(gradients > 0, gradients, 1), 0)
    return {LOSS: lost, MEAN_VISCOSITY: viscosity}


def _named(equation: Any, budget: Budget) -> Budget:
    """A budget in which `closure` holds what the closure changes, where nothing else in N changes an energy."""
    if equation.obstacles is not None:
        return budget
    bare = in_dimensions(equation.plain_text, equation.grid.dimensions).energies
    closed = lambda name: name in bare and not bare[name].nonlinear  # noqa: E731
    word = lambda name, cause: CLOSURE if cause == "nonlinear" and closed(name) else cause  # noqa: E731
    return {name: {word(name, cause): rate for cause, rate in rates.items()} for name, rates in budget.items()}
