"""A plain function as the initial field of a run file."""

import tomllib

import h5py
import numpy as np
import pytest
from written_runs import written

from solver.assemble import Registry
from solver.cli.main import main

pytestmark = pytest.mark.slow

START = """
import numpy as np
import jax.numpy as jnp

def bowl(x, y):
    "A bowl."
    return jnp.cos(x) + 0.5 * jnp.sin(2 * y)

def shear(x, y):
    return jnp.sin(y), 0.25

def stacked(x, y):
    return jnp.stack(jnp.broadcast_arrays(jnp.sin(y), 0.25 * jnp.sin(x)))

def with_numpy(x, y):
    return np.sin(np.asarray(x))

def three(x, y):
    return x, y, x

def in_space(x, y, z):
    return x

def turning(x, y):
    return jnp.exp(1j * x)

def wrong(x, y):
    return undefined_name * x

number = 3.0
"""
RUN = """
[grid]
shape = [12, 10]
lengths = ["2 pi", "2 pi"]

[equation]
name = "boussinesq"
viscosity = 0.1
diffusivity = 0.1

[initial.velocity]
name = "start.py:shear"

[initial.buoyancy]
name = "start.py:bowl"

[time]
stepper = "ifrk2"
step = 0.01
end = 0.02

[devices]
use = [0, 1]

[output]
directory = "{directory}"
snapshots = {{ every_steps = 2 }}
"""


@pytest.fixture
def case(tmp_path):
    return written(tmp_path, RUN.format(directory=tmp_path / "out"), start=START)


@pytest.mark.parametrize("velocity", ["shear", "stacked"])
def test_functions_start_a_run_that_continues_from_their_copy(case, tmp_path, velocity):
    folder = tmp_path / "out"
    assert main(["run", str(case), f"initial.velocity.name=start.py:{velocity}"]) == 0
    with h5py.File(folder / "snapshots" / "step-00000000.h5") as file:
        x, y = file["x"][:][:, None], file["y"][:]
        np.testing.assert_allclose(file["buoyancy"][:], np.cos(x) + 0.5 * np.sin(2 * y), atol=1e-14)
        v = 0.25 if velocity == "shear" else 0.25 * np.sin(x)
        np.testing.assert_allclose(file["velocity"][:][..., 1], np.broadcast_to(v, (12, 10)), atol=1e-14)
        np.testing.assert_allclose(file["velocity"][:][..., 0], np.broadcast_to(np.sin(y), (12, 10)), atol=1e-14)
    copies = list(folder.glob("start-*.py"))
    assert [copy.read_text() for copy in copies] == [START]
    written = tomllib.loads((folder / "config.toml").read_text())
    assert written["initial"]["buoyancy"]["name"] == f"{copies[0].name}:bowl"
    (tmp_path / "start.py").unlink()  # the copy will do
    assert main(["resume", str(folder), "time.end=0.04"]) == 0


def test_a_function_is_described_and_found_once(case, capsys, monkeypatch):
    monkeypatch.chdir(case.parent)
    assert main(["describe", "start.py:bowl"]) == 0
    assert "initial start-" in (said := capsys.readouterr().out)
    assert "A bowl." in said
    registry = Registry(case.parent)
    assert registry.find("initial", "start.py:bowl").cls is registry.find("initial", "start.py:bowl").cls


WRONG = {
    "components": ("velocity", "three", "initial.velocity.name: three gives components: 3; needed for this vector: 2"),
    "too few": ("velocity", "bowl", "bowl gives components: 1; needed for this vector: 2"),
    "too many": ("buoyancy", "shear", "shear gives components: 2; needed for this scalar: 1"),
    "numpy": ("buoyancy", "with_numpy", "with_numpy needs its coordinates as NumPy's arrays"),
    "dimensions": ("buoyancy", "in_space", "in_space(x, y, z): a function of x, y is needed"),
    "complex": ("buoyancy", "turning", "turning gives complex values: real ones are needed for a scalar"),
    "raises": ("buoyancy", "wrong", "wrong cannot be evaluated: NameError: name 'undefined_name' is not defined"),
    "no such name": ("buoyancy", "bowel", "bowel: has no bowel; subclasses of Initial there: none; functions: bowl,"),
    "no function": ("buoyancy", "number", "number: it is no Initial"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_used_is_one_line(case, capsys, wrong):
    field, function, message = WRONG[wrong]
    assert main(["run", str(case), f"initial.{field}.name=start.py:{function}"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]
    assert str(case) in lines[0]
    assert not (case.parent / "out").exists()


def test_a_file_that_raises(case, capsys):
    (case.parent / "start.py").write_text("1 / 0")
    assert main(["run", str(case)]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "start.py: cannot be imported: ZeroDivisionError: division by zero" in line
