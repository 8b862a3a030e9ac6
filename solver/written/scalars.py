"""Passive scalars in a text: each is one field and one line more, carried by a velocity that the text has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from solver.written.energies import names_of_squares
from solver.written.parse import read_expression
from solver.written.text import Text
from solver.written.tree import Name, Node, WrittenError
from solver.written.units import parsed, printed, raised
from solver.written.vocabulary import CONSTANTS, nearest

SQUARES = {"scalar": "{0}*{0}/2", "vector": "{0}@{0}/2", "wavefunction": "abs({0})**2/2"}
SQUARE_OF_TENSOR = "trace({0}@trans({0}))/2"


@dataclass(frozen=True)
class Carried:
    """A passive scalar as far as a text depends on it; its numbers are the parameters `NAME_diffusivity`, ….

    Args:
        name: name of the scalar.
        by: name of the vector that carries it; the first velocity of the text if empty.
        units: units of its values.
        source: its source as text; none if empty.
        has_gradient: True if its mean has a constant gradient.
        decays: True if it decays.
    """

    name: str
    by: str = ""
    units: str = "1"
    source: str = ""
    has_gradient: bool = False
    decays: bool = False


def velocities(text: Text) -> dict[str, str]:
    """Velocities of a text that may carry a scalar, as text by name: `vectors` first, then fields and unknowns."""
    own = {name: name for name, rank in [*text.fields, *text.unknowns] if rank == "vector"}
    first = {**dict(text.vectors), **dict(text.flows)}
    return {**first, **{name: vector for name, vector in own.items() if name not in first}}


def velocity_of(text: Text, carried: Carried) -> str:
    """Name of the vector that carries a scalar.

    Raises:
        WrittenError: the text has no velocity, or none of this name.
    """
    known = list(velocities(text))
    if not known:
        raise WrittenError(f"scalars.{carried.name}: the equation has no velocity that could carry it")
    if carried.by and carried.by not in known:
        raise WrittenError(f"scalars.{carried.name}.field = {carried.by!r}: one of {', '.join(known)} is needed")
    return carried.by or known[0]


@cache
def with_scalars(text: Text, scalars: tuple[Carried, ...]) -> Text:
    """The text with these scalars.

    Raises:
        WrittenError: a name that the text has already, no velocity, or a source that cannot be read.
    """
    if not scalars:
        return text
    names = [carried.name for carried in scalars]
    _refuse_names(text, scalars)
    for carried in scalars:
        _check_source(text, carried, names)
    variances = {f"{name}_variance": f"{name}*{name}" for name in names}
    added = [_parameters(carried) for carried in scalars]
    parameters = {name: rank for table in added for name, rank in table.items()}
    return replace(
        text,
        write=[*text.write, *(_line(text, carried) for carried in scalars)],
        fields={**dict(text.fields), **dict.fromkeys(names, "scalar")},
        parameters={**text.system.parameters, **parameters},
        units={**dict(text.units), **{n: unit for c in scalars for n, unit in _units(c).items()}},
        energies={**_energies(text), **variances},
        series={**dict(text.series), **{f"{name}_mean": name for name in names}},
        invariants=None if text.invariants is None else {**dict(text.invariants), **variances},
        symbols={**dict(text.symbols), **{n: shown for c in scalars for n, shown in _symbols(c).items()}},
    )


def _line(text: Text, carried: Carried) -> str:
    """The equation of a scalar."""
    name, velocity = carried.name, velocities(text)[velocity_of(text, carried)]
    gradient = f"{name}_gradient"
    line = f"dt({name}) = -({velocity})@grad({name})"
    if text.takes_closure and text.closed_velocity == velocity:
        slope = f"grad({name}) + {gradient}" if carried.has_gradient else f"grad({name})"
        line += f" + closure({velocity}, {slope})"
    line += f" + cause(diffusion, {name}_diffusivity*lap({name}))"
    if carried.has_gradient:
        line += f" - cause(gradient, explicit({gradient}@({velocity})))"
    if carried.decays:
        line += f" - cause(decay, {name}_decay*{name})"
    if carried.source:
        line += f" + ({carried.source})"
    if text.takes_bodies and text.penalised == velocity:
        line += f" + cause(body, penalise({name}, {name}_diffusivity))"
    return line


def _parameters(carried: Carried) -> dict[str, str]:
    """Rank of each parameter of a scalar."""
    name = carried.name
    found = {f"{name}_diffusivity": "scalar"}
    found |= {f"{name}_gradient": "vector"} if carried.has_gradient else {}
    return found | ({f"{name}_decay": "scalar"} if carried.decays else {})


def _units(carried: Carried) -> dict[str, str]:
    """Units of a scalar and of its columns."""
    squared = printed(raised(parsed(carried.units), Fraction(2)))
    return {carried.name: carried.units, f"{carried.name}_mean": carried.units, f"{carried.name}_variance": squared}


def _symbols(carried: Carried) -> dict[str, str]:
    shown = {"diffusivity": "kappa", "gradient": "G", "decay": "lambda_"}
    return {name: shown[name.rpartition("_")[2]] for name in _parameters(carried)}


def _energies(text: Text) -> Mapping[str, str]:
    """The energies of a text; where it names none, half the square of each field."""
    if text.energies is not None:
        return dict(text.energies)
    named = zip(names_of_squares([name for name, _ in text.fields]), text.fields, strict=True)
    return {column: SQUARES.get(rank, SQUARE_OF_TENSOR).format(name) for column, (name, rank) in named}


def _refuse_names(text: Text, scalars: Sequence[Carried]) -> None:
    """Refuse names that the text or another scalar has for something else, also of parameters and columns."""
    system = text.system
    tables: list[Any] = [text.vectors, text.flows, text.series, text.functions]
    tables += [text.invariants or (), text.energies or ()]
    taken = {*system.fields, *system.unknowns, *system.parameters, *system.definitions}
    taken |= {name for table in tables for name, _ in table}
    for carried in scalars:
        own = {carried.name, *_parameters(carried), *_units(carried)}
        for name in sorted(own):
            if name in taken or name == "pressure":
                raise WrittenError(f"scalars.{carried.name}: the equation has {name!r} already; another name is needed")
        taken |= own


def _check_source(text: Text, carried: Carried, scalars: Sequence[str]) -> None:
    """Refuse names in a source that neither the text nor the place gives.

    Raises:
        WrittenError: the message shows the place in the source.
    """
    system = text.system
    known = {*scalars, *CONSTANTS, *system.fields, *system.unknowns, *system.parameters, *system.definitions}
    source: Node = read_expression(carried.source, text.words) if carried.source else Name("t")
    known |= {name for cause in source.calls("cause") for name in cause.arguments[0].names}  # of columns
    for part in source.walk():
        if isinstance(part, Name) and part.name not in known:
            where = f"scalars.{carried.name}.source"
            raise part.place.error(f"unknown name {part.name!r} in {where}{nearest(part.name, known)}")
