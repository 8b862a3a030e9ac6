"""What is drawn of an ensemble: means and bands of groups of members, and last values against keys."""

import numpy as np
import pytest

from solver.pictures import View, ensemble_figure
from solver.reading import MemberSeries
from solver.report import bands
from solver.report.charts import Charts
from solver.report.ensemble import _against_keys


def member(size, times):
    t = np.asarray(times, float)
    return {"step": 10 * t, "t": t, "energy": size * (1 + t), "constant": np.ones_like(t)}


@pytest.fixture
def members():
    """Two swept values with two members each; the last member stopped early and has times of its own."""
    return MemberSeries(
        names=("member-0000", "member-0001", "member-0002", "member-0003"),
        values={
            "initial.energy": ("1.0", "2.0", "1.0", "2.0"),
            "random.seed": ("0", "1", "2", "3"),
            "equation.name": ("a",) * 4,
        },
        swept=("initial.energy",),
        series=(
            member(1.0, [0, 1, 2]), member(4.0, [0, 1, 2]), member(3.0, [0, 1, 2]), member(8.0, [0, 0.5, 1.5]),
        ),
        units={"energy": "length^2/time^2"},
    )  # fmt: skip


def test_means_and_bands_are_those_of_each_group_at_common_times(members):
    found = bands(members)
    assert list(found) == ["energy"], "what does not change is left out"
    assert list(found["energy"]) == ["initial.energy = 1.0", "initial.energy = 2.0"]
    t, mean, deviation = found["energy"]["initial.energy = 1.0"]
    np.testing.assert_array_equal(t, [0, 1, 2])
    np.testing.assert_allclose(mean, 2 * (1 + t))
    np.testing.assert_allclose(deviation, 1 + t)
    t, mean, deviation = found["energy"]["initial.energy = 2.0"]
    np.testing.assert_array_equal(t, [0, 1])
    np.testing.assert_allclose(mean, 6 * (1 + t))
    np.testing.assert_allclose(deviation, 2 * (1 + t))


def test_last_values_are_drawn_against_keys_with_numbers(members):
    charts = Charts()
    _against_keys(charts, members)
    against_energy, against_seed = charts.specs
    assert against_energy["xlabel"] == "initial.energy", "swept keys come first"
    assert against_energy["curves"][0]["x"] == [1, 1, 2, 2]
    assert against_energy["curves"][0]["y"] == [3, 9, 12, 20]
    assert [curve["name"] for curve in against_seed["curves"]] == ["initial.energy = 1.0", "initial.energy = 2.0"]
    assert against_seed["curves"][1]["x"] == [1, 3]
    assert against_seed["curves"][1]["y"] == [12, 20]


def test_the_figure_has_a_curve_and_a_band_for_each_group(members):
    figure = ensemble_figure(bands(members), members.units, View())
    [panel] = [axis for axis in figure.axes if axis.get_visible()]
    assert [line.get_label() for line in panel.lines] == list(members.groups)
    first, second = (collection.get_paths()[0].vertices[:, 1] for collection in panel.collections)
    assert (first.min(), first.max()) == (1, 9)
    assert (second.min(), second.max()) == (4, 16)
    assert ensemble_figure({}, {}, View()) is None
