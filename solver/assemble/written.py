"""The entry of an equation that a run file gives as text. Imports no JAX until the class is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from solver.config import ConfigError, Declared, Entry, Source, WrittenEquation, nearest
from solver.written import Text, WrittenError
from solver.written.splitting import splitting

BASES = ("solver.dynamics.equation.Equation", "solver.dynamics.any_equation.AnyEquation")
SPLITTABLE = "solver.dynamics.splittable.Splittable"


def written_entry(
    section: WrittenEquation, functions: Mapping[str, Callable[..., Any]], source: Source | None
) -> Entry:
    """Read the text, and say of its class what an index says of others.

    Args:
        section: the table of the run file.
        functions: the user's functions by name.
        source: the file in which they lie.

    Raises:
        ConfigError: a text that is no equation, with its place; parameters that stand nowhere, or are missing.
    """
    ranks = {name: _rank(value) for name, value in section.parameters.items()}
    declared, defaults = _declared(functions)
    try:
        text = Text(
            write=section.write,
            fields=section.fields,
            unknowns=section.unknowns,
            define=section.define,
            parameters=ranks,
            units=section.units,
            means=section.means,
            components=section.components,
            functions=declared,
            of_whole_fields=section.of_whole_fields,
            energies=section.energies,
            series=section.series,
            invariants=section.invariants,
            spectra=section.spectra,
            vectors=section.vectors,
            flows=section.flows,
            conserved=section.conserved,
            rate=section.rate,
            limits=section.limits,
            plan=section.plan,
            unbounded=section.unbounded,
        )
        system = text.system
        splits = not splitting(text.plain, max(system.dimensions)).reason
    except WrittenError as error:
        first, *shown = str(error).split("\n")
        is_missing = first.startswith("unknown name")
        hint = " (the number of a parameter belongs in [equation.parameters])" if is_missing else ""
        raise ConfigError("\n".join([f"equation: {first}{hint}", *shown])) from None
    unused = sorted(ranks.keys() - text.names)
    if unused:
        raise ConfigError(f"equation.parameters.{unused[0]} stands nowhere in the text{nearest(unused[0], text.names)}")
    return Entry(
        name="written",
        load=lambda: _load(text, defaults),
        place=BASES[0],
        text="",
        formula=text.formula(),
        parameters={},
        fields={name: Declared(rank, text.units_of(name)) for name, rank in system.fields.items()},
        dimensions=system.dimensions,
        classes=(*BASES, *([SPLITTABLE] if splits else [])),
        arguments_in="parameters",
        unknowns=tuple(name for name, _ in text.unknowns),
        source=source,
    )


def _rank(value: Any) -> str:
    """The rank of a parameter, by its numbers."""
    if isinstance(value, float):
        return "scalar"
    return "tensor" if value and isinstance(value[0], tuple) else "vector"


def _declared(functions: Mapping[str, Callable[..., Any]]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Functions as a text declares them, and those that hold arrays, such as a table."""
    if not functions:
        return {}, {}
    from solver.dynamics.write import declared_functions

    return declared_functions(functions)


def _load(text: Text, functions: Mapping[str, Any]) -> Any:
    from solver.dynamics.write import class_of, with_defaults

    try:
        made = class_of(text)
        return with_defaults(made, functions) if functions else made
    except WrittenError as error:
        raise ConfigError(f"equation: {error}") from None
