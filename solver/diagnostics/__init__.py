"""Pure functions of fields: means, shell spectra, largest values."""

from solver.diagnostics.spectra import (
    mean_product,
    mean_square,
    shell_index,
    shell_spectrum,
    shell_wavenumbers,
    shell_width,
    sum_over_shells,
    weighted_mean_square,
)

__all__ = [
    "mean_product",
    "mean_square",
    "shell_index",
    "shell_spectrum",
    "shell_wavenumbers",
    "shell_width",
    "sum_over_shells",
    "weighted_mean_square",
]
