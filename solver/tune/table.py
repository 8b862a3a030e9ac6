"""The results as text: a table of the candidates, and the lines for the run file."""

from __future__ import annotations

import json

from solver.config import DevicesSection
from solver.tune.candidates import Candidate
from solver.tune.search import Tuning
from solver.tune.trial import Trial

HEADER = ("split", "fields", "chunks", "waves", "engine", "ms per step", "middle half", "MiB held", "all-to-alls", "")
MAX_REASON = 160  # characters


def lines_of(tuning: Tuning) -> list[str]:
    """The table, one line for each candidate, and a sentence on the best one."""
    rows = [HEADER, *(_row(trial, tuning) for trial in tuning.trials.values())]
    widths = [max(len(row[i]) for row in rows if len(row) == len(HEADER)) for i in range(len(HEADER))]
    table = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    size = "" if tuning.dt is None else f" of {tuning.dt:.4g}"
    return [
        f"{tuning.own.devices} devices, {tuning.steps} steps{size} at a turn; MiB held and all-to-alls (per step) are "
        "those of one device",
        *table,
        _verdict(tuning),
    ]


def _row(trial: Trial, tuning: Tuning) -> tuple[str, ...]:
    own = trial.candidate
    ways = (own.split, str(own.fields), str(own.section.chunks), str(own.waves), own.section.engine)
    mark = "the run file's" if trial is tuning.own_trial else "best" if trial is tuning.winner else ""
    if trial.failure:
        reason = trial.failure if len(trial.failure) <= MAX_REASON else trial.failure[:MAX_REASON] + "…"
        return (*ways, f"failed: {reason}{f' ({mark})' if mark else ''}")
    low, high = trial.middle
    held = "?" if trial.held is None else f"{trial.held / 2**20:.4g}"
    return (*ways, f"{trial.median:.4g}", f"{low:.4g}–{high:.4g}", held, str(trial.exchanges), mark)


def _verdict(tuning: Tuning) -> str:
    own, best = tuning.own_trial, tuning.winner
    if best is not None and own.usable:
        return f"best: {best.candidate}, {best.median / own.median:.3g} of the time of the run file's own choice"
    if best is not None:
        return f"best: {best.candidate}; the run file's own choice failed"
    if own.usable:
        return "nothing is faster than the run file's own choice beyond the spread: leave [devices] as it is"
    return "nothing could be timed"


def run_file_lines(candidate: Candidate) -> str:
    """The `[devices]` of a candidate as TOML, with the keys that differ from their defaults."""
    defaults = DevicesSection.read({}, "devices").to_table()
    table = {key: value for key, value in candidate.section.to_table().items() if value != defaults.get(key)}
    return "\n".join(["[devices]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())])
