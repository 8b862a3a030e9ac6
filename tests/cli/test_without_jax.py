"""What answers from text imports neither JAX nor anything else that takes long, so that it answers at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from solver.cli.arguments import commands

SLOW = {"jax", "jaxlib", "equinox", "jaxtyping", "numpy", "h5py", "matplotlib", "xarray"}
RUN_FILE = str(Path(__file__).parents[2] / "runs" / "orszag_tang.toml")
ANSWERED = [
    ["list"],
    ["describe"],
    ["describe", "navier-stokes"],
    ["describe", "scalars"],
    ["new", "boussinesq"],
    ["new", "orszag-tang"],
    ["schema"],
    ["info", "run"],
    *([name, "--help"] for name in commands()),
]
REFUSED = [
    ["describe", "no-such-name"],
    ["resume", "no-such-run"],
    ["run", "no-such-file.toml"],
    ["run", RUN_FILE, "equation.viscosit=1"],
    ["check", RUN_FILE, "initial.velocity.ampltude=1"],
    ["check", RUN_FILE, "output.series.every=1"],
    ["check", RUN_FILE, "time.stepper=ifrk5"],
    ["submit", RUN_FILE, "--nodes", "1", "grid.shap=[8]"],
]
CODE = """
import contextlib, io, json, sys
from solver.cli.main import main
found, slow = [], set(json.loads(sys.argv[2]))
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(words)
    found.append([words, code, sorted(sys.modules.keys() & slow)])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_answers_from_text_import_nothing_slow(tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints" / "step-00000010").mkdir(parents=True)
    (run / "config.toml").write_text(Path(RUN_FILE).read_text())
    (run / "series.csv").write_text("# units\nstep,t\n0,0.0\n")
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps([*ANSWERED, *REFUSED]), json.dumps(sorted(SLOW))],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [*([words, 0, []] for words in ANSWERED), *([words, 2, []] for words in REFUSED)]
    assert json.loads(done.stdout) == expected
