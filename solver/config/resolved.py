"""A run file as one value: what it names, with all parameters filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from solver.config.ensemble import EnsembleSection
from solver.config.entry import Entry
from solver.config.sections import (
    DevicesSection,
    GridSection,
    Heading,
    RandomSection,
    ScalarSection,
    TimeSection,
    WallsSection,
)
from solver.config.source import Source

WRITTEN = "written"  # name of an equation that is given as text
SECTIONS = (
    "title", "reference", "ensemble", "grid", "equation", "scalars", "walls", "closure", "initial", "forcing", "body",
    "sponge", "particles", "time", "devices", "random", "output",
)  # fmt: skip
WRITTEN_BY_DEFAULT: dict[str, dict[str, Any]] = {"series": {"every_steps": 10}, "checkpoints": {}}


@dataclass(frozen=True)
class Named:
    """A class that a run file names, and its parameters."""

    name: str
    parameters: dict[str, Any]
    entry: Entry = field(compare=False, repr=False)
    key: str = field(default="name", compare=False, repr=False)  # of the name in its table; empty if none stands there
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)
    of_functions: Source | None = field(default=None, compare=False, repr=False)  # the user's file that has them
    folder: Path = field(default=Path(), compare=False, repr=False)  # of the run file, where its path was not found

    @property
    def looked_for(self) -> str:
        """The end of a message about a `path` that is not there: the folders in which it was looked for."""
        path = self.parameters.get("path")
        if not isinstance(path, str) or self.folder == Path() or Path(path).exists():
            return ""
        here = "" if self.folder == Path.cwd() else f" of the run file, and in {Path.cwd()}, where the command runs"
        return f"; it was looked for in {self.folder}{here}"

    @property
    def cls(self) -> Any:
        """The class; the package's own classes are imported at the first use."""
        return self.entry.cls

    @property
    def source(self) -> Source | None:
        """The user's file that defines it, if any."""
        return self.entry.source

    def make(self, *arguments: Any, **also: Any) -> Any:
        """An object of the class."""
        return self.cls(*arguments, **{**self.entry.arguments(self.parameters), **self.functions}, **also)

    @property
    def described(self) -> str:
        """File and class, for messages; of a text, the file with its functions."""
        if self.source is None:
            return self.name
        return str(self.source.path) if self.name == WRITTEN else f"{self.source.path}: {self.cls.__name__}"

    def to_table(self) -> dict[str, Any]:
        """The table in the form of TOML."""
        named = {self.key: self.name} if self.key else {}
        return {**named, **_plain(self.parameters)}


@dataclass(frozen=True)
class Config:
    """A run file with its overrides, validated, with all defaults filled in.

    `initial`, `forcing` and `walls` are by field, `scalars`, `bodies`, `sponges`, `particles` and `outputs` by name.
    `known` lists all kinds of outputs that the run file could name. `dropped` has a line for each section in which an
    override of its name dropped keys. With an `ensemble` the rest belongs to its first member, but for the directory;
    `members` are the run files of all, and `bounds` those between which they lie, by what each has of its own; `member`
    reads the run file of one, by ensemble and number.
    """

    heading: Heading
    grid: GridSection
    equation: Named
    scalars: Mapping[str, ScalarSection]
    closure: Named | None
    initial: Mapping[str, Named]
    forcing: Mapping[str, Named]
    bodies: Mapping[str, Named]
    sponges: Mapping[str, Named]
    particles: Mapping[str, Named]
    walls: Mapping[str, WallsSection]
    time: TimeSection
    stepper: Named
    devices: DevicesSection
    random: RandomSection
    directory: str
    outputs: Mapping[str, Named]
    ensemble: EnsembleSection | None = None
    members: tuple[Config, ...] = field(default=(), compare=False, repr=False)
    bounds: Mapping[str, Config] = field(default_factory=dict, compare=False, repr=False)
    member: Callable[[EnsembleSection, int], Config] | None = field(default=None, compare=False, repr=False)
    known: tuple[Entry, ...] = field(default=(), compare=False, repr=False)
    dropped: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def known_outputs(self) -> tuple[Any, ...]:
        """Classes of all known kinds of outputs."""
        return tuple(entry.cls for entry in self.known)

    @property
    def title(self) -> str:
        """Title of the run."""
        return self.heading.title

    @property
    def reference(self) -> str:
        """Publication of the case."""
        return self.heading.reference

    @property
    def dealias(self) -> str:
        """The dealiasing rule, which decides which modes are kept."""
        assert self.grid.dealias is not None  # filled in by `parse`
        return self.grid.dealias

    @property
    def units_of_scalars(self) -> dict[str, str]:
        """Units of each passive scalar, by name."""
        return {name: section.units for name, section in self.scalars.items()}

    def key_of(self, section: str, field: str) -> str:
        """The key of a field's table: `initial` if there is one field, `initial.FIELD` if there are several."""
        return section if len(self.initial) == 1 else f"{section}.{field}"

    @property
    def named(self) -> list[Named]:
        """Everything that the run file names."""
        by_name = (self.initial, self.forcing, self.bodies, self.sponges, self.particles, self.outputs)
        closure = [] if self.closure is None else [self.closure]
        return [self.equation, self.stepper, *closure, *(named for section in by_name for named in section.values())]

    @property
    def sources(self) -> list[Source]:
        """Users' files that the run needs."""
        given = [source for named in self.named for source in (named.source, named.of_functions) if source is not None]
        files = {source.copy_name: source for source in given}
        return [files[name] for name in sorted(files)]

    @property
    def imported(self) -> list[str]:
        """A line for each Python file and module that was imported for the run."""
        files = [f"{source.path} was imported; {source.copy_name} is its copy" for source in self.sources]
        modules = {n.name.rpartition(":")[0] for n in self.named if n.source is None and ":" in n.name}
        return [*files, *(f"the module {name} was imported" for name in sorted(modules))]

    def drawn_again(self, attempts: Mapping[int, int]) -> Config:
        """The same ensemble with other draws for some members.

        Args:
            attempts: number of times that each of these members was drawn again, by its index.
        """
        assert self.ensemble is not None
        assert self.member is not None
        ensemble, members = self.ensemble.drawn_again(attempts), list(self.members)
        for number in attempts.keys() & range(len(members)):
            members[number] = self.member(ensemble, number)
        return replace(self, ensemble=ensemble, members=tuple(members))

    def to_toml(self) -> str:
        """The resolved run file."""
        table = self.to_table()
        return tomli_w.dumps({key: table[key] for key in SECTIONS if key in table})

    def to_table(self) -> dict[str, Any]:
        """The table of the run file. An equation of one field has `[initial]`, one of several has `[initial.FIELD]`."""
        outputs = {name: _plain(output.parameters) for name, output in self.outputs.items()}
        switched_off = {name: False for name in WRITTEN_BY_DEFAULT if name not in outputs}
        table = {
            **self.heading.to_table(),
            **({} if self.ensemble is None else {"ensemble": self.ensemble.to_table()}),
            "grid": self.grid.to_table(),
            "equation": self.equation.to_table(),
            "initial": self._by_field(self.initial),
            "time": self.time.to_table(),
            "devices": self.devices.to_table(),
            "random": self.random.to_table(),
            "output": {"directory": self.directory, **switched_off, **outputs},
        }
        also = {"forcing": self._by_field(self.forcing)} if self.forcing else {}
        if self.closure is not None:
            also["closure"] = self.closure.to_table()
        for section, named in (("body", self.bodies), ("sponge", self.sponges)):
            tables = {name: one.to_table() for name, one in named.items()}
            also |= {section: tables.get(section, tables)} if tables else {}
        if self.particles:
            also["particles"] = {name: one.to_table() for name, one in self.particles.items()}
        if self.scalars:
            also["scalars"] = {name: section.to_table() for name, section in self.scalars.items()}
        if self.walls:
            also["walls"] = {name: section.to_table() for name, section in self.walls.items()}
        return table | also

    def _by_field(self, section: Mapping[str, Named]) -> dict[str, Any]:
        tables = {name: named.to_table() for name, named in section.items()}
        return tables if len(self.initial) > 1 else next(iter(tables.values()))


def _plain(value: Any) -> Any:
    """A value in the form of TOML: without None, and with lists for tuples."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
