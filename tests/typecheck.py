"""Shapes and types checked at run time, in every function of the package whose signature speaks of an array.

Only there: checking each call of each function would take a quarter of the time of the tests.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from types import CodeType, ModuleType
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

checked = jaxtyping.jaxtyped(typechecker=beartype(conf=BeartypeConf(is_pep484_tower=True)))  # integers serve as floats


class _Checks(ast.NodeTransformer):
    """Puts the check on functions; and on data classes, whose fields are the arguments of `__init__`."""

    def __init__(self) -> None:
        self.arrays: set[str] = set()  # names of jaxtyping and jax.typing in this module

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module in ("jaxtyping", "jax.typing"):
            self.arrays |= {name.asname or name.name for name in node.names}
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        signature = [node.args, *([node.returns] if node.returns else [])]
        if self._speak_of_arrays(signature):
            node.decorator_list.append(_decorator(node))  # the innermost: others may drop the annotations
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        if self._speak_of_arrays([each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]):
            node.decorator_list.insert(0, _decorator(node))  # the outermost: what a data class makes is there
        return node

    def _speak_of_arrays(self, nodes: Sequence[ast.AST]) -> bool:
        names = (each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name))
        return not self.arrays.isdisjoint(names)


def _decorator(node: ast.stmt) -> ast.expr:
    found = ast.parse("__import__('typecheck').checked", mode="eval").body
    return ast.copy_location(found, node)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        """Compiled anew where there are arrays, since what Python keeps beside the file has no checks."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        if b"from jaxtyping import" not in source:
            return super().get_code(fullname)
        tree = _Checks().visit(ast.parse(decode_source(source), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def check(package: str) -> None:
    """Check what is imported of a package from now on."""
    sys.meta_path.insert(0, _Finder(package))
