"""Eight virtual devices, double precision, and every annotated shape and type checked at run time."""

import os

import jax
import jaxtyping
import pytest

if "JAX_NUM_CPU_DEVICES" not in os.environ:
    jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

with jaxtyping.install_import_hook("solver", "typecheck.check"):
    import solver.assemble
    import solver.cluster
    import solver.io
    import solver.loop
    import solver.plan  # noqa: F401

from solver.grid import Grid  # noqa: E402
from solver.mesh import device_mesh  # noqa: E402


@pytest.fixture
def make_grid():
    """Grid on the first `devices` of the eight."""

    def make(shape, devices=8, **options):
        return Grid(shape, mesh=device_mesh(range(devices)), **options)

    return make


def pytest_collection_modifyitems(items):
    """Fast tests first."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
