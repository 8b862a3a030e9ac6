"""`slabwave dataset check`: a whole data set has no fault, and each kind of fault has a line of its own."""

import json
import shutil

import h5py
import numpy as np
import pytest

from solver.cli.main import main

TRAIN = "data/train/turbulence-train-0000.hdf5"
VALID = "data/valid/turbulence-valid-0000.hdf5"


@pytest.fixture
def check(capsys):
    """The command: its exit code, the lines of faults, and the last line."""

    def run(folder):
        capsys.readouterr()
        code = main(["dataset", "check", str(folder)])
        out = capsys.readouterr().out.splitlines()
        return code, out[:-1], out[-1]

    return run


def set_values(name, index, value):
    def change(folder, file):
        file[name][index] = value

    return change


def set_attribute(node, name, value):
    def change(folder, file):
        if value is None:
            del file[node].attrs[name]
        else:
            file[node].attrs[name] = value

    return change


def replace_data(name, values, **attributes):
    def change(folder, file):
        kept = dict(file[name].attrs) | attributes
        del file[name]
        file[name] = values
        file[name].attrs.update(kept)

    return change


def remove(name):
    def change(folder, file):
        del file[name]

    return change


IN_FILE = [
    (set_values("t0_fields/vorticity", (1, 2, 3, 4), np.nan), "vorticity: trajectory 1, time 2: values that are not f"),
    (set_values("dimensions/time", 1, 0.06), "dimensions/time: time 1 is 0.06; uniform times are needed, 0.05 there"),
    (set_attribute("t1_fields/velocity", "dim_varying", None), "t1_fields/velocity: dim_varying is missing"),
    (set_attribute("t1_fields/velocity", "time_varying", False), "velocity: time_varying is False; True is needed"),
    (set_attribute("t1_fields", "field_names", [1.0]), "t1_fields: attribute field_names is [1.]; a list of words"),
    (set_attribute("boundary_conditions/x_periodic", "bc_type", "HOLE"), "x_periodic: bc_type is 'HOLE'; PERIODIC"),
    (replace_data("boundary_conditions/y_periodic/mask", np.zeros(12, bool)), "y_periodic: a mask of shape [12] is"),
    (remove("boundary_conditions/x_periodic"), "boundary_conditions: none is given for axis x"),
    (remove("t2_fields"), "has no group t2_fields"),
    (remove("scalars/viscosity"), "scalars: a data set viscosity is needed"),
    (remove("dimensions/y"), "dimensions: a data set y of one axis is needed"),
    (replace_data("t0_fields/vorticity", np.zeros((3, 3, 16, 12))), "t0_fields/vorticity holds float64; float32"),
    (replace_data("t0_fields/vorticity", np.zeros((3, 3, 12, 16), np.float32)), "has shape [3, 3, 12, 16]; [3, 3, 16"),
    (set_attribute("/", "n_trajectories", 2), "n_trajectories is 2; the manifest has 3 members in it"),
    (set_attribute("/", "grid_type", None), "attribute grid_type is missing; str is needed"),
    (set_attribute("/", "simulation_parameters", ["drag", "heat"]), "parameter heat: an attribute of the file and a"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "said"), IN_FILE, ids=[said for _, said in IN_FILE])
def test_a_fault_in_a_file_has_its_line(data_set, tmp_path, check, change, said):
    """Beside the line that says that the checksum is another one."""
    folder = tmp_path / "turbulence"
    shutil.copytree(data_set, folder)
    with h5py.File(folder / TRAIN, "r+") as file:
        change(folder, file)
    code, lines, last = check(folder)
    assert code == 1
    assert f"{folder / TRAIN}: its checksum differs from the manifest's" in lines
    assert [line for line in lines if said in line and line.startswith(str(folder / TRAIN))], lines
    assert last == f"{folder}: {len(lines)} fault{'s' if len(lines) > 1 else ''}"


def in_manifest(change):
    def changed(folder):
        content = json.loads((folder / "manifest.json").read_text())
        change(content)
        (folder / "manifest.json").write_text(json.dumps(content))

    return changed


def in_two_parts(content):
    [valid] = [entry for entry in content["members"] if entry["part"] == "valid"]
    content["members"].append({**valid, "part": "train", "file": TRAIN, "trajectory": 3})


def other_statistics(folder):
    text = (folder / "stats.yaml").read_text()
    (folder / "stats.yaml").write_text(text.replace("rms:\n  velocity:\n  - ", "rms:\n  velocity:\n  - 1"))


def another_time(folder):
    with h5py.File(folder / VALID, "r+") as file:
        file["dimensions/time"][:] = [0, 0.06, 0.12]


IN_FOLDER = [
    (lambda folder: (folder / VALID).unlink(), f"{VALID}: no such file"),
    (lambda folder: shutil.copy(folder / VALID, folder / "data/test/more.hdf5"), "more.hdf5: the manifest has no such"),
    (lambda folder: (folder / "stats.yaml").unlink(), "stats.yaml: no such file"),
    (other_statistics, "stats.yaml: line 13 is '- 1"),
    (in_manifest(in_two_parts), f"is in {VALID} and in {TRAIN}; one place is needed"),
    (in_manifest(lambda content: content.update(complete=False)), "manifest.json: the data set is not complete"),
    (in_manifest(lambda content: content.pop("members")), "manifest.json: KeyError('members') is missing"),
    (lambda folder: (folder / "manifest.json").unlink(), "manifest.json: no such file"),
    (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json: no JSON"),
    (lambda folder: (folder / TRAIN).write_bytes(b"x" * 99), f"{TRAIN}: cannot be read: ValueError"),
    (another_time, f"{VALID}: times [0.0, 0.11999"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "said"), IN_FOLDER, ids=[said for _, said in IN_FOLDER])
def test_a_fault_of_the_whole_has_its_line(data_set, tmp_path, check, change, said):
    folder = tmp_path / "turbulence"
    shutil.copytree(data_set, folder)
    change(folder)
    code, lines, _ = check(folder)
    assert code == 1
    assert [line for line in lines if said in line], lines


@pytest.mark.slow
def test_a_data_set_without_faults(ensemble, data_set, check):
    code, lines, last = check(data_set)
    assert (code, lines) == (0, [])
    assert last == f"{data_set}: ok, 10 trajectories in 5 files; members drawn again: 0, left out: 0"
    assert check(ensemble) == (code, lines, last), "the directory of the ensemble will do"


def test_where_there_is_no_data_set(tmp_path, capsys):
    assert main(["dataset", "check", str(tmp_path)]) == 2
    assert f"{tmp_path} is no data set: {tmp_path}/manifest.json does not exist" in capsys.readouterr().err
