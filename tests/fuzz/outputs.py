"""Outputs drawn at random with their schedules, and what they wrote beside the second program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hypothesis import strategies as st
from reference import library
from reference.control import due
from reference.runs import SPLIT

from fuzz.running import Fault, Table
from fuzz.starts import place, sides

OF_ANY = ["line-spectra", "modes", "points", "domain-length"]
RATIOS = ("scales", "pdfs", "domain-length", "correlations", "structure-functions")  # of what is not the mean
LINEAR, SQUARES = ("modes", "points", "zonal-means"), ("spectra", "cospectra", "transfer")  # of the fields
LONGEST = 1e6  # scale; where longitudinal gradients are no more than rounding, these are, too
LONGITUDINAL = ("taylor_scale", "gradient_skewness", "gradient_flatness")
OF_REAL = ["zonal-means", "extremes", "structure-functions", "correlations", "pdfs"]


@st.composite
def outputs(draw: Any, section: dict[str, Any], fields: dict[str, str], grid: dict[str, Any], time: Any) -> Any:
    """`[output]`: series at every step, snapshots and spectra at the end or more often, and one or two more."""
    end, dimensions = time["end"], len(grid["shape"])
    whole = {"series": {"every_steps": 1}, "snapshots": {"every_time": end}, "spectra": {"every_time": end}}
    if dimensions > 1 and list(fields.values()) == ["vector"] and draw(st.booleans()):
        whole["scales"] = {}
    if section["name"] in SPLIT or draw(st.booleans()):
        return whole
    steps = [{"every_steps": 1}, {"every_steps": 2}, {}]
    schedule = st.sampled_from([*steps, {"every_time": round(end / 3, 6)}])
    ranks = set(fields.values())
    known = [*OF_ANY, *(["cospectra"] if len(fields) > 1 or "vector" in ranks else [])]
    known += ["transfer"] if section["name"] in library.TABLE or section["name"] in library.BUILT else []
    if "wavefunction" not in ranks and section["name"] != "reduced-mhd":  # of which the second program makes no vectors
        known += OF_REAL if dimensions > 1 else OF_REAL[1:]
    for name in draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True)):
        whole[name] = dict(draw(schedule))
        whole[name] |= draw(keys_of(name, dimensions, sides(grid)))
    if draw(st.booleans()):
        whole |= draw(parts_and_means(fields, dimensions, sides(grid), schedule))
    if draw(st.booleans()):
        whole["snapshots"] = draw(schedule) | {"every_time": end}
        whole["spectra"] = dict(draw(schedule))
    return whole


def keys_of(name: str, dimensions: int, lengths: list[float]) -> Any:
    """Further keys of an output."""
    modes = [[0] * dimensions, [1] + [0] * (dimensions - 1), [-1] * dimensions]
    between = [0.123 * side for side in lengths]
    return {
        "modes": st.just({"modes": modes}),
        "points": place(lengths).map(lambda at: {"at": [at, between]}),
        "pdfs": st.sampled_from([7, 20]).map(lambda bins: {"bins": bins, "deviations": 3.0}),
        "structure-functions": st.sampled_from([[1, 2], [3]]).map(lambda orders: {"orders": orders}),
    }.get(name, st.just({}))


@st.composite
def parts_and_means(draw: Any, fields: dict[str, str], dimensions: int, lengths: list[float], schedule: Any) -> Any:
    """Slices, and statistics of spectra and fields."""
    real = [name for name, rank in fields.items() if rank in ("scalar", "vector")]
    of = {"of": draw(st.sampled_from([["line-spectra"], ["line-spectra", "domain-length"]]))}
    means = {**draw(schedule), "sample_steps": draw(st.sampled_from([1, 2])), "fields": real, **of}
    axis = draw(st.integers(0, dimensions - 1))
    planes = [f"{'xyz'[axis]} = {draw(st.sampled_from([0.0, 0.31, 0.77])) * lengths[axis]!r}"]
    return draw(st.sampled_from([
        {"statistics": means}, {"slices": {**draw(schedule), "at": planes, "precision": "grid"}},
    ]))  # fmt: skip


def compare_outputs(into: Path, table: Table, course: Any, bound: float) -> None:
    """Every record that the second program makes is in the file, after the steps that its schedule says."""
    for name, section in table["output"].items():
        if name in ("slices", "snapshots"):
            {"slices": _slices, "snapshots": _snapshots}[name](into, section, course, bound)
        if name == "statistics":
            _statistics(into, section, course, bound, table["output"])
        if name in ("series", "snapshots", "statistics", "slices", "particles", "particle-counts", "particle-pdfs"):
            continue
        numbers = due(section, course)
        wanted = [course.record(name, section, number) for number in numbers]
        with h5py.File(into / f"{name}.h5") as file:
            if file["step"][()].tolist() != numbers:
                raise Fault(f"{name}.h5 has rows of the steps {file['step'][()].tolist()}, not {numbers}")
            found = {column: file[column][()] for column in file}
        if name == "scales" and any(row["taylor_scale"] > LONGEST for row in wanted):
            wanted = [{column: v for column, v in row.items() if column not in LONGITUDINAL} for row in wanted]
        if name == "pdfs":
            wanted = [_spread(row) for row in wanted]
        near = bound / _unevenness(course, numbers) if name in RATIOS else bound
        fields = [np.abs(u).max() for number in numbers for u in course.values(number).values()]
        largest = max(fields, default=0.0)  # by it, or by its square, what cancels is rounded
        _compare(name, wanted, found, near, _rounded_by(name, section, largest))


def _rounded_by(name: str, section: Table, largest: float) -> float:
    """The size of what cancels in the columns of an output, of fields of this size."""
    if name == "structure-functions":
        return float(largest ** max(section.get("orders", [2])))
    return largest if name in LINEAR else largest**2 if name in SQUARES else 0.0


def _spread(row: dict[str, Any]) -> dict[str, Any]:
    """The densities of what is not uniform but for rounding."""
    stds = {column.removesuffix("_std"): v for column, v in row.items() if column.endswith("_std")}
    rounding = tuple(name for name, std in stds.items() if std < 1e-9 * max(stds.values()))
    return {column: v for column, v in row.items() if not rounding or not column.startswith(rounding)}


def _unevenness(course: Any, numbers: list[int]) -> float:
    """The least share of what is not its mean in a field: what is divided by it has so much less of its digits."""
    least = 1.0
    for number in numbers:
        for u in course.values(number).values():
            rest = u - u.mean(axis=tuple(range(1, u.ndim)), keepdims=True)
            least = min(least, float(np.abs(rest).max() / max(np.abs(u).max(), 1e-300)))
    return max(least, 1e-300)


def _compare(
    name: str, wanted: list[dict[str, Any]], found: dict[str, Any], bound: float, rounded_by: float = 0.0
) -> None:
    largest = max([0.0, *(np.abs(np.nan_to_num(value)).max() for row in wanted for value in row.values())])
    for column in wanted[0]:
        if column not in found:
            if name == "transfer":
                continue
            raise Fault(f"{name}.h5 has no column {column}; it has {sorted(found)}")
        values, other = np.nan_to_num([row[column] for row in wanted]), found[column]  # 0 for ratios of what is at rest
        size = np.abs(values).max() if name in ("scales", "pdfs", "domain-length") else largest
        size = max(size, 1.0) if column.endswith(("_skewness", "_flatness")) else size
        if name == "pdfs" and values.ndim > 1:  # values at the edge of a bin
            values, other = np.cumsum(values, axis=1), np.cumsum(other, axis=1)
            size = 0.5 * np.abs(values).max() / (100 * bound)  # many points may lie there
        error = np.abs(_as(other, values.shape, name, column) - values).max()
        if not error <= 100 * bound * (size + 1e-6 * max(largest, rounded_by)):
            raise Fault(f"{name}.h5: column {column} differs by {error:.2e} of {size:.2e}")


def _as(found: Any, shape: tuple[int, ...], name: str, column: str) -> Any:
    """What was found, without shells beyond the modes that are kept, where nothing is."""
    if (
        found.ndim == 2
        and len(shape) == 2
        and found.shape[1] > shape[1]
        and name in ("spectra", "transfer", "cospectra")
    ):
        if column.endswith("_flux"):
            return found[:, : shape[1]]
        if found[:, shape[1] :].any():
            raise Fault(f"{name}.h5: {column} beyond the modes that are kept")
        return found[:, : shape[1]]
    if found.shape != shape:
        raise Fault(f"{name}.h5: column {column} has the shape {found.shape}, not {shape}")
    return found


def _near(what: str, found: Any, wanted: Any, bound: float, size: float | None = None) -> None:
    size = np.abs(wanted).max() if size is None else size
    error = np.abs(found - wanted).max()
    if found.shape != wanted.shape or not error <= 100 * bound * size:
        raise Fault(f"{what} differs by {error:.2e} of {size:.2e}")


def _files(folder: Path, wanted: list[int]) -> list[Path]:
    files = sorted(folder.glob("step-*.h5"))
    steps = [int(path.stem.partition("-")[2]) for path in files]
    if steps != wanted:
        raise Fault(f"{folder.name} has files of the steps {steps}, not {wanted}")
    return files


def _components(course: Any, number: int) -> dict[str, dict[str, Any]]:
    """By field name, values at the points of each component; of real fields."""
    values = course.values(number)
    return {name: u for name, u in values.items() if name not in course.system.complex}


def _snapshots(into: Path, section: Table, course: Any, bound: float) -> None:
    numbers = due(section, course)
    for number, path in zip(numbers, _files(into / "snapshots", numbers), strict=True):
        with h5py.File(path) as file:
            for name, u in _components(course, number).items():
                found = file[name][()]
                found = found[None] if found.ndim == course.system.box.dimensions else np.moveaxis(found, -1, 0)
                _near(f"{path.name}: {name}", found, u, bound, _size(course, number, name))


def _size(course: Any, number: int, name: str) -> float:
    """What the error of a field is measured by: the largest it is or was, but no less than fields round one another."""
    largest = max((np.abs(u).max() for u in _components(course, number).values()), default=0.0)
    return max(1e-6 * largest, *(np.abs(course.values(n)[name]).max() for n in (number, 0)))


def _slices(into: Path, section: Table, course: Any, bound: float) -> None:
    box, [at] = course.system.box, section["at"]
    axis, place = "xyz".index(at[0]), float(at.partition("=")[2])
    if axis == box.dimensions - 1 and hasattr(box, "height"):  # between walls
        index = int(np.argmin(np.abs(np.ravel(box.x[axis])[: box.points[axis]] - place)))
    else:
        index = int(np.rint(place / (box.lengths[axis] / box.points[axis]))) % box.points[axis]
    numbers = due(section, course)
    for number, path in zip(numbers, _files(into / "slices", numbers), strict=True):
        with h5py.File(path) as file:
            for name, u in _components(course, number).items():
                found = np.asarray(file[f"{name}_{'xyz'[axis]}{index}"][()])
                found = found.reshape(*found.shape[: box.dimensions - 1], -1)
                wanted = np.moveaxis(np.take(u, index, axis + 1), 0, -1)
                _near(f"slices/{path.name}: {name}", found, wanted, bound, _size(course, number, name))


def _statistics(into: Path, section: Table, course: Any, bound: float, outputs: Table) -> None:
    """Windows end where the output is due; a state has the weight of the time since the one before it that entered."""
    last = len(course.times) - 1
    ends = [n for n in due(section, course) if n]
    windows, since = [], 0
    for end in ends:
        sampled = [n for n in range(since + 1, end + 1) if n == end or n % section["sample_steps"] == 0]
        windows.append((since, sampled))
        since = end
    files = _files(into / "statistics", ends) if section.get("fields") else [None] * len(ends)
    for row, ((begin, sampled), path) in enumerate(zip(windows, files, strict=True)):
        weights = np.diff([course.times[n] for n in (begin, *sampled)])
        mean = lambda values, weights=weights: np.tensordot(weights, values, 1) / weights.sum()  # noqa: E731
        for name in [name for name in section["of"] if not name.startswith("particle-")]:
            records = [course.record(name, outputs.get(name, {}), n) for n in sampled]
            near = bound / _unevenness(course, sampled) if name in RATIOS else bound
            largest = max(np.abs(np.nan_to_num(value)).max() for record in records for value in record.values())
            with h5py.File(into / "statistics" / f"{name}.h5") as file:
                for column in records[0]:
                    values = np.array([record[column] for record in records])
                    size = np.abs(values).max() + 1e-6 * largest + 1e-12  # columns of one field round one another
                    _near(f"statistics of {column}", file[column][row], mean(values), near, size)
                    spread = mean((values - mean(values)) ** 2)
                    _near(f"variance of {column}", file[f"{column}_variance_in_time"][row], spread, near, size**2)
        if path is None:
            continue
        largest = max(np.abs(values).max() for n in sampled for values in course.values(n).values())
        with h5py.File(path) as file:
            for name in section["fields"]:
                values = np.array([course.values(n)[name] for n in sampled])
                size = np.abs(values).max() + 1e-6 * largest + 1e-12  # a field at rest among others that move
                for suffix, wanted in (("mean", mean(values)), ("variance", mean((values - mean(values)) ** 2))):
                    found = file[f"{name}_{suffix}"][()]
                    found = found[None] if found.ndim == wanted.ndim - 1 else np.moveaxis(found, -1, 0)
                    _near(f"{name}_{suffix}", found, wanted, bound, size ** (1 + (suffix == "variance")))
    assert last in ends
