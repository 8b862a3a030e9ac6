"""The house itself: import directions, nothing done at import, the public names."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import solver as sw

SOLVER = Path(sw.__file__).parent
ROOMS = [
    "stop", "discovery", "config", "submit", "cluster", "static", "mesh", "grid", "fft", "operators", "diagnostics",
    "equations", "forcing", "initial", "steppers", "io", "doctor", "loop", "reading", "pictures", "outputs",
    "simulation", "plan", "assemble", "tune", "report", "validate",
    "cli",
]  # fmt: skip
NUMERICAL = ROOMS[ROOMS.index("static") : ROOMS.index("steppers") + 1]
KEPT_OUT = {"config", "submit", "cluster", "io"}


def room_of(path: Path) -> str:
    return path.relative_to(SOLVER).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("solver"):
            inner = node.module.split(".")[1:]
            rooms |= {inner[0]} if inner else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            rooms |= {a.name.split(".")[1] for a in node.names if a.name.startswith("solver.")}
    return rooms & set(ROOMS)


FILES = [p for p in sorted(SOLVER.rglob("*.py")) if room_of(p) in ROOMS]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOLVER)))
def test_imports_point_upwards(path):
    room = room_of(path)
    below = {other for other in imported_rooms(path) if ROOMS.index(other) > ROOMS.index(room)}
    assert not below, f"{room} imports rooms below it: {below}"
    if room in NUMERICAL:
        assert not imported_rooms(path) & KEPT_OUT


def test_every_file_stands_in_a_known_room():
    unknown = {room_of(p) for p in SOLVER.rglob("*.py")} - set(ROOMS) - {"__init__", "__main__"}
    assert not unknown


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_touches_no_device_and_sets_no_flag():
    code = (
        "import jax; before = dict(jax.config.values); import solver as sw; "
        "[getattr(sw, n) for n in sw.__all__]; from jax._src import xla_bridge; import sys; "
        "print(len(xla_bridge._backends), dict(jax.config.values) == before, 'mpi4py.MPI' in sys.modules)"
    )
    assert run_python(code) == "0 True False"


@pytest.mark.parametrize("room", ["config", "submit"])
def test_rooms_without_jax(room):
    assert run_python(f"import solver.{room}, sys; print('jax' in sys.modules)") == "False"


def test_editors_see_every_public_name():
    seen = {
        alias.name
        for node in ast.walk(ast.parse(Path(sw.__file__).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("solver")
        for alias in node.names
    }
    assert seen == set(sw.__all__) == {*sw._NAMES, *sw._ROOMS}


def test_names_that_are_imported_when_used_are_not_those_of_files():
    """A file of that name, once imported, would stand in the name's place."""
    for room in ("assemble", "io", "pictures", "reading"):
        package = importlib.import_module(f"solver.{room}")
        assert all(getattr(package, name) is not None for name in package.__all__)
        assert not {path.stem for path in (SOLVER / room).glob("*.py")} & set(package.__all__)


def test_public_names_exist():
    assert len(sw.__all__) >= 12
    for name in sw.__all__:
        assert getattr(sw, name) is not None
    with pytest.raises(AttributeError, match="device_mesh"):
        _ = sw.no_such_name


def test_no_file_holds_the_marks_of_an_unfinished_merge():
    root = SOLVER.parent
    folders = [root / name for name in ("benchmarks", "docs", "runs", "slurm", "solver", "tests")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md", ".toml", ".sh")]
    for path in [*files, *root.glob("*.md"), root / "pyproject.toml"]:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(("<<<<<<< ", ">>>>>>> "))], path
