"""The page of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from solver.io import kept_variables, list_snapshots, log_of_run
from solver.pictures import Recorded, View
from solver.pictures.plane_panels import PROFILES
from solver.pictures.style import in_words, unit
from solver.report.charts import Charts, budget_charts, records_charts, series_charts
from solver.report.facts import Facts, commands, ending, flat, read_facts, statistics
from solver.report.html import Html, details, element, joined, page, section, table
from solver.report.pictures import (
    can_draw,
    mean_field_pictures,
    part_pictures,
    records_picture,
    slice_pictures,
)

LIMIT = 8_000_000  # bytes of a page
DETAILS = (1.0, 0.5, 0.2, 0.05)
HEAD = ("", "unit", "first", "last", "least", "largest", "mean of later half", "deviation of later half")
LOG_LINES = 60


def report_page(directory: Path, view: View | None = None) -> str:
    """Make a self-contained HTML page of a run, at most 8 MB; reads only.

    Args:
        directory: directory of a run that is finished, under way, blown up, or has written nothing yet.
        view: chooses slices, and published profiles.

    Raises:
        ConfigError: there is no run in it, or its run file cannot be read.
        ValueError: neither snapshots nor slices have what the view chooses.
    """
    facts = read_facts(directory)
    return within_limit(lambda detail: _page(facts, detail, view or View()))


def within_limit(make: Callable[[float], str]) -> str:
    """The most detailed page of at most `LIMIT` bytes, or the least detailed one if none is that small."""
    for detail in DETAILS:
        text = make(detail)
        if len(text.encode()) <= LIMIT:
            return text
    return text


def _page(facts: Facts, detail: float, view: View) -> str:
    charts = Charts(detail)
    body = joined(
        [
            header(facts),
            section("What was run", what(facts)),
            section("Against time", grid(series_charts(charts, facts.series, facts.units, view.after))),
            section("Energy budget", grid(budget_charts(charts, facts.series, facts.units))),
            *records_sections(charts, facts, view),
            section("Slices", *_slices(facts, detail, view)),
            section("Statistics", _statistics(facts)),
            *means_sections(charts, facts, view),
            section("Do it again", element("pre", commands(facts))),
            section("Provenance", *_provenance(facts)),
        ]
    )
    return page(facts.title, body, charts.specs)


def header(facts: Facts, heading: str = "h1") -> Html:
    """Title, status, the message that says how the run ended, and warnings."""
    status = facts.status.status
    message = element("p", facts.status.message, class_="soft") if facts.status.message else ""
    lines = [*facts.status.warnings, *facts.unread]
    warnings = element("ul", *(element("li", line) for line in lines), class_="warnings") if lines else ""
    badge = element("span", status, class_=f"badge {status.replace(' ', '-')}")
    reference = str(facts.config.get("reference", ""))
    return joined(
        [
            element(heading, facts.title),
            element("p", reference, class_="soft") if reference else "",
            element("p", badge, " ", ending(facts)),
            message,
            warnings,
        ]
    )


def what(facts: Facts) -> Html:
    """Equation, grid, start, forcing and time stepping."""
    config = facts.config
    rows = [("equation", _with_parameters(config["equation"])), ("grid", _grid(config.get("grid", {})))]
    if "scalars" in config:
        listed = lambda keys: ", ".join(f"{k} = {v}" for k, v in flat(keys).items())  # noqa: E731
        rows.append(("scalars", "; ".join(f"{name} ({listed(keys)})" for name, keys in config["scalars"].items())))
    for key in ("closure", "initial", "forcing"):
        if key in config:
            rows.append((key, _with_parameters(config[key])))
    rows.append(("time", ", ".join(f"{key} = {value}" for key, value in flat(config["time"]).items())))
    if facts.provenance.get("devices"):
        rows.append(("devices", _devices(facts.provenance)))
    return table((), rows)


def _grid(keys: Mapping[str, Any]) -> str:
    shape, lengths = (" × ".join(map(str, keys.get(key, []))) for key in ("shape", "lengths"))
    return f"{shape}, {keys.get('dealias', '')}, {keys.get('precision', '')}; box {lengths}"


def _devices(provenance: Mapping[str, Any]) -> str:
    devices, processes = provenance["devices"], provenance.get("processes", 1)
    several = "es" if processes != 1 else ""
    kinds = ", ".join(dict.fromkeys(str(device).partition(" ")[2] for device in devices))
    return f"{len(devices)} of {kinds}; {processes} process{several} on {provenance.get('host', 'unknown')}"


def _with_parameters(section_of: Mapping[str, Any]) -> str:
    """The name in a section with its parameters; if the section is of several fields, the names of each field."""
    if "name" not in section_of:
        fields = {field: keys for field, keys in section_of.items() if isinstance(keys, Mapping)}
        return "; ".join(f"{field}: {_with_parameters(keys)}" for field, keys in fields.items())
    parameters = ", ".join(f"{k} = {v}" for k, v in flat(section_of).items() if k != "name" and v != "[]")
    return f"{section_of['name']} ({parameters})" if parameters else str(section_of["name"])


def grid(made: list[Html], class_: str = "charts") -> Html:
    """Charts side by side; empty without charts."""
    return element("div", *made, class_=class_) if made else Html("")


def records_sections(charts: Charts, facts: Facts, view: View) -> list[Html]:
    """A section for each file of records: charts with a slider, and a figure of the arrays that no chart shows."""
    made = []
    for name, recorded in facts.records.items():
        drawn = grid(records_charts(charts, recorded))
        made.append(section(heading(name), drawn, _rest(recorded, view, in_charts=bool(drawn))))
    return made


def means_sections(charts: Charts, facts: Facts, view: View) -> list[Html]:
    """Sections of the statistics over windows of time: charts of each file, and mean fields of the last window."""
    made = []
    for name, recorded in facts.means.items():
        rest = _rest(recorded, view, in_charts=True)
        if not recorded.spread:
            made.append(section(f"{heading(name)}, since a window began", rest))
            continue
        legend = element("p", "Dotted: one standard deviation in time above and below.", class_="soft")
        drawn = grid(records_charts(charts, recorded))
        made.append(section(f"{heading(name)}, means over windows", legend, drawn, rest))
    try:
        made.append(section("Mean fields", *mean_field_pictures(facts.directory, View())))
    except ValueError as error:
        made.append(section("Mean fields", element("p", str(error), class_="soft")))
    return made


def _rest(recorded: Recorded, view: View, *, in_charts: bool) -> Html:
    """The figure that `plot` draws; it is folded away if charts show the same arrays, without published profiles."""
    dimensions = max((len(recorded.axes_of(name)) for name in recorded.values), default=0)
    if not can_draw() or recorded.name == "spectra":
        return Html("")
    figure = records_picture(recorded, View(after=view.after, data=view.data))
    folded = in_charts and dimensions < 2 and not (view.chooses_profiles and recorded.name == PROFILES)
    return details("figure", figure) if folded else figure


def heading(name: str) -> str:
    text = in_words(name)
    return text[:1].upper() + text[1:]


def _slices(facts: Facts, detail: float, view: View) -> list[Any]:
    directory, made, errors = facts.directory, [], []
    if (list_snapshots(directory.snapshots) or list_snapshots(directory.slices)) and not can_draw():
        return [element("p", "Slices need matplotlib: pip install '.[plot]' in the checkout", class_="soft")]
    for draw in (slice_pictures, part_pictures):
        try:
            made += draw(directory, view, max(1, int(6 * detail)))
        except ValueError as error:
            errors.append(error)
    if errors and not made and view.chooses_slices:
        raise errors[0]
    return made or [element("p", str(error), class_="soft") for error in errors]


def _statistics(facts: Facts) -> Html:
    rows = [[name, unit(units), *rest] for name, units, *rest in statistics(facts)]
    return table(HEAD, rows) if rows else Html("")


def _provenance(facts: Facts) -> list[Html]:
    known = facts.provenance
    rows = [(key, str(known[key])) for key in ("time", "host", "python", "git") if known.get(key)]
    rows += [(f"{name}", version) for name, version in known.get("versions", {}).items()]
    rows += [(key, value) for key, value in kept_variables(known.get("environment", {})).items()]
    rows += [("note", note) for note in known.get("notes", [])]
    if known:
        rows.append(("starts", str(1 + len(known.get("earlier", [])))))
    made = [table((), rows)] if rows else [element("p", "No provenance was recorded.", class_="soft")]
    made.append(details("run file, resolved", element("pre", _text(facts.directory.run_file))))
    log = log_of_run(facts.directory)
    if log:
        made.append(details(f"log, last {min(len(log), LOG_LINES)} lines", element("pre", "\n".join(log[-LOG_LINES:]))))
    return made


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
