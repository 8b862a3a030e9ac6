"""Our own classes and the user's, imported: from the package, a user's file, a module, or Python."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from solver.assemble.index import REGISTERED
from solver.bodies import Body, Obstacle, from_distance
from solver.closures.closure import AnyClosure, Closure, EddyViscosity, SpectralViscosity
from solver.config import FROM_THE_RUN, ConfigError, Declared, Entry, Source, nearest, parameters_of
from solver.discovery import concrete_classes
from solver.dynamics.any_equation import AnyEquation
from solver.dynamics.equation import Equation
from solver.dynamics.split_equation import SplitEquation
from solver.dynamics.splittable import Splittable
from solver.forcing.forcing import Forcing
from solver.initial.initial import Initial, from_function
from solver.outputs.output import Output
from solver.particles.particles import Particles
from solver.spaces.field import MoreFields
from solver.steppers.stepper import Stepper
from solver.written import Text
from solver.written.splitting import splitting

C = TypeVar("C", bound=type)

BASES: dict[str, Any] = {
    "equation": AnyEquation,
    "stepper": Stepper,
    "initial": Initial,
    "forcing": Forcing,
    "closure": AnyClosure,
    "body": Obstacle,
    "particles": Particles,
    "output": Output,
}
FOLDERS = {"equation": "solver.equations"}  # where classes do not lie beside their base
ABSTRACT = {
    AnyEquation, Equation, SplitEquation, Stepper, Initial, Forcing, AnyClosure, Closure, EddyViscosity,
    SpectralViscosity, Obstacle, Body, Particles, Output,
}  # fmt: skip


def register(cls: C) -> C:
    """Make a class known to run files under its `name`; usable as a decorator.

    Args:
        cls: a subclass of `Equation`, `Stepper`, `Initial`, `Forcing`, `Closure`, `Particles` or `Output`.

    Raises:
        ValueError: a class of another kind, or a name that another class has.
    """
    kind, name = kind_of(cls), getattr(cls, "name", "")
    if kind is None:
        kinds = ", ".join(base.__name__ for base in BASES.values())
        raise ValueError(f"register({getattr(cls, '__name__', cls)}): a subclass of one of {kinds} is needed")
    known = built_in(kind).get(name) or REGISTERED[kind].get(name)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{cls.__name__}: the name {name!r} is {known.__module__}.{known.__qualname__}'s")
    REGISTERED[kind][name] = cls
    return cls


def kind_of(cls: Any) -> str | None:
    """The kind of a class, such as `equation`; None for a class that run files may not name."""
    return next((kind for kind, base in BASES.items() if isinstance(cls, type) and issubclass(cls, base)), None)


@cache
def built_in(kind: str) -> dict[str, Any]:
    """Our own classes of a kind, by name."""
    base = BASES[kind]
    ours = concrete_classes(FOLDERS.get(kind) or base.__module__.rpartition(".")[0], base)
    reading = concrete_classes("solver.io", base) if kind in ("initial", "body") else {}  # which know nothing of files
    return dict(sorted({**ours, **reading}.items()))


def of_module(kind: str, place: str, class_name: str) -> Entry:
    """The entry of a class of a module that Python finds, or that lies in the working directory."""
    return entry_of(f"{place}:{class_name}", _class_of(kind, _import_module(place), place, class_name))


def of_file(kind: str, path: Path, class_name: str) -> tuple[Entry, list[tuple[str, str, Entry]]]:
    """The entry of a class of a user's file; and kind, name and entry of every class there, for the registry."""
    module, source = _import_file(path)
    cls = _class_of(kind, module, str(source.path), class_name)
    defined = [(kind_of(value), value) for value in vars(module).values()]
    others = [
        (its_kind, other.name, _known_by_name(its_kind, other, source))
        for its_kind, other in defined
        if its_kind and _is_defined_in(module, other)
    ]
    return entry_of(f"{source.copy_name}:{cls.__name__}", cls, source), others


def function_of(place: Path | str, name: str) -> tuple[Callable[..., Any], Source | None]:
    """A plain function of a user's file, with the file; or of a module that Python finds."""
    module, source = _import_file(place) if isinstance(place, Path) else (_import_module(place), None)
    function = getattr(module, name, None)
    if not callable(function) or isinstance(function, type):
        own = sorted(name for name, value in vars(module).items() if inspect.isfunction(value))
        raise ConfigError(f"{place}: no function {name}{nearest(name, own)}")
    return function, source


def _known_by_name(kind: str, cls: Any, source: Source) -> Entry:
    if cls.name in built_in(kind):
        raise ConfigError(f"{source.path}: {cls.__name__} has the name {cls.name!r}, one of Slabwave's own")
    return entry_of(cls.name if kind == "output" else f"{source.copy_name}:{cls.__name__}", cls, source)


def _import_module(name: str) -> ModuleType:
    """Import a module that Python finds, or that lies in the working directory."""
    if not name:
        raise ConfigError("a file or a module is needed in front of the colon")
    sys.path.append(os.getcwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name}: {_as_text(error)}") from error
    finally:
        sys.path.remove(os.getcwd())


def _import_file(path: Path) -> tuple[ModuleType, Source]:
    """Import a user's file, from the very bytes that its copy in a run's directory will have."""
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
        raise ConfigError(f"{path}: cannot be imported: {_as_text(error)}") from error
    return module, source


def _as_text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _class_of(kind: str, module: ModuleType, where: str, class_name: str) -> Any:
    """The class of this name, or an initial field or a body made from the function of this name."""
    base = BASES[kind]
    cls: Any = getattr(module, class_name, None)
    if kind_of(cls) == kind and cls not in ABSTRACT:
        if inspect.isabstract(cls):
            missing = ", ".join(sorted(cls.__abstractmethods__))
            raise ConfigError(f"{where}: {class_name} does not define {missing}")
        if kind == "equation" and not getattr(cls, "fields", None):
            raise ConfigError(f"{where}: {class_name} needs a class attribute fields: name → solver.Field")
        return cls
    if kind == "initial" and callable(cls) and not isinstance(cls, type):
        return from_function(cls)
    if kind == "body" and callable(cls) and not isinstance(cls, type):
        return from_distance(cls)
    fit = sorted(n for n, c in vars(module).items() if kind_of(c) == kind and _is_defined_in(module, c))
    base_name = {"equation": "Equation", "closure": "Closure"}.get(kind, base.__name__)
    problem = f"it is no {base_name}" if cls is not None else f"has no {class_name}"
    candidates = f"subclasses of {base_name} there: {', '.join(fit) or 'none'}"
    if kind in ("initial", "body"):
        own = sorted(name for name, value in vars(module).items() if inspect.isfunction(value))
        candidates += f"; functions: {', '.join(own) or 'none'}"
    raise ConfigError(f"{where}: {class_name}: {problem}; {candidates}")


def _is_defined_in(module: ModuleType, cls: Any) -> bool:
    return bool(cls.__module__ == module.__name__) and not inspect.isabstract(cls)


def entry_of(name: str, cls: Any, source: Source | None = None) -> Entry:
    """The entry of a class: its description without importing it.

    Raises:
        ConfigError: its parameters cannot be read.
    """
    try:
        parameters = parameters_of(cls, leave_out=FROM_THE_RUN)
    except Exception as error:
        where = cls.__module__ if source is None else source.path
        raise ConfigError(f"{where}: {cls.__name__}: its parameters cannot be read: {_as_text(error)}") from error
    own = [key for key, hint in vars(cls).get("__annotations__", {}).items() if "ClassVar" not in str(hint)]
    if issubclass(cls, Output) and not parameters.keys() >= set(own):
        raise ConfigError(f"{cls.__module__}: {cls.__name__} has parameters: it must be a @dataclass(frozen=True)")
    more = inspect.getattr_static(cls, "fields", None)
    has_more = isinstance(more, MoreFields)
    text, formula = inspect.cleandoc(cls.__doc__ or ""), _formula(cls)
    return Entry(
        name=name,
        load=lambda: cls,
        place=_place(cls),
        text=text if text != formula else "",
        formula=formula,
        parameters=parameters,
        fields={name: _declared(field) for name, field in dict(getattr(cls, "fields", {})).items()},
        dealias="none" if issubclass(cls, SplitEquation) else "two-thirds",
        dimensions=tuple(getattr(cls, "dimensions", ())),
        ranks=tuple(getattr(cls, "ranks", ())),
        classes=_forms(cls),
        takes=_place(cls.takes) if issubclass(cls, Stepper) else "",
        source=source,
        fields_by=more.by if has_more else "",
        further=_declared(more.each) if has_more and more.by else None,
        unknowns=_unknowns(cls),
    )


def _unknowns(cls: Any) -> tuple[str, ...]:
    """Names of the unknowns of a class whose text does not depend on the equation."""
    text = inspect.getattr_static(cls, "text", None)
    return tuple(name for name, _ in text.unknowns) if isinstance(text, Text) else ()


def _formula(cls: Any) -> str:
    """The equations of a class that has them as text."""
    texts = cls.texts(max(cls.dimensions)) if issubclass(cls, Equation) else []
    return texts[-1].formula() if texts else ""


def _forms(cls: type) -> tuple[str, ...]:
    """Places of the equations that a class is one of, and of `Splittable` if a splitting may solve it."""
    bases: list[type] = [base for base in cls.__mro__ if issubclass(base, AnyEquation)]
    return tuple(map(_place, [*bases, *([Splittable] if bases and _may_be_split(cls) else [])]))


def _may_be_split(cls: Any) -> bool:
    """True if a splitting may solve an equation of a class, with some of its parameters."""
    if cls.split_potential is not Equation.split_potential:
        return True
    dimensions = max(cls.dimensions)
    return any(not splitting(text.plain, dimensions).reason for text in cls.texts(dimensions))


def _declared(field: Any) -> Declared:
    """Rank and units of a field. Anything but a `Field` is refused later, where the equation is made."""
    return Declared(getattr(field, "rank", "scalar"), getattr(field, "units", "1"))


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def known_outputs() -> tuple[type[Output], ...]:
    """Our own kinds of output and those registered: what may have written into a run's directory."""
    return tuple(dict.fromkeys([*built_in("output").values(), *REGISTERED["output"].values()]))
