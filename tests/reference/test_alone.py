"""The second program stands alone, and stays short."""

import ast
from pathlib import Path

FILES = [path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")]


def test_it_imports_numpy_and_scipy_alone():
    known = {"numpy", "scipy", "ast", "contextlib", "itertools", "fractions", "functools", "operator", "pkgutil"}
    known |= {"re", "__future__"}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert {name.split(".")[0] for name in names} <= known, path


def test_it_has_at_most_3500_lines():
    """2700 for the periodic box, and 800 between walls."""
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= 3500
