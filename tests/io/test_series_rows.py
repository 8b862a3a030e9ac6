"""Rows of series.csv beyond a checkpoint."""

import pytest

from solver.io import SeriesFile, drop_rows_after, read_series


@pytest.mark.parametrize("step", [-1, 0, 5, 6, 100])
def test_rows_beyond_a_step_go_and_no_others(tmp_path, step):
    path = tmp_path / "series.csv"
    file = SeriesFile(path, {"energy": "1"})
    file.begin()
    for n in (0, 2, 4, 6, 7, 8):
        file.append({"step": n, "t": 0.1 * n, "dt": 0.1, "energy": 1.0})
    drop_rows_after(path, step)
    left = [n for n in (0, 2, 4, 6, 7, 8) if n <= step]
    assert [int(n) for n in read_series(path).get("step", [])] == left
    file.append({"step": 9, "t": 0.9, "dt": 0.1, "energy": 1.0})
    assert [int(n) for n in read_series(path)["step"]] == [*left, 9]
