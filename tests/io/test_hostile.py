"""HDF5 files from elsewhere: nothing outside them is read, and nothing is allocated on their word."""

import re
import resource

import h5py
import numpy as np
import pytest

import solver as sw
from solver.cli.main import main
from solver.io import describe_field, read_snapshot


@pytest.fixture
def secret(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["u"] = np.ones((3, 8, 8, 8))
    return tmp_path / "secret.h5"


def external(file, secret):
    file["u"] = h5py.ExternalLink(str(secret), "u")


def soft(file, secret):
    file["behind"] = h5py.ExternalLink(str(secret), "/")
    file["u"] = h5py.SoftLink("/behind/u")


def behind(file, secret):
    file["group"] = h5py.ExternalLink(str(secret), "/")


def virtual(file, secret):
    layout = h5py.VirtualLayout((3, 8, 8, 8), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "u", (3, 8, 8, 8))
    file.create_virtual_dataset("u", layout)


def raw(file, secret):
    file.create_dataset("u", (3, 8, 8, 8), "f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


@pytest.mark.parametrize(
    ("make", "name", "message"),
    [
        (external, "u", "lies behind a link \\(external\\)"),
        (soft, "u", "lies behind a link \\(soft\\)"),
        (behind, "group/u", "lies behind a link \\(external\\)"),
        (virtual, "u", "lie in other files"),
        (raw, "u", "lie in other files"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_no_link_is_followed(tmp_path, secret, make_grid, make, name, message):
    with h5py.File(tmp_path / "u.h5", "w") as file:
        make(file, secret)
    with pytest.raises(ValueError, match=message):
        describe_field(tmp_path / "u.h5", [name])
    with pytest.raises(ValueError, match=message):
        sw.io.read_field(tmp_path / "u.h5", name, make_grid((8, 8, 8), devices=2))


def test_a_link_to_what_is_no_hdf5_is_named_with_its_file(tmp_path):
    (tmp_path / "text").write_text("no HDF5")
    with h5py.File(tmp_path / "step-00000000.h5", "w") as file:
        file.attrs["step"], file.attrs["time"] = 0, 0.0
        file["x"] = np.arange(4.0)
        file["x"].make_scale("x")
        file["u"] = h5py.ExternalLink(str(tmp_path / "text"), "u")
    with pytest.raises(ValueError, match=r"step-00000000\.h5: 'u' lies behind a link \(external\)"):
        read_snapshot(tmp_path / "step-00000000.h5")


def test_a_log_that_is_a_link_is_not_followed(tmp_path, capsys):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "log.txt").symlink_to(tmp_path / "precious")
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["u"] = np.zeros((3, 8, 8, 8))
    assert main(run_with(tmp_path)) == 2
    assert "log.txt is a symbolic link, which is not followed; remove it" in capsys.readouterr().err
    assert (tmp_path / "precious").read_text() == "mine"


def huge(file):
    file.create_dataset("u", (3, 10**4, 10**4, 10**4), "f8", chunks=(1, 1, 100, 100))


def words(file):
    file["u"] = np.array([b"velocity"])


def compound(file):
    file["u"] = np.zeros((3, 8, 8, 8), [("a", "f8"), ("b", "i4")])


def group(file):
    file.create_group("u")


def run_with(tmp_path, *overrides):
    """A run that starts from the file, refused before anything is made."""
    case = sw.__file__.replace("solver/__init__.py", "runs/taylor_green.toml")
    start = f"initial={{name='file', path='{tmp_path}/u.h5', datasets=['u']}}"
    return [
        "run",
        case,
        "grid.shape=[8,8,8]",
        start,
        f"output.directory={tmp_path}/out",
        "time.end=0.02",
        "devices.use=[0,1]",
        *overrides,
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (huge, r"has shape \[3, 10000, 10000, 10000\]; real values of shape \[3, 8, 8, 8\], components first"),
        (words, "'u' holds .*; numbers are needed"),
        (compound, "'u' holds .*; numbers are needed"),
        (group, "'u' is a group; a data set is needed"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_no_field_is_refused_in_one_line(tmp_path, capsys, make, message):
    with h5py.File(tmp_path / "u.h5", "w") as file:
        make(file)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(run_with(tmp_path)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert pytest.approx(before, rel=0.2) == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert re.search(message, lines[0])
    assert not (tmp_path / "out").exists()


def test_a_field_with_nan_is_refused(tmp_path, capsys):
    values = np.zeros((3, 8, 8, 8))
    values[1, 2, 3, 4] = np.nan
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["u"] = values
    assert main(run_with(tmp_path)) == 2
    assert "u.h5: the field has values that are not finite" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*/*"))


def test_a_cut_file_is_refused(tmp_path, capsys):
    with h5py.File(tmp_path / "u.h5", "w") as file:
        file["u"] = np.zeros((3, 8, 8, 8))
    data = (tmp_path / "u.h5").read_bytes()
    (tmp_path / "u.h5").write_bytes(data[: len(data) // 2])
    assert main(run_with(tmp_path)) == 2
    assert "not an HDF5 file, or damaged" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
