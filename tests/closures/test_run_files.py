"""`[closure]` in run files: a class of one's own with weights from a file, restarts, what may change, refusals."""

import numpy as np
import pytest
from helpers import read_checkpoint
from written_runs import written

from solver.cli.main import main

OWN = '''
import equinox as eqx
import jax.numpy as jnp
import numpy as np

from solver.closures import EddyViscosity


def read(given):
    return jnp.asarray(np.load(given)) if isinstance(given, str) else given


class Weighted(EddyViscosity):
    """ν_t = w² Σ_n a_n |S|^n with the numbers a of a file.

    Args:
        path: file of NumPy's with the numbers, or the numbers.
        factor: number before all.
    """

    path: str | jnp.ndarray = eqx.field(converter=read)
    factor: float = 1.0

    def viscosity(self, resolved, width, prepared):
        size = jnp.sum(resolved * resolved, axis=(0, 1)) ** 0.5
        return self.factor * width**2 * sum(a * size**n for n, a in enumerate(self.path))
'''
RUN = """
[grid]
shape = [12, 10]
[equation]
name = "navier-stokes"
viscosity = 0.01
[closure]
{closure}
[initial]
name = "random-phase"
peak = 2.0
[time]
stepper = "ifrk2"
step = 0.01
end = 0.06
[devices]
use = [0]
[output]
directory = "{directory}"
series = {{ every_steps = 1 }}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("weights.npy", np.array([0.1, 0.3]))
    return tmp_path


def said(capsys, *words):
    code = main(list(words))
    return code, capsys.readouterr().err


@pytest.mark.slow
def test_a_run_with_weights_of_a_file_is_resumed_with_its_bits(folder, capsys):
    own = 'name = "mine.py:Weighted"\npath = "weights.npy"'
    for directory in ("whole", "halves"):
        path = written(folder, RUN.format(closure=own, directory=directory), mine=OWN)
        assert main(["run", str(path), *(["time.end=0.03"] if directory == "halves" else [])]) == 0
    code, errors = said(capsys, "resume", "halves", "closure.factor=2.0")
    assert code == 2
    assert "closure.factor: 1.0 → 2.0" in errors
    assert main(["resume", "halves", "time.end=0.06"]) == 0
    assert len(list((folder / "halves").glob("mine-*.py"))) == 1
    [whole], [halves] = ([*(folder / name / "checkpoints").glob("*6")] for name in ("whole", "halves"))
    first, again = (read_checkpoint(path)[0] for path in (whole, halves))
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values)
    rows = [(folder / name / "series.csv").read_text().splitlines()[1:] for name in ("whole", "halves")]
    assert rows[0] == rows[1]
    assert {"subgrid_dissipation", "eddy_viscosity", "energy_from_closure"} <= set(rows[0][0].split(","))
    assert main(["info", "halves"]) == 0
    assert "mine-" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        ('name = "smagorinski"', "closure.name = 'smagorinski': unknown; did you mean 'smagorinsky'?"),
        ('name = "smagorinsky"\nconstants = 0.1', "closure.constants: unknown key; did you mean 'constant'?"),
        ('name = "smagorinsky"\nconstant = -0.1', "closure.constant -0.1: zero or more is needed"),
        ('name = "spectral"', "closure spectral in 2 dimensions: 3 are needed"),
        ('name = "mine.py:Other"', "it is no Closure"),
        ("constant = 0.1", "closure.name is missing"),
    ],
    ids=["name", "key", "value", "dimensions", "class", "missing"],
)
def test_wrong_sections_are_refused_in_one_line(folder, capsys, closure, message):
    path = written(folder, RUN.format(closure=closure, directory="run"), mine="class Other:\n    pass\n")
    code, errors = said(capsys, "check", str(path))
    assert code == 2
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
