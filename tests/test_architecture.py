"""The house itself: import directions, nothing done at import, the public names."""

import ast
import graphlib
import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import solver as sw
from solver.discovery import names_in

SOLVER = Path(sw.__file__).parent
PAGE = SOLVER.parent / "docs" / "architecture.md"
TABLE = PAGE.read_text(encoding="utf-8").partition("## Rooms")[2].partition("A room imports")[0]
ROOMS = re.findall(r"^\| `(\w+)` \|", TABLE, re.MULTILINE)  # from the ground up
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


def test_imports_point_upwards():
    """No file imports from a room below its own, and no numerical one from what reads run files or writes results."""
    wrong = []
    for path in FILES:
        room, rooms = room_of(path), imported_rooms(path)
        below = {other for other in rooms if ROOMS.index(other) > ROOMS.index(room)}
        kept_out = rooms & KEPT_OUT if room in NUMERICAL else set()
        wrong += [f"{path.relative_to(SOLVER)} imports {other}" for other in sorted(below | kept_out)]
    assert not wrong, "\n".join(wrong)


def imported_files(path: Path, files: dict[str, Path]) -> set[Path]:
    """The files that a file imports, for the names of types too; a package's names are imported from its own file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            named = [files.get(f"{node.module}.{alias.name}", files.get(node.module)) for alias in node.names]
            found |= {file for file in named if file is not None}
    return found - {path}


def test_no_files_import_each_other():
    """By way of others neither: what a file says can be read after what it builds on."""
    dotted = {path: ".".join(path.relative_to(SOLVER.parent).with_suffix("").parts) for path in SOLVER.rglob("*.py")}
    files = {name.removesuffix(".__init__"): path for path, name in dotted.items()}
    sorter = graphlib.TopologicalSorter({path: imported_files(path, files) for path in files.values()})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        pytest.fail(" → ".join(str(path.relative_to(SOLVER)) for path in error.args[1]))


def test_every_file_stands_in_a_known_room():
    """And every room that docs/architecture.md describes is there."""
    assert {room_of(p) for p in SOLVER.rglob("*.py")} - {"__init__", "__main__"} == set(ROOMS)


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_import_touches_no_device_and_sets_no_flag():
    code = (
        "import jax; before = dict(jax.config.values); import solver as sw; "
        "[getattr(sw, n) for n in dir(sw)]; from jax._src import xla_bridge; import sys; "
        "print(len(xla_bridge._backends), dict(jax.config.values) == before, 'mpi4py.MPI' in sys.modules)"
    )
    assert run_python(code) == "0 True False"


CHECK_ALL = """
from pathlib import Path
from jax._src import xla_bridge
from solver import assemble
from solver.cli.new_run_file import new_run_file
from solver.cli import jax_for
registry, path = assemble.Registry(), Path({path!r})
for name in registry.names("equation")[{part}::6]:
    path.write_text(new_run_file(registry.find("equation", name), name))
    assemble.read_run_file(path, prepare=jax_for("auto"))
    if xla_bridge._backends:
        print(name)
        break
new = new_run_file(registry.find("equation", "vorticity"), "vorticity")
for kind in registry.names("particles")[{part}::6]:
    numbers = {{"inertial": "response_time = 10.0", "brownian": "diffusivity = 0.1"}}.get(kind, "")
    path.write_text(new + f'[particles.p]\\nkind = "{{kind}}"\\ncount = 4\\n{{numbers}}\\n')
    assemble.read_run_file(path, prepare=jax_for("auto"))
    if xla_bridge._backends:
        print(kind)
        break
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_a_run_file_is_checked_before_any_device_is_touched(tmp_path, part):
    """That of `slabwave new` for each equation, which passes, and for one of them with each kind of particles.

    Processes could not join a job after JAX has chosen the devices of each alone.
    """
    assert run_python(CHECK_ALL.format(path=str(tmp_path / "run.toml"), part=part)) == ""


@pytest.mark.parametrize("room", ["config", "submit"])
def test_rooms_without_jax(room):
    assert run_python(f"import solver.{room}, sys; print('jax' in sys.modules)") == "False"


@pytest.mark.parametrize(
    "package", ["solver", *(f"solver.{room}" for room in ("assemble", "io", "pictures", "reading"))]
)
def test_names_that_are_imported_when_used_are_there(package):
    """A file of such a name, once imported, would stand in the name's place."""
    module, places = importlib.import_module(package), names_in(package)
    assert dir(module) == sorted(places)
    assert len(places) > 5
    assert all(getattr(module, name) is not None for name in places)
    below = {path.stem for path in Path(module.__file__).parent.glob("*.py")}
    assert not below & {name for name, place in places.items() if place != package}
    with pytest.raises(AttributeError, match=rf"'{package}' has no attribute 'no_such_name'; it has .*{min(places)}"):
        _ = module.no_such_name


def test_no_file_holds_the_marks_of_an_unfinished_merge():
    root = SOLVER.parent
    folders = [root / name for name in ("benchmarks", "docs", "runs", "slurm", "solver", "tests")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md", ".toml", ".sh")]
    for path in [*files, *root.glob("*.md"), root / "pyproject.toml"]:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.startswith(("<<<<<<< ", ">>>>>>> "))], path


def test_benchmarks_import_what_is_there():
    """No test runs them, so that a name which moved would be noticed by the next to measure."""
    missing = []
    for path in sorted(SOLVER.parent.glob("benchmarks/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("solver"):
                module = importlib.import_module(str(node.module))
                there = lambda name, module=module: hasattr(module, name) or find_spec(f"{module.__name__}.{name}")  # noqa: E731
                names = [alias.name for alias in node.names if not there(alias.name)]
                missing += [f"{path.name}: {node.module} has no {name}" for name in names]
    assert not missing, "\n".join(missing)
