"""The files of a data set: what they hold, that the same members make the same bytes, and members that blow up."""

import filecmp
import json
import shutil
from pathlib import Path

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import solver as sw
from solver.cli import data_sets
from solver.cli.main import main
from solver.dataset import part_of
from solver.dataset.statistics import Moments
from solver.outputs.at_points import Selection
from solver.outputs.well import _arranged, orders

PLAIN = {"viscosity": 0.1, "diffusivity": 0.1, "buoyancy_frequency": 1.0}
SPLIT = (0.8, 0.1, 0.1)


def files_in(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def assert_same_bytes(a: Path, b: Path) -> None:
    assert files_in(a) == files_in(b)
    for path in files_in(a):
        assert filecmp.cmp(a / path, b / path, shallow=False), path


def trajectories(data_set, name):
    """A field of all members by number, from all files."""
    entries = json.loads((data_set / "manifest.json").read_text())["members"]
    found = {}
    for entry in entries:
        with h5py.File(data_set / entry["file"]) as file:
            [group] = [f"t{i}_fields" for i in range(3) if name in file[f"t{i}_fields"]]
            found[int(entry["member"][-4:])] = file[group][name][entry["trajectory"]]
    return found


@pytest.mark.slow
def test_the_files_hold_every_member_once(data_set, manifest):
    parts = [path.parts[1] for path in files_in(data_set) if path.suffix == ".hdf5"]
    assert parts == ["test", "train", "train", "train", "valid"]
    assert sorted(entry["member"] for entry in manifest["members"]) == [f"member-{n:04d}" for n in range(10)]
    for entry in manifest["members"]:
        assert entry["part"] == part_of(int(entry["member"][-4:]), SPLIT, manifest["seed"])
    assert {"slabwave", "jax", "h5py"} <= manifest["versions"].keys()


@pytest.mark.slow
def test_vorticity_is_the_curl_of_velocity_in_the_files(data_set):
    """Which axis is x, which component is u, and which values belong to which time."""
    velocity, vorticity = trajectories(data_set, "velocity"), trajectories(data_set, "vorticity")
    kx, ky = 2 * np.pi * np.fft.fftfreq(16, 2 * np.pi / 16)[:, None], 2 * np.pi * np.fft.fftfreq(12, 3.0 / 12)
    for number in range(10):
        assert velocity[number].shape == (3, 16, 12, 2)
        u, v = np.moveaxis(np.fft.fft2(velocity[number].astype(np.float64), axes=(1, 2)), -1, 0)
        curl = np.fft.ifft2(1j * kx * v - 1j * ky * u, axes=(1, 2)).real
        np.testing.assert_allclose(curl, vorticity[number], atol=1e-5 * np.abs(vorticity[number]).max())


def test_members_differ_as_their_scalars_say(data_set, manifest):
    """Half the mean squares at the start are those of the sweep, and the file names them."""
    vorticity = trajectories(data_set, "vorticity")
    for entry in manifest["members"]:
        number, own = int(entry["member"][-4:]), entry["values"]
        energy = 0.5 * (vorticity[number][0].astype(np.float64) ** 2).mean()
        assert energy == pytest.approx(own["initial.energy"], rel=1e-5)
        with h5py.File(data_set / entry["file"]) as file:
            for name, key in (("energy", "initial.energy"), ("viscosity", "equation.viscosity")):
                scalar = file["scalars"][name]
                assert scalar.attrs["sample_varying"]
                assert scalar[entry["trajectory"]] == np.float32(own[key])
                assert name not in file.attrs
            assert file.attrs["drag"] == 0.1
            assert file["scalars/drag"][()] == np.float32(0.1)
            assert "drag" in file.attrs["simulation_parameters"]
            np.testing.assert_array_equal(file["dimensions/time"][:], np.float32([0, 0.05, 0.1]))
            np.testing.assert_allclose(file["dimensions/y"][:], np.arange(12) * 0.25, rtol=1e-6)


def test_statistics_are_those_of_the_training_members(data_set, manifest):
    """Written out in double precision over all values at once."""
    lines = (data_set / "stats.yaml").read_text().splitlines()
    training = [int(entry["member"][-4:]) for entry in manifest["members"] if entry["part"] == "train"]
    vorticity, velocity = (
        np.stack([trajectories(data_set, name)[n] for n in training]).astype(np.float64)
        for name in ("vorticity", "velocity")
    )
    assert f"  vorticity: {vorticity.std():.4E}" == lines[lines.index("std:") + 4]
    assert (
        f"  vorticity: {np.sqrt((np.diff(vorticity, axis=1) ** 2).mean()):.4E}" == lines[lines.index("rms_delta:") + 4]
    )
    assert f"  - {velocity[..., 1].std():.4E}" == lines[lines.index("std:") + 3]
    assert f"  - {np.diff(velocity[..., 0], axis=1).std():.4E}" == lines[lines.index("std_delta:") + 2]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_stopped_ensemble_ends_with_the_same_bytes(run_file, data_set, tmp_path):
    """Stopped in a member, between two members, and while the files were made."""
    folder = tmp_path / "stopped"
    start = ["run", str(run_file), "--resume", f"output.directory={folder}"]
    (folder / "member-0001").mkdir(parents=True)
    (folder / "member-0001" / "stop").touch()
    assert main(start) == 75
    assert not (folder / "turbulence").exists()
    assert main([*start, "ensemble.members=2"]) == 0
    first = folder / "turbulence" / "data" / "train" / "turbulence-train-0000.hdf5"
    before = first.stat().st_mtime_ns
    assert main(start) == 0
    assert_same_bytes(folder / "turbulence", data_set)
    assert first.stat().st_mtime_ns == before, "it held the same members already"
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    (folder / "turbulence" / "data" / "valid" / ".half.hdf5.partial").touch()
    shutil.rmtree(folder / "turbulence" / "data" / "test")
    assert main(["resume", str(folder)]) == 0
    assert_same_bytes(folder / "turbulence", data_set)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_member_that_blows_up_is_drawn_again_and_counted(run_file, tmp_path, capsys):
    folder, seed = tmp_path / "again", 1
    draw = "{ 'initial.energy' = { choice = [0.5, 1.0, 1e30] }, 'random.seed' = 'member' }"
    words = ["run", str(run_file), "--resume", f"output.directory={folder}", "ensemble.members=4"]
    words += [f"ensemble.seed={seed}", f"ensemble.draw={draw}", "ensemble.sweep={}", "output.well.fields=['vorticity']"]
    assert main(words) == 0
    content = (folder / "turbulence" / "manifest.json").read_text()
    manifest = json.loads(content)
    own = {entry["member"]: (entry["values"]["initial.energy"], entry["drawn_again"]) for entry in manifest["members"]}
    assert own["member-0000"] == (0.5, 2)
    assert [again for _, again in own.values()] == [2, 0, 0, 0]
    assert manifest["drawn_again"] == 2
    assert [path.name for path in sorted((folder / "blown-up").iterdir())] == [
        "member-0000-again-1",
        "member-0000-again-2",
    ]
    seeds = [entry["values"]["random.seed"] for entry in manifest["members"]]
    assert seeds == [20_000_000, 1, 2, 3], "with random fields of its own"
    assert main(words) == 0
    assert (folder / "turbulence" / "manifest.json").read_text() == content
    swept = [*words[:3], f"output.directory={tmp_path / 'swept'}", "ensemble.sweep={ 'initial.energy' = [1.0, 1e30] }"]
    capsys.readouterr()
    assert main([*swept, "ensemble.members=1", "ensemble.draw={}"]) == 3
    assert "1 of 2 members blew up (member-0001)" in capsys.readouterr().err
    manifest = json.loads((tmp_path / "swept" / "turbulence" / "manifest.json").read_text())
    assert manifest["left_out"] == [{"member": "member-0001", "drawn_again": 0}]
    assert manifest["trajectories"] == 1


@pytest.mark.thorough
@pytest.mark.slow
def test_the_last_of_several_jobs_makes_the_data_set_with_the_same_bytes(run_file, tmp_path, capsys, monkeypatch):
    """A member of each job blows up and is drawn again."""
    draw = "{ 'initial.energy' = { choice = [0.5, 1.0, 1e30] }, 'random.seed' = 'member' }"
    words = ["run", str(run_file), "--resume", "ensemble.members=6", "ensemble.seed=73", f"ensemble.draw={draw}"]
    words += ["ensemble.sweep={}", "ensemble.together=2"]
    assert main([*words, f"output.directory={tmp_path / 'whole'}"]) == 0
    shared, carry_out = tmp_path / "shared", data_sets.run_members
    words += [f"output.directory={shared}", "--jobs", "2", "--job"]

    def after_the_other_job(*arguments, **options):
        """Between the checks of job 0 and its first member, job 1 does all that it has to do."""
        monkeypatch.setattr(data_sets, "run_members", carry_out)
        assert main([*words, "1"]) == 0
        assert not (shared / "turbulence").exists()
        assert "members of other jobs are not over" in capsys.readouterr().out
        return carry_out(*arguments, **options)

    monkeypatch.setattr(data_sets, "run_members", after_the_other_job)
    assert main([*words, "0"]) == 0
    aside = [sorted(path.name for path in (tmp_path / name / "blown-up").iterdir()) for name in ("whole", "shared")]
    assert aside[0] == aside[1]
    assert {name[:11] for name in aside[0]} == {"member-0000", "member-0005"}, "one of each job"
    assert_same_bytes(shared / "turbulence", tmp_path / "whole" / "turbulence")
    assert (shared / "members.csv").read_text() == (tmp_path / "whole" / "members.csv").read_text()


def test_a_part_depends_on_number_split_and_seed_alone():
    parts = [part_of(number, SPLIT, 0) for number in range(1000)]
    for start in range(0, 1000, 10):
        assert sorted(parts[start : start + 10]) == ["test", *["train"] * 8, "valid"]
    assert parts != [part_of(number, SPLIT, 1) for number in range(1000)]
    assert {parts[start : start + 10].index("valid") for start in range(0, 1000, 10)} == set(range(10))
    assert [part_of(number, (0.5, 0.25, 0.25), 7) for number in range(4)].count("train") == 2
    assert all(part_of(0, SPLIT, seed) == "train" for seed in range(50))
    thirds = [part_of(number, (1 / 3, 1 / 3, 1 / 3), 0) for number in range(3)]
    assert sorted(thirds) == ["test", "train", "valid"]
    odd = [part_of(number, (0.857, 0.0715, 0.0715), 0) for number in range(100)]
    assert [odd.count(part) for part in ("train", "valid", "test")] == [86, 7, 7]


@pytest.mark.parametrize(
    ("equation", "parameters", "found"),
    [
        ("Boussinesq", PLAIN, {"velocity": 1, "buoyancy": 0}),
        ("OldroydB", {}, {"velocity": 1, "stress": 2}),
        ("NonlinearSchroedinger", {}, {"density": 0, "psi_real": 0, "psi_imag": 0}),
    ],
)
def test_the_indices_of_a_field_are_those_of_its_rank(make_grid, equation, parameters, found):
    made = getattr(sw.equations, equation)(make_grid((8, 12), devices=1), **parameters)
    assert orders(made, Selection()) == found


def test_components_with_names_of_their_own_are_scalars(make_grid):
    """Two species in two dimensions are no vector."""
    kind = sw.write(["dt(c) = lap(c)"], fields={"c": "vector"}, components={"c": ("fish", "shark")})
    assert orders(kind(make_grid((8, 12), devices=1)), Selection()) == {"c_fish": 0, "c_shark": 0}


def test_a_symmetric_tensor_has_all_its_components(make_grid):
    flow = sw.equations.OldroydB(make_grid((4, 8), devices=1))
    held = jnp.arange(3.0)[:, None, None] * jnp.ones((3, 4, 8))  # xx, xy, yy

    class Chosen(Selection):
        def values(self, equation, fields, t):
            return {"stress": held}

    whole = np.asarray(jax.jit(lambda: _arranged(Chosen(), flow, {}, 0.0)["stress"])())
    np.testing.assert_array_equal(whole[:, 1, 2], [0, 1, 1, 2])


@pytest.mark.thorough
@pytest.mark.slow
def test_a_later_end_gives_longer_trajectories_and_other_intervals_none(ensemble, tmp_path, capsys):
    folder = tmp_path / "longer"
    shutil.copytree(ensemble, folder)
    for word, said in (
        ("every_time=0.1", "every_time = 0.1: {}/member-0000 was begun with 0.05; the same in all members is needed"),
        ("fields=['velocity']", "{}/member-0000 was begun with ['velocity', 'vorticity']; the same in all members"),
    ):
        capsys.readouterr()
        assert main(["resume", str(folder), f"output.well.{word}"]) == 2
        assert said.format(folder) in capsys.readouterr().err
    assert main(["resume", str(folder), "time.end=0.15"]) == 0
    longer, shorter = (trajectories(each / "turbulence", "vorticity") for each in (folder, ensemble))
    for number in range(10):
        assert longer[number].shape == (4, 16, 12)
        np.testing.assert_array_equal(longer[number][:3], shorter[number])
    assert main(["dataset", "check", str(folder)]) == 0
    for member, words, said in (
        (
            "member-0000",
            ["output.well.fields=['velocity']", "time.end=0.2"],
            "holds velocity, vorticity; the fields that the run was",
        ),
        ("member-0001", ["output.well.every_time=0.06", "time.end=0.18"], "holds t = 0.05, so that times would not be"),
    ):
        capsys.readouterr()
        assert main(["resume", str(folder / member), *words]) == 2
        assert said in capsys.readouterr().err


def test_moments_of_parts_are_those_of_the_whole():
    """Of parts of unequal size whose means are far apart and far from zero."""
    values = np.random.default_rng(3).normal(size=(10, 4, 2)) + 1e6 * np.arange(10)[:, None, None]
    together = Moments.of(values[:3], 1) + Moments.of(values[3:4], 1) + Moments.of(values[4:], 1)
    found = together.statistics()
    np.testing.assert_allclose(found["mean"], values.mean((0, 1)), rtol=1e-14)
    np.testing.assert_allclose(found["std"], values.std((0, 1)), rtol=1e-14)
    np.testing.assert_allclose(found["rms"], np.sqrt((values**2).mean((0, 1))), rtol=1e-14)
