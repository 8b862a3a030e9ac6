"""The one registry: names in run files and the classes that they stand for, our own and the user's.

A name is one of our own classes' (`navier-stokes`), one that was registered in Python, or says where a class lies:
`my_equations.py:Waves` (a file, relative to the run file) or `package.module:Waves`. The classes of a file that was
read are known by their own names from then on. A plain function f(x, y, z) serves as an initial field in the same way.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from solver.assemble.from_file import FromFile
from solver.assemble.from_run import FromRun
from solver.config import ConfigError, Entry, Source, is_copy, nearest, parameters_of
from solver.discovery import concrete_classes
from solver.equations.base import Equation, SplitEquation
from solver.equations.field import MoreFields, fields_of
from solver.equations.system import PeriodicSystem
from solver.forcing.base import Forcing
from solver.initial.base import Initial
from solver.initial.functions import from_function
from solver.outputs.base import Output
from solver.steppers.base import Stepper

C = TypeVar("C", bound=type)

BASES: dict[str, Any] = {
    "equation": PeriodicSystem,
    "stepper": Stepper,
    "initial": Initial,
    "forcing": Forcing,
    "output": Output,
}
ROOMS = {
    "equation": "solver.equations",
    "stepper": "solver.steppers",
    "initial": "solver.initial",
    "forcing": "solver.forcing",
    "output": "solver.outputs",
}
ABSTRACT = {PeriodicSystem, Equation, SplitEquation, Stepper, Initial, Forcing, Output}
FROM_THE_RUN = ("grid", "forcing", "method")  # attributes that other sections of a run file decide

_registered: dict[str, dict[str, type]] = {kind: {} for kind in BASES}


def register(cls: C) -> C:
    """Make a class known to run files under its `name`; usable as a decorator.

    Args:
        cls: a subclass of `Equation`, `Stepper`, `Initial`, `Forcing` or `Output`.

    Raises:
        ValueError: a class of another kind, or a name that another class has.
    """
    kind, name = _kind_of(cls), getattr(cls, "name", "")
    if kind is None:
        kinds = ", ".join(base.__name__ for base in BASES.values())
        raise ValueError(f"register({getattr(cls, '__name__', cls)}): a subclass of one of {kinds} is needed")
    known = built_in(kind).get(name) or _registered[kind].get(name)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{cls.__name__}: the name {name!r} is {known.__module__}.{known.__qualname__}'s")
    _registered[kind][name] = cls
    return cls


def _kind_of(cls: Any) -> str | None:
    return next((kind for kind, base in BASES.items() if isinstance(cls, type) and issubclass(cls, base)), None)


@cache
def built_in(kind: str) -> dict[str, Any]:
    """Our own classes of a kind, by name."""
    found = concrete_classes(ROOMS[kind], BASES[kind])
    reading = {cls.name: cls for cls in (FromFile, FromRun)} if kind == "initial" else {}
    return dict(sorted({**found, **reading}.items()))


@dataclass(frozen=True)
class Registry:
    """The classes that a run file may name; see `solver.config.Schema`.

    Args:
        folder: that files are relative to: the run file's.
        copies_only: import nothing but the copies of Python files that the run in `folder` made, whose names end with
            their checksums.
    """

    folder: Path = Path()
    copies_only: bool = False
    _own: dict[str, dict[str, Entry]] = field(default_factory=lambda: {kind: {} for kind in BASES})

    def names(self, kind: str) -> list[str]:
        """Names of a kind: our own, those registered, those of files read so far."""
        return sorted({*built_in(kind), *_registered[kind], *self._own[kind]})

    def find(self, kind: str, name: str) -> Entry:
        """The class of a name.

        Raises:
            ConfigError: an unknown name; a file or module that is missing, fails when it is imported, or has no such
                class.
        """
        if name in self._own[kind]:
            return self._own[kind][name]
        cls = built_in(kind).get(name) or _registered[kind].get(name)
        if cls is not None:
            return _entry(name, cls)
        place, colon, class_name = name.rpartition(":")
        if not colon:
            raise ConfigError(f"unknown{nearest(name, self.names(kind))}")
        if self.copies_only and not is_copy(place):
            raise ConfigError(
                f"{place} is not imported here: it is no copy that the run made of a Python file of its own"
            )
        return self._from_elsewhere(kind, place, class_name)

    def steppers_of(self, equation: Any) -> list[str]:
        """Names of the steppers that take a class of equations."""
        return [name for name in self.names("stepper") if issubclass(equation, self.find("stepper", name).cls.takes)]

    def initials_of(self, rank: str) -> list[str]:
        """Names of the initial fields that fields of a rank can start from."""
        return [name for name in self.names("initial") if rank in self.find("initial", name).cls.ranks]

    def _from_elsewhere(self, kind: str, place: str, class_name: str) -> Entry:
        if not place.endswith(".py"):
            cls = _class_of(kind, _import_module(place), place, class_name)
            return _entry(f"{place}:{class_name}", cls)
        module, source = _import_file(self.folder / place)
        cls = _class_of(kind, module, str(source.path), class_name)
        for other in vars(module).values():
            known_as = _kind_of(other)
            if known_as is not None and _is_defined_in(module, other):
                self._learn(known_as, other, source)
        return _entry(f"{source.copy_name}:{cls.__name__}", cls, source)

    def _learn(self, kind: str, cls: Any, source: Source) -> None:
        """Make a class of a file known by its own name."""
        if cls.name in built_in(kind):
            raise ConfigError(f"{source.path}: {cls.__name__} has the name {cls.name!r}, one of Slabwave's own")
        written = cls.name if kind == "output" else f"{source.copy_name}:{cls.__name__}"
        self._own[kind][cls.name] = _entry(written, cls, source)


def _import_module(name: str) -> ModuleType:
    """A module that Python finds, or that lies in the working directory."""
    sys.path.append(os.getcwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name}: {_said(error)}") from error
    finally:
        sys.path.remove(os.getcwd())


def _import_file(path: Path) -> tuple[ModuleType, Source]:
    """The module of a user's file, made from the very bytes that its copy in a run's directory will have."""
    source = Source.read(path)
    key = f"slabwave_file_{source.checksum}"
    if key in sys.modules:
        return sys.modules[key], source
    module = ModuleType(key)
    module.__file__ = str(path)
    sys.modules[key] = module
    try:
        exec(compile(source.content, path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[key]
        raise ConfigError(f"{path}: cannot be imported: {_said(error)}") from error
    return module, source


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _class_of(kind: str, module: ModuleType, where: str, class_name: str) -> Any:
    base = BASES[kind]
    cls: Any = getattr(module, class_name, None)
    if _kind_of(cls) == kind and cls not in ABSTRACT:
        if inspect.isabstract(cls):
            missing = ", ".join(sorted(cls.__abstractmethods__))
            raise ConfigError(f"{where}: {class_name} does not define {missing}")
        if kind == "equation" and not getattr(cls, "fields", None):
            raise ConfigError(f"{where}: {class_name} needs a class attribute fields: name → solver.Field")
        return cls
    if kind == "initial" and callable(cls) and not isinstance(cls, type):
        return from_function(cls)
    fit = sorted(n for n, c in vars(module).items() if _kind_of(c) == kind and _is_defined_in(module, c))
    base_name = "Equation" if kind == "equation" else base.__name__
    found = f"it is no {base_name}" if cls is not None else f"has no {class_name}"
    there = f"subclasses of {base_name} there: {', '.join(fit) or 'none'}"
    if kind == "initial":
        own = sorted(name for name, value in vars(module).items() if inspect.isfunction(value))
        there += f"; functions: {', '.join(own) or 'none'}"
    raise ConfigError(f"{where}: {class_name}: {found}; {there}")


def _is_defined_in(module: ModuleType, cls: Any) -> bool:
    return bool(cls.__module__ == module.__name__) and not inspect.isabstract(cls)


def _entry(name: str, cls: Any, source: Source | None = None) -> Entry:
    try:
        parameters = parameters_of(cls, leave_out=FROM_THE_RUN)
    except Exception as error:
        where = cls.__module__ if source is None else source.path
        raise ConfigError(f"{where}: {cls.__name__}: its parameters cannot be read: {_said(error)}") from error
    own = [key for key, hint in vars(cls).get("__annotations__", {}).items() if "ClassVar" not in str(hint)]
    if issubclass(cls, Output) and not parameters.keys() >= set(own):
        raise ConfigError(f"{cls.__module__}: {cls.__name__} has parameters: it must be a @dataclass(frozen=True)")
    return Entry(
        name=name,
        cls=cls,
        parameters=parameters,
        fields=tuple(getattr(cls, "fields", ())),
        fields_with=(lambda given: tuple(fields_of(cls, given))) if _has_more_fields(cls) else None,
        dealias="none" if issubclass(cls, SplitEquation) else "two-thirds",
        source=source,
    )


def _has_more_fields(cls: Any) -> bool:
    return isinstance(inspect.getattr_static(cls, "fields", None), MoreFields)


def known_outputs() -> tuple[type[Output], ...]:
    """Our own kinds of output and those registered: what may have written into a run's directory."""
    return tuple(dict.fromkeys([*built_in("output").values(), *_registered["output"].values()]))
