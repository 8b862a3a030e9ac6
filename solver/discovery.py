"""Finding what a folder of the package holds: classes by the files they stand in, names only when they are used."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


class ClassName:
    """Default of a class attribute `name`: the name of the class in small letters, `TwoWaves` as `two-waves`."""

    def __get__(self, instance: object, owner: type) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", owner.__name__).lower()


def modules(package: str) -> list[ModuleType]:
    """All modules in a package's folder, imported, in the order of their names."""
    folder = importlib.import_module(package).__path__
    return [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folder)]


def concrete_classes(package: str, base: type) -> dict[str, Any]:
    """Classes of a package's modules that derive from `base` and set `name` themselves, by that name, sorted.

    Args:
        package: dotted name, as "solver.initial".
        base: the class that they derive from. A class without a `name` of its own is abstract and left out.

    Raises:
        ValueError: two classes of one name.
    """
    classes: dict[str, Any] = {}
    for module in modules(package):
        for cls in vars(module).values():
            if not (isinstance(cls, type) and issubclass(cls, base) and cls.__module__ == module.__name__):
                continue
            name = vars(cls).get("name")
            if not isinstance(name, str):
                continue
            if name in classes:
                raise ValueError(
                    f"{classes[name].__name__} and {cls.__name__} in {package}: both have the name {name!r}"
                )
            classes[name] = cls
    return dict(sorted(classes.items()))


def public_names(package: str, base: type) -> list[str]:
    """The public names of a package: those in its `__all__`, and its concrete classes. For a module's `__dir__`."""
    listed = importlib.import_module(package).__all__
    return sorted({*listed, *(cls.__name__ for cls in concrete_classes(package, base).values())})


def public_class(package: str, base: type, name: str) -> Any:
    """A package's concrete class by the name of the class. For a module's `__getattr__`.

    Raises:
        AttributeError: there is none of this name; the message lists what there is.
    """
    if not name.startswith("_"):  # such names are asked for by the import system, and no class has one
        for cls in concrete_classes(package, base).values():
            if cls.__name__ == name:
                return cls
        known = ", ".join(public_names(package, base))
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {known}")
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def imported_when_used(package: str, file: str) -> Callable[[str], Any]:
    """A package's `__getattr__` that imports a name from where its `if TYPE_CHECKING:` says, when it is first used.

    So a package offers all its names without importing the files that they stand in, and type checkers see them.

    Args:
        package: its dotted name.
        file: of its `__init__.py`, whose imports under `if TYPE_CHECKING:` are read.
    """
    places: dict[str, str] = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            places.update(dict.fromkeys((alias.name for alias in node.names), str(node.module)))

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(places[name]), name)
        setattr(importlib.import_module(package), name, value)
        return value

    return get
