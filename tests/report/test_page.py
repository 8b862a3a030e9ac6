"""Pages of runs: whatever a run left is told, nothing becomes markup, and the size is bounded."""

import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
from made_runs import MARKUP, record

from solver.cli.main import main
from solver.pictures import Recorded
from solver.report import comparison_page, page as page_module, report_page
from solver.report.charts import Charts, numbers, records_charts, series_charts, thinned
from solver.report.compare import difference, labels
from solver.report.facts import read_facts
from solver.report.html import data_script, element, table


class Page(HTMLParser):
    """What a browser would see: the elements, their attributes, and text by element."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self._inside = [], [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("img", "meta"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        assert self._inside.pop() == tag

    def handle_data(self, data):
        if self._inside:
            self.texts.setdefault(self._inside[-1], []).append(data)

    @property
    def data(self):
        return json.loads(self.texts["script"][0])

    def has(self, text):
        return any(text in part for texts in self.texts.values() for part in texts)


@pytest.mark.slow
def test_a_finished_run_is_told(finished):
    page = Page(report_page(finished))
    assert page.texts["h1"] == ["A vortex"]
    assert page.texts["title"] == ["A vortex"]
    assert page.texts["span"][0] == "finished"
    headings = page.texts["h2"]
    assert headings == [
        "What was run", "Against time", "Energy budget", "Spectra", "Slices", "Statistics", "Do it again", "Provenance"
    ]  # fmt: skip
    assert page.tags.count("img") == 4
    energy = next(chart for chart in page.data if chart["title"].startswith("energy [length²/time²]"))
    rows = read_facts(finished).series
    np.testing.assert_allclose(energy["curves"][0]["y"], rows["energy"], rtol=1e-5)
    np.testing.assert_allclose(energy["curves"][0]["x"], rows["t"], atol=1e-12)
    spectrum = next(chart for chart in page.data if "t" in chart)
    assert len(spectrum["t"]) == len(spectrum["curves"][0]["y"]) == 7
    assert page.has("viscosity = 0.05")
    assert page.has("12 × 16 × 8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "badge", "sentence"),
    [
        ("finished", "finished", "The run is finished: step 12, t = 0.6."),
        ("running", "running", "The run is under way: step 6, t = 0.3, 50 % of the way to t = 0.6."),
        ("blown_up", "blown up", "The solution blew up: step "),
        ("empty", "empty", "Nothing has been written yet."),
        ("line", "finished", "The run is finished: step 30"),
    ],
)
def test_every_ending_has_its_page(request, kind, badge, sentence):
    page = Page(report_page(request.getfixturevalue(kind)))
    assert page.texts["span"][0] == badge
    assert page.has(sentence)
    if kind == "empty":
        assert (page.tags.count("img"), page.data) == (0, [])
    if kind == "blown_up":
        assert any("blew up between step" in text for text in page.texts["li"])


def test_markup_stays_text(blown_up):
    text = report_page(blown_up)
    page = Page(text)
    assert page.texts["h1"] == [MARKUP] == page.texts["title"]
    assert page.tags.count("script") == 2
    assert page.tags.count("b") == 0
    assert "<script>document" not in text


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(finished):
    page = Page(report_page(finished))
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    sources = [value for name, value in page.attributes if name in ("src", "href", "action", "srcset", "data")]
    assert all(value.startswith("data:image/png;base64,") for value in sources)
    assert not re.search(r"url\(|@import|https?://", "".join(page.texts["style"] + page.texts["script"][1:]))
    policy = next(value for name, value in page.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'")


def test_data_cannot_end_its_script():
    text = data_script({"</script><script>alert(1)": "\u2028 <!--"})
    assert text.count("</script>") == 1
    assert json.loads(Page(text).texts["script"][0]) == {"</script><script>alert(1)": "\u2028 <!--"}


def test_words_are_escaped_in_every_place():
    made = Page(element("p", MARKUP, element("b", MARKUP), title=MARKUP) + table((MARKUP,), [(MARKUP, MARKUP)]))
    assert made.texts["p"] == made.texts["b"] == made.texts["td"] == [MARKUP]
    assert ("title", MARKUP) in made.attributes
    assert "script" not in made.tags


@pytest.mark.thorough
@pytest.mark.slow
def test_the_command_does_it_again(finished, tmp_path):
    folder = tmp_path / "a run"
    shutil.copytree(finished, folder)
    provenance = json.loads((folder / "provenance.json").read_text())
    first = {"command": ["/usr/bin/slabwave", "run", "my file.toml", "grid.shape=[8,8]", "title='a; b'"]}
    provenance |= {"command": ["/usr/bin/slabwave", "resume", "a run"], "earlier": [first]}
    provenance["environment"] = {"SLURM_JOB_ID": "4711", "SLURM_JWT": "a credential"}
    (folder / "provenance.json").write_text(json.dumps(provenance))
    config = (folder / "config.toml").read_text()
    assert re.search("^script = ", config, re.MULTILINE)
    page = report_page(folder)
    assert Page(page).has("python /usr/bin/slabwave run 'my file.toml'")
    assert "4711" in page
    assert "a credential" not in page
    (folder / "config.toml").write_text(re.sub("^script = .*$", "", config, flags=re.MULTILINE))
    page = Page(report_page(folder))
    assert page.has("slabwave run 'my file.toml' 'grid.shape=[8,8]' 'title='\"'\"'a; b'\"'\"''")
    assert page.has("slabwave resume 'a run'")
    assert page.has(f"slabwave run '{folder}/config.toml' output.directory='{folder}-again'")


@pytest.mark.slow
def test_own_records_are_on_the_page(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    axes = {"rank": (np.arange(4), ""), "other": (np.arange(3), "")}
    columns = {"my_sizes": (("rank",), "length"), "table": (("rank", "other"), "")}
    record(folder, "my-own", axes, columns, lambda name, t: np.arange(4) + t if "s" in name else np.ones((4, 3)))
    page = Page(report_page(folder))
    assert "My own" in page.texts["h2"]
    chart = next(chart for chart in page.data if chart["title"] == "my sizes [length]")
    assert chart["curves"][0]["y"][2] == [1, 2, 3, 4]
    assert page.tags.count("img") == 5  # four of slices, and one for the table


def test_a_damaged_file_is_named_and_the_rest_is_shown(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "spectra.h5").write_bytes(b"junk")
    (folder / "snapshots" / "step-00000000.h5").write_bytes(b"junk")
    page = Page(report_page(folder))
    assert any("spectra.h5: not an HDF5 file" in text for text in page.texts["li"])
    assert page.has("step-00000000.h5: not an HDF5 file")
    assert "Against time" in page.texts["h2"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_page_is_at_most_eight_megabytes(finished, monkeypatch):
    whole = len(report_page(finished).encode())
    monkeypatch.setattr(page_module, "LIMIT", whole - 50_000)
    assert len(report_page(finished).encode()) <= whole - 50_000


def test_a_long_series_keeps_its_extremes():
    y = np.sin(np.arange(100_000) / 50)
    y[51_234] = 7.0
    y[70_001] = np.nan
    keep = thinned(y, 1000)
    assert len(keep) <= 1000
    assert {0, 51_234, 99_999} <= set(keep.tolist())
    columns = {"t": np.arange(100_000.0), "step": np.arange(100_000), "energy": y}
    charts = Charts()
    series_charts(charts, columns, {"energy": "1"})
    curve = charts.specs[0]["curves"][0]
    assert len(curve["x"]) == len(curve["y"]) <= 1000
    assert max(v for v in curve["y"] if v is not None) == 7.0
    assert numbers(np.array([np.nan, np.inf, 1 / 3])) == [None, None, 0.333333]


# ---- several runs -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_runs_beside_each_other(finished, blown_up, empty, running):
    page = Page(comparison_page([finished, running, blown_up, empty]))
    assert page.tags.count("script") == 2
    assert page.has("equation.viscosity")
    assert page.has(MARKUP)
    energy = next(chart for chart in page.data if chart["title"].startswith("energy ["))
    assert len(energy["curves"]) == 3
    assert len({curve["name"] for curve in energy["curves"]}) == 3
    assert "Slices of the last snapshots" in page.texts["h2"]


def test_a_run_does_not_differ_from_itself(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "copy")
    page = Page(comparison_page([finished, tmp_path / "copy"]))
    assert page.has("None.")
    assert not [chart for chart in page.data if chart["title"].endswith("difference")]


def test_differences_are_taken_at_the_times_that_both_have(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "other")
    lines = (tmp_path / "other" / "series.csv").read_text().splitlines()
    energy = lines[1].split(",").index("energy")
    rows = [line.split(",") for line in lines[2:9:2]]  # every second row, to half of the time
    for row in rows:
        row[energy] = repr(float(row[energy]) + 0.25)
    (tmp_path / "other" / "series.csv").write_text("\n".join([*lines[:2], *map(",".join, rows)]) + "\n")
    first, other = read_facts(finished), read_facts(tmp_path / "other")
    t, apart = difference(first, other, "energy")
    np.testing.assert_allclose(t, 0.05 * np.arange(7), atol=1e-12)
    np.testing.assert_allclose(apart, 0.25, atol=1e-3)
    np.testing.assert_allclose(apart[::2], 0.25, rtol=1e-12)
    charts = Page(comparison_page([finished, tmp_path / "other"])).data
    chart = next(chart for chart in charts if chart["title"] == "energy: difference")
    assert max(chart["curves"][0]["y"]) == pytest.approx(0.25, abs=1e-3)


def test_runs_have_short_names_that_tell_them_apart(tmp_path):
    assert labels([tmp_path / "a", tmp_path / "b"]) == ["a", "b"]
    assert labels([tmp_path / "a" / "run", tmp_path / "b" / "run"]) == ["a/run", "b/run"]
    assert len(set(labels([tmp_path, tmp_path]))) == 2


# ---- the commands -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pages_are_written(finished, line, tmp_path, capsys):
    assert main(["report", str(finished), "--output", str(tmp_path / "page.html")]) == 0
    assert main(["compare", str(finished), str(line), "--output", str(tmp_path / "two.html")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "page.html"), str(tmp_path / "two.html")]
    assert (tmp_path / "two.html").read_text().startswith("<!DOCTYPE html>")
    copy = tmp_path / "copy"
    shutil.copytree(line, copy)
    before = {path.name for path in copy.rglob("*")}
    assert main(["report", str(copy)]) == 0
    assert {path.name for path in copy.rglob("*")} == before | {"report.html"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "here"], "here holds no run: here/config.toml does not exist"),
        (["compare", "run"], "1 run: two or more are needed"),
        (["compare", "run", "here"], "here holds no run"),
        (["report", "run", "--output", "no/page.html"], "--output no/page.html: there is no folder no;"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_told_is_one_line(finished, tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "run").symlink_to(finished)
    assert main(words) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "run"]


# ---- slices and statistics --------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.slow
def test_means_and_newest_planes_are_on_the_page(sliced):
    page = Page(report_page(sliced))
    assert page.texts["h2"][1:-2] == [
        "Points", "Spectra", "Slices", "Scales, means over windows", "Spectra, means over windows", "Mean fields"
    ]  # fmt: skip
    pictures = [value for name, value in page.attributes if name == "alt"]
    assert [text for text in pictures if "slices" in text] == [
        "slices at t = 0.6, x = 3.14", "slices at t = 0.6, z = 0.785", "slices at t = 0.3 – 0.6, z = 0.785"
    ]  # fmt: skip
    facts = read_facts(sliced)
    sizes = facts.means["scales"]
    chart = next(chart for chart in page.data if chart["title"].startswith("energy [") and "t" not in chart)
    assert [curve["name"] for curve in chart["curves"]] == ["energy", "energy plus deviation", "energy minus deviation"]
    mean, spread = sizes.values["energy"], sizes.spread["energy"]
    np.testing.assert_allclose(chart["curves"][1]["y"], np.repeat(mean + spread, 2), rtol=1e-5)
    np.testing.assert_allclose(chart["curves"][0]["x"], [0, 0.3, 0.3, 0.6], atol=1e-6)
    slider = [chart for chart in page.data if "t" in chart and len(chart["t"]) == 2]
    assert [curve["name"] for curve in slider[0]["curves"]] == [
        "energy",
        "plus deviation in time",
        "minus deviation in time",
    ]
    assert [bool(curve.get("quiet")) for curve in slider[0]["curves"]] == [False, True, True]
    assert page.has("Dotted: one standard deviation in time above and below.")
    point = next(chart for chart in page.data if chart["title"].startswith("velocity z"))
    assert [curve["name"] for curve in point["curves"]] == ["(0.1, 0.2, 0.3)", "(1, 2, 3)"]


@pytest.mark.slow
def test_statistics_that_are_damaged_are_named(sliced, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(sliced, folder)
    (folder / "statistics" / "spectra.h5").write_bytes(b"junk")
    shutil.copy(folder / "spectra.h5", folder / "statistics" / "scales.h5")
    page = Page(report_page(folder))
    assert any("statistics/spectra.h5: not an HDF5 file" in text for text in page.texts["li"])
    assert any("statistics/scales.h5: not a file of statistics" in text for text in page.texts["li"])
    assert "Points" in page.texts["h2"]


@pytest.mark.slow
def test_runs_are_compared_in_numbers_and_means(sliced, tmp_path):
    shutil.copytree(sliced, tmp_path / "copy")
    record(tmp_path / "copy", "mine", {}, {"size": ((), "length")}, lambda name, t: t)
    record(tmp_path / "copy", "two", {"point": ([0, 1], "")}, {"z": (("point",), "")}, lambda name, t: [t, 2 * t])
    shutil.copytree(tmp_path / "copy", tmp_path / "other")
    page = Page(comparison_page([tmp_path / "copy", tmp_path / "other"]))
    assert {"Mine", "Scales, means over windows"} <= set(page.texts["h2"])
    chart = next(chart for chart in page.data if chart["title"] == "size [length]")
    assert [curve["name"] for curve in chart["curves"]] == ["copy", "other"]
    assert chart["curves"][1]["y"] == [0, 0.5, 1, 1.5, 2]
    assert page.tags.count("img") == 2
    several = next(chart for chart in page.data if chart["title"] == "z")
    assert [(curve["name"], curve["colour"], curve["dash"]) for curve in several["curves"]] == [
        ("copy, point 0", 0, 0), ("copy, point 1", 1, 0), ("other, point 0", 0, 1), ("other, point 1", 1, 1)
    ]  # fmt: skip


def test_densities_are_seen_where_they_are(tmp_path):
    """A Gaussian ends a decade below the smallest density, and two runs are compared on logarithmic axes."""
    x = np.linspace(-10, 10, 41)
    density = np.where(np.abs(x) < 3, np.exp(-np.abs(x)), 0.0)
    axes, columns = {"deviation": (x, "1")}, {"u": (("deviation",), "1")}
    file = record(tmp_path, "pdfs", axes, columns, lambda name, t: density)
    charts = Charts()
    records_charts(charts, Recorded.read(file))
    (spec,) = charts.specs
    gaussian = np.array(spec["curves"][1]["y"][-1], float)
    drawn = np.isfinite(gaussian)
    assert np.abs(x[drawn]).max() == 2.5
    assert gaussian[drawn].min() > 0.1 * density[density > 0].min()


def test_no_step_was_taken_before_the_first_row():
    t = np.array([0.0, 1.0, 2.0])
    charts = Charts()
    series_charts(charts, {"t": t, "step": t, "dt": t, "cfl": t / 4, "energy": t}, {})
    curves = {spec["title"]: spec["curves"][0]["y"] for spec in charts.specs}
    assert curves == {"dt": [None, 1, 2], "CFL": [None, 0.25, 0.5], "energy": [0, 1, 2]}
