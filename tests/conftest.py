"""Eight virtual devices, double precision, and shapes and types checked at run time wherever arrays are annotated."""

import atexit
import gc
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path

import jax
import pytest
from compilation import compile_fast, keep_programs, lend_programs, trace_fast
from some_cases import some_cases
from typecheck import check

# one folder for what all tests share (scratch.py), among it the compiled programs of theirs and of the runs that they
# start, which are not to be in the home of whoever tests
if "PYTEST_XDIST_WORKER" not in os.environ:
    SCRATCH = Path(tempfile.mkdtemp(prefix="slabwave-tests-"))
    PROGRAMS = SCRATCH / "programs"
    PROGRAMS.mkdir()
    os.environ["SLABWAVE_TESTS"], os.environ["XDG_CACHE_HOME"] = str(SCRATCH), str(PROGRAMS)
    lend_programs(PROGRAMS)
    atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)
    atexit.register(keep_programs, PROGRAMS)  # before it is removed

# Python's own: a command that a test starts would compile the package's 500 files each time
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# half of the time of the tests is compilation: machine code need not be as fast as it can be
compile_fast(os.environ)

# a cache for GPUs, whose folder counts among what tells programs apart: none of an earlier session would be found
os.environ["JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"] = "none"  # of the runs that tests start
jax.config.update("jax_persistent_cache_enable_xla_caches", "none")

if "JAX_NUM_CPU_DEVICES" not in os.environ:
    jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
jax.devices()  # eight from now on, whatever a command asks for that a test runs in this process

if "UNCHECKED_TYPES" not in os.environ:
    check("solver")
trace_fast()

from jax.sharding import AxisType  # noqa: E402

from solver.cluster import keep_compiled_programs  # noqa: E402
from solver.grid import Grid  # noqa: E402
from solver.mesh import device_mesh  # noqa: E402

keep_compiled_programs(os.environ)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)  # tests compile many small programs


@pytest.fixture
def make_grid():
    """Grid on the first `devices` of the eight, in slabs or, with `mesh_shape`, in pencils."""

    def make(shape, devices=8, mesh_shape=None, axis_type=AxisType.Auto, **options):
        devices = math.prod(mesh_shape) if mesh_shape else devices
        return Grid(shape, mesh=device_mesh(range(devices), shape=mesh_shape, axis_type=axis_type), **options)

    return make


_compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: _compiled.append(event) if event.endswith("backend_compile_duration") else None
)


@pytest.fixture
def programs_compiled():
    """How many programs this process has compiled, as a function."""
    return lambda: len(_compiled)


def pytest_addoption(parser):
    parser.addoption("--some-cases", action="store_true", help="what make test runs (some_cases.py)")


def pytest_collection_modifyitems(config, items):
    """Fast tests first; with --some-cases what `some_cases` leaves."""
    if config.getoption("--some-cases"):
        left = some_cases(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in left])
        items[:] = [item for item in items if item in left]
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


MOST_MAPPINGS = 20_000  # of memory; the kernel allows a process 65 530, and each program that is kept takes some


@pytest.fixture(autouse=True, scope="module")
def _forget_programs():
    """Let go of compiled programs between files of tests, before they are too many: the machine would end us."""
    yield
    try:
        with open("/proc/self/maps") as maps:
            many = sum(1 for _ in maps) > MOST_MAPPINGS
    except OSError:
        return
    if many:
        jax.clear_caches()
        gc.collect()
