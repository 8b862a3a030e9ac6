"""statistics/: means and variances over windows of time. Their sums are part of the state."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from solver.cluster import LOGGER, is_first
from solver.config import nearest
from solver.discovery import concrete_classes
from solver.dynamics.any_equation import AnyEquation
from solver.io import (
    Column,
    Job,
    RecordsLayout,
    Row,
    Rows,
    RunDirectory,
    Variable,
    drop_snapshots,
    hold_snapshot,
    list_snapshots,
    make_folder,
    snapshot_path,
    verify_data,
)
from solver.loop import TOLERANCE, Schedule, reached
from solver.outputs.at_points import component_labels
from solver.outputs.output import Output, Run
from solver.outputs.particle_lags import Lags, add_lags, first_lags, next_lags
from solver.outputs.records import Records, bytes_of_row, check_continues, layout_of, refuse_damaged
from solver.outputs.window_sums import (
    RecordSums,
    add_fields,
    means_and_variances,
    no_sums,
    shapes_of_sums,
    storage_of_sums,
    units_of,
)
from solver.particles.particles import particles_of
from solver.pictures import View
from solver.pictures.drawn_statistics import draw_mean_fields, draw_means
from solver.steppers.state import State

UNITS_OF_TIME = "time"
WINDOW = {  # columns in addition to those of the other outputs
    "since": Column(units=UNITS_OF_TIME, long_name="begin of the window, which ends at t"),
    "samples": Column(long_name="number of states in the window"),
}


@dataclass(frozen=True)
class Statistics(Output):
    """Mean and variance over time of the records of other outputs, and of fields at every point; means over particles.

    A window ends whenever this output is due, and the next window begins there. Its statistics are written to
    statistics/NAME.h5 for each NAME in `of`, to statistics/step-<step>.h5 for `fields`, and to
    statistics/particles-NAME.h5 for each NAME in `of_particles`. A sampled state has the weight of the time since the
    sampled state before it. The sums are part of the run's state: they go through checkpoints bit for bit. Each sampled
    state costs the records of the outputs, one inverse transform of `fields`, and one of the velocity for
    `of_particles` without a velocity of their own. No further communication.

    Of particles, with x(t) unwrapped, v = dx/dt without random jumps, and τ = t − t₀ since the window began at t₀, the
    file has against the number of the sampled state: `lag`, τ; by direction `mean_displacement`, ⟨Δx_i⟩, and
    `mean_square_displacement`, ⟨Δx_i²⟩, of Δx = x(t) − x(t₀); `velocity_correlation`, ⟨v_i(t₀) v_i(t)⟩;
    `velocity_structure_function`, ⟨(v_i(t) − v_i(t₀))²⟩. Where particles start in pairs, of their separation r:
    `mean_square_separation`, ⟨r_i²⟩, and `pair_dispersion`, ⟨(r_i(t) − r_i(t₀))²⟩. Sampled states after the first
    `lags` of a window do not enter; numbers that a window does not reach are NaN.

    Args:
        of: names of outputs that record arrays against time (`spectra`, …). They have the parameters that the run gives
            them, or default ones if the run has no such output.
        fields: fields of the equation; mean and variance of each component at every point.
        of_particles: names of particles of the run; averages over them by the time since the window began.
        lags: number of sampled states of a window that enter these averages.
        sample_steps: number of steps between two sampled states.
        after: time before which no state is sampled. A run that continues with a later one drops the states before it.

    Raises:
        ValueError: a number is not positive, or `of`, `fields` and `of_particles` are all empty.

    Source: West, Comm. ACM 22 (1979) 532 (one pass, without cancellation); Monin & Yaglom, Statistical Fluid Mechanics
    (1971, 1975), sections 9 and 24 (displacement, pairs).
    """

    of: tuple[str, ...] = ("spectra",)
    fields: tuple[str, ...] = ()
    of_particles: tuple[str, ...] = ()
    lags: int = 100
    sample_steps: int = 10
    after: float = 0.0

    name: ClassVar[str] = "statistics"
    at_start: ClassVar[bool] = False
    at_points: ClassVar[bool] = True
    _others: ClassVar[tuple[Output, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample_steps < 1:
            raise ValueError(f"sample_steps = {self.sample_steps}: one or more is needed")
        if self.lags < 1:
            raise ValueError(f"lags = {self.lags}: one or more is needed")
        if not (self.of or self.fields or self.of_particles):
            raise ValueError("of, fields and of_particles are all empty: statistics of something are needed")

    def with_siblings(self, outputs: Iterable[Output]) -> Statistics:
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "_others", tuple(outputs))
        return copy

    @property
    def pauses(self) -> tuple[Schedule, ...]:
        return (self.schedule, Schedule(every_steps=self.sample_steps))

    @cached_property
    def sources(self) -> dict[str, Records]:
        """The outputs whose records are summed up, by name.

        Raises:
            ValueError: no output that records arrays has this name.
        """
        given = {other.name: other for other in self._others if isinstance(other, Records)}
        ours = concrete_classes("solver.outputs", Records)
        unknown = [name for name in self.of if name not in given and name not in ours]
        if unknown:
            close = nearest(unknown[0], {*given, *ours})
            raise ValueError(f"output.statistics.of: {unknown[0]!r} records no arrays against time{close}")
        return {name: given[name] if name in given else ours[name]() for name in self.of}

    def check(self, equation: AnyEquation) -> None:
        for name, source in self.sources.items():
            try:
                source.check(equation)
            except ValueError as error:
                others = "; between walls zonal-means has profiles" if equation.grid.walls else ""
                raise ValueError(f"output.statistics.of: {error}{others}") from None
            taken = [column for column in layout_of(source, equation).columns if column in WINDOW]
            if taken:
                raise ValueError(
                    f"output.statistics.of: {name} has a column called {taken[0]!r}; another name than "
                    f"{', '.join(WINDOW)} is needed"
                )
        for name in self.fields:
            if name not in equation.fields:
                raise ValueError(
                    f"output.statistics.fields: {equation.name} has no field {name!r}{nearest(name, equation.fields)}"
                )
            if not equation.fields[name].real:
                raise ValueError(f"output.statistics.fields: {name} is complex; real fields have a variance")
        known = particles_of(equation)
        for name in self.of_particles:
            if name not in known:
                close = nearest(name, known) if known else "; the run needs a section [particles.NAME]"
                raise ValueError(f"output.statistics.of_particles: there are no particles {name!r}{close}")
            if _of_particles(name) in self.of:
                raise ValueError(
                    f"output.statistics: of {_of_particles(name)!r}, of_particles {name!r}: one file for both"
                )

    def check_times(self, end: float) -> None:
        if self.after >= end and self.after == 0:  # which need not have been written
            raise ValueError(f"time.end = {end:g}: a later end than 0 is needed with output.statistics")

    def prepare(self, run: Run) -> None:
        if self.after >= run.end:  # the first stage of a longer run
            LOGGER.warning(
                "output.statistics.after = %g is not before time.end = %g: no state is sampled", self.after, run.end
            )

    def programs(self, equation: AnyEquation, state: State) -> dict[str, Any]:
        of_particles = self._lags.programs(equation, state.field)
        if not self.fields:
            return of_particles
        carried, weight = shapes_of_sums(equation, self.fields), np.float64(1)
        shapes = {name: state.field[name] for name in self.fields}
        return of_particles | {"statistics": add_fields.trace(equation, carried, shapes, weight, weight)}

    def bytes_of_state(self, equation: AnyEquation, state: State) -> int:
        rows = sum(bytes_of_row(layout) for layout in self._layouts(equation).values())
        points, word = equation.physical_shapes(), np.dtype(equation.grid.dtype).itemsize
        return rows + sum(2 * word * math.prod(points[name]) for name in self.fields)

    # ---- sums in the state ------------------------------------------------------------------------------------

    @property
    def _records(self) -> RecordSums:
        return RecordSums(self.sources)

    @property
    def _lags(self) -> Lags:
        return Lags(self.of_particles, self.lags)

    def _layouts(self, equation: AnyEquation) -> dict[str, RecordsLayout]:
        """Layouts of the files of rows, by their names."""
        of_particles = {_of_particles(name): layout for name, layout in self._lags.layouts(equation).items()}
        layouts = self._records.layouts(equation) | of_particles
        return {name: RecordsLayout(each.axes, {**WINDOW, **each.columns}) for name, each in layouts.items()}

    def accumulators(self, equation: AnyEquation) -> dict[str, Any]:
        numbers = {"since": np.float64(np.nan), "last": np.float64(np.nan), "weight": np.float64(0)}
        counted = {"samples": np.int64(0), "closed": np.bool_(True)}
        sums = {"records": self._records.start(equation), "fields": no_sums(equation, self.fields)}
        return {**numbers, **counted, **sums, "particles": self._lags.start(equation)}

    def accumulator_storage(self, equation: AnyEquation) -> dict[str, Any]:
        numbers = dict.fromkeys(("since", "last", "weight", "samples", "closed"))
        sums = {"records": self._records.storage(equation), "fields": storage_of_sums(equation, self.fields)}
        return {**numbers, **sums, "particles": self._lags.storage(equation)}

    def observe(self, equation: AnyEquation, state: State, carried: dict[str, Any], *, end: bool) -> dict[str, Any]:
        t, last = np.float64(state.t), carried["last"]
        closes = end or self.schedule.due(state)
        if not reached(state, self.after) or not (closes or Schedule(every_steps=self.sample_steps).due(state)):
            return carried
        if np.isnan(last) or last < self.after - TOLERANCE * abs(self.after):
            # a new run, or one that was continued with a later `after`
            begun = self._lags.changed(equation, carried["particles"], partial(first_lags, fields=state.field))
            fresh = carried if np.isnan(last) else self.accumulators(equation)
            return {**fresh, "since": t, "last": t, "particles": begun}
        if not t > last:  # a continued run has counted this state already
            return carried
        if carried["closed"]:
            fresh = self.accumulators(equation)
            begun = self._lags.changed(equation, carried["particles"], next_lags)
            carried = {**fresh, "since": last, "particles": begun}
        weight, total = t - last, carried["weight"] + (t - last)
        moved = {"last": t, "weight": total, "samples": carried["samples"] + 1, "closed": np.bool_(closes)}
        records = self._records.add(equation, state, carried["records"], weight, total)
        lag, sample = float(t - carried["since"]), int(moved["samples"])
        add = partial(add_lags, fields=state.field, lag=lag, sample=sample, closes=bool(closes))
        lags = self._lags.changed(equation, carried["particles"], add)
        chosen = {name: state.field[name] for name in self.fields}
        fields = add_fields(equation, carried["fields"], chosen, weight, total) if chosen else {}
        return {**carried, **moved, "records": records, "fields": fields, "particles": lags}

    # ---- files ------------------------------------------------------------------------------------------------

    def write(self, run: Run, state: State) -> None:
        carried = state.statistics.get(self.name)
        if carried is None or not carried["closed"] or carried["last"] != np.float64(state.t) or not carried["samples"]:
            return
        if is_first():
            with run.writer.while_waiting():
                layouts = self._layouts(run.equation)
                for name, values in self._rows(run.equation, carried).items():
                    file = _file(run.directory, name)
                    make_folder(file.path.parent)
                    file.append(Row(int(state.step), float(state.t), values), layouts[name])
        if self.fields:
            run.writer.submit(lambda: self._held(run, state, carried))

    def _rows(self, equation: AnyEquation, carried: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The columns of a row of each file of rows, by its name."""
        window = {"since": np.asarray(carried["since"]), "samples": np.asarray(float(carried["samples"]))}
        lags = self._lags.values(equation, carried["particles"])
        rows = self._records.values(carried["records"], carried["weight"])
        rows |= {_of_particles(name): values for name, values in lags.items()}
        return {name: {**window, **values} for name, values in rows.items()}

    def _held(self, run: Run, state: State, carried: dict[str, Any]) -> Job:
        equation, step = run.equation, int(state.step)
        variables = {}
        for name, values in means_and_variances(equation, carried["fields"], carried["weight"]).items():
            labels = component_labels(equation, name.rpartition("_")[0], values) if len(values) > 1 else ()
            variables[name] = Variable(values if labels else values[0], units_of(equation, name), labels)
        attributes = {"title": run.title, "equation": equation.name, "since": float(carried["since"])}
        attributes["samples"] = int(carried["samples"])
        path = snapshot_path(run.directory.statistics, step)
        return hold_snapshot(path, variables, equation.grid, step, float(state.t), attributes)

    def resume(self, run: Run) -> None:
        layouts = self._layouts(run.equation)
        for file in _record_files(run.directory):
            name = file.path.stem
            if name in layouts:
                check_continues(file, layouts[name], f"statistics with {name}")
            else:
                refuse_damaged(file)

    def flush(self, run: Run) -> None:
        for file in _record_files(run.directory):
            file.flush()

    @classmethod
    def paths(cls, directory: RunDirectory) -> tuple[Path, ...]:
        return (directory.statistics,)

    @classmethod
    def drop_after(cls, directory: RunDirectory, step: int) -> None:
        for file in _record_files(directory):
            file.drop_after(step)
        drop_snapshots(directory.statistics, step)

    @classmethod
    def draw(cls, directory: RunDirectory, folder: Path, view: View) -> list[Path]:
        """Draw a figure for each file of means, with the spread in time, and one of mean fields for each window."""
        files = [] if view.chooses_slices else _record_files(directory)
        return [*draw_means(files, folder, view), *draw_mean_fields(list_snapshots(directory.statistics), folder, view)]

    @classmethod
    def verify(cls, directory: RunDirectory) -> dict[Path, list[str]]:
        problems = {path: verify_data(path) for path in list_snapshots(directory.statistics)}
        for file in _record_files(directory):
            problems |= file.verify()
        return problems


def _of_particles(name: str) -> str:
    """Name of the file of averages over the particles of a name."""
    return f"particles-{name}"


def _file(directory: RunDirectory, name: str) -> Rows:
    return directory.store.rows(name, directory.statistics.name)


def _record_files(directory: RunDirectory) -> list[Rows]:
    return [_file(directory, name) for name in directory.store.names(directory.statistics.name)]
