"""Two-point correlations along planes, from the recorded spectra of `[output.line-spectra]` by height."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from solver.diagnostics.heights import correlation_by_height
from solver.io import VARIANCE

AXES = ("kx", "ky")


def two_point_correlations(spectra: Any) -> Any:
    """R(r, z)/R(0, z) of each component along each direction of the planes, from spectra by height.

    R(r, z) = ⟨u'(x) u'(x + r)⟩ of fluctuations about the mean of a plane is the cosine transform of the spectrum. Mean
    spectra over time give the mean of R over time, divided by the mean variance.

    Args:
        spectra: dataset of one time, or of a mean over time: `run.statistics["line-spectra"].isel(t=-1)`, of a run with
            `[output.line-spectra] by_height = true`.

    Returns:
        A dataset with the columns' names along `x` or `y`, separations up to half of the period, and the last
        direction; 0 in planes without fluctuations.

    Raises:
        ValueError: spectra of several times, or of no planes.
    """
    means = {str(name): column for name, column in spectra.data_vars.items() if not str(name).endswith(VARIANCE)}
    columns = {name: column for name, column in means.items() if column.ndim == 2}
    found = {name: axis for name, column in columns.items() for axis in AXES if column.dims[0] == axis}
    if "t" in spectra.dims or not found:
        along = ", ".join(map(str, spectra.dims)) or "nothing"
        raise ValueError(f"spectra along {along}: spectra by height at one time are needed, .isel(t=-1)")
    k = {axis: np.asarray(spectra[axis]) for axis in sorted(set(found.values()))}
    r = {axis[1:]: separations_of(values) for axis, values in k.items()}
    made = {}
    for name, axis in found.items():
        last = str(columns[name].dims[1])
        values = correlation_coefficient(np.asarray(columns[name]), k[axis], r[axis[1:]])
        made[name] = ((f"separation_{axis[1:]}", last), values, {"long_name": f"two-point correlation of {name}"})
    places: Mapping[str, Any] = {f"separation_{axis}": values for axis, values in r.items()}
    return type(spectra)(made, {**places, last: spectra[last]})


def separations_of(k: np.ndarray) -> np.ndarray:
    """Separations from 0 to half of the period, two for each wavenumber."""
    return np.linspace(0, np.pi / k[1], 2 * len(k) - 1)


def correlation_coefficient(spectrum: np.ndarray, k: np.ndarray, r: np.ndarray) -> np.ndarray:
    """R(r, z)/R(0, z) of a spectrum `(k, z)`; 0 where the variance is."""
    whole = correlation_by_height(spectrum, k, r)
    return np.divide(whole, whole[:1], out=np.zeros_like(whole), where=whole[:1] > 0)
