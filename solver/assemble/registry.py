"""The one registry: names in run files and the classes that they mean, our own and the user's.

A name is one of our own classes' (`navier-stokes`), one that was registered in Python, or says where a class lies:
`my_equations.py:Waves` (a file, relative to the run file) or `package.module:Waves`. The classes of a file that was
read are known by their own names from then on. A plain function f(x, y, z) serves as an initial field in the same way.

Entries of our own classes come from the stored index (`solver.assemble.index`). A class of our own is imported when the
class itself is needed, so that nothing here imports JAX; a user's file is imported when it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from solver.assemble.index import KINDS, REGISTERED, indexed
from solver.config import ConfigError, Entry, Source, WrittenEquation, is_copy, nearest


@dataclass(frozen=True)
class Registry:
    """The classes that a run file may name; see `solver.config.Schema`.

    Args:
        folder: that files are relative to: the run file's.
        copies_only: import nothing but the copies of Python files that the run in `folder` made, whose names end with
            their checksums.
        prepare: called before a user's Python is imported.
    """

    folder: Path = Path()
    copies_only: bool = False
    prepare: Callable[[], object] = field(default=lambda: None, repr=False)
    _own: dict[str, dict[str, Entry]] = field(default_factory=lambda: {kind: {} for kind in KINDS})

    def names(self, kind: str) -> list[str]:
        """Names of a kind: the package's, registered ones, and names from files read so far."""
        return sorted({*indexed(kind), *REGISTERED[kind], *self._own[kind]})

    def find(self, kind: str, name: str) -> Entry:
        """The entry of the class that a name means.

        Raises:
            ConfigError: an unknown name; a file or module that is missing, fails when it is imported, or has no such
                class.
        """
        if name in self._own[kind]:
            return self._own[kind][name]
        if name in indexed(kind):
            return indexed(kind)[name]
        if name in REGISTERED[kind]:
            from solver.assemble.classes import entry_of

            return entry_of(name, REGISTERED[kind][name])
        place, colon, class_name = name.rpartition(":")
        if not colon:
            raise ConfigError(f"unknown{nearest(name, self.names(kind))}")
        self._refuse_others(place)
        return self._from_elsewhere(kind, place, class_name)

    def written(self, section: WrittenEquation) -> Entry:
        """The entry of an equation that is given as text."""
        from solver.assemble.written import written_entry  # works with numbers, which other names do not need

        return written_entry(section, *self.functions(section.functions, "equation.functions"))

    def steppers_of(self, equation: Entry) -> list[str]:
        """Names of the steppers that take an equation."""
        return [name for name in self.names("stepper") if self.find("stepper", name).takes in equation.classes]

    def initials_of(self, rank: str) -> list[str]:
        """Names of the initial fields that fields of a rank can start from."""
        return [name for name in self.names("initial") if rank in self.find("initial", name).ranks]

    def _refuse_others(self, place: str) -> None:
        if self.copies_only and not is_copy(place):
            raise ConfigError(
                f"{place} is not imported here: it is no copy that the run made of a Python file of its own"
            )

    def functions(self, named: Mapping[str, str], key: str) -> tuple[dict[str, Callable[..., Any]], Source | None]:
        """Functions of the user's by name, from `file.py:function` or `package.module:function`; and the file.

        Args:
            named: place of each function.
            key: key of the run file, for messages.

        Raises:
            ConfigError: a place that has no such function, or several files.
        """
        functions: dict[str, Callable[..., Any]] = {}
        sources: dict[Path, Source] = {}
        for name, where in named.items():
            place, _, function = where.rpartition(":")
            if not place or not function:
                raise ConfigError(f"{key}.{name} = {where!r}: 'file.py:function' is needed")
            self._refuse_others(place)
            self.prepare()
            from solver.assemble import classes

            is_file = place.endswith(".py")
            functions[name], source = classes.function_of(self.folder / place if is_file else place, function)
            sources |= {} if source is None else {source.path: source}
        if len(sources) > 1:
            raise ConfigError(f"{key}: of {' and '.join(map(str, sources))}; all of one file are needed")
        return functions, next(iter(sources.values()), None)

    def _from_elsewhere(self, kind: str, place: str, class_name: str) -> Entry:
        self.prepare()
        from solver.assemble import classes

        if not place.endswith(".py"):
            return classes.of_module(kind, place, class_name)
        entry, others = classes.of_file(kind, self.folder / place, class_name)
        for its_kind, name, other in others:
            self._own[its_kind][name] = other
        return entry
