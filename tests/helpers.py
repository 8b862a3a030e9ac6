"""What several tests need."""

import json
import re
from collections import Counter
from contextlib import contextmanager

import h5py
import jax
import numpy as np
import pytest

import solver as sw
from solver.spaces import FourierSpace
from solver.spaces.field import Field

PAGES_MADE = {"equations/index.md", "commands.md"}  # by docs/made_pages.py, when the site is built
# equations of each kind that a text can have, and one that is split: for what tries the machinery behind all equations,
# since tests/reference/test_library.py compares every equation with the second program
EACH_KIND = {
    "burgers": "one real scalar",
    "navier-stokes": "an unknown and a constraint",
    "boussinesq": "matrices as linear part",
    "complex-ginzburg-landau": "a complex field",
    "zakharov": "real and complex fields",
}
SPLIT = "schroedinger-poisson"
VELOCITY = Field("vector", "length/time", solenoidal=True)


# in place of what `slabwave new` takes from an equation's case, where that needs more dimensions or more points
OF_SMALL_GRIDS = {
    ("advection-diffusion", 1): ["equation={ name = 'advection-diffusion', diffusivity = 0.01 }"],
    ("boussinesq", 2): ["equation.rotation=0.0"],
    ("navier-stokes", 2): ["initial={ name = 'random-phase' }"],
    ("coupled-gross-pitaevskii", 2): ["grid.dealias=none"],
    ("nonlinear-schroedinger", 2): ["grid.dealias=two-thirds"],
    ("oldroyd-b", 2): ["initial.velocity={ name = 'random-phase' }"],
    ("schroedinger-poisson", 2): ["initial={ name = 'gaussian' }"],
    ("vorticity", 2): ["forcing.low=1.5", "forcing.high=3.5"],
    ("zakharov", 2): ["grid.dealias=two-thirds"],
}


@contextmanager
def refused_in_one_line(message, error=ValueError):
    """An error of this kind, with a message that matches and is one line."""
    with pytest.raises(error, match=message) as raised:
        yield
    assert "\n" not in str(raised.value)


def read_checkpoint(path):
    """Whole arrays of a checkpoint put together from its pieces, NaN where there is none; and its manifest."""
    manifest = json.loads((path / "manifest.json").read_text())
    arrays = {}
    for name, entry in manifest["arrays"].items():
        arrays[name] = np.full(entry["shape"], np.nan, entry["dtype"])
        for piece in entry["pieces"]:
            at = tuple(slice(a, a + n) for a, n in zip(piece["start"], piece["shape"], strict=True))
            with h5py.File(path / piece["file"]) as file:
                arrays[name][at] = file[piece["dataset"]][:]
    return arrays, manifest


def values_of_file(path):
    """Every data set of a file by its name."""
    values = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: values.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return values


def last_of_each(words):
    """Words of a command line with the last override of each key alone, so that tests may change a common list."""
    keys = [word.partition("=")[0] if "=" in word and not word.startswith("-") else None for word in words]
    return [word for n, word in enumerate(words) if keys[n] is None or keys[n] not in keys[n + 1 :]]


def advanced(equation, stepper, start, end, step=None, **control):
    """The state at `end`, from values at the points; by steps of one size, or by another control."""
    *_, state = sw.evolve(equation, stepper, sw.initial_state(equation, stepper, start), end=end, step=step, **control)
    return state


def series(equation, state, dt=0.1):
    """A row of the equation's series, in one program: operation by operation each would be compiled alone."""
    row = jax.jit(lambda equation, fields: equation.series(fields, dt))(equation, state.field)
    return {name: float(value) for name, value in row.items()}


COLLECTIVES = re.compile(r"(all-to-all|all-gather|all-reduce|collective-permute|reduce-scatter)(?:-start)?\(")


def collectives(fn, *arguments):
    return Counter(COLLECTIVES.findall(jax.jit(fn).lower(*arguments).compile().as_text()))


def on_devices(fn, *arguments, exchanges=0):
    """What a function returns, as NumPy, from a program without a gather and with as many all-to-alls on 8 devices."""
    program = jax.jit(fn).lower(*arguments).compile()
    counts = Counter(COLLECTIVES.findall(program.as_text()))
    assert counts["all-gather"] == 0, counts
    assert counts["all-to-all"] in (0, exchanges), counts
    if len(arguments[0].sharding.device_set) > 1:
        assert counts["all-to-all"] == exchanges
    return jax.tree.map(np.asarray, program(*arguments))


def random_field(grid, leading=(2,), seed=0):
    shape = (*leading, *grid.physical_shape)
    field = jax.random.normal(jax.random.key(seed), shape, grid.physical_dtype)
    return jax.device_put(field, grid.physical_sharding(len(shape)))


def numpy_coefficients(u, grid):
    """Dense transform, retained modes picked, axes in the order stored."""
    d = grid.dimensions
    axes = range(u.ndim - d, u.ndim)
    full = (np.fft.rfftn if grid.real else np.fft.fftn)(np.asarray(u), axes=axes) / np.prod(grid.physical_shape)
    for axis in range(d):
        full = np.take(full, grid.layout.mode_numbers(axis), axis=u.ndim - d + axis)
    return full.transpose(*range(u.ndim - d), *(u.ndim - d + a for a in grid.layout.order))


def all_to_all_bytes(text):
    """Bytes that one device's all-to-alls in a compiled program handle, its own part included, by instruction."""
    moved = []
    for line in text.splitlines():
        match = re.match(r"\s*%all-to-all\S* = (.*?) all-to-all(?:-start)?\(", line)
        if match:
            pieces = re.findall(r"(c128|c64|f64|f32|u32)\[([\d,]+)\]", match[1])
            sizes = {"c128": 16, "c64": 8, "f64": 8, "f32": 4, "u32": 4}
            moved.append(sum(sizes[kind] * int(np.prod([int(n) for n in sides.split(",")])) for kind, sides in pieces))
    return moved


def fourier(grid, components=1):
    """The space of a scalar, real or complex as its grid, or of a vector with so many components."""
    scalar = "scalar" if grid.real else "wavefunction"
    return FourierSpace("u", Field("vector" if components > 1 else scalar), grid)
