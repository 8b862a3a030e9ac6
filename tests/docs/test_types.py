"""A type checker knows the names of the package, and takes the program of the README."""

import re
from pathlib import Path

import pytest
from mypy import api

import solver as sw

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Lines of mypy about the README's program, and about every public name."""
    folder = tmp_path_factory.mktemp("typed")
    program = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    names = "".join(f"reveal_type(sw.{name})\n" for name in dir(sw) if not name.startswith("_"))
    (folder / "readme.py").write_text(program)
    (folder / "names.py").write_text(
        f"import solver as sw\n{names}Flow = sw.write([], {{}})\nreveal_type(Flow.fields)\n"
        "reveal_type(sw.equations.Vorticity(sw.Grid((8, 8)), viscosity=0.1))\nreveal_type(sw.steppers.IFRK4())\n"
    )
    cache = f"--cache-dir={ROOT / '.mypy_cache'}"
    lines, errors, _ = api.run([f"--config-file={ROOT / 'pyproject.toml'}", cache, *map(str, folder.glob("*.py"))])
    assert not errors
    return lines


def test_the_program_of_the_readme_has_no_errors(said):
    assert "error:" not in said


def test_every_public_name_has_a_type(said):
    types = re.findall(r'Revealed type is "(.*)"', said)
    assert len(types) == len([name for name in dir(sw) if not name.startswith("_")]) + 3
    assert not {"Any", "builtins.object", "def (*Any, **Any) -> Any"} & set(types)
    assert "solver.spaces.field.Field" in types[-3]
    assert types[-2:] == ["solver.equations.vorticity.Vorticity", "solver.steppers.integrating_factor.IFRK4"]
