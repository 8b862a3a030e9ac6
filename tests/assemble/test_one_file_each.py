"""One file adds an equation, a stepper, a forcing, an initial field, an output, a command or a site: nothing else."""

import importlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import solver as sw
from solver.assemble import Registry, classes, index
from solver.assemble.make_index import index_text
from solver.cli.main import entry, main
from solver.submit.site import slurm_folder

FILES = {
    "equations": '''
import jax.numpy as jnp

from solver.equations import Equation, Field
from solver.operators import Diagonal


class Fading(Equation):
    """u_t = −c u.

    Args:
        c: rate [1/time].
    """

    c: float = 1.0
    name = "fading"
    fields = {"u": Field("scalar", "kg")}
    dimensions = (2,)
    spectrum_laws = {2: 2.5}

    def linear(self):
        return Diagonal({"u": -self.c * jnp.ones(self.grid.spectral_shape, self.grid.dtype)})

    def nonlinear(self, fields, t):
        return {"u": jnp.zeros_like(fields["u"])}

    def rate(self, fields):
        return jnp.asarray(1.0)
''',
    "steppers": '''
from solver.steppers.stepper import Stepper


class IFEuler(Stepper):
    """Euler's method on v = exp(−L t) û: order 1, one evaluation of N."""

    name = "ifeuler"
    order = 1
    exact_linear = True
    stages_held = 1

    def coefficients(self, equation, dt):
        return equation.linear().exp(dt)

    def advance(self, equation, fields, history, t, dt, coefficients):
        change = equation.first_nonlinear()
        return coefficients.apply({name: u + dt * change[name] for name, u in fields.items()}), history
''',
    "forcing": '''
from solver.forcing.forcing import Forcing


class Push(Forcing):
    """f = g u.

    Args:
        g: rate [1/time].
    """

    g: float = 0.5
    name = "push"

    def force(self, state, u_hat, space, change=None):
        return self.g * u_hat
''',
    "initial": '''
import jax.numpy as jnp

from solver.grid import sample
from solver.initial.initial import Initial


class Ridge(Initial):
    """f = h cos x.

    Args:
        h: height [units of the field].
    """

    h: float = 1.0
    name = "ridge"
    ranks = ("scalar",)

    def values(self, grid, field, key):
        return sample(lambda x, y: self.h * jnp.cos(x) + 0 * y, grid)[None]
''',
    "outputs": '''
from dataclasses import dataclass

import jax.numpy as jnp

from solver.io import Column, RecordsLayout
from solver.outputs.records import Records


@dataclass(frozen=True)
class Peak(Records):
    """Largest coefficient."""

    name = "peak"

    def layout(self, equation):
        return RecordsLayout({}, {"largest": Column((), "kg")})

    def values(self, equation, fields):
        return {"largest": jnp.max(jnp.abs(fields["u"]))}
''',
}
CLASSES = {"equations": "Fading", "steppers": "IFEuler", "forcing": "Push", "initial": "Ridge", "outputs": "Peak"}
NAMES = {room: name.lower() for room, name in CLASSES.items()}
COMMAND = '''"""Greet somebody."""

STOPS_EARLY = True


def add_arguments(parser):
    parser.add_argument("who")


def run(options):
    print(f"hello {options.who}")
    return 0
'''
RUN = """
grid = {{ shape = [8, 8] }}
equation = {{ name = "{equations}", c = 0.7 }}
initial = {{ name = "{initial}", h = 2.0 }}
forcing = {{ name = "{forcing}", g = 0.3 }}
time = {{ stepper = "{steppers}", step = 0.1, end = 0.4 }}
devices = {{ use = [0, 1] }}
[output]
directory = "run"
spectra = {{ every_steps = 2 }}
peak = {{ every_steps = 2 }}
statistics = {{ of = ["peak"], every_steps = 4, sample_steps = 2 }}
"""
LARGEST = 2.0 * (np.exp(-0.07) * (1 + 0.03)) ** np.arange(0, 5, 2) / 2  # the coefficient of cos x is a half


def forget():
    for cached in (classes.built_in, index.indexed, index._read):
        cached.cache_clear()


@pytest.fixture
def in_the_package(tmp_path, monkeypatch):
    """Each file in the folder of its kind, and the index made anew."""
    monkeypatch.chdir(tmp_path)
    for room, text in FILES.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "added.py").write_text(text)
        package = importlib.import_module(f"solver.{room}")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / room)])
    forget()
    (tmp_path / "index.json").write_text(index_text())
    monkeypatch.setattr(index, "FILE", tmp_path / "index.json")
    forget()
    yield NAMES
    for room in FILES:
        del sys.modules[f"solver.{room}.added"]
        delattr(sys.modules[f"solver.{room}"], "added")
    monkeypatch.undo()
    forget()


@pytest.fixture
def in_a_users_file(tmp_path, monkeypatch):
    """All of them in one file beside the run file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("".join(FILES.values()))
    return {room: f"own.py:{name}" for room, name in CLASSES.items()}  # an output goes by its own name


@pytest.mark.slow
@pytest.mark.parametrize("where", ["in_the_package", "in_a_users_file"])
def test_a_run_with_all_of_them(where, request, tmp_path, capsys):
    names = request.getfixturevalue(where)
    (tmp_path / "run.toml").write_text(RUN.format(**names))
    assert main(["check", "run.toml"]) == 0
    assert main(["run", "run.toml"]) == 0
    opened = sw.open_run("run")
    np.testing.assert_allclose(opened.records["peak"]["largest"], LARGEST, rtol=1e-12)
    assert opened.records["peak"]["largest"].attrs["units"] == "kg"
    assert opened.spectra["energy"].attrs["power_law"] == 2.5
    assert "largest" in opened.statistics["peak"]
    capsys.readouterr()
    assert main(["verify", "run"]) == 0
    assert "ok      peak.h5" in capsys.readouterr().out
    assert main(["resume", "run", "time.end=0.6"]) == 0
    assert sw.open_run("run").records["peak"]["step"].values.tolist() == [0, 2, 4, 6]
    if where == "in_a_users_file":  # drawn from the run's own copy; figures take the longest of all here
        assert main(["plot", "run"]) == 0
        assert {"peak.png", "spectra.png"} <= {path.name for path in (tmp_path / "run" / "figures").iterdir()}
    only = tmp_path / "only"
    only.mkdir()
    shutil.copy("run/peak.h5", only)
    capsys.readouterr()
    assert main(["run", "run.toml", "output.directory=only"]) == 2
    assert "already holds a run (peak.h5)" in capsys.readouterr().err


def test_commands_tell_of_them(in_the_package, capsys):
    def said(*words):
        assert main(list(words)) == 0
        return capsys.readouterr().out

    listed, page, schema = said("list"), said("describe"), json.loads(said("schema"))
    for room, name in NAMES.items():
        assert f"\n  {name} " in listed
        assert f"`{name}`: " in page or f"\n## {name}\n" in page
        assert f"(solver.{room}.added.{CLASSES[room]})" in said("describe", name)
        assert getattr(sys.modules[f"solver.{room}"], CLASSES[room]).name == name
    assert {"if", "then"} <= schema["allOf"][Registry().names("equation").index("fading")].keys()
    assert "ifeuler" in schema["properties"]["time"]["properties"]["stepper"]["examples"]
    assert "peak" in schema["properties"]["output"]["properties"]
    named = {kind: json.dumps(schema["$defs"][kind]) for kind in ("equation", "initial", "forcing")}
    assert all(
        f'"const": "{name}"' in named[kind] for kind, name in zip(named, ("fading", "ridge", "push"), strict=True)
    )
    new = said("new", "fading")
    assert "ifeuler" in new
    assert "ridge" in new


def test_a_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "hello.py").write_text(COMMAND)
    import solver.cli.commands as package

    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    caught = []
    monkeypatch.setattr("solver.cli.main.remember_signals", lambda: caught.append(True))
    for words, count in ((["hello", "you"], 1), (["describe", "ifrk4"], 1), (["hello", "run"], 2)):
        monkeypatch.setattr(sys, "argv", ["slabwave", *words])
        with pytest.raises(SystemExit) as ended:
            entry()
        assert ended.value.code == 0
        assert len(caught) == count
    assert "hello you" in capsys.readouterr().out
    assert main(["hello", "you"]) == 0
    assert len(caught) == 2, "a call from Python leaves the caller's signals alone"
    assert main(["--help"]) == 0
    assert "Greet somebody" in capsys.readouterr().out
    sys.modules.pop("solver.cli.commands.hello")


def test_a_site(tmp_path, monkeypatch, capsys):
    folder = shutil.copytree(slurm_folder(), tmp_path / "slurm")
    (folder / "sites" / "ours.toml").write_text('platform = "cpu"\npartition = "long-queue"\n')
    monkeypatch.setattr("solver.submit.site.slurm_folder", lambda: folder)
    assert main(["submit", "--help"]) == 0
    assert "ours" in capsys.readouterr().out
    case = Path(__file__).parents[2] / "runs" / "taylor_green.toml"
    assert main(["submit", str(case), "--nodes", "1", "--site", "ours", "--dry-run"]) == 0
    assert "#SBATCH --partition=long-queue" in capsys.readouterr().out
