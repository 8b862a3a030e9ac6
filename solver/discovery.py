"""Finding what a folder of the package holds: classes by the files they are in, names only when they are used."""

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


def names_in(package: str) -> dict[str, str]:
    """Names that a package's `__init__.py` imports for others, written `from module import name as name`.

    Returns:
        The module of each name. The package itself need not have run to its end.
    """
    file = importlib.import_module(package).__file__ or ""
    imports = [node for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names if alias.asname == alias.name}


def public_names(package: str, base: type) -> list[str]:
    """Names that a package offers, for its `__dir__`: the names it imports for others, and its concrete classes."""
    return sorted({*names_in(package), *(cls.__name__ for cls in concrete_classes(package, base).values())})


def _defining(package: str, name: str) -> list[str]:
    """Modules of a package in whose text a class of this name is defined."""
    folders = [Path(folder) for folder in importlib.import_module(package).__path__]
    line = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
    files = (file for folder in folders for file in sorted(folder.glob("*.py")))
    return [f"{package}.{file.stem}" for file in files if line.search(file.read_text("utf-8"))]


def public_class(package: str, base: type, name: str) -> Any:
    """A package's concrete class by the name of the class. For a module's `__getattr__`.

    Only the file that defines it is imported.

    Raises:
        AttributeError: no class has this name; the message lists the known names.
    """
    if not name.startswith("_"):  # such names are asked for by the import system, and no class has one
        for module in _defining(package, name):
            cls = getattr(importlib.import_module(module), name, None)
            if isinstance(cls, type) and issubclass(cls, base) and isinstance(vars(cls).get("name"), str):
                return cls
        known = ", ".join(public_names(package, base))
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {known}")
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def imported_when_used(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__`, which imports a name when it is first used, and its `__dir__`.

    So a package offers all its names without importing the files that they are in. Its `__init__.py` imports them
    under `if TYPE_CHECKING:`, where type checkers see them; see `names_in`.
    """
    places = names_in(package)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(places))}")
        if places[name] == package:  # a module of the package
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(places[name]), name)
        setattr(importlib.import_module(package), name, value)
        return value

    return get, lambda: sorted(places)
