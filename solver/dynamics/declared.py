"""Declarations of a text for the class of its equations: fields, dimensions, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
from jax.typing import ArrayLike

from solver.spaces.field import Field, MoreFields
from solver.written.derivation import without_unknowns
from solver.written.matrices import without_divergence
from solver.written.text import Text
from solver.written.tree import WrittenError
from solver.written.vocabulary import COORDINATES


def declare(cls: type[Any], parent: type[Any]) -> None:
    """Complete a class below `parent` as it is made: of a text, its parameters, fields, dimensions and docstring."""
    own = vars(cls)
    if "keeps_constraints" not in own and {"nonlinear", "text"} & own.keys():
        cls.keeps_constraints = "nonlinear" not in own  # what a parent's N keeps, another N need not
    if isinstance(own.get("text"), Text):
        declare_parameters(cls, parent)
        cls.__doc__ = cls.__doc__ or cls.text.formula()
        if not getattr(cls, "fields", None):
            cls.fields = declared_fields(cls.text)
        if "dimensions" not in own:
            cls.dimensions = dimensions_of(cls.text)
    if isinstance(declared := vars(cls).get("fields"), Mapping):
        cls.fields = MoreFields(declared)


def declare_parameters(cls: type[Any], parent: type[Any]) -> None:
    """Annotate the parameters of the text that a class below `parent` leaves out, before those that it has."""
    ranks, own_bases = cls.text.system.parameters, cls.__mro__[: cls.__mro__.index(parent)]
    declared = {name for base in own_bases for name in vars(base).get("__annotations__", {})}
    declared |= {name for name in ranks for base in own_bases if isinstance(vars(base).get(name), property)}
    left_out = [name for name in ranks if name not in declared]
    by_keyword = (*cls.text.given_functions, *cls.text.at_points)
    for name in (*left_out, *by_keyword):
        if name in {*dir(parent), *parent.__dataclass_fields__}:
            raise WrittenError(f"parameter {name!r}: equations have an attribute of this name; another is needed")
    kinds = {"scalar": ArrayLike, "wavefunction": ArrayLike}
    added: dict[str, Any] = {name: kinds.get(ranks[name], Sequence[float]) for name in left_out}
    for name in (name for name in by_keyword if name not in declared):
        added[name] = Any if name in cls.text.given_functions else ArrayLike
        setattr(cls, name, eqx.field(kw_only=True))
    cls.__annotations__ = {**added, **vars(cls).get("__annotations__", {})}


def dimensions_of(text: Text) -> tuple[int, ...]:
    """The numbers of dimensions of space in which a text makes sense, and has as many components as are named.

    Raises:
        WrittenError: no number of dimensions fits, or two components have the same name.
    """
    axes = [COORDINATES[axis] for _, axis in text.means if axis]
    known = tuple(d for d in text.system.dimensions if all(axis < d for axis in axes))
    if not known:
        raise WrittenError("means along an axis that the text does not have")
    for name, given in text.components:
        own = {d: len(Field(text.system.fields[name]).component_names(name, d)) for d in text.system.dimensions}
        known = tuple(d for d in known if own[d] == len(given))
        if not known or len(set(given)) < len(given):
            needed = " or ".join(f"{count} in {d} dimensions" for d, count in own.items())
            raise WrittenError(
                f"components of {name!r}: {', '.join(given)}; {needed} are needed, with names of their own"
            )
    return known


def declared_fields(text: Text) -> dict[str, Field]:
    """The fields of a text as an equation declares them: fields without divergence are found from its constraints."""
    system = text.system
    text = text.with_walled(text.system.unknowns_of_constraints) if text.walled else text  # others may get conditions
    solenoidal = {name for d in system.dimensions if d > 1 for name in without_divergence(without_unknowns(text, d))}
    zero_mean = {name: axis or True for name, axis in text.means}
    components = dict(text.components)
    return {
        name: Field(rank, text.units_of(name), name in solenoidal, zero_mean.get(name, False), components.get(name))
        for name, rank in system.fields.items()
    }
