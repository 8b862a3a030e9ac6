"""The page of several runs: differences of their run files, common charts of their curves, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solver.config import ConfigError
from solver.pictures import Recorded, View
from solver.pictures.against_time import LISTED, time_panels
from solver.pictures.records import array_columns
from solver.pictures.series import of_steps, sorted_columns
from solver.pictures.style import in_words, with_unit
from solver.report.charts import Charts, marks_of, numbers, spans_decades, without_noise
from solver.report.facts import Facts, commands, ending, flat, read_facts
from solver.report.html import Html, details, element, joined, page, section, table
from solver.report.page import grid, header, heading, within_limit
from solver.report.pictures import last_colours, part_pictures, slice_pictures

SAME_PLACE = ("output.directory",)  # keys that differ between any two runs


def comparison_page(directories: Sequence[Path], view: View | None = None) -> str:
    """Make a self-contained HTML page of several runs, at most 8 MB; reads only.

    Args:
        directories: directories of two runs or more; differences are those to the first.
        view: chooses slices.

    Raises:
        ConfigError: fewer than two, or a directory that holds no run.
        ValueError: no run has what the view chooses.
    """
    if len(directories) < 2:
        raise ConfigError(f"{len(directories)} run{'s' if len(directories) != 1 else ''}: two or more are needed")
    runs = [read_facts(path) for path in directories]
    return within_limit(lambda detail: _page(runs, labels(directories), detail, view or View()))


def labels(directories: Sequence[Path]) -> list[str]:
    """Short names of the runs: the shortest ends of their paths that are all different."""
    parts = [path.absolute().parts for path in directories]
    for length in range(1, max(map(len, parts)) + 1):
        ends = ["/".join(part[-length:]) for part in parts]
        if len(set(ends)) == len(ends):
            return ends
    return [f"{i + 1}: {path}" for i, path in enumerate(directories)]


def _page(runs: Sequence[Facts], names: Sequence[str], detail: float, view: View) -> str:
    charts = Charts(detail)
    title = " · ".join(dict.fromkeys(run.title for run in runs))
    body = joined(
        [
            element("h1", f"{len(runs)} runs: {title}"),
            section("Runs", table(("", "title", "status"), _statuses(runs, names))),
            section("Differences of the run files", differences(runs, names)),
            section("Against time", grid(_curves(charts, runs, names))),
            section(f"Differences to {names[0]}", _largest(runs, names), grid(_apart(charts, runs, names))),
            *_records(charts, runs, names),
            section("Slices of the last snapshots", _slices(runs, names, view)),
            section("Do it again", *(_again(run, name) for run, name in zip(runs, names, strict=True))),
        ]
    )
    return page(f"{len(runs)} runs: {title}", body, charts.specs)


def _statuses(runs: Sequence[Facts], names: Sequence[str]) -> list[tuple[Any, ...]]:
    return [(name, details(run.title, header(run, "h3")), ending(run)) for run, name in zip(runs, names, strict=True)]


def differences(runs: Sequence[Facts], names: Sequence[str]) -> Html:
    """Keys of the run files, and versions, that are not the same in all runs."""
    tables = [
        {**flat(run.config), **{f"version of {k}": v for k, v in run.provenance.get("versions", {}).items()}}
        | {"devices used": str(len(run.provenance.get("devices", [])))}
        for run in runs
    ]
    keys = [key for key in dict.fromkeys(key for values in tables for key in values) if key not in SAME_PLACE]
    differ = [key for key in keys if len({values.get(key) for values in tables}) > 1]
    if not differ:
        return element("p", "None.", class_="soft")
    return table(("key", *names), [(key, *(values.get(key, "–") for values in tables)) for key in differ])


def _shared(runs: Sequence[Facts]) -> list[str]:
    """Columns that change in at least one run and exist in at least two, in order."""
    changing = dict.fromkeys(name for run in runs for part in _parts(run) for name in part)
    return [name for name in changing if sum(name in run.series for run in runs) > 1]


def _parts(run: Facts) -> tuple[dict[str, np.ndarray], ...]:
    quantities, _, errors = sorted_columns(run.series, run.units)
    return quantities, errors


def _curves(charts: Charts, runs: Sequence[Facts], names: Sequence[str]) -> list[Html]:
    made = []
    for column in _shared(runs):
        curves = [
            charts.curve(name, run.series["t"], of_steps(column, run.series[column]), colour=i)
            for i, (run, name) in enumerate(zip(runs, names, strict=True))
            if column in run.series
        ]
        title = with_unit(in_words(column), next(run.units[column] for run in runs if column in run.units))
        made.append(charts.add({"title": title, "xlabel": "t", "curves": curves}))
    return made


def difference(first: Facts, other: Facts, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Times of the first run that both runs cover, and other − first at these times (linear interpolation)."""
    t, t_other = first.series["t"], other.series["t"]
    both = (t >= t_other[0]) & (t <= t_other[-1])
    return t[both], np.interp(t[both], t_other, other.series[column]) - first.series[column][both]


def _pairs(runs: Sequence[Facts], column: str) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Differences of a column to the first run: for each later run that has it, its number, times and differences."""
    if column not in runs[0].series:
        return []
    pairs = []
    for number, run in enumerate(runs[1:], 1):
        if column in run.series:
            t, apart = difference(runs[0], run, column)
            if len(t):
                pairs.append((number, t, apart))
    return pairs


def _apart(charts: Charts, runs: Sequence[Facts], names: Sequence[str]) -> list[Html]:
    made = []
    for column in _shared(runs):
        curves = [charts.curve(names[i], t, apart, colour=i) for i, t, apart in _pairs(runs, column) if np.any(apart)]
        if curves:
            made.append(charts.add({"title": f"{in_words(column)}: difference", "xlabel": "t", "curves": curves}))
    return made


def _largest(runs: Sequence[Facts], names: Sequence[str]) -> Html:
    """Table of the largest difference in each column, also relative to the first run's largest value."""
    rows = []
    for column in _shared(runs):
        for i, _, apart in _pairs(runs, column):
            size, largest = (float(np.nanmax(np.abs(v))) for v in (runs[0].series[column], apart))
            relative = f"{largest / size:.3g}" if size > 0 else "–"
            rows.append((column, names[i], f"{largest:.5g}", relative))
    return table(("column", "run", "largest difference", "relative to the largest value"), rows) if rows else Html("")


def _records(charts: Charts, runs: Sequence[Facts], names: Sequence[str]) -> list[Html]:
    """Recorded arrays of all runs, those on one axis at each run's last time; then means over windows."""
    made = []
    kinds = {"": [run.records for run in runs], ", means over windows": [run.means for run in runs]}
    for suffix, tables in kinds.items():
        for file in dict.fromkeys(name for records in tables for name in records):
            having = [(i, records[file]) for i, records in enumerate(tables) if file in records]
            drawn = _charts_of(charts, having, names) if len(having) > 1 else []
            made.append(section(f"{heading(file)}{suffix}", grid(drawn)) if drawn else Html(""))
    return made


def _charts_of(charts: Charts, having: Sequence[tuple[int, Recorded]], names: Sequence[str]) -> list[Html]:
    """Charts of the arrays that change or are not zero in at least one run."""
    arrays = dict.fromkeys(name for _, record in having for name in array_columns(record) if _on_one_axis(record, name))
    made = [_last_rows(charts, [h for h in having if column in h[1].values], names, column) for column in arrays]
    panels = [(i, record, panel) for i, record in having for panel in time_panels(record)]
    for title in dict.fromkeys(panel.title for _, _, panel in panels):
        alike = [(i, record, panel) for i, record, panel in panels if panel.title == title]
        several = list(dict.fromkeys(label for _, _, panel in alike for label in panel.curves))
        curves = [
            charts.curve(f"{names[i]}, {label}", record.t, values, colour=several.index(label), dash=i)
            if len(several) > 1
            else charts.curve(names[i], record.t, values, colour=i)
            for i, record, panel in alike
            for label, values in panel.curves.items()
        ]
        spec = {"title": with_unit(title, alike[0][2].units), "xlabel": "t", "curves": curves}
        made.append(charts.add(spec))
    return made


def _on_one_axis(recorded: Recorded, column: str) -> bool:
    axes = recorded.axes_of(column)
    return len(axes) == 1 and axes[0] not in LISTED


def _last_rows(charts: Charts, having: Sequence[tuple[int, Recorded]], names: Sequence[str], column: str) -> Html:
    first = having[0][1]
    axis = first.axes_of(column)[0]
    curves: list[dict[str, Any]] = []
    for i, recorded in having:
        if column in recorded.values and recorded.axes_of(column) == (axis,):
            x, y = recorded.axis(axis), recorded.values[column][-1]
            y = without_noise(y) if axis.startswith("k") else y
            keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), charts.points)).astype(int))
            label = f"{names[i]}, {recorded.times[-1]}"
            curves.append({"name": label, "x": numbers(x[keep]), "y": numbers(y[keep]), "colour": i})
    positive = all(min((v for v in curve["y"] if v is not None), default=0) >= 0 for curve in curves)
    spec = {
        "title": with_unit(first.title(column), first.units(column)),
        "xlabel": first.label(axis),
        "curves": curves,
        "xlog": axis.startswith("k"),
        "ylog": positive and spans_decades(axis),
        "deep": 1e-14,
        **(marks_of(axis, first) if len({recorded.k_max for _, recorded in having}) == 1 else {}),
    }
    return charts.add(spec)


def _slices(runs: Sequence[Facts], names: Sequence[str], view: View) -> Html:
    shown, errors, colours = [], [], last_colours([run.directory for run in runs], view)
    for run, name in zip(runs, names, strict=True):
        try:
            pictures = slice_pictures(run.directory, view, 1, colours) or part_pictures(run.directory, view, 1)
        except ValueError as error:
            errors.append(error)
            pictures = [element("p", str(error), class_="soft")]
        if pictures:
            shown.append(element("div", element("h3", name), *pictures))
    if errors and len(errors) == len(shown) and view.chooses_slices:
        raise errors[0]
    return element("div", *shown, class_="side") if shown else Html("")


def _again(run: Facts, name: str) -> Html:
    return joined([element("h3", name), element("pre", commands(run))])
