"""Quantities that an output writes at the points: chosen by name, on fewer points, in single precision."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.config import nearest
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.compiled import compiled
from solver.dynamics.derived import Derived, derived_quantities, viscosity_of_dissipation
from solver.dynamics.pressure import PRESSURE
from solver.dynamics.split_equation import SplitEquation
from solver.grid import Grid
from solver.io import BODIES, COMPONENT, Variable
from solver.io.subgrid import Subgrid
from solver.mesh import placed
from solver.operators import Fields

Precision = Literal["grid", "float32"]
Compression = Literal["none", "gzip", "lzf"]


@dataclass(frozen=True)
class Selection:
    """Quantities of an equation's `snapshot` and `derived`, and the mask χ of its bodies, `bodies`.

    Args:
        names: names of the quantities; if empty, all of `snapshot`, and `bodies` where the equation has some.
        precision: precision of the written values, the grid's or `float32`.
        coarsen: factor by which each axis has fewer points than the grid.
    """

    names: tuple[str, ...] = ()
    precision: str = "grid"
    coarsen: int = 1

    def check(self, equation: AnyEquation, owner: str) -> None:
        """Check the selection before the run; touches no device.

        Raises:
            ValueError: the equation does not have a name, the devices cannot split the coarser grid, or a quantity is
                not real or not on the grid.
        """
        known = known_quantities(equation)
        for name in self.names:
            if name not in known:
                raise ValueError(f"{owner}.fields: {equation.name} has no {name!r}{nearest(name, known)}")
            if self.coarsen > 1 and name in ({*equation.report.at_points, PRESSURE} if of_closure(equation) else ()):
                raise ValueError(
                    f"{owner}.coarsen = {self.coarsen}: {name} holds the closure's stress, of the run's grid"
                )
        grid = self.grid(equation, owner)
        points, taken = grid.physical_shape, ("time", "step", COMPONENT, *"xyz"[: grid.dimensions])
        in_full = dataclasses.replace(self, precision="grid").values  # `float32` would take the real part
        for name, values in jax.eval_shape(lambda f: in_full(equation, f, 0.0), equation.field_shapes()).items():
            if name in taken:
                raise ValueError(
                    f"{owner}: {equation.name} has a quantity called {name!r}, as an axis of the file is; another name "
                    f"than {', '.join(taken)} is needed"
                )
            if np.issubdtype(values.dtype, np.complexfloating):
                raise ValueError(
                    f"{type(equation).__name__}: snapshot() gives {name} as complex numbers; its real and imaginary "
                    "parts are two quantities"
                )
            if values.shape[-len(points) :] != points or values.ndim > len(points) + 1:
                raise ValueError(
                    f"{type(equation).__name__}: snapshot() gives {name} of shape {list(values.shape)}; "
                    f"{list(points)} is needed, with an axis of components in front or without"
                )

    def grid(self, equation: AnyEquation, owner: str = "output") -> Grid:
        """The grid of the written values.

        Raises:
            ValueError: the devices cannot split the grid.
        """
        if self.coarsen == 1:
            return equation.grid
        try:
            coarse = equation.grid.layout.coarser(self.coarsen)
            return dataclasses.replace(equation.grid, shape=coarse.shape, dealias=coarse.dealias)
        except ValueError as error:
            raise ValueError(f"{owner}.coarsen = {self.coarsen}: {error}") from None

    def values(self, equation: AnyEquation, fields: Fields, t: ArrayLike) -> dict[str, Array]:
        """Values at the points at time t, by name; traced under `jit`.

        Costs transforms of the quantities and of `resample`.
        """
        bodies = _mask_of_bodies(equation, self.grid(equation), t)
        if self.coarsen > 1:
            equation, fields = self._coarser(equation, fields)
        names = self.names or (*jax.eval_shape(lambda f: equation.snapshot(f), fields), *bodies)
        derived = derived_quantities(equation) | bodies
        shown = equation.snapshot(fields) if set(names) - derived.keys() else {}
        values = {name: shown[name] if name in shown else derived[name].make(fields) for name in names}
        return values if self.precision == "grid" else {name: v.astype(np.float32) for name, v in values.items()}

    def bytes_of_point(self, equation: AnyEquation) -> int:
        """Bytes of all written values at one point; computes nothing."""
        shapes = jax.eval_shape(lambda fields: self.values(equation, fields, 0.0), equation.field_shapes())
        points = math.prod(self.grid(equation).physical_shape)
        return sum(math.prod(values.shape) // points * values.dtype.itemsize for values in shapes.values())

    def _coarser(self, equation: AnyEquation, fields: Fields) -> tuple[AnyEquation, Fields]:
        """The equation, without forcing, closure and bodies, and its fields with the modes of the coarser grid."""
        coarse = equation.on_grid(self.grid(equation))
        hats = {
            name: equation.space(name).resampled(u_hat, coarse.space(name))
            for name, u_hat in equation.coefficients(fields).items()
        }
        if isinstance(coarse, SplitEquation):  # its fields are values at the points
            hats = {name: coarse.space(name).inverse(u_hat) for name, u_hat in hats.items()}
        return coarse, hats | {name: y for name, y in fields.items() if name not in equation.fields}


def of_closure(equation: AnyEquation) -> bool:
    """True if the equation has a closure."""
    return getattr(equation, "closure", None) is not None


def known_quantities(equation: AnyEquation) -> list[str]:
    """Names of the quantities of an equation that can be written."""
    shown = jax.eval_shape(lambda fields: equation.snapshot(fields), equation.field_shapes())
    return list(dict.fromkeys([*shown, *derived_quantities(equation), *_mask_of_bodies(equation, equation.grid, 0.0)]))


def _mask_of_bodies(equation: AnyEquation, grid: Grid, t: ArrayLike) -> dict[str, Derived]:
    """χ of the equation's bodies at the points of a grid, which may be coarser, under its name; empty without bodies.

    A field that has this name keeps it. Every device makes its own part. No communication.
    """
    bodies = equation.report.bodies
    if bodies is None or bodies.mask({}) is None or BODIES in equation.fields:
        return {}
    mask_of = bodies.mask

    def at_points(fields: Fields) -> Array:
        mask = mask_of(fields)
        assert mask is not None
        made = jnp.asarray(mask(grid.coordinates(), t), grid.dtype)
        return placed(jnp.broadcast_to(made, grid.physical_shape), grid.physical_sharding())

    return {BODIES: Derived(at_points, "1")}


def attributes_of(equation: AnyEquation, title: str) -> dict[str, Any]:
    """Attributes of a snapshot's file."""
    viscosity = viscosity_of_dissipation(equation)
    return {"title": title, "equation": equation.name} | ({} if viscosity is None else {"viscosity": viscosity})


def variables(
    equation: AnyEquation,
    selection: Selection,
    fields: Fields,
    t: ArrayLike,
    subgrids: Iterable[Subgrid | None] = (None,),
) -> dict[str, Variable]:
    """The variables of a snapshot at time t, one for each quantity and each part of the grid. Collective."""
    derived = derived_quantities(equation) | _mask_of_bodies(equation, equation.grid, t)
    units = {**{name: d.units for name, d in derived.items()}, **equation.report.snapshot_units()}
    made = {}
    for name, values in _values(selection, equation, fields, t).items():
        labels = component_labels(equation, name, values)
        for subgrid in subgrids:
            label = "" if subgrid is None else subgrid.label(equation.grid.physical_shape)
            made[f"{name}_{label}" if label else name] = Variable(values, units.get(name, ""), labels, subgrid)
    return made


_values = compiled(lambda selection, equation, fields, t: selection.values(equation, fields, t), static_argnums=0)


def trace_values(selection: Selection, equation: AnyEquation, fields: Any, t: Any) -> Any:
    """The traced program that computes a selection's values; `fields` and `t` may be only shapes."""
    return _values.trace(selection, equation, fields, t)


def component_labels(equation: AnyEquation, name: str, values: jax.Array) -> tuple[str, ...]:
    """Labels of a variable's components; empty for a scalar `(x, y, z)`."""
    if values.ndim == equation.grid.dimensions:
        return ()
    field = equation.fields.get(name)
    if field is not None and (field.components is not None or "tensor" in field.rank):
        return tuple(component.removeprefix(f"{name}_") for component in equation.space(name).component_names)
    count = len(values)
    return tuple("xyz"[:count]) if count == equation.grid.dimensions else tuple(map(str, range(count)))
