"""Rows of series.csv and of records beyond a checkpoint, and their checksums."""

import numpy as np
import pytest

from solver.io import Axis, Column, RecordsLayout, Row, SeriesFile, own_rows, read_series

STEPS = (0, 2, 4, 6, 7, 8)
SCALARS = RecordsLayout({}, {"dt": Column(units="time"), "energy": Column(units="1")})


def row(step):
    return Row(step, 0.1 * step, {"dt": np.asarray(0.1), "energy": np.asarray(1.0)})


def steps_in(rows):
    return [] if rows.table() is None else rows.table().step.tolist()


@pytest.fixture
def file(tmp_path):
    made = SeriesFile(tmp_path / "series.csv")
    for n in STEPS:
        made.append(row(n), SCALARS)
    return made


@pytest.mark.parametrize("step", [-1, 0, 5, 6, 100])
def test_rows_beyond_a_step_go_and_no_others(file, step):
    file.drop_after(step)
    left = [n for n in STEPS if n <= step]
    assert steps_in(file) == left
    file.append(row(9), SCALARS)
    assert [int(n) for n in read_series(file.path)["step"]] == [*left, 9]
    assert file.verify() == {file.path: []}


@pytest.mark.parametrize("step", [-1, 0, 5, 6, 100])
def test_records_beyond_a_step_go_and_no_others(tmp_path, step):
    """Those in the file, and those in its journal."""
    file, layout = (
        own_rows(tmp_path / "spectra.h5"),
        RecordsLayout({"k": Axis(np.arange(2.0))}, {"e": Column(("k",))}),
    )
    for n in STEPS:
        file.append(Row(n, 0.1 * n, {"e": np.array([n, n + 0.5])}), layout)
    assert (tmp_path / ".spectra.h5.rows").exists(), "the last rows are not in the file yet"
    file.drop_after(step)
    left = [n for n in STEPS if n <= step]
    assert steps_in(file) == left
    file.append(Row(9, 0.9, {"e": np.array([9.0, 9.5])}), layout)
    assert [(row.step, *row.values["e"]) for row in file.table().rows] == [(n, n, n + 0.5) for n in (*left, 9)]
    assert not any(file.verify().values())


DAMAGE = {
    "a digit": ("0.4,0.1,1.0", "0.4,0.1,1.5", "line 5 is not as the run wrote it", (0, 2, 4, 6)),
    "a digit of a step": ("\n4,0.4", "\n94,0.4", "the row of step 4 is missing", (0, 2, 94, 6)),
    "half a row": ("0.4,0.1,1.0", "0.4,0", "line 5 is not as the run wrote it", (0, 2, 6)),
    "a row": ("4,0.4,0.1,1.0\n", "", "the row of step 4 is missing", (0, 2, 6)),
    "a unit": ("energy [1]", "energy [J]", "its units or the names of its columns were changed", (0, 2, 4, 6)),
    "all": (None, None, "it is missing, and with it 6 rows of steps 0 to 8", None),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_told_and_stays_told_after_rows_beyond_it_went(file, case):
    old, new, message, left = DAMAGE[case]
    if old is None:
        file.path.unlink()
    else:
        file.path.write_text(file.path.read_text().replace(old, new, 1))
    assert message in "; ".join(file.verify()[file.path])
    file.drop_after(6)
    if left is not None:
        assert tuple(int(n) for n in read_series(file.path)["step"]) == left
        assert file.verify()[file.path], "damage does not get a checksum of its own"


def test_a_kill_between_a_row_and_its_checksum_is_no_damage(file):
    sums = file.path.with_name(".series.csv.sums")
    sums.write_text("".join(sums.read_text().splitlines(keepends=True)[:-1]))
    with file.path.open("a") as more:
        more.write("9,0.9")
    assert file.verify() == {file.path: []}
    file.drop_after(6)
    assert [int(n) for n in read_series(file.path)["step"]] == [0, 2, 4, 6]
