"""The page of an ensemble: its members, their curves as means and bands, and their last values against each key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from solver.config import read_toml
from solver.io import RunDirectory
from solver.pictures.series import of_steps, sorted_columns
from solver.pictures.style import in_words, with_unit
from solver.reading import MemberSeries, member_rows, read_members, run_status
from solver.report.charts import Charts
from solver.report.html import Html, details, element, joined, page, section, table
from solver.report.page import grid, within_limit


def ensemble_page(directory: Path) -> str:
    """Make a self-contained HTML page of an ensemble, at most 8 MB; reads only.

    Args:
        directory: directory of the ensemble: finished, under way or stopped.

    Raises:
        ConfigError: its run file cannot be read.
    """
    run = RunDirectory(directory)
    config, members = read_toml(run.run_file), read_members(run)
    return within_limit(lambda detail: _page(run, config, members, detail))


def quantities(members: MemberSeries) -> list[str]:
    """Columns that change in at least one member, in their order."""
    return list(dict.fromkeys(name for series in members.series for name in sorted_columns(series, members.units)[0]))


def bands(members: MemberSeries) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Times, mean and standard deviation by quantity and combination of swept values."""
    found: dict[str, dict[str, Any]] = {}
    for name in quantities(members):
        for label, positions in members.groups.items():
            having = [i for i in positions if name in members.series[i]]
            if having:
                t, mean, deviation = members.band(having, name)
                found.setdefault(name, {})[label] = (t, of_steps(name, mean), deviation)
    return found


def _page(run: RunDirectory, config: dict[str, Any], members: MemberSeries, detail: float) -> str:
    charts = Charts(detail)
    title = str(config.get("title") or run.path.name)
    body = joined(
        [
            element("h1", f"{title}: {len(member_rows(run))} members"),
            section("At the end, against what members differ in", grid(_against_keys(charts, members))),
            section("Against time: mean, and one standard deviation (dotted)", grid(_curves(charts, members))),
            section("Members", details("State and values", _table(run))),
        ]
    )
    return page(title, body, charts.specs)


def _against_keys(charts: Charts, members: MemberSeries) -> list[Html]:
    """A chart for each quantity and key whose values are numbers: the last value of each member; swept keys first."""
    made = []
    keys = sorted(members.numeric, key=lambda key: key not in members.swept)
    for key in keys:
        x = members.numeric[key]
        positive = bool(np.all(x > 0)) and float(np.max(x) / np.min(x)) > 20
        for name in quantities(members):
            having = [i for i in np.argsort(x, kind="stable") if name in members.series[i]]
            y = np.array([members.series[i][name][-1] for i in having])
            others = [k for k in members.swept if k != key]
            labels = [", ".join(f"{k} = {members.values[k][i]}" for k in others) or "members" for i in having]
            curves = [
                charts.curve(label, x[having][chosen], y[chosen], colour=colour)
                for colour, label in enumerate(dict.fromkeys(labels))
                for chosen in [[at for at, own in enumerate(labels) if own == label]]
            ]
            title = with_unit(in_words(name), members.units.get(name, ""))
            made.append(charts.add({"title": title, "xlabel": key, "xlog": positive, "curves": curves}))
    return made


def _curves(charts: Charts, members: MemberSeries) -> list[Html]:
    made = []
    for name, groups in bands(members).items():
        curves = []
        for colour, (label, (t, mean, deviation)) in enumerate(groups.items()):
            curves.append(charts.curve(label, t, mean, colour=colour))
            if np.any(deviation > 0):
                curves.append(charts.curve(f"{label}, mean + deviation", t, mean + deviation, colour=colour, dash=1))
                curves.append(charts.curve(f"{label}, mean - deviation", t, mean - deviation, colour=colour, dash=1))
        title = with_unit(in_words(name), members.units.get(name, ""))
        made.append(charts.add({"title": title, "xlabel": "t", "curves": curves}))
    return made


def _table(run: RunDirectory) -> Html:
    """State, step, time and values of each member that was begun."""
    rows, keys = [], [key for key in next(iter(member_rows(run)), {}) if key != "member"]
    for row in member_rows(run):
        member = RunDirectory(run.path / row["member"])
        if member.run_file.exists():
            now = run_status(member)
            rows.append((row["member"], now.status, now.step, f"{now.t:.6g}", *(row[key] for key in keys)))
    return table(("member", "state", "step", "t", *keys), rows)
