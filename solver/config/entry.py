"""What a run file may name: a class, what it says of itself, and how to import it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from solver.config.parameters import Parameter
from solver.config.source import Source


class Declared(NamedTuple):
    """One field of an equation, in words."""

    rank: str
    units: str


@dataclass(frozen=True)
class Entry:
    """One class that a run file may name.

    Args:
        name: that stands for it in a resolved run file.
        load: gives the class, which may have to be imported for it.
        place: its dotted name.
        text: its docstring.
        parameters: that a run file may set.
        fields: of an equation: those that are always there.
        fields_by: of an equation: the parameter that names further fields; empty if there is none.
        further: what each of those is.
        dealias: of an equation: the rule that suits it.
        dimensions: of an equation: how many it may have.
        ranks: of an initial field: of the fields that it starts.
        classes: of an equation: dotted names of the class and of those it derives from.
        takes: of a stepper: dotted name of the class of equations that it steps.
        source: the user's file that it comes from, if any.
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

    @property
    def cls(self) -> Any:
        """The class."""
        return self.load()

    @property
    def summary(self) -> str:
        """The first line of the docstring; empty if there is none."""
        return self.text.partition("\n")[0].rstrip()

    def fields_with(self, parameters: Mapping[str, Any]) -> dict[str, Declared]:
        """All fields of an equation with these parameters."""
        more = parameters.get(self.fields_by, ()) if self.further is not None else ()
        return {**self.fields, **dict.fromkeys(more, self.further or Declared("scalar", "1"))}


@runtime_checkable
class Schema(Protocol):
    """The classes that run files may name, by kind: `equation`, `stepper`, `initial`, `forcing`, `output`."""

    def names(self, kind: str) -> Sequence[str]:
        """Names that are known."""

    def find(self, kind: str, name: str) -> Entry:
        """The class of this name. Raises ConfigError where there is none."""
