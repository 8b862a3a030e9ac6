"""The declaration of a field: what an equation says of each of its fields."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

RANKS = ("scalar", "vector", "tensor", "symmetric tensor", "wavefunction")
ORDERS = {"vector": 1, "tensor": 2, "symmetric tensor": 2}  # numbers of indices


@dataclass(frozen=True)
class Field:
    """A named field of an equation.

    Args:
        rank: `scalar`, `vector` (one component for each dimension), `tensor` (xx, xy, xz, yx, …), `symmetric tensor`
            (xx, xy, xz, yy, yz, zz: each component that another one equals is held once) or `wavefunction` (one
            complex component).
        units: units of the values.
        solenoidal: True if it is free of divergence. Initial fields and forcings are projected, and the field is again
            after every step.
        zero_mean: True if the field's mean is zero, or an axis, `x`, `y` or `z`, if its mean along that axis is zero
            everywhere; the mean of initial fields is removed, and again after every step.
        components: names of the components; made from the field's name if None.
    """

    rank: str = "scalar"
    units: str = "1"
    solenoidal: bool = False
    zero_mean: bool | str = False
    components: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.rank not in RANKS:
            raise ValueError(f"a field of rank {self.rank!r}: {', '.join(RANKS)} are known")

    @property
    def mean_axes(self) -> tuple[int, ...]:
        """The axes along which a mean that is zero is taken; empty for the mean over the box."""
        return ("xyz".index(self.zero_mean),) if isinstance(self.zero_mean, str) else ()

    @property
    def real(self) -> bool:
        """True if its values are real."""
        return self.rank != "wavefunction"

    def component_names(self, name: str, dimensions: int) -> tuple[str, ...]:
        """Names of its components, as snapshots call them."""
        if self.components is not None:
            return self.components
        if self.rank not in ORDERS:
            return (name,)
        return tuple(f"{name}_{''.join('xyz'[axis] for axis in index)}" for index in self._counts(dimensions))

    def counts(self, dimensions: int) -> tuple[int, ...]:
        """Multiplicity of each stored component: 2 for components off the diagonal of a symmetric tensor.

        |u|² is the sum of the squares of the components, each that many times.
        """
        return tuple(self._counts(dimensions).values()) if self.rank in ORDERS else (1,)

    def _counts(self, dimensions: int) -> Counter[tuple[int, ...]]:
        """The components that are held, by their indices, and how often each stands among all."""
        indices = product(range(dimensions), repeat=ORDERS[self.rank])
        return Counter(tuple(sorted(i)) if self.rank == "symmetric tensor" else i for i in indices)


@dataclass(frozen=True)
class MoreFields:
    """A class attribute `fields` with more of them where an equation has passive scalars, or a parameter names them.

    As an attribute of the class it gives the fields that every such equation has; as an attribute of an equation, the
    fields of that equation. Both are mappings from names to fields.

    Args:
        always: name → field.
        by: the parameter that lists the names of others; empty without one.
        each: entry for each of these.
    """

    always: Mapping[str, Field]
    by: str = ""
    each: Field = Field()

    def __get__(self, equation: Any, cls: type) -> Mapping[str, Field]:
        if equation is None:
            return self.always
        scalars = {scalar.name: scalar.units for scalar in getattr(equation, "scalars", ())}
        return self.given(vars(equation), scalars)

    def given(self, parameters: Mapping[str, Any], scalars: Mapping[str, str]) -> Mapping[str, Field]:
        """All fields of an equation with these parameters and these passive scalars, whose units are given by name."""
        named = dict.fromkeys(parameters.get(self.by, ()), self.each)
        return {**self.always, **named, **{name: Field(units=units) for name, units in scalars.items()}}


def kinds_of(cls: Any) -> tuple[Field, ...]:
    """The fields that each equation of this class has, and the kind of those that a parameter names."""
    declared = inspect.getattr_static(cls, "fields", {})
    named = (declared.each,) if isinstance(declared, MoreFields) and declared.by else ()
    return (*cls.fields.values(), *named)


def fields_of(cls: Any, parameters: Mapping[str, Any], scalars: Mapping[str, str]) -> Mapping[str, Field]:
    """The fields that an equation of this class has with these parameters and passive scalars."""
    declared = inspect.getattr_static(cls, "fields", {})
    return declared.given(parameters, scalars) if isinstance(declared, MoreFields) else cls.fields
