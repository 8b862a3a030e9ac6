"""Runs that tests of reading, figures and pages look at: finished, under way, blown up, empty, and on a line.

Each is made once; a test that changes files asks for a copy.
"""

import json
import shutil
import time
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from scratch import scratch

import solver as sw
from solver.io import Axis, Column, RecordsLayout, Row, own_rows
from solver.loop import BlowUp

MARKUP = '<script>document.body.remove()</script> & <b>"bold"</b> </title> ’'


PARTS = ("z = 0.8", "x = 3.14", "y = 0, z = 1", "x = 1, y = 1, z = 1", "x = 0:2, y = 2:3")


def vortex(folder, *, step=0.05, end=0.6, amplitude=1.0, viscosity=0.05, title="A vortex", outputs=None):
    """A run in a box of unequal sides and points."""
    grid = sw.Grid((12, 16, 8), lengths=(2 * np.pi, 4 * np.pi, 2 * np.pi), mesh=sw.device_mesh(range(2)))
    flow, stepper = sw.equations.NavierStokes(grid, viscosity=viscosity), sw.steppers.IFRK2()

    def start(x, y, z):
        cells = amplitude * jnp.sin(x) * jnp.cos(y) + 0 * z, -amplitude * jnp.cos(x) * jnp.sin(y) + 0 * z
        return *cells, jnp.sin(x + y / 2 + z)

    state = sw.initial_state(flow, stepper, sw.sample(start, grid))
    outputs = outputs or [
        sw.outputs.Series(every_steps=1),
        sw.outputs.Spectra(every_steps=2),
        sw.outputs.Snapshots(every_steps=4),
        sw.outputs.Checkpoints(every_steps=6),
    ]
    sw.run(flow, stepper, state, end=end, step=step, directory=folder, outputs=outputs, title=title)
    return folder


@cache
def _finished():
    return vortex(scratch("finished") / "run")


@cache
def _sliced():
    outputs = [
        sw.outputs.Slices(every_steps=4, at=PARTS, fields=("velocity", "q_criterion")),
        sw.outputs.Statistics(every_steps=6, sample_steps=2, of=("spectra", "scales"), fields=("velocity",)),
        sw.outputs.Points(every_steps=2, at=((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))),
        sw.outputs.Spectra(every_steps=2),
    ]
    return vortex(scratch("sliced") / "run", outputs=outputs, title="Cut up")


@cache
def _blown_up():
    folder = scratch("blown") / "run"
    with pytest.raises(BlowUp):
        vortex(folder, step=0.5, end=400.0, amplitude=40.0, viscosity=0.0, title=MARKUP)
    return folder


@cache
def _line():
    folder = scratch("line") / "run"
    grid = sw.Grid((32,), lengths=2.0)
    equation, stepper = sw.equations.KortewegDeVries(grid), sw.steppers.ETDRK4()
    state = sw.initial_state(equation, stepper, sw.sample(lambda x: jnp.cos(jnp.pi * x), grid))
    outputs = [sw.outputs.Series(every_steps=5), sw.outputs.Snapshots(every_steps=5)]
    sw.run(equation, stepper, state, end=0.03, step=1e-3, directory=folder, outputs=outputs, title="On a line")
    return folder


@pytest.fixture
def finished():
    """In three dimensions, to its end; not to be changed."""
    return _finished()


@pytest.fixture
def sliced():
    """With planes, a line, a point, a box and statistics, and without snapshots; not to be changed."""
    return _sliced()


@pytest.fixture
def blown_up():
    """With a title full of markup; not to be changed."""
    return _blown_up()


@pytest.fixture
def line():
    """In one dimension; not to be changed."""
    return _line()


@pytest.fixture
def empty(tmp_path):
    """A run that was taken on, and has written nothing."""
    folder = tmp_path / "empty"
    folder.mkdir()
    shutil.copy(_finished() / "config.toml", folder)
    return folder


@pytest.fixture
def running(tmp_path):
    """A copy at an earlier moment: rows in journals, a row half written, a live holder."""
    folder = tmp_path / "running"
    shutil.copytree(_finished(), folder)
    spectra = own_rows(folder / "spectra.h5")
    rows, layout = spectra.table().rows, spectra.layout()
    for path in (spectra.path, folder / "provenance.json"):
        path.unlink()
    spectra.append(rows[0], layout)
    for row in rows[1:4]:  # stay in the journal, which is small
        spectra.append(row, layout)
    series = (folder / "series.csv").read_text().splitlines(keepends=True)
    (folder / "series.csv").write_text("".join(series[:8]) + series[8][:-2])
    holder = json.loads((folder / ".lock").read_text())
    (folder / ".lock").write_text(
        json.dumps({**holder, "state": "running", "released": False, "time": time.time(), "step": 6, "t": 0.3})
    )
    return folder


def record(folder, name, axes, columns, values, count=5, times=None):
    """A file of records: `axes` name → (coordinates, units), `columns` name → (axes, units), values(column, t)."""
    layout = RecordsLayout(
        {axis: Axis(np.asarray(points, float), units) for axis, (points, units) in axes.items()},
        {column: Column(names, units, f"the {column}") for column, (names, units) in columns.items()},
    )
    file = own_rows(folder / f"{name}.h5")
    for i, t in enumerate(0.5 * np.arange(count) if times is None else times):
        file.append(Row(10 * i, t, {name: np.asarray(values(name, t)) for name in columns}), layout)
    return file
