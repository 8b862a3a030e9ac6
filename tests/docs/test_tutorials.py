"""The tutorials run as they stand, in small."""

import os
import re
import sys
from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "tutorials"
SMALLER = {  # what is replaced in each
    "first_run": {"[192,192]": "[24,24]"},
    "write_an_equation": {"192": "24", "sizes = [0.5, 2.0, 8.0]": "sizes = [0.5, 1.0, 1.5]",
                          "until = 8.0": "until = 1.5"},
    "gradients": {"iterations=150": "iterations=2", "iterations=300": "iterations=2"},
    "train_a_closure": {"(128, 128), (32, 32)": "(24, 24), (16, 16)", "steps=2000": "steps=20",
                        "steps=8000": "steps=1600", "seen[:200], seen[200:]": "seen[:36], seen[36:]",
                        "iterations=60": "iterations=2", "iterations=120": "iterations=2", "steps=3000": "steps=600"},
    "assimilate": {"(48, 48)": "(16, 16)", ":48, :48": ":16, :16", "between = 0.5, 0.05, 8": "between = 0.5, 0.05, 1",
                   "length=80": "length=2", "maxiter=25": "maxiter=2"},
    "train_on_a_data_set": {"[48, 48]": "[16, 16]", "(48, 48)": "(16, 16)", "end = 60.0": "end = 6.0", ">= 20": ">= 2",
                            "epochs, size = 6, 8": "epochs, size = 1, 8", "Network(24": "Network(4"},
    "many_runs": {"[96, 96]": "[16, 16]", "3000.0": "30.0", "300.0": "3.0"},
    "a_body": {"[192,96]": "[64,32]", "end=70": "end=2", "every_time=70": "every_time=2", "(64, 64)": "(24, 24)",
               "2, 64, 64": "2, 24, 24", "steps=200": "steps=5", "eta=0.03": "eta=0.1", "edge=0.2": "edge=0.3"},
    "convection": {"(24, 25)": "(8, 9)", "steps=3000": "steps=300", "[96, 65]": "[16, 17]", "1e6": "2e4",
                   "end = 40.0": "end = 6.0", "every_time = 10.0": "every_time = 1.0",
                   "every_steps = 5": "every_steps = 1"},
    "scaling": {"slabwave tune vortex.toml grid.shape=[32,32,32] --steps 2": "slabwave tune --help",
                "[32,32,32]": "[8,8,8]"},
}  # fmt: skip


def test_every_tutorial_is_in_the_contents_and_tried_here():
    listed = re.findall(r"tutorials/(\w+)\.py", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(SMALLER)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SMALLER)
def test_tutorial_runs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    for large, small in SMALLER[name].items():
        assert large in text, large
        text = text.replace(large, small)
    notebook = jupytext.reads(text, fmt="py:percent")
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    pictures = [
        output for cell in notebook.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    assert pictures
