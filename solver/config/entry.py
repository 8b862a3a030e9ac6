"""A class that a run file may name: its description, and how to import it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from solver.config.parameters import Parameter
from solver.config.sections import WrittenEquation
from solver.config.source import Source


class Declared(NamedTuple):
    """Rank and units of a field of an equation."""

    rank: str
    units: str


@dataclass(frozen=True)
class Entry:
    """A class that a run file may name.

    Args:
        name: its name in a resolved run file.
        load: returns the class, and imports it if necessary.
        place: its dotted name.
        text: its docstring.
        formula: for an equation that is written as text, its equations, a line each.
        parameters: the parameters that a run file may set.
        fields: for an equation, the fields that it always has.
        fields_by: for an equation, the parameter that names further fields; empty without one.
        further: for an equation, rank and units of each further field.
        unknowns: for an equation of a text, names of its unknowns, which may have conditions at walls.
        dealias: for an equation, its default dealiasing rule.
        dimensions: for an equation, the numbers of dimensions that it supports.
        ranks: for an initial field, the ranks of fields that it can start.
        classes: for an equation, dotted names of the class and of its base classes.
        takes: for a stepper, dotted name of the class of equations that it steps.
        source: the user's file that defines it, if any.
        arguments_in: the key of a table whose own keys are the arguments of the class; empty if the table's are.
    """

    name: str
    load: Callable[[], Any] = field(repr=False, compare=False)
    place: str
    text: str
    parameters: Mapping[str, Parameter]
    fields: Mapping[str, Declared] = field(default_factory=dict)
    fields_by: str = ""
    further: Declared | None = None
    dealias: str = "two-thirds"
    dimensions: tuple[int, ...] = ()
    ranks: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    takes: str = ""
    source: Source | None = None
    arguments_in: str = ""
    formula: str = ""
    unknowns: tuple[str, ...] = ()

    @property
    def cls(self) -> Any:
        """The class, imported when it is needed."""
        return self.load()

    @property
    def sentence(self) -> str:
        """The first line of the docstring; empty without a docstring."""
        return self.text.partition("\n")[0].rstrip()

    @property
    def summary(self) -> str:
        """The first line of the docstring, and the formula behind it; empty if there is neither."""
        formula = ", ".join(self.formula.split("\n"))
        return f"{self.sentence.rstrip('.')}: {formula}." if self.sentence and formula else self.sentence or formula

    @property
    def description(self) -> str:
        """The docstring, with the formula below its first paragraph."""
        first, gap, rest = self.text.partition("\n\n")
        formula = "\n".join(f"    {line}" for line in self.formula.split("\n") if line)
        return "\n\n".join(part for part in (first, formula, rest if gap else "") if part)

    def arguments(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments of the class, from the values of a table."""
        given: Mapping[str, Any] = parameters[self.arguments_in] if self.arguments_in else parameters
        return given

    def fields_with(self, parameters: Mapping[str, Any], scalars: Mapping[str, str]) -> dict[str, Declared]:
        """All fields of an equation with these parameters, and with passive scalars of these units."""
        more = parameters.get(self.fields_by, ()) if self.further is not None else ()
        named = dict.fromkeys(more, self.further or Declared("scalar", "1"))
        return {**self.fields, **named, **{name: Declared("scalar", units) for name, units in scalars.items()}}


@runtime_checkable
class Schema(Protocol):
    """The classes that run files may name, by kind: `equation`, `stepper`, `initial`, `forcing`, `closure`, `body`,
    `particles`, `output`."""

    @property
    def folder(self) -> Path:
        """The folder of the run file."""

    def names(self, kind: str) -> Sequence[str]:
        """The known names."""

    def find(self, kind: str, name: str) -> Entry:
        """The class of this name. Raises ConfigError if no class has it."""

    def written(self, section: WrittenEquation) -> Entry:
        """The class of an equation that is given as text. Raises ConfigError for other equations."""

    def functions(self, named: Mapping[str, str], key: str) -> tuple[dict[str, Callable[..., Any]], Source | None]:
        """Functions of the user's by name, from `file.py:function`, and the file. Raises ConfigError without them."""
